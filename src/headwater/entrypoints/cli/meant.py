"""Which subscription, fetcher or group a person means: its number, its name, or its URL."""

import re
from typing import Any
from urllib.parse import quote

from headwater.entrypoints.cli.find import is_called, refuse_blank
from headwater.entrypoints.cli.session import Api
from headwater.entrypoints.cli.terminal import one_line
from headwater.errors import BadInput, NotFound

Record = dict[str, Any]

SHOWN = 20
_URL = re.compile(r"\s*(?:https?://|feed:)", re.IGNORECASE)


class SeveralMeant(BadInput):
    """More than one fits. Facts: `candidates`."""

    code = "several_fit"


def subscription_meant(api: Api, text: str) -> Record:
    """Inactive ones too: they can be looked at, and come back. A URL means that source alone. One
    that has no such name may be meant by its feed's title."""
    if text.isascii() and text.isdigit():
        found: Record = api.get(f"/subscriptions/{text}")
        return found
    if _URL.match(text):
        said = {"include_inactive": "true", "source_url": text}
        for there in api.pages("/subscriptions", "subscriptions", **said):
            return there
        raise _nobody("subscription", text, "subscriptions")
    every = list(api.pages("/subscriptions", "subscriptions", include_inactive="true"))
    names = {each["subscription_id"]: [each["source_url"], each["name"] or ""] for each in every}
    try:
        return _the_one(text, every, "subscription_id", names, "subscription", "subscriptions")
    except NotFound:
        feed_ids = {feed["id"] for feed in api.pages("/feeds", "feeds") if is_called(feed, text)}
        of_feeds = [each for each in every if each["feed_id"] in feed_ids]
        names = {each["subscription_id"]: [each["source_url"], text] for each in of_feeds}
        return _the_one(text, of_feeds, "subscription_id", names, "subscription", "subscriptions")


def fetcher_meant(api: Api, text: str) -> Record:
    if text.isascii() and text.isdigit():
        found: Record = api.get(f"/fetcher-modules/{text}")
        return found
    every = api.get("/fetcher-modules")["fetcher_modules"]
    names = {each["fetcher_id"]: [each["name"]] for each in every}
    return _the_one(text, every, "fetcher_id", names, "fetcher", "fetchers list")


def group_meant(api: Api, text: str) -> Record:
    if text.isascii() and text.isdigit():
        found: Record = api.get(f"/groups/{text}")
        return found
    every = list(api.pages("/groups", "groups"))
    names = {each["group_id"]: [each["name"]] for each in every}
    return _the_one(text, every, "group_id", names, "group", "groups list")


def path(*parts: object) -> str:
    """Where something lives. A slash in a name would lead elsewhere: servers undo its quoting."""
    for part in map(str, parts):
        if "/" in part or part in {".", ".."}:
            raise NotFound(f"Nothing is called {part!r}.", given=part)
    return "/" + "/".join(quote(str(part), safe="") for part in parts)


def _the_one(
    text: str, every: list[Record], key: str, names: dict[int, list[str]], what: str, listing: str
) -> Record:
    """Exact fits win over parts."""
    refuse_blank(text, what)
    wanted = text.casefold()
    exact = [each for each in every if wanted in (n.casefold() for n in names[each[key]])]
    parts = [each for each in every if any(wanted in n.casefold() for n in names[each[key]])]
    fitting = exact or parts
    if not fitting:
        raise _nobody(what, text, listing)
    if len(fitting) > 1:
        shown = [f"  {each[key]}  {one_line(names[each[key]][0], 70)}" for each in fitting[:SHOWN]]
        more = [f"  … and {len(fitting) - SHOWN} more"] if len(fitting) > SHOWN else []
        raise SeveralMeant(
            "\n".join([f"{len(fitting)} {what}s fit {text!r}; say which:", *shown, *more]),
            candidates=[each[key] for each in fitting],
        )
    return fitting[0]


def _nobody(what: str, text: str, listing: str) -> NotFound:
    return NotFound(
        f"No {what} is called {one_line(text)!r}. `headwater {listing}` shows them all.",
        given=text,
    )

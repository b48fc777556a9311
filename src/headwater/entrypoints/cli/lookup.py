"""Look up what a person means: a feed, a subscription, a fetcher, a group or a tracking."""

import re
from typing import Any
from urllib.parse import quote
from uuid import UUID

from headwater.core.errors import BadInput, NotFound
from headwater.entrypoints.cli.render import Record
from headwater.entrypoints.cli.session import Api
from headwater.entrypoints.cli.terminal import one_line

MOST_CANDIDATES_SHOWN = 20


class SeveralFeeds(BadInput):
    """More than one feed fits. Facts: `candidates`."""

    code = "several_feeds"


def lookup_feed(api: Api, text: str) -> dict[str, Any]:
    """The one feed that fits; exact fits win over parts."""
    check_not_blank(text, "feed")
    if _is_uuid(text):
        found: dict[str, Any] = api.get(f"/feeds/{quote(text, safe='')}")
        return found
    if "://" in text and (at_url := api.get("/feeds", url=text)["feeds"]):
        return dict(at_url[0])
    candidates = [feed for feed in api.pages("/feeds", "feeds") if _feed_matches(feed, text)]
    exact = [feed for feed in candidates if _is_exact(feed, text)]
    fitting = exact or candidates
    if not fitting:
        raise NotFound(
            f"No feed is called {one_line(text)!r}. `headwater list` shows them all.", given=text
        )
    if len(fitting) > 1:
        raise _several(text, fitting)
    return fitting[0]


def check_not_blank(text: str, what: str) -> None:
    """Nothing is a part of every name, and a variable of a script that was never set."""
    if not text.strip():
        raise BadInput(f"Say which {what}: an empty name means none.", given=text)


def feed_path(feed: dict[str, Any], *rest: str) -> str:
    return "/".join(["/feeds", quote(feed["id"], safe=""), *rest])


def title_contains(feed: dict[str, Any], text: str) -> bool:
    return text.casefold() in (feed.get("title") or "").casefold()


def _feed_matches(feed: dict[str, Any], text: str) -> bool:
    wanted = text.casefold()
    return (
        (len(wanted) >= 4 and feed["id"].startswith(wanted))
        or feed["url"] == text
        or title_contains(feed, text)
        or (len(wanted) >= 4 and wanted in feed["url"].casefold())
    )


def _is_exact(feed: dict[str, Any], text: str) -> bool:
    return feed["url"] == text or (feed.get("title") or "").casefold() == text.casefold()


def _several(text: str, feeds: list[dict[str, Any]]) -> SeveralFeeds:
    lines = [f"  {feed['id']}  {one_line(feed.get('title') or feed['url'], 70)}" for feed in feeds]
    more = (
        [f"  … and {len(feeds) - MOST_CANDIDATES_SHOWN} more"]
        if len(feeds) > MOST_CANDIDATES_SHOWN
        else []
    )
    return SeveralFeeds(
        "\n".join(
            [f"{len(feeds)} feeds fit {text!r}; say which:", *lines[:MOST_CANDIDATES_SHOWN], *more]
        ),
        candidates=[{"id": feed["id"], "url": feed["url"]} for feed in feeds],
    )


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False


SHOWN = 20
_URL = re.compile(r"\s*(?:https?://|feed:)", re.IGNORECASE)


class SeveralMatch(BadInput):
    """More than one fits. Facts: `candidates`."""

    code = "several_fit"


def lookup_subscription(api: Api, text: str) -> Record:
    """Inactive ones too: they can be looked at, and come back. A URL means that source alone. One
    that has no such name may be meant by its feed's title."""
    if text.isascii() and text.isdigit():
        found: Record = api.get(f"/subscriptions/{text}")
        return found
    if _URL.match(text):
        said = {"include_inactive": "true", "source_url": text}
        for there in api.pages("/subscriptions", "subscriptions", **said):
            return there
        raise _no_match("subscription", text, "subscriptions")
    every = list(api.pages("/subscriptions", "subscriptions", include_inactive="true"))
    names = {each["subscription_id"]: [each["source_url"], each["name"] or ""] for each in every}
    try:
        return _one_match(text, every, "subscription_id", names, "subscription", "subscriptions")
    except NotFound:
        feed_ids = {
            feed["id"] for feed in api.pages("/feeds", "feeds") if title_contains(feed, text)
        }
        of_feeds = [each for each in every if each["feed_id"] in feed_ids]
        names = {each["subscription_id"]: [each["source_url"], text] for each in of_feeds}
        return _one_match(text, of_feeds, "subscription_id", names, "subscription", "subscriptions")


def lookup_fetcher(api: Api, text: str) -> Record:
    if text.isascii() and text.isdigit():
        found: Record = api.get(f"/fetcher-modules/{text}")
        return found
    every = api.get("/fetcher-modules")["fetcher_modules"]
    names = {each["fetcher_id"]: [each["name"]] for each in every}
    return _one_match(text, every, "fetcher_id", names, "fetcher", "fetchers list")


def lookup_group(api: Api, text: str) -> Record:
    if text.isascii() and text.isdigit():
        found: Record = api.get(f"/groups/{text}")
        return found
    every = list(api.pages("/groups", "groups"))
    names = {each["group_id"]: [each["name"]] for each in every}
    return _one_match(text, every, "group_id", names, "group", "groups list")


def api_path(*parts: object) -> str:
    """Where something lives. A slash in a name would lead elsewhere: servers undo its quoting."""
    for part in map(str, parts):
        if "/" in part or part in {".", ".."}:
            raise NotFound(f"Nothing is called {part!r}.", given=part)
    return "/" + "/".join(quote(str(part), safe="") for part in parts)


def _one_match(
    text: str, every: list[Record], key: str, names: dict[int, list[str]], what: str, listing: str
) -> Record:
    """Exact fits win over parts."""
    check_not_blank(text, what)
    wanted = text.casefold()
    exact = [each for each in every if wanted in (n.casefold() for n in names[each[key]])]
    parts = [each for each in every if any(wanted in n.casefold() for n in names[each[key]])]
    fitting = exact or parts
    if not fitting:
        raise _no_match(what, text, listing)
    if len(fitting) > 1:
        shown = [f"  {each[key]}  {one_line(names[each[key]][0], 70)}" for each in fitting[:SHOWN]]
        more = [f"  … and {len(fitting) - SHOWN} more"] if len(fitting) > SHOWN else []
        raise SeveralMatch(
            "\n".join([f"{len(fitting)} {what}s fit {text!r}; say which:", *shown, *more]),
            candidates=[each[key] for each in fitting],
        )
    return fitting[0]


def _no_match(what: str, text: str, listing: str) -> NotFound:
    return NotFound(
        f"No {what} is called {one_line(text)!r}. `headwater {listing}` shows them all.",
        given=text,
    )


def lookup_tracking(api: Api, text: str) -> Record:
    """By its number, else by the title of its show, else by a part of that."""
    if text.isascii() and text.isdigit():
        found: Record = api.get(f"/trackings/{text}")
        return found
    check_not_blank(text, "tracking")
    wanted = text.casefold()
    every = list(api.pages("/trackings", "trackings"))
    exact = [each for each in every if each["show"]["title"].casefold() == wanted]
    parts = [each for each in every if wanted in each["show"]["title"].casefold()]
    fitting = exact or parts
    if len(fitting) == 1:
        return dict(api.get(f"/trackings/{fitting[0]['id']}"))
    if not fitting:
        raise NotFound(
            f"No show is tracked under {one_line(text)!r}. `headwater track list` shows them all.",
            given=text,
        )
    lines = [f"  {each['id']}  {one_line(each['show']['title'], 70)}" for each in fitting[:20]]
    raise SeveralMatch(
        "\n".join([f"{len(fitting)} trackings fit {text!r}; say which:", *lines]),
        candidates=[each["id"] for each in fitting],
    )

"""Look up a feed, a subscription, a fetcher, a group or a tracking as a person names it."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from uuid import UUID

from headwater.core.errors import BadInput, NotFound
from headwater.entrypoints.cli.render import Record
from headwater.entrypoints.cli.session import Api
from headwater.entrypoints.cli.terminal import one_line

MOST_CANDIDATES_SHOWN = 20
SHORTEST_PART = 4
"""A shorter part of an id or a URL would match too many."""

_URL = re.compile(r"\s*(?:https?://|feed:)", re.IGNORECASE)


class SeveralMatch(BadInput):
    """More than one record matches. Facts: `candidates`."""

    code = "several_fit"


class SeveralFeeds(SeveralMatch):
    """More than one feed matches. Facts: `candidates`."""

    code = "several_feeds"


def is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False


def is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


@dataclass(frozen=True, slots=True, kw_only=True)
class Noun:
    """A kind of record that a person names on the command line by its id or by a name."""

    name: str
    path: str
    """The path of the API below which it is found by its id."""
    list_command: str
    """The command that lists all records of this kind."""
    list_all: Callable[[Api], Iterable[Record]]
    id_of: Callable[[Record], Any]
    names_of: Callable[[Record], list[str]]
    """The first name that is not empty is shown."""
    is_id: Callable[[str], bool] = is_number
    no_match: str = ""
    """The first words of the message when nothing matches."""

    def matches(self, record: Record, text: str) -> bool:
        return any(text.casefold() in name.casefold() for name in self.names_of(record))

    def several(self, message: str, records: list[Record]) -> SeveralMatch:
        return SeveralMatch(message, candidates=[self.id_of(record) for record in records])


class FeedNoun(Noun):
    """Feeds, which can also be named by the beginning of their id."""

    __slots__ = ()

    def matches(self, record: Record, text: str) -> bool:
        part = text.casefold()
        if title_contains(record, text) or record["url"] == text:
            return True
        return len(part) >= SHORTEST_PART and (
            record["id"].startswith(part) or part in record["url"].casefold()
        )

    def several(self, message: str, records: list[Record]) -> SeveralMatch:
        candidates = [{"id": feed["id"], "url": feed["url"]} for feed in records]
        return SeveralFeeds(message, candidates=candidates)


FEED = FeedNoun(
    name="feed",
    path="feeds",
    list_command="list",
    list_all=lambda api: api.pages("/feeds", "feeds"),
    id_of=lambda feed: feed["id"],
    names_of=lambda feed: [feed.get("title") or "", feed["url"]],
    is_id=is_uuid,
)
SUBSCRIPTION = Noun(
    name="subscription",
    path="subscriptions",
    list_command="subscriptions",
    list_all=lambda api: api.pages("/subscriptions", "subscriptions", include_inactive="true"),
    id_of=lambda subscription: subscription["subscription_id"],
    names_of=lambda subscription: [subscription["source_url"], subscription["name"] or ""],
)
FETCHER = Noun(
    name="fetcher",
    path="fetcher-modules",
    list_command="fetchers list",
    list_all=lambda api: api.get("/fetcher-modules")["fetcher_modules"],
    id_of=lambda fetcher: fetcher["fetcher_id"],
    names_of=lambda fetcher: [fetcher["name"]],
)
GROUP = Noun(
    name="group",
    path="groups",
    list_command="groups list",
    list_all=lambda api: api.pages("/groups", "groups"),
    id_of=lambda group: group["group_id"],
    names_of=lambda group: [group["name"]],
)
TRACKING = Noun(
    name="tracking",
    path="trackings",
    list_command="track list",
    list_all=lambda api: api.pages("/trackings", "trackings"),
    id_of=lambda tracking: tracking["id"],
    names_of=lambda tracking: [tracking["show"]["title"]],
    no_match="No show is tracked under",
)


def lookup_feed(api: Api, text: str) -> Record:
    if "://" in text and (feeds := api.get("/feeds", url=text)["feeds"]):
        return dict(feeds[0])
    return lookup(api, FEED, text)


def lookup_subscription(api: Api, text: str) -> Record:
    """Look up a subscription, also an inactive one: it can be shown and made active again. A URL
    finds that source alone. A text that is in no name of a subscription may be in the title of its
    feed."""
    if _URL.match(text):
        return _subscription_of_source(api, text)
    try:
        return lookup(api, SUBSCRIPTION, text)
    except NotFound:
        feeds = {feed["id"] for feed in api.pages("/feeds", "feeds") if title_contains(feed, text)}
        subscriptions = SUBSCRIPTION.list_all(api)
        matching = [record for record in subscriptions if record["feed_id"] in feeds]
        return the_one_of(SUBSCRIPTION, text, matching)


def lookup_fetcher(api: Api, text: str) -> Record:
    return lookup(api, FETCHER, text)


def lookup_group(api: Api, text: str) -> Record:
    return lookup(api, GROUP, text)


def lookup_tracking(api: Api, text: str) -> Record:
    """Look up a tracking with all its fields, as a list has only some of them."""
    number = text if is_number(text) else lookup(api, TRACKING, text)["id"]
    tracking: Record = api.get(api_path(TRACKING.path, number))
    return tracking


def lookup(api: Api, noun: Noun, text: str) -> Record:
    """Find the record with this id or a matching name; a whole name wins over a part of one."""
    if noun.is_id(text):
        record: Record = api.get(api_path(noun.path, text))
        return record
    check_not_blank(text, noun.name)
    matching = [record for record in noun.list_all(api) if noun.matches(record, text)]
    exact = [
        record
        for record in matching
        if text.casefold() in (name.casefold() for name in noun.names_of(record))
    ]
    return the_one_of(noun, text, exact or matching)


def the_one_of(noun: Noun, text: str, matching: list[Record]) -> Record:
    """Return the only match. No match and several matches are errors that say how to go on."""
    if len(matching) == 1:
        return matching[0]
    if not matching:
        raise _no_match(noun, text)
    lines = [
        f"  {noun.id_of(record)}  {one_line(next(filter(None, noun.names_of(record))), 70)}"
        for record in matching[:MOST_CANDIDATES_SHOWN]
    ]
    if len(matching) > MOST_CANDIDATES_SHOWN:
        lines.append(f"  … and {len(matching) - MOST_CANDIDATES_SHOWN} more")
    heading = f"{len(matching)} {noun.name}s fit {text!r}; say which:"
    raise noun.several("\n".join([heading, *lines]), matching)


def _no_match(noun: Noun, text: str) -> NotFound:
    return NotFound(
        f"{noun.no_match or f'No {noun.name} is called'} {one_line(text)!r}."
        f" `headwater {noun.list_command}` shows them all.",
        given=text,
    )


def _subscription_of_source(api: Api, url: str) -> Record:
    query = {"include_inactive": "true", "source_url": url}
    for subscription in api.pages("/subscriptions", "subscriptions", **query):
        return subscription
    raise _no_match(SUBSCRIPTION, url)


def check_not_blank(text: str, noun: str) -> None:
    """Refuse an empty name, as from an unset variable of a script: it is a part of every name."""
    if not text.strip():
        raise BadInput(f"Say which {noun}: an empty name means none.", given=text)


def title_contains(feed: Record, text: str) -> bool:
    return text.casefold() in (feed.get("title") or "").casefold()


def feed_path(feed: Record, *rest: str) -> str:
    return api_path("feeds", feed["id"], *rest)


def api_path(*parts: object) -> str:
    """Build a path of the API. A name with a slash is refused: servers undo its quoting, so it
    would be another path."""
    for part in map(str, parts):
        if "/" in part or part in {".", ".."}:
            raise NotFound(f"Nothing is called {part!r}.", given=part)
    return "/" + "/".join(quote(str(part), safe="") for part in parts)

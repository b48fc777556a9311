"""What may be asked for, as paths and queries: the same for both clients."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import orjson

from headwater.client.answer import Head
from headwater.client.place import EVENTS
from headwater.client.records import Entry, Feed
from headwater.client.troubles import Unexpected, refusal_of
from headwater.errors import BadInput
from headwater.values.instant import rfc3339

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Question(Generic[R]):
    """One GET, and what becomes of its answer. A listing is `name`d in its pages."""

    path: str
    made: Callable[[Mapping[str, Any]], R]
    query: tuple[tuple[str, str | int | None], ...] = ()
    name: str = ""

    def after(self, cursor: str) -> "Question[R]":
        return replace(self, query=(*self.query, ("cursor", cursor)))

    def record(self, said: Any) -> R:
        try:
            return self.made(said)
        except (KeyError, TypeError, ValueError) as trouble:
            raise Unexpected(f"The answer lacks something: {trouble}") from trouble


def feeds(state: str | None, page_size: int | None) -> Question[Feed]:
    return Question("/feeds", Feed.of, (("state", state), ("limit", page_size)), "feeds")


def feed(feed_id: str) -> Question[Feed]:
    return Question(f"/feeds/{quote(feed_id, safe='')}", Feed.of)


def entries(
    feed_id: str | None,
    since: datetime | None,
    until: datetime | None,
    category: str | None,
    words: str | None,
    page_size: int | None,
) -> Question[Entry]:
    query = (
        ("feed_id", feed_id),
        ("since", _moment(since)),
        ("until", _moment(until)),
        ("category", category),
        ("q", words),
        ("limit", page_size),
    )
    return Question("/entries", Entry.of, query, "entries")


def entry(uid: str, feed_id: str | None) -> Question[Entry]:
    return Question(f"/entries/{quote(uid, safe='')}", Entry.of, (("feed_id", feed_id),))


def raw_path(fetch_id: str) -> str:
    return f"/raw/{quote(fetch_id, safe='')}"


def refuse_other_than_events(head: Head) -> None:
    """After what is no refusal: is this a stream at all? It will not become one by trying again."""
    if head.status != 200:
        raise Unexpected(f"The answer is {head.status}; redirects are not followed.")
    if head.media_type != EVENTS:
        raise Unexpected(f"The answer is {head.media_type or 'of no type'}, not {EVENTS}.")


def body_of(head: Head, body: bytes) -> bytes:
    """Refusal when Headwater said no; Unexpected when this is not Headwater."""
    if head.status >= 400:
        raise refusal_of(head.status, body, head.headers.get("retry-after"))
    if head.status >= 300:
        raise Unexpected(f"The answer is {head.status}; redirects are not followed.")
    return body


def json_of(head: Head, body: bytes) -> Any:
    """The same, read; None for an empty answer."""
    said = body_of(head, body)
    try:
        return orjson.loads(said) if said else None
    except orjson.JSONDecodeError as trouble:
        raise Unexpected("The answer is not JSON.") from trouble


def _moment(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    if moment.tzinfo is None:
        raise BadInput("A moment needs its time zone, such as datetime.now(UTC).")
    return rfc3339(moment)

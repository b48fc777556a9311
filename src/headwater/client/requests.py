"""Requests as paths and queries, and checks of their answers: the same for both clients."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import orjson

from headwater.client.errors import Unexpected, error_of_response
from headwater.client.http_answer import ResponseHead
from headwater.client.records import Entry, Feed
from headwater.client.service_address import EVENT_STREAM_TYPE
from headwater.core.errors import BadInput
from headwater.core.values.instant import rfc3339

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class GetRequest(Generic[R]):
    """One GET, and the function that reads its answer. The records of a listing stand under `name`
    in its pages."""

    path: str
    read_record: Callable[[Mapping[str, Any]], R]
    query: tuple[tuple[str, str | int | None], ...] = ()
    name: str = ""

    def after(self, cursor: str) -> "GetRequest[R]":
        return replace(self, query=(*self.query, ("cursor", cursor)))

    def record(self, fields: Any) -> R:
        try:
            return self.read_record(fields)
        except (KeyError, TypeError, ValueError) as trouble:
            raise Unexpected(f"The answer lacks something: {trouble}") from trouble


def feeds_request(state: str | None, page_size: int | None) -> GetRequest[Feed]:
    return GetRequest("/feeds", Feed.of, (("state", state), ("limit", page_size)), "feeds")


def feed_request(feed_id: str) -> GetRequest[Feed]:
    return GetRequest(f"/feeds/{quote(feed_id, safe='')}", Feed.of)


def entries_request(
    feed_id: str | None,
    since: datetime | None,
    until: datetime | None,
    category: str | None,
    words: str | None,
    page_size: int | None,
) -> GetRequest[Entry]:
    query = (
        ("feed_id", feed_id),
        ("since", _format_moment(since)),
        ("until", _format_moment(until)),
        ("category", category),
        ("q", words),
        ("limit", page_size),
    )
    return GetRequest("/entries", Entry.of, query, "entries")


def entry_request(uid: str, feed_id: str | None) -> GetRequest[Entry]:
    return GetRequest(f"/entries/{quote(uid, safe='')}", Entry.of, (("feed_id", feed_id),))


def raw_path(fetch_id: str) -> str:
    return f"/raw/{quote(fetch_id, safe='')}"


def check_event_stream(head: ResponseHead) -> None:
    """Unexpected when an answer that is no refusal is no event stream either: trying again will not
    help."""
    if head.status != 200:
        raise Unexpected(f"The answer is {head.status}; redirects are not followed.")
    if head.media_type != EVENT_STREAM_TYPE:
        raise Unexpected(
            f"The answer is {head.media_type or 'of no type'}, not {EVENT_STREAM_TYPE}."
        )


def check_response(head: ResponseHead, body: bytes) -> bytes:
    """Refusal when Headwater refused; Unexpected when this is not Headwater."""
    if head.status >= 400:
        raise error_of_response(head.status, body, head.headers.get("retry-after"))
    if head.status >= 300:
        raise Unexpected(f"The answer is {head.status}; redirects are not followed.")
    return body


def decode_response(head: ResponseHead, body: bytes) -> Any:
    """Check an answer and decode its JSON; None for an empty answer."""
    body = check_response(head, body)
    try:
        return orjson.loads(body) if body else None
    except orjson.JSONDecodeError as trouble:
        raise Unexpected("The answer is not JSON.") from trouble


def _format_moment(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    if moment.tzinfo is None:
        raise BadInput("A moment needs its time zone, such as datetime.now(UTC).")
    return rfc3339(moment)

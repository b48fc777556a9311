"""The event log over HTTP: read what comes after a number, again and again."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Header, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from headwater.core.errors import BadInput
from headwater.entrypoints.api.dependencies import (
    ApiContext,
    Limit,
    RouteContext,
    json_response,
    parse_public_id,
)
from headwater.entrypoints.api.errors import RateLimited
from headwater.entrypoints.api.events.stream import EventStream, StreamRequest
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.router import Router
from headwater.events import event_rows
from headwater.events.event import EVENT_TYPES
from headwater.events.event_filter import parse_event_filter
from headwater.events.event_rows import LoggedEvent, LoggedEvents


class EventRecord(Record):
    seq: int
    id: str = Field(description="The same in every delivery of this event.")
    type: str
    at: Moment
    feed_id: str | None
    payload: dict[str, Any]

    @classmethod
    def of(cls, event: LoggedEvent) -> "EventRecord":
        return cls(
            seq=event.seq,
            id=event.event_id,
            type=event.type,
            at=event.at,
            feed_id=event.feed_id,
            payload=event.payload,
        )


class EventPage(Record):
    """Read on with `after` = `next`; nothing before it is ever added later."""

    events: list[EventRecord]
    last_seq: int
    next: int

    @classmethod
    def of(cls, telling: LoggedEvents) -> "EventPage":
        return cls(
            events=[EventRecord.of(event) for event in telling.events],
            last_seq=telling.last_seq,
            next=telling.next,
        )


async def event_page(
    at: ApiContext, after: int, limit: int | None, types: Sequence[str], feeds: Sequence[str]
) -> EventPage:
    """In order, without gaps: whoever saw number n never later meets a new event before it."""
    if not EVENT_TYPES.keys() >= set(types):
        raise BadInput("There is no such type of event.", known=sorted(EVENT_TYPES))
    known = [parse_public_id(feed_id, "feed") for feed_id in feeds]
    async with at.database.read() as view:
        telling = await event_rows.read_events(
            view, after, limit=at.page_size(limit), types=types, feeds=known
        )
    return EventPage.of(telling)


router = Router(tags=["events"])
_LARGEST_SEQ = 2**63 - 1
_MOST = 64


@router.get("/events", right="read", response_model=EventPage)
async def list_events(
    at: RouteContext,
    after: Annotated[
        int, Query(ge=0, le=_LARGEST_SEQ, description="The last number you have.")
    ] = 0,
    limit: Limit = None,
    type: Annotated[
        list[str] | None, Query(max_length=_MOST, description="Only events of these types.")
    ] = None,
    feed_id: Annotated[
        list[str] | None, Query(max_length=_MOST, description="Only events of these feeds.")
    ] = None,
) -> Response:
    """In order, without gaps: whoever saw number n never later meets a new event before it."""
    return json_response(await event_page(at, after, limit, type or (), feed_id or ()))


RETRY_SECONDS = 10
_LARGEST_AFTER = 2**63 - 1
After = Annotated[
    int | None, Query(ge=0, le=_LARGEST_AFTER, description="The last number you have.")
]
LastEventId = Annotated[str | None, Header()]


@router.get(
    "/events/stream",
    right="read",
    etag=False,
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def stream_events(
    request: Request,
    at: RouteContext,
    after: After = None,
    type: Annotated[list[str] | None, Query(description="Only these types.")] = None,
    feed_id: Annotated[list[str] | None, Query(description="Only these feeds.")] = None,
    category: Annotated[list[str] | None, Query(description="Only of these categories.")] = None,
    last_event_id: LastEventId = None,
) -> Response:
    """Server-sent events, each with its number as `id`: in order, without gaps.

    `Last-Event-ID` (or `after`) goes on after that number; without it, with what comes from now on.
    """
    wanted = parse_event_filter(type or (), feed_id or (), category or ())
    begin = await at.live.beginning(after, last_event_id)
    if request.scope.get("bodiless"):
        return Response(media_type=EventStream.media_type)
    _check_stream_limit(at)
    token_id = request.scope["credential"].token_id
    return EventStream(at.live, StreamRequest(begin, wanted, token_id, at.live.count))


def _check_stream_limit(at: ApiContext) -> None:
    if at.live.open >= at.settings.streams_max:
        raise RateLimited(
            "There are too many streams; try again in a while.", retry_after_sec=RETRY_SECONDS
        )

"""The event log over HTTP: read what comes after a number, again and again."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from headwater.core.errors import BadInput
from headwater.entrypoints.api.dependencies import ApiContext, App, Caller, Limit, parse_public_id
from headwater.entrypoints.api.errors import RateLimited
from headwater.entrypoints.api.events.event_records import (
    LARGEST_SEQ,
    After,
    EventPage,
    LastEventId,
)
from headwater.entrypoints.api.events.stream import EventStream, StreamRequest
from headwater.entrypoints.api.router import Router
from headwater.events import event_rows
from headwater.events.event import EVENT_TYPES
from headwater.events.event_filter import parse_event_filter

MOST_NAMED = 64
"""Types, or feeds, that one request may name."""
RETRY_SECONDS = 10

router = Router(tags=["events"])


async def event_page(
    app: ApiContext, after: int, limit: int | None, types: Sequence[str], feeds: Sequence[str]
) -> EventPage:
    """In order, without gaps: whoever saw number n never later meets a new event before it."""
    if not EVENT_TYPES.keys() >= set(types):
        raise BadInput("There is no such type of event.", known=sorted(EVENT_TYPES))
    feed_ids = [parse_public_id(feed_id, "feed") for feed_id in feeds]
    async with app.database.read() as view:
        events = await event_rows.read_events(
            view, after, limit=app.page_size(limit), types=types, feeds=feed_ids
        )
    return EventPage.of(events)


@router.get("/events", right="read")
async def list_events(
    app: App,
    after: Annotated[int, Query(ge=0, le=LARGEST_SEQ, description="The last number you have.")] = 0,
    limit: Limit = None,
    type: Annotated[
        list[str] | None, Query(max_length=MOST_NAMED, description="Only events of these types.")
    ] = None,
    feed_id: Annotated[
        list[str] | None, Query(max_length=MOST_NAMED, description="Only events of these feeds.")
    ] = None,
) -> EventPage:
    """In order, without gaps: whoever saw number n never later meets a new event before it."""
    return await event_page(app, after, limit, type or (), feed_id or ())


@router.get(
    "/events/stream",
    right="read",
    etag=False,
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def stream_events(
    request: Request,
    app: App,
    caller: Caller,
    after: After = None,
    type: Annotated[list[str] | None, Query(description="Only these types.")] = None,
    feed_id: Annotated[list[str] | None, Query(description="Only these feeds.")] = None,
    category: Annotated[list[str] | None, Query(description="Only of these categories.")] = None,
    last_event_id: LastEventId = None,
) -> Response:
    """Server-sent events, each with its number as `id`: in order, without gaps.

    `Last-Event-ID` (or `after`) goes on after that number; without it, with what comes from now on.
    """
    event_filter = parse_event_filter(type or (), feed_id or (), category or ())
    begin = await app.live.beginning(after, last_event_id)
    if request.scope.get("bodiless"):
        return Response(media_type=EventStream.media_type)
    if app.live.open >= app.settings.streams_max:
        raise RateLimited(
            "There are too many streams; try again in a while.", retry_after_sec=RETRY_SECONDS
        )
    return EventStream(
        app.live, StreamRequest(begin, event_filter, caller.token_id, app.live.count)
    )

"""The event log as a stream: what comes after a number, then what comes, without an end."""

from typing import Annotated

from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import Response

from headwater.announce.wanted import checked_wanted
from headwater.entrypoints.api.asking import REFUSALS, At, Desk
from headwater.entrypoints.api.refusals import RateLimited
from headwater.entrypoints.api.streaming import EventStream, Reading

router = APIRouter(tags=["events"], responses=REFUSALS)

RETRY_SECONDS = 10
_LARGEST = 2**63 - 1

After = Annotated[int | None, Query(ge=0, le=_LARGEST, description="The last number you have.")]
LastEventId = Annotated[str | None, Header()]


@router.get(
    "/events/stream",
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def stream_events(
    request: Request,
    at: At,
    after: After = None,
    type: Annotated[list[str] | None, Query(description="Only these types.")] = None,
    feed_id: Annotated[list[str] | None, Query(description="Only these feeds.")] = None,
    category: Annotated[list[str] | None, Query(description="Only of these categories.")] = None,
    last_event_id: LastEventId = None,
) -> Response:
    """Server-sent events, each with its number as `id`: in order, without gaps.

    `Last-Event-ID` (or `after`) goes on after that number; without it, with what comes from now on.
    """
    wanted = checked_wanted(type or (), feed_id or (), category or ())
    begin = await at.live.beginning(after, last_event_id)
    if request.scope.get("bodiless"):
        return Response(media_type=EventStream.media_type)
    _refuse_more_streams(at)
    token_id = request.scope["credential"].token_id
    return EventStream(at.live, Reading(begin, wanted, token_id, at.live.count))


def _refuse_more_streams(at: Desk) -> None:
    if at.live.open >= at.settings.streams_max:
        raise RateLimited(
            "There are too many streams; try again in a while.", retry_after_sec=RETRY_SECONDS
        )

"""The event log over HTTP: read what comes after a number, again and again."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from headwater.entrypoints.api.asking import REFUSALS, At, Limit, told
from headwater.entrypoints.api.journal import EventPage
from headwater.entrypoints.api.pages import event_page

router = APIRouter(tags=["events"], responses=REFUSALS)

_LARGEST = 2**63 - 1
_MOST = 64


@router.get("/events", response_model=EventPage)
async def list_events(
    at: At,
    after: Annotated[int, Query(ge=0, le=_LARGEST, description="The last number you have.")] = 0,
    limit: Limit = None,
    type: Annotated[
        list[str] | None, Query(max_length=_MOST, description="Only events of these types.")
    ] = None,
    feed_id: Annotated[
        list[str] | None, Query(max_length=_MOST, description="Only events of these feeds.")
    ] = None,
) -> Response:
    """In order, without gaps: whoever saw number n never later meets a new event before it."""
    return told(await event_page(at, after, limit, type or (), feed_id or ()))

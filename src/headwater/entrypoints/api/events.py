"""The event log over HTTP: read what comes after a number, again and again."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from headwater.announce import queries
from headwater.announce.event import EVENT_TYPES
from headwater.entrypoints.api.asking import REFUSALS, At, Limit, public_id, told
from headwater.entrypoints.api.journal import EventPage
from headwater.errors import BadInput

router = APIRouter(tags=["events"], responses=REFUSALS)

_LARGEST = 2**63 - 1


@router.get("/events", response_model=EventPage)
async def list_events(
    at: At,
    after: Annotated[int, Query(ge=0, le=_LARGEST, description="The last number you have.")] = 0,
    limit: Limit = None,
    type: Annotated[str | None, Query(description="Only events of this type.")] = None,
    feed_id: Annotated[str | None, Query(description="Only events of this feed.")] = None,
) -> Response:
    """In order, without gaps: whoever saw number n never later meets a new event before it."""
    if type is not None and type not in EVENT_TYPES:
        raise BadInput("There is no such type of event.", known=sorted(EVENT_TYPES))
    feed = None if feed_id is None else public_id(feed_id, "feed")
    async with at.engine.database.read() as view:
        telling = await queries.events_after(
            view, after, limit=at.page_size(limit), type=type, feed_id=feed
        )
    return told(EventPage.of(telling))

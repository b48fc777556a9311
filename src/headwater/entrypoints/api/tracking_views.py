"""What is asked before and beside collecting: proposals, previews, what is missing, a calendar."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from headwater import outlook
from headwater.collect.ics import MEDIA_TYPE, calendar_ics
from headwater.collect.show import LONGEST_TITLE
from headwater.collect.trackings.wish import TrackingPatch
from headwater.entrypoints.api.asking import REFUSALS, At, Text, public_id, told
from headwater.entrypoints.api.meta import ReaderToken
from headwater.entrypoints.api.numbers import LARGEST, number
from headwater.entrypoints.api.once import anew
from headwater.entrypoints.api.personal_ring import CALENDAR
from headwater.entrypoints.api.tracking_models import TrackingChanges
from headwater.entrypoints.api.tracking_records import (
    AiringRecord,
    CalendarRecord,
    EpisodesRecord,
    MissingRecord,
    PreviewRecord,
    ProposalRecord,
)

router = APIRouter(tags=["trackings"], responses=REFUSALS)

OfShow = Annotated[int | None, Query(ge=1, le=LARGEST, description="Only this show.")]
Days = Annotated[int, Query(ge=0, le=366, description="How far ahead.")]
Back = Annotated[int, Query(ge=0, le=366, description="How many days back.")]


@router.get("/trackings/proposal", response_model=ProposalRecord)
async def propose(
    at: At,
    feed: Annotated[str, Query(description="The id of a feed that is followed.")],
    title: Annotated[
        Text | None,
        Query(min_length=1, max_length=LONGEST_TITLE, description="Of a feed of several shows."),
    ] = None,
) -> Response:
    """The show that a feed is about, by its title and those of its releases, with reasons."""
    known = public_id(feed, "feed")
    found = await outlook.proposal_of(at.engine, known, title)
    return told(ProposalRecord.of(known, found))


@router.get("/trackings/missing", response_model=MissingRecord)
async def list_missing(at: At, show: OfShow = None) -> Response:
    """Episodes that are neither in the library nor on their way, with the reason."""
    found = []
    for each in await outlook.collected_shows(at.engine, show):
        whole, episodes = await outlook.season_of(at.engine, each.id)
        record = EpisodesRecord.of(whole, episodes, only_missing=True)
        if record.missing:
            found.append(record)
    return told(MissingRecord(shows=found))


@router.get("/trackings/calendar", response_model=CalendarRecord)
async def show_calendar(at: At, show: OfShow = None, days: Days = 28, back: Back = 7) -> Response:
    """What came out lately, and what is expected, by the weekday or by what came so far."""
    found = await outlook.calendar(
        at.engine, back=timedelta(days=back), ahead=timedelta(days=days), show_id=show
    )
    return told(CalendarRecord(episodes=[AiringRecord.of(each) for each in found]))


@router.get(
    CALENDAR,
    response_class=Response,
    responses={
        200: {
            "description": "The calendar, to subscribe to.",
            "content": {"text/calendar": {"schema": {"type": "string"}}},
        }
    },
)
async def show_ics(
    at: At, show: OfShow = None, days: Days = 28, back: Back = 28, token: ReaderToken = None
) -> Response:
    """The calendar as iCalendar, for calendar programs."""
    found = await outlook.calendar(
        at.engine, back=timedelta(days=back), ahead=timedelta(days=days), show_id=show
    )
    return Response(calendar_ics(found, "Headwater"), headers={"content-type": MEDIA_TYPE})


@router.get("/trackings/{tracking_id}/preview", response_model=PreviewRecord)
async def preview(tracking_id: str, at: At) -> Response:
    """What would be done with everything that its feed keeps, and why. Nothing is changed."""
    known = number(tracking_id, "tracking")
    return told(PreviewRecord.of(known, await outlook.preview(at.engine, known, TrackingPatch())))


@router.post("/trackings/{tracking_id}/preview", response_model=PreviewRecord)
async def preview_changes(
    tracking_id: str, body: TrackingChanges, request: Request, at: At
) -> Response:
    """The same, as if the tracking were changed so. Nothing is changed."""
    known = number(tracking_id, "tracking")

    async def look() -> PreviewRecord:
        return PreviewRecord.of(known, await outlook.preview(at.engine, known, body.patch()))

    return await anew(request, at.engine, look)

"""Previews over HTTP: proposals, dry runs, missing episodes and a calendar. They change nothing."""

from datetime import timedelta
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from headwater.anime.episodes import preview as preview_module
from headwater.anime.episodes.calendar import MEDIA_TYPE, render_ics
from headwater.anime.shows.show import LONGEST_TITLE
from headwater.anime.shows.tracking import TrackingPatch
from headwater.entrypoints.api.anime.preview_records import (
    AiringRecord,
    CalendarRecord,
    MissingEpisodesRecord,
    PreviewRecord,
    ProposalRecord,
)
from headwater.entrypoints.api.anime.show_records import EpisodesRecord
from headwater.entrypoints.api.anime.tracking_records import TrackingChanges
from headwater.entrypoints.api.dependencies import (
    LARGEST_ID,
    App,
    ReaderTokenIn,
    TextWithoutNul,
    TrackingId,
    parse_public_id,
)
from headwater.entrypoints.api.router import Router

router = Router(tags=["trackings"])
ShowFilter = Annotated[int | None, Query(ge=1, le=LARGEST_ID, description="Only this show.")]
Days = Annotated[int, Query(ge=0, le=366, description="How far ahead.")]
Back = Annotated[int, Query(ge=0, le=366, description="How many days back.")]


@router.get("/trackings/proposal", right="read")
async def propose(
    app: App,
    feed: Annotated[str, Query(description="The id of a feed that is followed.")],
    title: Annotated[
        TextWithoutNul | None,
        Query(min_length=1, max_length=LONGEST_TITLE, description="Of a feed of several shows."),
    ] = None,
) -> ProposalRecord:
    """The show that a feed is about, by its title and those of its releases, with reasons."""
    feed_id = parse_public_id(feed, "feed")
    proposal = await preview_module.proposal_of(app.database, feed_id, title)
    return ProposalRecord.of_proposal(feed_id, proposal)


@router.get("/trackings/missing", right="read")
async def list_missing(app: App, show: ShowFilter = None) -> MissingEpisodesRecord:
    """Episodes that are neither in the library nor on their way, with the reason."""
    records = []
    for collected in await preview_module.collected_shows(app.database, show):
        whole, episodes = await preview_module.get_show_with_episodes(app.database, collected.id)
        record = EpisodesRecord.of(whole, episodes, only_missing=True)
        if record.missing:
            records.append(record)
    return MissingEpisodesRecord(shows=records)


@router.get("/trackings/calendar", right="read")
async def show_calendar(
    app: App, show: ShowFilter = None, days: Days = 28, back: Back = 7
) -> CalendarRecord:
    """Episodes that came out lately, and those that are expected: by the weekday, or by the dates
    of the episodes before."""
    airings = await preview_module.list_airings(
        app.database, back=timedelta(days=back), ahead=timedelta(days=days), show_id=show
    )
    return CalendarRecord(episodes=[AiringRecord.of(airing) for airing in airings])


@router.get(
    "/trackings/calendar.ics",
    right="read",
    reader_token=True,
    response_class=Response,
    responses={
        200: {
            "description": "The calendar, to subscribe to.",
            "content": {"text/calendar": {"schema": {"type": "string"}}},
        }
    },
)
async def show_ics(
    app: App,
    show: ShowFilter = None,
    days: Days = 28,
    back: Back = 28,
    token: ReaderTokenIn = None,
) -> Response:
    """The calendar as iCalendar, for calendar programs."""
    airings = await preview_module.list_airings(
        app.database, back=timedelta(days=back), ahead=timedelta(days=days), show_id=show
    )
    return Response(render_ics(airings, "Headwater"), headers={"content-type": MEDIA_TYPE})


@router.get("/trackings/{tracking_id}/preview", right="read")
async def preview(tracking_id: TrackingId, app: App) -> PreviewRecord:
    """The decision on every entry that its feed keeps, and why. Nothing is changed."""
    previewed = await preview_module.preview(app.releases, tracking_id, TrackingPatch())
    return PreviewRecord.of(tracking_id, previewed)


@router.post("/trackings/{tracking_id}/preview", right="admin", keep=False)
async def preview_changes(
    tracking_id: TrackingId, body: TrackingChanges, app: App
) -> PreviewRecord:
    """The same, as if the tracking were changed like this. Nothing is changed."""
    previewed = await preview_module.preview(app.releases, tracking_id, body.patch())
    return PreviewRecord.of(tracking_id, previewed)

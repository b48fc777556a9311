"""What is asked before and beside collecting: proposals, previews, what is missing, a calendar."""

from datetime import date, timedelta
from typing import Annotated, Literal

from fastapi import Query
from pydantic import Field
from starlette.responses import Response

from headwater.anime.episodes import preview as preview_module
from headwater.anime.episodes.calendar import MEDIA_TYPE, Airing, render_ics
from headwater.anime.episodes.preview import Preview, Previewed
from headwater.anime.shows.propose import Proposal
from headwater.anime.shows.show import LONGEST_TITLE
from headwater.anime.shows.tracking import TrackingPatch
from headwater.entrypoints.api.anime.releases import SlotRecord
from headwater.entrypoints.api.anime.shows import EpisodesRecord, ProposedShowRecord, show_fields
from headwater.entrypoints.api.anime.trackings import TrackingChanges
from headwater.entrypoints.api.collections import ReaderTokenIn
from headwater.entrypoints.api.dependencies import (
    LARGEST_ID,
    App,
    RouteContext,
    TextWithoutNul,
    TrackingId,
    json_response,
    parse_number,
    parse_public_id,
)
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.router import Router


class ReleaseCountRecord(Record):
    name: str
    releases: int


class ProposalRecord(Record):
    """`show` is null where the feed is of several shows, or of none: `shows` are all of them then.
    `because` has the reasons. Of the `releases` that the feed lists, `of_show` are of it."""

    feed_id: str
    show: ProposedShowRecord | None
    because: dict[str, str]
    groups: list[ReleaseCountRecord]
    titles: list[ReleaseCountRecord]
    releases: int
    of_show: int
    shows: list[ProposedShowRecord]

    @classmethod
    def of(cls, feed_id: str, found: Proposal) -> "ProposalRecord":
        return cls(
            feed_id=feed_id,
            show=None if found.show is None else ProposedShowRecord(**show_fields(found.show)),
            because=dict(found.because),
            groups=[ReleaseCountRecord(name=name, releases=n) for name, n in found.groups.items()],
            titles=[ReleaseCountRecord(name=name, releases=n) for name, n in found.titles.items()],
            releases=found.releases,
            of_show=found.of_show,
            shows=[ProposedShowRecord(**show_fields(each)) for each in found.shows],
        )


class PreviewDecisionRecord(Record):
    """`replaces` are the titles of releases that would lose their place."""

    title: str
    entry_uid: str
    published: Moment | None
    action: str
    rule: str
    reason: str
    slots: list[SlotRecord]
    groups: list[str]
    replaces: list[int] = Field(description="Ids of the downloads that would lose a place.")

    @classmethod
    def of(cls, each: Previewed) -> "PreviewDecisionRecord":
        deciding = each.deciding
        candidate, release = deciding.offer.candidate, deciding.offer.release
        return cls(
            title=candidate.title,
            entry_uid=candidate.uid,
            published=candidate.published,
            action=deciding.action,
            rule=deciding.rule,
            reason=deciding.reason,
            slots=[SlotRecord.of(slot) for slot in deciding.slots],
            groups=list(release.groups),
            replaces=[int(one.standing.id) for one in each.replaces],
        )


class PreviewRecord(Record):
    """`removed` has every rule of the filter; `cut`: the feed keeps more than was looked at."""

    tracking_id: int
    removed: dict[str, int]
    decided: dict[str, int]
    entries: list[PreviewDecisionRecord]
    cut: bool

    @classmethod
    def of(cls, tracking_id: int, found: Preview) -> "PreviewRecord":
        newest = sorted(
            found.entries, key=lambda each: each.deciding.offer.candidate.moment, reverse=True
        )
        return cls(
            tracking_id=tracking_id,
            removed=dict(found.removed),
            decided=dict(found.decided),
            entries=[PreviewDecisionRecord.of(each) for each in newest],
            cut=found.is_cut,
        )


class MissingEpisodesRecord(Record):
    """Only shows that miss something."""

    shows: list[EpisodesRecord]


class AiringRecord(Record):
    """`moment` is null where only the day is known; days are those of Japan."""

    show_id: int
    title: str
    slot: SlotRecord
    state: Literal["came", "expected", "late"]
    day: date
    moment: Moment | None

    @classmethod
    def of(cls, each: Airing) -> "AiringRecord":
        return cls(
            show_id=each.show_id,
            title=each.title,
            slot=SlotRecord.of(each.slot),
            state=each.state,
            day=each.day,
            moment=each.moment,
        )


class CalendarRecord(Record):
    """In order of time."""

    episodes: list[AiringRecord]


router = Router(tags=["trackings"])
ShowFilter = Annotated[int | None, Query(ge=1, le=LARGEST_ID, description="Only this show.")]
Days = Annotated[int, Query(ge=0, le=366, description="How far ahead.")]
Back = Annotated[int, Query(ge=0, le=366, description="How many days back.")]


@router.get("/trackings/proposal", right="read", response_model=ProposalRecord)
async def propose(
    at: RouteContext,
    feed: Annotated[str, Query(description="The id of a feed that is followed.")],
    title: Annotated[
        TextWithoutNul | None,
        Query(min_length=1, max_length=LONGEST_TITLE, description="Of a feed of several shows."),
    ] = None,
) -> Response:
    """The show that a feed is about, by its title and those of its releases, with reasons."""
    known = parse_public_id(feed, "feed")
    found = await preview_module.proposal_of(at.database, known, title)
    return json_response(ProposalRecord.of(known, found))


@router.get("/trackings/missing", right="read", response_model=MissingEpisodesRecord)
async def list_missing(at: RouteContext, show: ShowFilter = None) -> Response:
    """Episodes that are neither in the library nor on their way, with the reason."""
    found = []
    for each in await preview_module.collected_shows(at.database, show):
        whole, episodes = await preview_module.get_show_with_episodes(at.database, each.id)
        record = EpisodesRecord.of(whole, episodes, only_missing=True)
        if record.missing:
            found.append(record)
    return json_response(MissingEpisodesRecord(shows=found))


@router.get("/trackings/calendar", right="read", response_model=CalendarRecord)
async def show_calendar(
    at: RouteContext, show: ShowFilter = None, days: Days = 28, back: Back = 7
) -> Response:
    """What came out lately, and what is expected, by the weekday or by what came so far."""
    found = await preview_module.list_airings(
        at.database, back=timedelta(days=back), ahead=timedelta(days=days), show_id=show
    )
    return json_response(CalendarRecord(episodes=[AiringRecord.of(each) for each in found]))


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
    at: RouteContext,
    show: ShowFilter = None,
    days: Days = 28,
    back: Back = 28,
    token: ReaderTokenIn = None,
) -> Response:
    """The calendar as iCalendar, for calendar programs."""
    found = await preview_module.list_airings(
        at.database, back=timedelta(days=back), ahead=timedelta(days=days), show_id=show
    )
    return Response(render_ics(found, "Headwater"), headers={"content-type": MEDIA_TYPE})


@router.get("/trackings/{tracking_id}/preview", right="read", response_model=PreviewRecord)
async def preview(tracking_id: str, at: RouteContext) -> Response:
    """What would be done with everything that its feed keeps, and why. Nothing is changed."""
    known = parse_number(tracking_id, "tracking")
    return json_response(
        PreviewRecord.of(known, await preview_module.preview(at.releases, known, TrackingPatch()))
    )


@router.post("/trackings/{tracking_id}/preview", right="admin", keep=False)
async def preview_changes(
    tracking_id: TrackingId, body: TrackingChanges, app: App
) -> PreviewRecord:
    """The same, as if the tracking were changed so. Nothing is changed."""
    found = await preview_module.preview(app.releases, tracking_id, body.patch())
    return PreviewRecord.of(tracking_id, found)

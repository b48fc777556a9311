"""Releases over HTTP: every decision and its reason, and what a person says instead."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BeforeValidator, Field, StrictInt
from starlette.responses import Response

from headwater.anime.decide import decide_again as decide_again_module
from headwater.anime.decide import decide_by_hand, decision_rows
from headwater.anime.decide.decision import ReleaseDecision
from headwater.anime.decide.record_decisions import DecisionSummary
from headwater.anime.downloads.download import Download, DownloadState
from headwater.anime.release import plain_number, release_as_json
from headwater.anime.shows import show_rows, tracking_rows
from headwater.anime.shows.show import MOST_EPISODES, MOST_SEASON
from headwater.anime.shows.slot import Slot
from headwater.core.errors import BadInput
from headwater.core.ports import View as DatabaseView
from headwater.core.values.instant import from_micros
from headwater.entrypoints.api.dependencies import (
    LARGEST_ID,
    App,
    Cursor,
    Limit,
    ReleaseId,
    RouteContext,
    TextWithoutNul,
    TrackingId,
    View,
    json_response,
)
from headwater.entrypoints.api.errors import BadMoment
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.models import NothingIn, Strict, parse_moment
from headwater.entrypoints.api.paging import cursor, decode_cursor
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.router import Router

MOST_NAMED = 500
"""Episodes that one request may name."""


def _parse_episode_number(given: Any) -> Decimal:
    """3 and 12.5, as numbers: halves are the only fractions there are."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ValueError("must be a number")
    number = Decimal(str(given))
    if not 0 <= number <= MOST_EPISODES or number * 2 % 1:
        raise ValueError(f"must be from 0 to {MOST_EPISODES}, whole or a half")
    return number


def _parse_since(given: object) -> datetime:
    try:
        micros = parse_moment(given if isinstance(given, str) else "", "since")
    except BadMoment as trouble:
        raise ValueError("must be an RFC 3339 time with a zone") from trouble
    assert micros is not None, "something was given"
    return from_micros(micros)


EpisodeNumber = Annotated[
    Decimal, BeforeValidator(_parse_episode_number, json_schema_input_type=float)
]
Since = Annotated[
    datetime,
    BeforeValidator(_parse_since, json_schema_input_type=str),
    Field(description="RFC 3339; without it, all that is kept."),
]


class TakeIn(Strict):
    """Which episodes it is of, where its title does not say, or says it wrongly."""

    season: Annotated[StrictInt, Field(ge=0, le=MOST_SEASON)] | None = None
    episodes: Annotated[list[EpisodeNumber], Field(max_length=MOST_NAMED)] = Field(default=[])

    def slots(self, usual_season: int) -> list[Slot]:
        season = usual_season if self.season is None else self.season
        return [Slot(season, number) for number in self.episodes]


class BackfillIn(Strict):
    """How far back to collect."""

    since: Since | None = None


class SlotRecord(Record):
    """A place in the library. A film has neither season nor episode."""

    season: int | None
    episode: int | float | None
    name: str

    @classmethod
    def of(cls, slot: Slot) -> "SlotRecord":
        if slot.is_film:
            return cls(season=None, episode=None, name=str(slot))
        return cls(season=slot.season, episode=plain_number(slot.number), name=str(slot))


class ReleaseDownloadRecord(Record):
    """The download that a release became."""

    id: int
    state: DownloadState


class ReleaseRecord(Record):
    """One entry that a tracking looked at. `release` is what its title says, null where it does not
    say. Addresses are left out: that of a torrent may hold somebody's key."""

    id: int
    tracking_id: int
    feed_id: str
    entry_uid: str
    title: str
    action: Literal["fetch", "upgrade", "skip", "hold", "removed", "refused"]
    rule: str
    reason: str
    slots: list[SlotRecord]
    release: dict[str, Any]
    infohash: str | None
    size: int | None = Field(description="In bytes, as the site says.")
    seeders: int | None = Field(description="When the entry was first seen.")
    doubts: list[str] = Field(description="Contradictions in what the entry says.")
    published: Moment | None
    first_seen: Moment
    found_at: Moment = Field(description="When the tracking first looked at it.")
    decided_at: Moment
    download: ReleaseDownloadRecord | None

    @classmethod
    def of(cls, row: ReleaseDecision, download: Download | None) -> "ReleaseRecord":
        candidate = row.candidate
        return cls(
            id=row.id,
            tracking_id=row.tracking_id,
            feed_id=candidate.feed,
            entry_uid=candidate.uid,
            title=candidate.title,
            action=row.action,
            rule=row.rule,
            reason=row.reason,
            slots=[SlotRecord.of(slot) for slot in row.slots],
            release=dict(release_as_json(row.release)),
            infohash=candidate.infohash,
            size=candidate.size,
            seeders=candidate.seeders,
            doubts=list(candidate.doubts),
            published=candidate.published,
            first_seen=candidate.first_seen,
            found_at=row.found_at,
            decided_at=row.decided_at,
            download=download and ReleaseDownloadRecord(id=download.id, state=download.state),
        )


class ReleasePage(Record):
    """The newest first."""

    releases: list[ReleaseRecord]
    next_cursor: str | None


class ReleaseDecisionCountsRecord(Record):
    """What was decided anew, by action; what stays as it was is not counted."""

    tracking_id: int
    fetch: int
    upgrade: int
    hold: int
    skip: int
    removed: int

    @classmethod
    def of(cls, tracking_id: int, outcome: DecisionSummary) -> "ReleaseDecisionCountsRecord":
        names = ("fetch", "upgrade", "hold", "skip", "removed")
        return cls(tracking_id=tracking_id, **{name: outcome.counts.get(name, 0) for name in names})


router = Router(tags=["releases"])
IdFilter = Annotated[int | None, Query(ge=1, le=LARGEST_ID)]
Actions = Annotated[
    list[Literal["fetch", "upgrade", "skip", "hold", "removed", "refused"]] | None,
    Query(description="Only what was decided so; may be repeated."),
]
Rule = Annotated[
    TextWithoutNul | None, Query(max_length=64, description="Only what this rule decided.")
]


@router.get("/releases", right="read", response_model=ReleasePage)
async def list_releases(
    at: RouteContext,
    tracking: IdFilter = None,
    show: IdFilter = None,
    action: Actions = None,
    rule: Rule = None,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """Every entry that a tracking looked at, wanted or not, the newest first."""
    size = at.page_size(limit)
    before = decode_cursor(cursor_, "releases", 1)[0] if cursor_ else None
    async with at.database.read() as view:
        found = await decision_rows.list_decisions(
            view,
            tracking_id=tracking,
            show_id=show,
            actions=action or (),
            rule=rule,
            before=before,
            limit=size + 1,
        )
        taken = await decision_rows.list_downloads_by_release(
            view, [row.id for row in found[:size]]
        )
    more = cursor("releases", found[size - 1].id) if len(found) > size else None
    records = [ReleaseRecord.of(row, taken.get(row.id)) for row in found[:size]]
    return json_response(ReleasePage(releases=records, next_cursor=more))


@router.get("/releases/{release_id}", right="read")
async def show_release(release_id: ReleaseId, view: View) -> ReleaseRecord:
    """One release, what was decided of it, and why."""
    return await _record(view, release_id)


@router.post("/releases/{release_id}/take", right="admin", again=show_release)
async def take_release(
    release_id: ReleaseId, app: App, key: IdempotencyKey, body: TakeIn | None = None
) -> ReleaseRecord:
    """It is downloaded, and takes its place in the library from whatever has it. One that is on
    its way stays as it is."""
    asked = body or TakeIn()
    if asked.season is not None and not asked.episodes:
        raise BadInput("A season alone is no place: say which episodes.", field="episodes")
    async with app.database.read() as view:
        row = await decision_rows.get_decision(view, release_id)
        tracking = await tracking_rows.get_tracking(view, row.tracking_id)
        season = (await show_rows.get_show(view, tracking.show_id)).show.season
    await decide_by_hand.take_release(
        app.database, release_id, asked.slots(season), idempotency=key
    )
    async with app.database.read() as view:
        return await _record(view, release_id)


@router.post("/releases/{release_id}/refuse", right="admin", again=show_release)
async def refuse_release(
    release_id: ReleaseId, app: App, key: IdempotencyKey, body: NothingIn | None = None
) -> ReleaseRecord:
    """Neither it nor its torrent comes again for this show. 409 while it is in the library, or on
    its way there."""
    await decide_by_hand.refuse_release(app.database, release_id, idempotency=key)
    async with app.database.read() as view:
        return await _record(view, release_id)


async def finish_backfill(
    tracking_id: TrackingId, app: App, body: BackfillIn | None = None
) -> ReleaseDecisionCountsRecord:
    """The first answer was lost: what was left to do is done now."""
    since = None if body is None else body.since
    summary = await decide_again_module.backfill(app.releases, tracking_id, since)
    return ReleaseDecisionCountsRecord.of(tracking_id, summary)


@router.post("/trackings/{tracking_id}/backfill", right="admin", again=finish_backfill)
async def backfill_tracking(
    tracking_id: TrackingId, app: App, key: IdempotencyKey, body: BackfillIn | None = None
) -> ReleaseDecisionCountsRecord:
    """Earlier releases are collected too, as far as their entries are kept. The tracking's `since`
    goes back to that moment, and never forward."""
    since = None if body is None else body.since
    summary = await decide_again_module.backfill(app.releases, tracking_id, since, idempotency=key)
    return ReleaseDecisionCountsRecord.of(tracking_id, summary)


async def finish_deciding(tracking_id: TrackingId, app: App) -> ReleaseDecisionCountsRecord:
    """The first answer was lost: what was left to do is done now."""
    summary = await decide_again_module.record_decisions_again(app.releases, tracking_id)
    return ReleaseDecisionCountsRecord.of(tracking_id, summary)


@router.post("/trackings/{tracking_id}/decide", right="admin", again=finish_deciding)
async def decide_again(
    tracking_id: TrackingId, app: App, key: IdempotencyKey, body: NothingIn | None = None
) -> ReleaseDecisionCountsRecord:
    """What was held, skipped or removed is looked at again, by what the tracking wants now. What a
    person said stays, and so does what is downloaded."""
    summary = await decide_again_module.record_decisions_again(
        app.releases, tracking_id, idempotency=key
    )
    return ReleaseDecisionCountsRecord.of(tracking_id, summary)


async def _record(view: DatabaseView, release_id: int) -> ReleaseRecord:
    row = await decision_rows.get_decision(view, release_id)
    return ReleaseRecord.of(row, await decision_rows.find_download_of_release(view, release_id))

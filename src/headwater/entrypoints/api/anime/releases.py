"""Releases over HTTP: every decision and its reason, and what a person says instead."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BeforeValidator, Field, StrictInt
from starlette.requests import Request
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
from headwater.core.values.instant import from_micros
from headwater.entrypoints.api.dependencies import (
    LARGEST_ID,
    Cursor,
    Limit,
    RouteContext,
    TextWithoutNul,
    json_response,
    parse_number,
)
from headwater.entrypoints.api.errors import BadMoment
from headwater.entrypoints.api.idempotency import RouteAnswer, answer_idempotently
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
    async with at.engine.database.read() as view:
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


@router.get("/releases/{release_id}", right="read", response_model=ReleaseRecord)
async def show_release(release_id: str, at: RouteContext) -> Response:
    """One release, what was decided of it, and why."""
    return json_response(await _record(at, parse_number(release_id, "release")))


@router.post("/releases/{release_id}/take", right="admin", response_model=ReleaseRecord)
async def take_release(
    release_id: str, request: Request, at: RouteContext, body: TakeIn | None = None
) -> Response:
    """It is downloaded, and takes its place in the library from whatever has it. One that is on
    its way stays as it is."""
    known, said = parse_number(release_id, "release"), body or TakeIn()
    if said.season is not None and not said.episodes:
        raise BadInput("A season alone is no place: say which episodes.", field="episodes")

    async def effect(key: bytes | None) -> str:
        async with at.engine.database.read() as view:
            row = await decision_rows.get_decision(view, known)
            tracking = await tracking_rows.get_tracking(view, row.tracking_id)
            season = (await show_rows.get_show(view, tracking.show_id)).show.season
        await decide_by_hand.take_release(at.engine, known, said.slots(season), idempotency=key)
        return str(known)

    return await answer_idempotently(request, at.engine, effect, _release_answer(at, known))


@router.post("/releases/{release_id}/refuse", right="admin", response_model=ReleaseRecord)
async def refuse_release(
    release_id: str, request: Request, at: RouteContext, body: NothingIn | None = None
) -> Response:
    """Neither it nor its torrent comes again for this show. 409 while it is in the library, or on
    its way there."""
    known = parse_number(release_id, "release")

    async def effect(key: bytes | None) -> str:
        await decide_by_hand.refuse_release(at.engine, known, idempotency=key)
        return str(known)

    return await answer_idempotently(request, at.engine, effect, _release_answer(at, known))


@router.post(
    "/trackings/{tracking_id}/backfill", right="admin", response_model=ReleaseDecisionCountsRecord
)
async def backfill_tracking(
    tracking_id: str, request: Request, at: RouteContext, body: BackfillIn | None = None
) -> Response:
    """Earlier releases are collected too, as far as their entries are kept. The tracking's `since`
    goes back to that moment, and never forward."""
    known, since = parse_number(tracking_id, "tracking"), None if body is None else body.since

    async def look(key: bytes | None) -> DecisionSummary:
        return await decide_again_module.backfill(at.engine, known, since, idempotency=key)

    return await _answer_with_counts(request, at, known, look)


@router.post(
    "/trackings/{tracking_id}/decide", right="admin", response_model=ReleaseDecisionCountsRecord
)
async def decide_again(
    tracking_id: str, request: Request, at: RouteContext, body: NothingIn | None = None
) -> Response:
    """What was held, skipped or removed is looked at again, by what the tracking wants now. What a
    person said stays, and so does what is downloaded."""
    known = parse_number(tracking_id, "tracking")

    async def look(key: bytes | None) -> DecisionSummary:
        return await decide_again_module.decide_again(at.engine, known, idempotency=key)

    return await _answer_with_counts(request, at, known, look)


async def _answer_with_counts(
    request: Request,
    at: RouteContext,
    known: int,
    look: Callable[[bytes | None], Awaitable[DecisionSummary]],
) -> Response:
    found: list[DecisionSummary] = []

    async def effect(key: bytes | None) -> str:
        found.append(await look(key))
        return str(known)

    async def tell(_: str) -> RouteAnswer:
        return RouteAnswer(
            200, ReleaseDecisionCountsRecord.of(known, found[0] if found else DecisionSummary())
        )

    async def tell_again(_: str) -> RouteAnswer:
        # The first answer was lost: what was left to do is done now.
        return RouteAnswer(200, ReleaseDecisionCountsRecord.of(known, await look(None)))

    return await answer_idempotently(request, at.engine, effect, tell, tell_again)


def _release_answer(at: RouteContext, known: int) -> Callable[[str], Awaitable[RouteAnswer]]:
    async def tell(_: str) -> RouteAnswer:
        return RouteAnswer(200, await _record(at, known))

    return tell


async def _record(at: RouteContext, release_id: int) -> ReleaseRecord:
    async with at.engine.database.read() as view:
        row = await decision_rows.get_decision(view, release_id)
        return ReleaseRecord.of(row, await decision_rows.find_download_of_release(view, release_id))

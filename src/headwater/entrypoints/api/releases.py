"""Releases over HTTP: every decision and its reason, and what a person says instead."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from headwater import by_hand, catching_up
from headwater.collect.decisions import queries
from headwater.collect.shows import queries as shows
from headwater.collect.trackings import queries as trackings
from headwater.collecting import Outcome
from headwater.entrypoints.api.asking import REFUSALS, At, Cursor, Limit, Text, told
from headwater.entrypoints.api.cursors import cursor, numbers_of
from headwater.entrypoints.api.models import NothingIn
from headwater.entrypoints.api.numbers import LARGEST, number
from headwater.entrypoints.api.once import Told, once
from headwater.entrypoints.api.release_models import BackfillIn, TakeIn
from headwater.entrypoints.api.release_records import OutcomeRecord, ReleasePage, ReleaseRecord
from headwater.errors import BadInput

router = APIRouter(tags=["releases"], responses=REFUSALS)

Number = Annotated[int | None, Query(ge=1, le=LARGEST)]
Actions = Annotated[
    list[Literal["fetch", "upgrade", "skip", "hold", "removed", "refused"]] | None,
    Query(description="Only what was decided so; may be repeated."),
]
Rule = Annotated[Text | None, Query(max_length=64, description="Only what this rule decided.")]


@router.get("/releases", response_model=ReleasePage)
async def list_releases(
    at: At,
    tracking: Number = None,
    show: Number = None,
    action: Actions = None,
    rule: Rule = None,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """Every entry that a tracking looked at, wanted or not, the newest first."""
    size = at.page_size(limit)
    before = numbers_of(cursor_, "releases", 1)[0] if cursor_ else None
    async with at.engine.database.read() as view:
        found = await queries.decisions(
            view,
            tracking_id=tracking,
            show_id=show,
            actions=action or (),
            rule=rule,
            before=before,
            limit=size + 1,
        )
        taken = await queries.downloads_of(view, [row.id for row in found[:size]])
    more = cursor("releases", found[size - 1].id) if len(found) > size else None
    records = [ReleaseRecord.of(row, taken.get(row.id)) for row in found[:size]]
    return told(ReleasePage(releases=records, next_cursor=more))


@router.get("/releases/{release_id}", response_model=ReleaseRecord)
async def show_release(release_id: str, at: At) -> Response:
    """One release, what was decided of it, and why."""
    return told(await _record(at, number(release_id, "release")))


@router.post("/releases/{release_id}/take", response_model=ReleaseRecord)
async def take_release(
    release_id: str, request: Request, at: At, body: TakeIn | None = None
) -> Response:
    """It is downloaded, and takes its place in the library from whatever has it. One that is on
    its way stays as it is."""
    known, said = number(release_id, "release"), body or TakeIn()
    if said.season is not None and not said.episodes:
        raise BadInput("A season alone is no place: say which episodes.", field="episodes")

    async def effect(key: bytes | None) -> str:
        async with at.engine.database.read() as view:
            row = await queries.decision(view, known)
            tracking = await trackings.tracking(view, row.tracking_id)
            season = (await shows.show(view, tracking.show_id)).show.season
        await by_hand.take(at.engine, known, said.slots(season), idempotency=key)
        return str(known)

    return await once(request, at.engine, effect, _telling(at, known))


@router.post("/releases/{release_id}/refuse", response_model=ReleaseRecord)
async def refuse_release(
    release_id: str, request: Request, at: At, body: NothingIn | None = None
) -> Response:
    """Neither it nor its torrent comes again for this show. 409 while it is in the library, or on
    its way there."""
    known = number(release_id, "release")

    async def effect(key: bytes | None) -> str:
        await by_hand.refuse(at.engine, known, idempotency=key)
        return str(known)

    return await once(request, at.engine, effect, _telling(at, known))


@router.post("/trackings/{tracking_id}/backfill", response_model=OutcomeRecord)
async def backfill_tracking(
    tracking_id: str, request: Request, at: At, body: BackfillIn | None = None
) -> Response:
    """Earlier releases are collected too, as far as their entries are kept. The tracking's `since`
    goes back to that moment, and never forward."""
    known, since = number(tracking_id, "tracking"), None if body is None else body.since

    async def look(key: bytes | None) -> Outcome:
        return await catching_up.backfill(at.engine, known, since, idempotency=key)

    return await _looked(request, at, known, look)


@router.post("/trackings/{tracking_id}/decide", response_model=OutcomeRecord)
async def decide_again(
    tracking_id: str, request: Request, at: At, body: NothingIn | None = None
) -> Response:
    """What was held, skipped or removed is looked at again, by what the tracking wants now. What a
    person said stays, and so does what is downloaded."""
    known = number(tracking_id, "tracking")

    async def look(key: bytes | None) -> Outcome:
        return await catching_up.decide_again(at.engine, known, idempotency=key)

    return await _looked(request, at, known, look)


async def _looked(
    request: Request, at: At, known: int, look: Callable[[bytes | None], Awaitable[Outcome]]
) -> Response:
    found: list[Outcome] = []

    async def effect(key: bytes | None) -> str:
        found.append(await look(key))
        return str(known)

    async def tell(_: str) -> Told:
        return Told(200, OutcomeRecord.of(known, found[0] if found else Outcome()))

    async def tell_again(_: str) -> Told:
        # The first answer was lost: what was left to do is done now.
        return Told(200, OutcomeRecord.of(known, await look(None)))

    return await once(request, at.engine, effect, tell, tell_again)


def _telling(at: At, known: int) -> Callable[[str], Awaitable[Told]]:
    async def tell(_: str) -> Told:
        return Told(200, await _record(at, known))

    return tell


async def _record(at: At, release_id: int) -> ReleaseRecord:
    async with at.engine.database.read() as view:
        row = await queries.decision(view, release_id)
        return ReleaseRecord.of(row, await queries.download_of(view, release_id))

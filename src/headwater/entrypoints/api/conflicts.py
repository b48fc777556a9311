"""Conflicts over HTTP: which subscriptions wait for a person's choice, and the choice itself."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from headwater import deciding, resolving
from headwater.entrypoints.api.asking import REFUSALS, At, Cursor, Limit, told
from headwater.entrypoints.api.cursors import cursor, numbers_of
from headwater.entrypoints.api.evidence_records import AdvisedConflict
from headwater.entrypoints.api.failing import saying
from headwater.entrypoints.api.numbers import number
from headwater.entrypoints.api.once import Told, once
from headwater.entrypoints.api.registry_models import ConflictStatus, NewConflictIn, ResolveIn
from headwater.entrypoints.api.registry_records import (
    ConflictPage,
    ConflictRecord,
    ResolvedRecord,
)
from headwater.subscribe.conflicts import store
from headwater.subscribe.fetcher import FetcherId
from headwater.subscribe.tallies.queries import suggestion_for

router = APIRouter(tags=["conflicts"], responses=REFUSALS)


@router.get("/conflicts", response_model=ConflictPage)
async def list_conflicts(
    at: At,
    status: ConflictStatus = "unresolved",
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """In the order they were opened, with the names of the candidates."""
    size = at.page_size(limit)
    (after,) = numbers_of(cursor_, "conflicts", 1) if cursor_ else (0,)
    with saying("Failed to list conflicts", conflicts=[]):
        async with at.engine.database.read() as view:
            found = await store.conflicts(view, status=status, after=after, limit=size + 1)
    more = cursor("conflicts", found[size - 1].id) if len(found) > size else None
    records = [ConflictRecord.of(each) for each in found[:size]]
    return told(ConflictPage(conflicts=records, next_cursor=more))


@router.post(
    "/conflicts",
    response_model=ConflictRecord,
    status_code=201,
    responses={200: {"model": ConflictRecord}},
)
async def open_conflict(body: NewConflictIn, request: Request, at: At) -> Response:
    """For detectors outside. A subscription has one open conflict at most: when there is one
    already, the answer is 200 with that one."""
    said = resolving.Detected(
        subscription_id=body.subscription_id,
        source_url=body.said_url,
        type=body.conflict_type,
        candidates=tuple(FetcherId(each) for each in body.conflict_data.candidate_fetcher_ids),
        reason=body.conflict_data.conflict_reason,
    )
    who = request.scope["credential"].name
    done: list[bool] = []

    async def effect(key: bytes | None) -> str:
        with saying("Failed to create conflict"):
            made, is_new = await resolving.open_conflict(said, at.engine, who, idempotency=key)
            await deciding.decide_by_evidence(made.id, at.engine)
        done.append(is_new)
        return str(made.id)

    async def tell(conflict_id: str) -> Told:
        record = await _record(at, int(conflict_id))
        status = 200 if done and not done[0] else 201
        return Told(status, record, location=f"/conflicts/{conflict_id}")

    return await once(request, at.engine, effect, tell)


@router.get("/conflicts/{conflict_id}", response_model=AdvisedConflict)
async def show_conflict(conflict_id: str, at: At) -> Response:
    """One conflict: resolved with its resolution, or open with a suggestion and its evidence."""
    learning, now = at.engine.rules.learning, at.engine.clock.now()
    async with at.engine.database.read() as view:
        conflict = await store.conflict(view, number(conflict_id, "conflict"))
        is_open = conflict.status == "unresolved"
        advice = await suggestion_for(view, conflict, learning, now) if is_open else None
    return told(AdvisedConflict.with_advice(conflict, advice))


@router.post("/conflicts/{conflict_id}/resolve", response_model=ResolvedRecord)
async def resolve_conflict(conflict_id: str, body: ResolveIn, request: Request, at: At) -> Response:
    """The subscription goes to this candidate. The same choice again has no effect and the same
    answer; another choice is 409."""
    known, who = number(conflict_id, "conflict"), request.scope["credential"].name
    chosen = FetcherId(body.fetcher_id)

    async def effect(key: bytes | None) -> str:
        with saying("Failed to resolve conflict"):
            await resolving.resolve_conflict(
                known, chosen, at.engine, who, reason=body.resolution_reason, idempotency=key
            )
        return str(known)

    async def tell(_: str) -> Told:
        async with at.engine.database.read() as view:
            conflict = await store.conflict(view, known)
        assert conflict.resolved_at is not None
        return Told(
            200,
            ResolvedRecord(
                message="Conflict resolved successfully",
                conflict_id=conflict.id,
                subscription_id=conflict.subscription_id,
                resolved_fetcher_id=chosen,
                resolved_at=conflict.resolved_at,
            ),
        )

    return await once(request, at.engine, effect, tell)


async def _record(at: At, conflict_id: int) -> ConflictRecord:
    async with at.engine.database.read() as view:
        return ConflictRecord.of(await store.conflict(view, conflict_id))

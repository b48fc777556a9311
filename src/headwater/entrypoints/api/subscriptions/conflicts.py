"""Conflicts over HTTP: list the subscriptions that wait for a person's choice, and choose."""

from typing import Annotated, Literal

from starlette.responses import Response

from headwater.core.values import ids
from headwater.entrypoints.api.dependencies import App, Caller, ConflictId, View
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.paging import Page, paging
from headwater.entrypoints.api.router import Failed, Router
from headwater.entrypoints.api.subscriptions.conflict_records import (
    AdviceRecord,
    AdvisedConflict,
    ConflictPage,
    ConflictRecord,
    NewConflictIn,
    ResolvedRecord,
    ResolveIn,
)
from headwater.subscriptions.conflicts import conflict_commands, conflict_rows, resolve_by_evidence
from headwater.subscriptions.conflicts.evidence import suggestion_for

ConflictStatus = Literal["unresolved", "resolved", "all"]
router = Router(tags=["conflicts"])


@router.get(
    "/conflicts",
    right="read",
    failed=Failed("Failed to list conflicts", empty="conflicts"),
)
async def list_conflicts(
    view: View,
    page: Annotated[Page, paging("conflicts")],
    status: ConflictStatus = "unresolved",
) -> ConflictPage:
    """In the order they were opened, with the names of the candidates."""
    conflicts = await conflict_rows.list_conflicts(
        view, status=status, after=page.after, limit=page.size + 1
    )
    shown, next_cursor = page.cut(conflicts)
    records = [ConflictRecord.of_conflict(conflict) for conflict in shown]
    return ConflictPage(conflicts=records, next_cursor=next_cursor)


async def show_detected_conflict(conflict_id: ConflictId, view: View) -> ConflictRecord:
    """The answer to a repeated request, whose conflict was opened already."""
    return ConflictRecord.of_conflict(await conflict_rows.get_conflict(view, conflict_id))


@router.post(
    "/conflicts",
    right="admin",
    failed=Failed("Failed to create conflict"),
    status_code=201,
    responses={200: {"model": ConflictRecord}},
    location="/conflicts/{conflict_id}",
    again=show_detected_conflict,
)
async def open_conflict(
    body: NewConflictIn, app: App, caller: Caller, key: IdempotencyKey, response: Response
) -> ConflictRecord:
    """For programs outside that detect conflicts. A subscription has one open conflict at most:
    when there is one already, the answer is 200 with that one."""
    conflict, is_new = await resolve_by_evidence.open_and_resolve_conflict(
        body.detected(), app.registry, caller.name, idempotency=key
    )
    response.status_code = 201 if is_new else 200
    return ConflictRecord.of_conflict(conflict)


@router.get("/conflicts/{conflict_id}", right="read")
async def show_conflict(conflict_id: ConflictId, app: App, view: View) -> AdvisedConflict:
    """One conflict: resolved with its resolution, or open with a suggestion and its evidence."""
    conflict = await conflict_rows.get_conflict(view, conflict_id)
    if conflict.status != "unresolved":
        return AdvisedConflict.of_conflict(conflict, suggestion=None)
    advice = await suggestion_for(view, conflict, app.registry.evidence, app.clock.now())
    return AdvisedConflict.of_conflict(conflict, suggestion=AdviceRecord.of(advice))


async def show_resolution(conflict_id: ConflictId, body: ResolveIn, view: View) -> ResolvedRecord:
    """The answer to a repeated request, whose choice was made already."""
    conflict = await conflict_rows.get_conflict(view, conflict_id)
    assert conflict.resolved_at is not None
    return ResolvedRecord(
        message="Conflict resolved successfully",
        conflict_id=conflict.id,
        subscription_id=conflict.subscription_id,
        resolved_fetcher_id=body.fetcher_id,
        resolved_at=conflict.resolved_at,
    )


@router.post(
    "/conflicts/{conflict_id}/resolve",
    right="admin",
    failed=Failed("Failed to resolve conflict"),
    again=show_resolution,
)
async def resolve_conflict(
    conflict_id: ConflictId, body: ResolveIn, app: App, caller: Caller, key: IdempotencyKey
) -> ResolvedRecord:
    """The subscription goes to this candidate. The same choice again has no effect and the same
    answer; another choice is 409."""
    await conflict_commands.resolve_conflict(
        conflict_id,
        ids.FetcherId(body.fetcher_id),
        app.database,
        caller.name,
        reason=body.resolution_reason,
        idempotency=key,
    )
    async with app.database.read() as view:
        return await show_resolution(conflict_id, body, view)

"""Conflicts over HTTP: which subscriptions wait for a person's choice, and the choice itself."""

from typing import Annotated, Any, Literal, Self

import orjson
from fastapi import Query
from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from starlette.responses import Response

from headwater.core.values.ids import FetcherId
from headwater.entrypoints.api.dependencies import (
    App,
    Caller,
    ConflictId,
    Cursor,
    Limit,
    RouteContext,
    View,
    json_response,
    parse_number,
)
from headwater.entrypoints.api.errors import BadBody
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.models import Id, Strict
from headwater.entrypoints.api.paging import cursor, decode_cursor
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.request_body import check_json
from headwater.entrypoints.api.router import Failed, Router
from headwater.entrypoints.api.subscriptions.subscription_records import SourceIn
from headwater.statistics.fetcher_counts import FetcherCounts
from headwater.subscriptions.conflicts import conflict_commands, conflict_rows, resolve_by_evidence
from headwater.subscriptions.conflicts.conflict import MULTI_FETCHER_MATCH, Conflict
from headwater.subscriptions.conflicts.evidence import (
    CLEAR,
    NoSuggestion,
    Suggestion,
    suggestion_for,
    wilson,
)


class CandidateRecord(Record):
    fetcher_id: int
    name: str


class ConflictDataRecord(Record):
    candidate_fetcher_ids: list[int]
    conflict_reason: str


class ConflictRecord(Record):
    conflict_id: int
    subscription_id: int
    source_url: str
    rss_url: str
    conflict_type: str
    conflict_data: ConflictDataRecord
    candidate_fetchers: list[CandidateRecord]
    resolution_status: Literal["unresolved", "resolved"]
    resolution_data: dict[str, Any] | None
    resolved_at: Moment | None
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, conflict: Conflict) -> "ConflictRecord":
        return cls(
            conflict_id=conflict.id,
            subscription_id=conflict.subscription_id,
            source_url=conflict.source_url,
            rss_url=conflict.source_url,
            conflict_type=conflict.type,
            conflict_data=ConflictDataRecord(
                candidate_fetcher_ids=list(conflict.candidates), conflict_reason=conflict.reason
            ),
            candidate_fetchers=[
                CandidateRecord(fetcher_id=candidate, name=conflict.candidate_names[candidate])
                for candidate in conflict.candidates
                if candidate in conflict.candidate_names
            ],
            resolution_status=conflict.status,
            resolution_data=None if conflict.resolution is None else dict(conflict.resolution),
            resolved_at=conflict.resolved_at,
            created_at=conflict.created_at,
            updated_at=conflict.updated_at,
        )


class ConflictPage(Record):
    conflicts: list[ConflictRecord]
    next_cursor: str | None


class ResolvedRecord(Record):
    message: str
    conflict_id: int
    subscription_id: int
    resolved_fetcher_id: int
    resolved_at: Moment


class FetcherCountsRecord(Record):
    """One candidate's visits to the host. `judged_visits` leave out failures that say nothing
    about who asked; `success_rate` is of those, with its 95 % interval."""

    fetcher_id: int
    name: str
    visits: int
    judged_visits: int
    successes: int
    failures: int
    success_rate: float | None
    success_rate_low: float
    success_rate_high: float
    errors: dict[str, int]
    new_entries: int
    dated_entries: int
    mean_late_sec: float | None

    @classmethod
    def of(cls, tally: FetcherCounts) -> "FetcherCountsRecord":
        low, high = wilson(tally.successes, tally.judged, CLEAR)
        return cls(
            fetcher_id=tally.fetcher_id,
            name=tally.name,
            visits=tally.visits,
            judged_visits=tally.judged,
            successes=tally.successes,
            failures=tally.failures,
            success_rate=tally.success_rate,
            success_rate_low=round(low, 4),
            success_rate_high=round(high, 4),
            errors=dict(tally.errors),
            new_entries=tally.new_entries,
            dated_entries=tally.dated_entries,
            mean_late_sec=tally.mean_late_sec,
        )


class AdviceRecord(Record):
    """Who does better at this host, if the figures say so; otherwise `doubt` says why not."""

    fetcher_id: int | None
    confidence: Literal["strong", "clear", "slight"] | None
    doubt: Literal["too_few_candidates", "too_few_visits", "no_difference"] | None
    why: str
    host: str
    days: int
    min_visits: int
    evidence: list[FetcherCountsRecord]

    @classmethod
    def of(cls, told: Suggestion | NoSuggestion) -> "AdviceRecord":
        named = told if isinstance(told, Suggestion) else None
        return cls(
            fetcher_id=named.fetcher_id if named else None,
            confidence=named.confidence if named else None,
            doubt=told.doubt if isinstance(told, NoSuggestion) else None,
            why=told.why,
            host=told.host,
            days=told.days,
            min_visits=told.min_visits,
            evidence=[FetcherCountsRecord.of(each) for each in told.tallies],
        )


class AdvisedConflict(ConflictRecord):
    """A conflict with what the candidates' visits say; null once it is resolved."""

    suggestion: AdviceRecord | None

    @classmethod
    def with_advice(
        cls, conflict: Conflict, told: Suggestion | NoSuggestion | None
    ) -> "AdvisedConflict":
        plain = ConflictRecord.of(conflict)
        fields = {name: getattr(plain, name) for name in ConflictRecord.model_fields}
        return cls(**fields, suggestion=AdviceRecord.of(told) if told else None)


MOST_CANDIDATES = 100


def _each_once(ids: list[int]) -> list[int]:
    if len(set(ids)) != len(ids):
        raise ValueError("must not name one fetcher twice")
    return ids


def _parse_object(given: object) -> object:
    """Detectors that keep conflict data as text may send it so; what holds for a body holds there:
    a NUL that is escaped in a text within a text was seen by nobody before."""
    if not isinstance(given, str):
        return given
    try:
        check_json(given.encode())
        return orjson.loads(given)
    except (BadBody, orjson.JSONDecodeError) as trouble:
        raise ValueError("must be an object, or a text that holds one as JSON") from trouble


class ConflictData(Strict):
    candidate_fetcher_ids: Annotated[
        list[Id], Field(min_length=2, max_length=MOST_CANDIDATES), AfterValidator(_each_once)
    ]
    conflict_reason: Annotated[str, Field(max_length=1_024)] = ""


class NewConflictIn(SourceIn):
    """Several fetchers fit one subscription, says somebody outside. Named by its id or its URL."""

    subscription_id: Id | None = None
    conflict_type: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]{0,63}$")] = MULTI_FETCHER_MATCH
    conflict_data: Annotated[
        ConflictData,
        BeforeValidator(_parse_object, json_schema_input_type=ConflictData | str),
    ]

    @model_validator(mode="after")
    def _with_a_subscription(self) -> Self:
        if self.subscription_id is None and self.said_url is None:
            raise ValueError("subscription_id is needed, or source_url")
        return self

    def detected(self) -> conflict_commands.DetectedConflict:
        return conflict_commands.DetectedConflict(
            subscription_id=self.subscription_id,
            source_url=self.said_url,
            type=self.conflict_type,
            candidates=tuple(map(FetcherId, self.conflict_data.candidate_fetcher_ids)),
            reason=self.conflict_data.conflict_reason,
        )


class ResolveIn(Strict):
    fetcher_id: Id
    resolution_reason: Annotated[str, Field(max_length=1_024)] | None = None


ConflictStatus = Literal["unresolved", "resolved", "all"]
router = Router(tags=["conflicts"])


@router.get(
    "/conflicts",
    right="read",
    failed=Failed("Failed to list conflicts", empty="conflicts"),
    response_model=ConflictPage,
)
async def list_conflicts(
    at: RouteContext,
    status: ConflictStatus = "unresolved",
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """In the order they were opened, with the names of the candidates."""
    size = at.page_size(limit)
    (after,) = decode_cursor(cursor_, "conflicts", 1) if cursor_ else (0,)
    async with at.database.read() as view:
        found = await conflict_rows.list_conflicts(view, status=status, after=after, limit=size + 1)
    more = cursor("conflicts", found[size - 1].id) if len(found) > size else None
    records = [ConflictRecord.of(each) for each in found[:size]]
    return json_response(ConflictPage(conflicts=records, next_cursor=more))


async def show_detected_conflict(conflict_id: ConflictId, view: View) -> ConflictRecord:
    """The answer to a conflict that was opened already."""
    return ConflictRecord.of(await conflict_rows.get_conflict(view, conflict_id))


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
    """For detectors outside. A subscription has one open conflict at most: when there is one
    already, the answer is 200 with that one."""
    conflict, is_new = await conflict_commands.open_conflict(
        body.detected(), app.database, caller.name, idempotency=key
    )
    await resolve_by_evidence.resolve_by_evidence(conflict.id, app.registry)
    response.status_code = 201 if is_new else 200
    async with app.database.read() as view:
        return ConflictRecord.of(await conflict_rows.get_conflict(view, conflict.id))


@router.get("/conflicts/{conflict_id}", right="read", response_model=AdvisedConflict)
async def show_conflict(conflict_id: str, at: RouteContext) -> Response:
    """One conflict: resolved with its resolution, or open with a suggestion and its evidence."""
    learning, now = at.registry.evidence, at.clock.now()
    async with at.database.read() as view:
        conflict = await conflict_rows.get_conflict(view, parse_number(conflict_id, "conflict"))
        is_open = conflict.status == "unresolved"
        advice = await suggestion_for(view, conflict, learning, now) if is_open else None
    return json_response(AdvisedConflict.with_advice(conflict, advice))


async def show_resolution(conflict_id: ConflictId, body: ResolveIn, view: View) -> ResolvedRecord:
    """The answer to a choice that was made."""
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
        FetcherId(body.fetcher_id),
        app.database,
        caller.name,
        reason=body.resolution_reason,
        idempotency=key,
    )
    async with app.database.read() as view:
        return await show_resolution(conflict_id, body, view)

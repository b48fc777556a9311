"""Visits in the database: the rows of a judged visit, and how visits are listed and deleted."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple

import orjson

from headwater.core.ports import Row, SqlValue, Transaction, View, placeholders
from headwater.core.values.ids import FeedPk, WorkerId
from headwater.core.values.instant import maybe_micros, maybe_moment, to_micros
from headwater.core.values.response import Exchange, Validators
from headwater.core.values.url import redacted
from headwater.feeds.fetch.outcome import Fetched
from headwater.feeds.fetch.redact_headers import redacted_headers
from headwater.feeds.judge_visit import JudgedVisit
from headwater.feeds.merge.lateness import lateness
from headwater.feeds.raw.raw_rows import headers_json
from headwater.feeds.read_document import ReadFeed, SameDocument


class FeedUpdate(NamedTuple):
    """The changes that a visit makes to its feed's row, by the names of the columns.

    `state` changes an active feed only; `last_success_at` and the fields after it, when not None.
    """

    interval_sec: float
    last_decision_at: int
    reason: str
    retry_after_sec: float | None
    failures: int
    gone_count: int
    ewma_sec: float | None
    hints: str
    recent_published: str
    etag: str | None
    last_modified: str | None
    asked_whole_at: int | None
    documents_seen: int
    document_seen_at: int | None
    document_hash: bytes | None
    identity: str | None
    moved_to: str | None
    moved_count: int
    moved_since: int | None
    failing_told: bool
    last_fetch_at: int
    last_outcome: str
    last_status: int | None
    last_error: str | None
    new_entries_last_fetch: int
    new_today: int
    today: int
    last_address: str | None
    updated_at: int
    state: str
    scheduled_at: int | None
    next_visit_at: int | None
    last_success_at: int | None
    type: str | None
    title: str | None
    home_link: str | None
    feed: FeedPk


class UnchangedFeedUpdate(NamedTuple):
    """The same for a feed in good order that was not modified: its other columns stay."""

    interval_sec: float
    last_decision_at: int
    reason: str
    documents_seen: int
    document_seen_at: int
    last_fetch_at: int
    last_outcome: str
    last_status: int | None
    new_entries_last_fetch: int
    new_today: int
    today: int
    last_address: str | None
    updated_at: int
    scheduled_at: int
    next_visit_at: int
    last_success_at: int
    feed: FeedPk


class VisitRow(NamedTuple):
    """One row of a feed's history: the request, the answer, the decision and its inputs.

    `dated_entries` to `late_squares`: how late new entries were seen, where that is known.
    `decoded_bytes`: the size of the unpacked document, None when nothing was unpacked. `retry`: the
    visit before this one failed.
    """

    feed_id: FeedPk
    scheduled_at: int
    started_at: int
    finished_at: int
    worker: WorkerId
    url: str
    outcome: str
    status: int | None
    error: str | None
    error_detail: str | None
    fetch_id: str | None
    conditional: bool
    hops: str | None
    request_headers: str | None
    response_headers: str | None
    address: str | None
    bytes_in: int
    latency_ms: float
    entries_in_document: int | None
    new_entries: int
    updated_entries: int
    limits: str | None
    problems: str | None
    interval_before: float
    interval_after: float
    next_at: int | None
    reason_code: str
    reason: str
    inputs: str
    dated_entries: int = 0
    late_sec: float = 0.0
    late_squares: float = 0.0
    decoded_bytes: int | None = None
    retry: bool = False


class QuietVisitRow(NamedTuple):
    """The same for a visit that brought nothing and had no error: other columns are empty or 0."""

    feed_id: FeedPk
    scheduled_at: int
    started_at: int
    finished_at: int
    worker: WorkerId
    url: str
    outcome: str
    status: int | None
    conditional: bool
    hops: str | None
    address: str | None
    bytes_in: int
    latency_ms: float
    new_entries: int
    updated_entries: int
    interval_before: float
    interval_after: float
    next_at: int
    reason_code: str
    reason: str
    inputs: str


_ASSIGNED = {
    "state": "CASE WHEN state = 'active' THEN ? ELSE state END",
    "next_visit_at": "CASE WHEN state = 'active' THEN CAST(? AS BIGINT) END",
    "last_success_at": "coalesce(?, last_success_at)",
    "type": "coalesce(?, type)",
    "title": "coalesce(?, title)",
    "home_link": "coalesce(?, home_link)",
}

_FETCHER = "(SELECT fetcher_id FROM rss_subscriptions s WHERE s.feed_id = ?)"
"""Only the database knows which fetcher a feed belongs to."""


def _update(update: type[FeedUpdate] | type[UnchangedFeedUpdate]) -> str:
    assigned = ", ".join(f"{name} = {_ASSIGNED.get(name, '?')}" for name in update._fields[:-1])
    return f"UPDATE feeds SET {assigned}, claimed_by = NULL WHERE id = ?"


def _insert(visit: type[VisitRow] | type[QuietVisitRow]) -> str:
    fields = visit._fields
    return (
        f"INSERT INTO visits ({', '.join(fields)}, fetcher_id) VALUES ({placeholders(len(fields))},"
        f" {_FETCHER})"
    )


_UPDATE_FEED, _UPDATE_UNCHANGED_FEED = _update(FeedUpdate), _update(UnchangedFeedUpdate)
_INSERT_VISIT, _INSERT_QUIET_VISIT = _insert(VisitRow), _insert(QuietVisitRow)

_BATCH_SIZES = (64, 16, 4, 1)
"""How many quiet visits go into one statement of SQLite: four sizes, so that it has few statements
to keep prepared."""


def _table(columns: int, rows: int) -> str:
    """SQLite names its columns `column1`, `column2` and so on."""
    return f"(VALUES {', '.join([f'({placeholders(columns)})'] * rows)}) AS v"


def _update_unchanged_feeds(rows: int) -> str:
    fields = UnchangedFeedUpdate._fields
    assigned = ", ".join(
        f"{name} = {_ASSIGNED.get(name, '?').replace('?', f'v.column{place}')}"
        for place, name in enumerate(fields[:-1], 1)
    )
    return (
        f"UPDATE feeds SET {assigned}, claimed_by = NULL"
        f" FROM {_table(len(fields), rows)} WHERE feeds.id = v.column{len(fields)}"
    )


def _insert_quiet_visits(rows: int) -> str:
    fields = QuietVisitRow._fields
    columns = ", ".join(f"v.column{place}" for place in range(1, len(fields) + 1))
    return (
        f"INSERT INTO visits ({', '.join(fields)}, fetcher_id)"
        f" SELECT {columns}, {_FETCHER.replace('?', 'v.column1')}"
        f" FROM {_table(len(fields), rows)}"
    )


_UPDATE_UNCHANGED_FEEDS = {rows: _update_unchanged_feeds(rows) for rows in _BATCH_SIZES}
_INSERT_QUIET_VISITS = {rows: _insert_quiet_visits(rows) for rows in _BATCH_SIZES}


async def _run_in_batches(
    tx: Transaction, statements: dict[int, str], rows: Sequence[tuple[SqlValue, ...]]
) -> None:
    """Run a few large statements.

    In `run_many`, SQLite's thread and ours pass Python's lock to and fro twice for each row.
    """
    begin = 0
    for size, sql in statements.items():
        while len(rows) - begin >= size:
            batch = rows[begin : begin + size]
            await tx.run_many(sql, [tuple(chain.from_iterable(batch))])
            begin += size


async def update_feeds(
    tx: Transaction, updates: Sequence[FeedUpdate | UnchangedFeedUpdate]
) -> None:
    """Update one row for each feed, whatever the outcome was. The claim ends here."""
    await tx.run_many(_UPDATE_FEED, [update for update in updates if type(update) is FeedUpdate])
    quiet = [update for update in updates if type(update) is UnchangedFeedUpdate]
    if tx.dialect == "sqlite":
        await _run_in_batches(tx, _UPDATE_UNCHANGED_FEEDS, quiet)
    else:
        await tx.run_many(_UPDATE_UNCHANGED_FEED, quiet)


async def insert_visits(tx: Transaction, visits: Sequence[VisitRow | QuietVisitRow]) -> None:
    """The key (feed, scheduled_at) makes a second commit of one visit impossible (J1)."""
    whole = [(*visit, visit.feed_id) for visit in visits if type(visit) is VisitRow]
    await tx.run_many(_INSERT_VISIT, whole)
    quiet = [visit for visit in visits if type(visit) is QuietVisitRow]
    if tx.dialect == "sqlite":
        await _run_in_batches(tx, _INSERT_QUIET_VISITS, quiet)
    else:
        await tx.run_many(_INSERT_QUIET_VISIT, [(*visit, visit.feed_id) for visit in quiet])


def json_or_none(value: Any) -> str | None:
    return orjson.dumps(value).decode() if value else None


_PRECONDITION_FAILED = 412


class VisitWrites(NamedTuple):
    """The rows that a visit writes. A quiet visit writes nothing else."""

    judged: JudgedVisit
    update: FeedUpdate | UnchangedFeedUpdate
    row: VisitRow | QuietVisitRow
    is_quiet: bool


def visit_writes_of(judged: JudgedVisit, worker: WorkerId) -> VisitWrites:
    next_at = maybe_micros(judged.decision.next)
    if next_at is not None and _is_quiet(judged):
        quiet = _quiet_visit_row(judged, next_at, worker)
        return VisitWrites(judged, _unchanged_feed_update(judged, next_at), quiet, is_quiet=True)
    row = _visit_row(judged, next_at, worker)
    return VisitWrites(judged, _feed_update(judged, next_at), row, is_quiet=False)


def _is_quiet(judged: JudgedVisit) -> bool:
    """Not modified, and the feed is as it was before this visit, but for its times."""
    due, state = judged.finished.due, judged.decision.state
    before = due.state
    return (
        judged.name == "unchanged"
        and not judged.events
        and not due.after_failure
        and judged.move is due.move
        and state.hints is before.hints
        and state.recent_published is before.recent_published
        and state.failures == before.failures
        and state.gone == before.gone
        and judged.failing_told == due.failing_told
    )


def _unchanged_feed_update(judged: JudgedVisit, next_at: int) -> UnchangedFeedUpdate:
    due, now, answer = judged.finished.due, judged.now, judged.finished.outcome.exchange.answer
    return UnchangedFeedUpdate(
        judged.decision.state.interval, now, judged.decision.reason,
        due.documents_seen + 1, now,
        now, judged.name, answer.status, 0,
        judged.new_today, judged.today,
        judged.finished.outcome.exchange.own_address or due.last_address,
        now, next_at, next_at, now, due.feed,
    )  # fmt: skip


def _quiet_visit_row(judged: JudgedVisit, next_at: int, worker: WorkerId) -> QuietVisitRow:
    finished, due, decision = judged.finished, judged.finished.due, judged.decision
    exchange = finished.outcome.exchange
    answer = exchange.answer
    return QuietVisitRow(
        due.feed, due.scheduled_at, to_micros(exchange.started_at), judged.now,
        finished.by or worker, redacted(exchange.asked_url), judged.name, answer.status,
        finished.conditional, _hops(exchange) if exchange.hops else None,
        answer.address, len(answer.body), answer.elapsed * 1000, 0, 0,
        due.state.interval, decision.interval, next_at,
        decision.code, decision.reason, orjson.dumps(decision.inputs).decode(),
    )  # fmt: skip


def _feed_update(judged: JudgedVisit, next_at: int | None) -> FeedUpdate:
    finished, due, now = judged.finished, judged.finished.due, judged.now
    state, move, has_succeeded = judged.decision.state, judged.move, judged.succeeded
    new = finished.read if isinstance(finished.read, ReadFeed) else None
    exchange = finished.outcome.exchange
    validators, document_hash = _next_validators(judged)
    return FeedUpdate(
        state.interval, now, judged.decision.reason,
        getattr(finished.outcome, "retry_after", None), state.failures, state.gone, state.ewma,
        orjson.dumps(state.hints.as_json()).decode(), orjson.dumps(state.recent_published).decode(),
        validators.etag, validators.last_modified,
        asked_whole_at=_asked_whole_at(judged),
        documents_seen=due.documents_seen + has_succeeded,
        document_seen_at=now if has_succeeded else due.document_seen_at,
        document_hash=document_hash,
        identity=json_or_none(new.identity if new else due.identity),
        moved_to=move.to, moved_count=move.count, moved_since=move.since,
        failing_told=judged.failing_told,
        last_fetch_at=now,
        last_outcome=judged.name, last_status=exchange.answer.status, last_error=judged.error,
        new_entries_last_fetch=len(judged.changes.new),
        new_today=judged.new_today, today=judged.today,
        last_address=exchange.own_address or due.last_address,
        updated_at=now,
        state="gone" if next_at is None else "active",
        scheduled_at=next_at, next_visit_at=next_at,
        last_success_at=now if has_succeeded else None,
        type=new.format if new else None,
        title=new.title if new else None,
        home_link=new.home_link if new else None,
        feed=due.feed,
    )  # fmt: skip


def _asked_whole_at(judged: JudgedVisit) -> int | None:
    """None makes the next visit ask for the whole document: a server that refuses the condition
    itself (412) would refuse it every time, though the document can be had."""
    if judged.succeeded and judged.name == "fetched":
        return judged.now
    refused = judged.finished.outcome.exchange.answer.status == _PRECONDITION_FAILED
    return None if refused else judged.finished.due.asked_whole_at


def _next_validators(judged: JudgedVisit) -> tuple[Validators, bytes | None]:
    """The validators and the hash by which the next visit recognises the same document.

    None of them when we did not take in all of this document: we have neither it nor the one before
    it, so the next one must come as a whole and be compared. When two documents in a row end early,
    the feed is like that: then its validators count, or it would be fetched whole for ever.
    """
    due, outcome, read = judged.finished.due, judged.finished.outcome, judged.finished.read
    if not isinstance(outcome, Fetched) or not isinstance(read, ReadFeed | SameDocument):
        return due.validators, due.document_hash
    if judged.changes.cut:
        return Validators(), None
    was_whole = due.document_hash is not None or not due.documents_seen
    if isinstance(read, ReadFeed) and read.partial and was_whole:
        return Validators(), None
    return outcome.validators, read.document_hash


def _visit_row(judged: JudgedVisit, next_at: int | None, worker: WorkerId) -> VisitRow:
    finished, due, decision = judged.finished, judged.finished.due, judged.decision
    exchange, read, changes = finished.outcome.exchange, finished.read, judged.changes
    answer, (request_headers, response_headers) = exchange.answer, _headers(judged)
    late = lateness(changes.new, due.document_seen_at, judged.now)
    return VisitRow(
        feed_id=due.feed,
        scheduled_at=due.scheduled_at,
        started_at=to_micros(exchange.started_at),
        finished_at=judged.now,
        worker=finished.by or worker,
        url=redacted(exchange.asked_url),
        outcome=judged.name,
        status=answer.status,
        error=judged.error,
        error_detail=judged.detail,
        fetch_id=finished.archived.fetch_id if finished.archived else None,
        conditional=finished.conditional,
        hops=_hops(exchange) if exchange.hops else None,
        request_headers=request_headers,
        response_headers=response_headers,
        address=answer.address,
        bytes_in=len(answer.body),
        latency_ms=answer.elapsed * 1000,
        entries_in_document=len(read.entries) if isinstance(read, ReadFeed) else None,
        new_entries=len(changes.new), updated_entries=len(changes.edited),
        limits=_limits(judged) if changes.cut or changes.repeated else None,
        problems=json_or_none(_problems(read)) if isinstance(read, ReadFeed) else None,
        interval_before=due.state.interval, interval_after=decision.interval,
        next_at=next_at,
        reason_code=decision.code,
        reason=decision.reason,
        inputs=orjson.dumps(decision.inputs).decode(),
        dated_entries=late.entries, late_sec=late.seconds, late_squares=late.squares,
        decoded_bytes=None if read is None else read.decoded_bytes,
        retry=due.after_failure,
    )  # fmt: skip


def _headers(judged: JudgedVisit) -> tuple[str | None, str | None]:
    """Headers of the request and of the answer.

    Those of a body are stored with its raw fetch; those of a 304 say nothing new.
    """
    if judged.finished.archived is not None or judged.name == "unchanged":
        return None, None
    answer = judged.finished.outcome.exchange.answer
    return (
        headers_json(redacted_headers(answer.request_headers)),
        headers_json(redacted_headers(answer.response_headers)),
    )


def _hops(exchange: Exchange) -> str | None:
    return json_or_none(
        [(redacted(hop.url), hop.status, redacted(hop.location)) for hop in exchange.hops]
    )


def _limits(judged: JudgedVisit) -> str | None:
    """Counts of what our own limits cut: it is reported, never silent."""
    changes = judged.changes
    cut = {"new_entries_cut": changes.cut, "repeated_in_document": changes.repeated}
    return json_or_none({name: count for name, count in cut.items() if count})


def _problems(read: ReadFeed) -> list[tuple[str, str]]:
    partial = [("partial", "the document ends early")] if read.partial else []
    return [*partial, *read.problems]


@dataclass(frozen=True, slots=True)
class Visit:
    """A committed visit, with the decision that it led to."""

    scheduled_at: datetime
    started_at: datetime
    finished_at: datetime
    worker: str
    url: str
    outcome: str
    status: int | None
    error: str | None
    error_detail: str | None
    fetch_id: str | None
    conditional: bool
    hops: Any
    request_headers: Any
    response_headers: Any
    address: str | None
    bytes_in: int
    latency_ms: float
    entries_in_document: int | None
    new_entries: int
    updated_entries: int
    limits: Any
    problems: Any
    interval_before: float
    interval_after: float
    next_at: datetime | None
    reason_code: str
    reason: str
    inputs: Any


async def list_visits(view: View, of: FeedPk, *, before: int | None, limit: int) -> list[Visit]:
    """Visits of a feed, newest first."""
    rows = await view.rows(
        "SELECT * FROM visits WHERE feed_id = ? AND scheduled_at < ?"
        " ORDER BY scheduled_at DESC LIMIT ?",
        of,
        _LATEST if before is None else before,
        limit,
    )
    return [_visit_of(row) for row in rows]


_LATEST = 2**63 - 1


def _visit_of(row: Row) -> Visit:
    plain = {name: getattr(row, name) for name in Visit.__slots__}
    moments = {name: maybe_moment(plain[name]) for name in _MOMENTS}
    parsed = {name: None if plain[name] is None else orjson.loads(plain[name]) for name in _JSON}
    flags = {"conditional": bool(row.conditional)}
    return Visit(**(plain | moments | parsed | flags))


_MOMENTS = ("scheduled_at", "started_at", "finished_at", "next_at")
_JSON = ("hops", "request_headers", "response_headers", "limits", "problems", "inputs")


async def list_old_visits(view: View, kept: int) -> list[tuple[FeedPk, int]]:
    """Up to 5000 visits beyond the newest `kept` of each feed, as feed and `scheduled_at`.

    Visits that the statistics have not counted yet stay until they are.
    """
    rows = await view.rows(
        "SELECT feed_id, scheduled_at FROM (SELECT feed_id, scheduled_at, counted, row_number()"
        " OVER (PARTITION BY feed_id ORDER BY scheduled_at DESC) AS place FROM visits) ranked"
        " WHERE place > ? AND counted LIMIT 5000",
        kept,
    )
    return [(row.feed_id, row.scheduled_at) for row in rows]


async def delete_visits(tx: Transaction, visits: Sequence[tuple[FeedPk, int]]) -> None:
    await tx.run_many("DELETE FROM visits WHERE feed_id = ? AND scheduled_at = ?", visits)

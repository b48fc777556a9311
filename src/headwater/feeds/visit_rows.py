"""Visits in the database: what a judged visit writes, and how visits are listed and deleted."""

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
    """What a visit changes on its feed's row, by the names of its columns.

    `state` is taken where the feed is active; `last_success_at` and what follows, where it is said.
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
    """The same where a feed in good order said "not modified": what it is stays as it was."""

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
    """One line of a feed's history: what was asked, what came, what was decided and from what.

    `dated_entries` to `late_squares`: how late new entries were seen, where that is known.
    `decoded_bytes`: the document once unpacked, None when nothing was. `retry`: the visit before
    this one failed.
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
    """The same where nothing came and nothing went wrong: all else is empty or zero."""

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
"""Whose fetcher it was stands in the database alone."""


def _update(lesson: type[FeedUpdate] | type[UnchangedFeedUpdate]) -> str:
    assigned = ", ".join(f"{name} = {_ASSIGNED.get(name, '?')}" for name in lesson._fields[:-1])
    return f"UPDATE feeds SET {assigned}, claimed_by = NULL WHERE id = ?"


def _insert(visit: type[VisitRow] | type[QuietVisitRow]) -> str:
    fields = visit._fields
    return (
        f"INSERT INTO visits ({', '.join(fields)}, fetcher_id) VALUES ({placeholders(len(fields))},"
        f" {_FETCHER})"
    )


_LEARN, _CONFIRM = _update(FeedUpdate), _update(UnchangedFeedUpdate)
_RECORD, _RECORD_QUIET = _insert(VisitRow), _insert(QuietVisitRow)

_AT_ONCE = (64, 16, 4, 1)
"""How many quiet visits go into one statement of SQLite, so that few statements are known to it."""


def _table(columns: int, rows: int) -> str:
    """What SQLite calls `column1`, `column2` and so on."""
    return f"(VALUES {', '.join([f'({placeholders(columns)})'] * rows)}) AS v"


def _confirm_many(rows: int) -> str:
    fields = UnchangedFeedUpdate._fields
    assigned = ", ".join(
        f"{name} = {_ASSIGNED.get(name, '?').replace('?', f'v.column{place}')}"
        for place, name in enumerate(fields[:-1], 1)
    )
    return (
        f"UPDATE feeds SET {assigned}, claimed_by = NULL"
        f" FROM {_table(len(fields), rows)} WHERE feeds.id = v.column{len(fields)}"
    )


def _record_many(rows: int) -> str:
    fields = QuietVisitRow._fields
    columns = ", ".join(f"v.column{place}" for place in range(1, len(fields) + 1))
    return (
        f"INSERT INTO visits ({', '.join(fields)}, fetcher_id)"
        f" SELECT {columns}, {_FETCHER.replace('?', 'v.column1')}"
        f" FROM {_table(len(fields), rows)}"
    )


_CONFIRM_MANY = {rows: _confirm_many(rows) for rows in _AT_ONCE}
_RECORD_MANY = {rows: _record_many(rows) for rows in _AT_ONCE}


async def _run_in_few(
    tx: Transaction, statements: dict[int, str], rows: Sequence[tuple[SqlValue, ...]]
) -> None:
    """In `run_many` SQLite's thread and ours pass Python's lock to and fro twice for each row."""
    begin = 0
    for size, sql in statements.items():
        while len(rows) - begin >= size:
            some = rows[begin : begin + size]
            await tx.run_many(sql, [tuple(chain.from_iterable(some))])
            begin += size


async def update_feeds(
    tx: Transaction, lessons: Sequence[FeedUpdate | UnchangedFeedUpdate]
) -> None:
    """One row per feed, whatever happened; the claim ends here."""
    await tx.run_many(_LEARN, [each for each in lessons if type(each) is FeedUpdate])
    quiet = [each for each in lessons if type(each) is UnchangedFeedUpdate]
    if tx.dialect == "sqlite":
        await _run_in_few(tx, _CONFIRM_MANY, quiet)
    else:
        await tx.run_many(_CONFIRM, quiet)


async def insert_visits(tx: Transaction, visits: Sequence[VisitRow | QuietVisitRow]) -> None:
    """The key (feed, scheduled_at) is what makes a second commit of one visit impossible (J1)."""
    whole = [(*each, each[0]) for each in visits if type(each) is VisitRow]
    await tx.run_many(_RECORD, whole)
    quiet = [each for each in visits if type(each) is QuietVisitRow]
    if tx.dialect == "sqlite":
        await _run_in_few(tx, _RECORD_MANY, quiet)
    else:
        await tx.run_many(_RECORD_QUIET, [(*each, each[0]) for each in quiet])


def json_or_none(value: Any) -> str | None:
    return orjson.dumps(value).decode() if value else None


_PRECONDITION_FAILED = 412


class VisitWrites(NamedTuple):
    """A visit and what it leaves. A quiet one touches nothing else."""

    settled: JudgedVisit
    learned: FeedUpdate | UnchangedFeedUpdate
    record: VisitRow | QuietVisitRow
    is_quiet: bool


def visit_writes_of(settled: JudgedVisit, worker: WorkerId) -> VisitWrites:
    next_at = maybe_micros(settled.decision.next)
    if next_at is not None and _is_quiet(settled):
        quiet = _quiet_visit_row(settled, next_at, worker)
        return VisitWrites(settled, _unchanged_feed_update(settled, next_at), quiet, is_quiet=True)
    record = _visit_row(settled, next_at, worker)
    return VisitWrites(settled, _feed_update(settled, next_at), record, is_quiet=False)


def _is_quiet(settled: JudgedVisit) -> bool:
    """Not modified, and nothing to put right: as it was before this visit, but for its times."""
    due, state = settled.finished.due, settled.decision.state
    before = due.state
    return (
        settled.name == "unchanged"
        and not settled.events
        and not due.after_failure
        and settled.move is due.move
        and state.hints is before.hints
        and state.recent_published is before.recent_published
        and state.failures == before.failures
        and state.gone == before.gone
        and settled.failing_told == due.failing_told
    )


def _unchanged_feed_update(settled: JudgedVisit, next_at: int) -> UnchangedFeedUpdate:
    due, now, answer = settled.finished.due, settled.now, settled.finished.outcome.exchange.answer
    return UnchangedFeedUpdate(
        settled.decision.state.interval, now, settled.decision.reason,
        due.documents_seen + 1, now,
        now, settled.name, answer.status, 0,
        settled.new_today, settled.today,
        settled.finished.outcome.exchange.own_address or due.last_address,
        now, next_at, next_at, now, due.feed,
    )  # fmt: skip


def _quiet_visit_row(settled: JudgedVisit, next_at: int, worker: WorkerId) -> QuietVisitRow:
    finished, due, decision = settled.finished, settled.finished.due, settled.decision
    exchange = finished.outcome.exchange
    answer = exchange.answer
    return QuietVisitRow(
        due.feed, due.scheduled_at, to_micros(exchange.started_at), settled.now,
        finished.by or worker, redacted(exchange.asked_url), settled.name, answer.status,
        finished.conditional, _hops(exchange) if exchange.hops else None,
        answer.address, len(answer.body), answer.elapsed * 1000, 0, 0,
        due.state.interval, decision.interval, next_at,
        decision.code, decision.reason, orjson.dumps(decision.inputs).decode(),
    )  # fmt: skip


def _feed_update(settled: JudgedVisit, next_at: int | None) -> FeedUpdate:
    finished, due, now = settled.finished, settled.finished.due, settled.now
    state, move, has_succeeded = settled.decision.state, settled.move, settled.succeeded
    new = finished.read if isinstance(finished.read, ReadFeed) else None
    exchange = finished.outcome.exchange
    validators, document_hash = _next_validators(settled)
    return FeedUpdate(
        state.interval, now, settled.decision.reason,
        getattr(finished.outcome, "retry_after", None), state.failures, state.gone, state.ewma,
        orjson.dumps(state.hints.as_json()).decode(), orjson.dumps(state.recent_published).decode(),
        validators.etag, validators.last_modified,
        asked_whole_at=_asked_whole_at(settled),
        documents_seen=due.documents_seen + has_succeeded,
        document_seen_at=now if has_succeeded else due.document_seen_at,
        document_hash=document_hash,
        identity=json_or_none(new.identity if new else due.identity),
        moved_to=move.to, moved_count=move.count, moved_since=move.since,
        failing_told=settled.failing_told,
        last_fetch_at=now,
        last_outcome=settled.name, last_status=exchange.answer.status, last_error=settled.error,
        new_entries_last_fetch=len(settled.changes.new),
        new_today=settled.new_today, today=settled.today,
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


def _asked_whole_at(settled: JudgedVisit) -> int | None:
    """None has the whole document asked for next: a server that refuses the condition itself would
    refuse it every time, though what it guards can be had."""
    if settled.succeeded and settled.name == "fetched":
        return settled.now
    refused = settled.finished.outcome.exchange.answer.status == _PRECONDITION_FAILED
    return None if refused else settled.finished.due.asked_whole_at


def _next_validators(settled: JudgedVisit) -> tuple[Validators, bytes | None]:
    """By what the next answer is seen to bring the same document again.

    By nothing, when we did not take in all of this one: neither it nor the one before it is what
    we have, so the next one must come as a whole and be compared. Two that end early, one after the
    other, are how this feed is: then its validators count, or it would be fetched whole for ever.
    """
    due, outcome, read = settled.finished.due, settled.finished.outcome, settled.finished.read
    if not isinstance(outcome, Fetched) or not isinstance(read, ReadFeed | SameDocument):
        return due.validators, due.document_hash
    if settled.changes.cut:
        return Validators(), None
    was_whole = due.document_hash is not None or not due.documents_seen
    if isinstance(read, ReadFeed) and read.partial and was_whole:
        return Validators(), None
    return outcome.validators, read.document_hash


def _visit_row(settled: JudgedVisit, next_at: int | None, worker: WorkerId) -> VisitRow:
    finished, due, decision = settled.finished, settled.finished.due, settled.decision
    exchange, read, changes = finished.outcome.exchange, finished.read, settled.changes
    answer, (asked, answered) = exchange.answer, _headers(settled)
    late = lateness(changes.new, due.document_seen_at, settled.now)
    return VisitRow(
        feed_id=due.feed,
        scheduled_at=due.scheduled_at,
        started_at=to_micros(exchange.started_at),
        finished_at=settled.now,
        worker=finished.by or worker,
        url=redacted(exchange.asked_url),
        outcome=settled.name,
        status=answer.status,
        error=settled.error,
        error_detail=settled.detail,
        fetch_id=finished.archived.fetch_id if finished.archived else None,
        conditional=finished.conditional,
        hops=_hops(exchange) if exchange.hops else None,
        request_headers=asked,
        response_headers=answered,
        address=answer.address,
        bytes_in=len(answer.body),
        latency_ms=answer.elapsed * 1000,
        entries_in_document=len(read.entries) if isinstance(read, ReadFeed) else None,
        new_entries=len(changes.new), updated_entries=len(changes.edited),
        limits=_limits(settled) if changes.cut or changes.repeated else None,
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


def _headers(settled: JudgedVisit) -> tuple[str | None, str | None]:
    """Asked and answered. Those of a body stand with its raw fetch; a 304 has nothing to tell."""
    if settled.finished.archived is not None or settled.name == "unchanged":
        return None, None
    answer = settled.finished.outcome.exchange.answer
    return (
        headers_json(redacted_headers(answer.request_headers)),
        headers_json(redacted_headers(answer.response_headers)),
    )


def _hops(exchange: Exchange) -> str | None:
    return json_or_none(
        [(redacted(hop.url), hop.status, redacted(hop.location)) for hop in exchange.hops]
    )


def _limits(settled: JudgedVisit) -> str | None:
    """What our own limits cut: told, never silent."""
    changes = settled.changes
    cut = {"new_entries_cut": changes.cut, "repeated_in_document": changes.repeated}
    return json_or_none({name: count for name, count in cut.items() if count})


def _problems(read: ReadFeed) -> list[tuple[str, str]]:
    partial = [("partial", "the document ends early")] if read.partial else []
    return [*partial, *read.problems]


@dataclass(frozen=True, slots=True)
class Visit:
    """One committed visit, with the decision it led to."""

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
    """Newest first."""
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
    parsed = {name: _json_or_none(plain[name]) for name in _JSON}
    flags = {"conditional": bool(row.conditional)}
    return Visit(**(plain | moments | parsed | flags))


_MOMENTS = ("scheduled_at", "started_at", "finished_at", "next_at")
_JSON = ("hops", "request_headers", "response_headers", "limits", "problems", "inputs")


def _json_or_none(text: str | None) -> Any:
    return None if text is None else orjson.loads(text)


async def list_old_visits(view: View, kept: int) -> list[tuple[FeedPk, int]]:
    """Feed and `scheduled_at` of some visits beyond the newest N of each feed.

    What has not been counted stays until it is.
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

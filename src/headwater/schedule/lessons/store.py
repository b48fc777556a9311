"""What a visit leaves in the database: its feed's row changed, and a line of the feed's history.

Most visits find nothing new, and leave two short rows in place of two long ones.
"""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from headwater.ports import Transaction, Value, marks
from headwater.values.ids import FeedPk, WorkerId


class Learned(NamedTuple):
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


class Confirmed(NamedTuple):
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


class VisitRecord(NamedTuple):
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


class QuietVisit(NamedTuple):
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


def _update(lesson: type[Learned] | type[Confirmed]) -> str:
    assigned = ", ".join(f"{name} = {_ASSIGNED.get(name, '?')}" for name in lesson._fields[:-1])
    return f"UPDATE feeds SET {assigned}, claimed_by = NULL WHERE id = ?"


def _insert(visit: type[VisitRecord] | type[QuietVisit]) -> str:
    fields = visit._fields
    return (
        f"INSERT INTO visits ({', '.join(fields)}, fetcher_id) VALUES ({marks(len(fields))},"
        f" {_FETCHER})"
    )


_LEARN, _CONFIRM = _update(Learned), _update(Confirmed)
_RECORD, _RECORD_QUIET = _insert(VisitRecord), _insert(QuietVisit)

_AT_ONCE = (64, 16, 4, 1)
"""How many quiet visits go into one statement of SQLite, so that few statements are known to it."""


def _table(columns: int, rows: int) -> str:
    """What SQLite calls `column1`, `column2` and so on."""
    return f"(VALUES {', '.join([f'({marks(columns)})'] * rows)}) AS v"


def _confirm_many(rows: int) -> str:
    fields = Confirmed._fields
    assigned = ", ".join(
        f"{name} = {_ASSIGNED.get(name, '?').replace('?', f'v.column{place}')}"
        for place, name in enumerate(fields[:-1], 1)
    )
    return (
        f"UPDATE feeds SET {assigned}, claimed_by = NULL"
        f" FROM {_table(len(fields), rows)} WHERE feeds.id = v.column{len(fields)}"
    )


def _record_many(rows: int) -> str:
    fields = QuietVisit._fields
    columns = ", ".join(f"v.column{place}" for place in range(1, len(fields) + 1))
    return (
        f"INSERT INTO visits ({', '.join(fields)}, fetcher_id)"
        f" SELECT {columns}, {_FETCHER.replace('?', 'v.column1')}"
        f" FROM {_table(len(fields), rows)}"
    )


_CONFIRM_MANY = {rows: _confirm_many(rows) for rows in _AT_ONCE}
_RECORD_MANY = {rows: _record_many(rows) for rows in _AT_ONCE}


async def _run_in_few(
    tx: Transaction, statements: dict[int, str], rows: Sequence[tuple[Value, ...]]
) -> None:
    """In `run_many` SQLite's thread and ours pass Python's lock to and fro twice for each row."""
    begin = 0
    for size, sql in statements.items():
        while len(rows) - begin >= size:
            some = rows[begin : begin + size]
            await tx.run_many(sql, [tuple(chain.from_iterable(some))])
            begin += size


async def learn(tx: Transaction, lessons: Sequence[Learned | Confirmed]) -> None:
    """One row per feed, whatever happened; the claim ends here."""
    await tx.run_many(_LEARN, [each for each in lessons if type(each) is Learned])
    quiet = [each for each in lessons if type(each) is Confirmed]
    if tx.dialect == "sqlite":
        await _run_in_few(tx, _CONFIRM_MANY, quiet)
    else:
        await tx.run_many(_CONFIRM, quiet)


async def record_visits(tx: Transaction, visits: Sequence[VisitRecord | QuietVisit]) -> None:
    """The key (feed, scheduled_at) is what makes a second commit of one visit impossible (J1)."""
    whole = [(*each, each[0]) for each in visits if type(each) is VisitRecord]
    await tx.run_many(_RECORD, whole)
    quiet = [each for each in visits if type(each) is QuietVisit]
    if tx.dialect == "sqlite":
        await _run_in_few(tx, _RECORD_MANY, quiet)
    else:
        await tx.run_many(_RECORD_QUIET, [(*each, each[0]) for each in quiet])

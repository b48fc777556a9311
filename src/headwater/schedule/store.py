"""The calendar in the database: who may visit what, since when, and what was decided."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

import orjson

from headwater.ports import Reader, Transaction, Value, marks
from headwater.schedule.decision import Decision
from headwater.schedule.due import DUE_COLUMNS, Due, Move, due_of
from headwater.values.ids import FeedId, FeedPk, WorkerId
from headwater.values.instant import to_micros
from headwater.values.response import Validators

SHARDS = 1024


@dataclass(frozen=True, slots=True)
class Holding:
    """A claimed feed as it is in the database now: its fence, its state, its overrides."""

    fence: int
    state: str
    overrides: str


@dataclass(frozen=True, slots=True)
class Learned:
    """What a visit changes on its feed's row."""

    due: Due
    decision: Decision
    now: int
    outcome: str
    status: int | None
    error: str | None
    retry_after: float | None
    succeeded: bool
    validators: Validators
    asked_whole_at: int | None
    documents_seen: int
    document_seen_at: int | None
    document_hash: bytes | None
    identity: str | None
    type: str | None
    title: str | None
    home_link: str | None
    move: Move
    gone_for_good: bool
    failing_told: bool
    new_entries: int
    new_today: int
    today: int
    address: str | None


async def claim(
    tx: Transaction, worker: WorkerId, now: int, lease_end: int, limit: int
) -> list[Due]:
    """Due feeds of our shards, the most important and longest overdue first.

    The claim moves `next_visit_at` to the end of the lease: if we die, the feed is due again then.
    """
    skip = " FOR UPDATE SKIP LOCKED" if tx.dialect == "postgresql" else ""
    rows = await tx.rows(
        "UPDATE feeds SET next_visit_at = ?, fence = fence + 1, claimed_by = ? WHERE id IN"
        " (SELECT id FROM feeds WHERE next_visit_at <= ? AND state = 'active' AND shard IN"
        " (SELECT shard FROM shards WHERE worker_id = ? AND until > ?)"
        f" ORDER BY priority DESC, next_visit_at LIMIT ?{skip}) RETURNING {DUE_COLUMNS}",
        lease_end,
        worker,
        now,
        worker,
        now,
        limit,
    )
    return [due_of(row) for row in rows]


async def claim_one(tx: Transaction, feed: FeedPk, worker: WorkerId, lease_end: int) -> Due:
    """A claim on a feed just made: its first visit is under way already."""
    row = await tx.row(
        "UPDATE feeds SET next_visit_at = ?, fence = fence + 1, claimed_by = ? WHERE id = ?"
        f" RETURNING {DUE_COLUMNS}",
        lease_end,
        worker,
        feed,
    )
    assert row is not None, "the feed was made in this transaction"
    return due_of(row)


async def last_asked(view: Reader, host: str) -> int | None:
    row = await view.row("SELECT max(last_fetch_at) AS at FROM feeds WHERE host = ?", host)
    return row.at if row else None


async def renew(tx: Transaction, held: Iterable[Due], lease_end: int) -> None:
    """Visits that take long keep their feed; the fence keeps us off feeds we have lost."""
    await tx.run_many(
        "UPDATE feeds SET next_visit_at = ? WHERE id = ? AND fence = ? AND claimed_by IS NOT NULL",
        [(lease_end, due.feed, due.fence) for due in held],
    )


async def give_back(tx: Transaction, later: Iterable[tuple[Due, int]]) -> None:
    """Unvisited, due again at the given moment. `scheduled_at` stays: it is the same visit."""
    await tx.run_many(
        "UPDATE feeds SET next_visit_at = CASE WHEN state = 'active' THEN CAST(? AS BIGINT) END,"
        " claimed_by = NULL WHERE id = ? AND fence = ? AND claimed_by IS NOT NULL",
        [(when, due.feed, due.fence) for due, when in later],
    )


async def take_back_own(tx: Transaction, worker: WorkerId) -> list[str]:
    """After a restart: what this worker held when it died is due again. Answers the hosts."""
    rows = await tx.rows(
        "UPDATE feeds SET next_visit_at = CASE WHEN state = 'active' THEN scheduled_at END,"
        " claimed_by = NULL, fence = fence + 1 WHERE claimed_by = ? RETURNING host",
        worker,
    )
    return sorted({row.host for row in rows})


async def holdings(tx: Transaction, feeds: Sequence[FeedPk]) -> dict[FeedPk, Holding]:
    """Locked until the transaction ends, so that what we check stays true while we write."""
    lock = " ORDER BY id FOR UPDATE" if tx.dialect == "postgresql" else ""
    rows = await tx.rows(
        "SELECT id, fence, state, overrides FROM feeds"
        f" WHERE claimed_by IS NOT NULL AND id IN ({marks(len(feeds))}){lock}",
        *feeds,
    )
    return {FeedPk(row.id): Holding(row.fence, row.state, row.overrides) for row in rows}


_LEARNED_COLUMNS = (
    "interval_sec", "last_decision_at", "reason", "retry_after_sec", "failures", "gone_count",
    "ewma_sec", "hints", "recent_published", "etag", "last_modified", "asked_whole_at",
    "documents_seen", "document_seen_at", "document_hash", "identity", "moved_to", "moved_count",
    "moved_since", "failing_told", "last_fetch_at", "last_outcome", "last_status", "last_error",
    "new_entries_last_fetch", "new_today", "today", "last_address", "updated_at",
)  # fmt: skip


async def learn(tx: Transaction, lessons: Sequence[Learned]) -> None:
    """One row per feed, whatever happened; the claim ends here."""
    assignments = ", ".join(f"{column} = ?" for column in _LEARNED_COLUMNS)
    await tx.run_many(
        f"UPDATE feeds SET {assignments}, claimed_by = NULL,"
        " state = CASE WHEN state = 'active' THEN ? ELSE state END,"
        " scheduled_at = ?, next_visit_at = CASE WHEN state = 'active' THEN CAST(? AS BIGINT) END,"
        " last_success_at = coalesce(?, last_success_at), type = coalesce(?, type),"
        " title = coalesce(?, title), home_link = coalesce(?, home_link) WHERE id = ?",
        [_learned_row(lesson) for lesson in lessons],
    )


def _learned_row(lesson: Learned) -> tuple[Value, ...]:
    state, decision = lesson.decision.state, lesson.decision
    next_at = _micros_of(decision)
    rhythm = (
        state.interval,
        lesson.now, decision.reason, lesson.retry_after, state.failures, state.gone, state.ewma,
        orjson.dumps(state.hints.as_json()).decode(),
        orjson.dumps(state.recent_published).decode(),
    )  # fmt: skip
    document = (
        lesson.validators.etag, lesson.validators.last_modified, lesson.asked_whole_at,
        lesson.documents_seen, lesson.document_seen_at, lesson.document_hash, lesson.identity,
        lesson.move.to, lesson.move.count, lesson.move.since,
    )  # fmt: skip
    stats = (
        lesson.failing_told, lesson.now, lesson.outcome, lesson.status, lesson.error,
        lesson.new_entries, lesson.new_today, lesson.today, lesson.address, lesson.now,
    )  # fmt: skip
    ends = (
        "gone" if lesson.gone_for_good else "active",
        next_at,
        next_at,
        lesson.now if lesson.succeeded else None,
        lesson.type,
        lesson.title,
        lesson.home_link,
        lesson.due.feed,
    )
    return (*rhythm, *document, *stats, *ends)


def _micros_of(decision: Decision) -> int | None:
    return None if decision.next is None else to_micros(decision.next)


async def move_feed(
    tx: Transaction, feed: FeedPk, url: str, key: bytes, host: str, shard: int
) -> None:
    """Only the address changes: history, validators and identity stay."""
    await tx.run(
        "UPDATE feeds SET url = ?, url_key = ?, host = ?, shard = ?, moved_to = NULL,"
        " moved_count = 0, moved_since = NULL WHERE id = ?",
        url,
        key,
        host,
        shard,
        feed,
    )


@dataclass(frozen=True, slots=True)
class Resident:
    """Who lives at a URL already."""

    feed_id: FeedId
    state: str
    identity: dict[str, Any] | None


async def feed_at(view: Reader, url_key: bytes) -> Resident | None:
    row = await view.row("SELECT feed_id, state, identity FROM feeds WHERE url_key = ?", url_key)
    if row is None:
        return None
    identity = orjson.loads(row.identity) if row.identity else None
    return Resident(FeedId(row.feed_id), row.state, identity)


async def stop_as_duplicate(tx: Transaction, feed: FeedPk, of: str) -> None:
    """It moved to where another feed lives: no second visit to one place, both histories kept."""
    await tx.run(
        "UPDATE feeds SET state = 'duplicate', moved_to = ?, next_visit_at = NULL WHERE id = ?",
        of,
        feed,
    )


@dataclass(frozen=True, slots=True)
class VisitRecord:
    """One line of a feed's history: what was asked, what came, what was decided and from what."""

    feed: FeedPk
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


_VISIT_FIELDS = [field.name for field in fields(VisitRecord)]
_visit_row = attrgetter(*_VISIT_FIELDS)
_INSERT_VISIT = (
    f"INSERT INTO visits ({', '.join(['feed_id', *_VISIT_FIELDS[1:]])})"
    f" VALUES ({marks(len(_VISIT_FIELDS))})"
)


async def record_visits(tx: Transaction, visits: Sequence[VisitRecord]) -> None:
    """The key (feed, scheduled_at) is what makes a second commit of one visit impossible (J1)."""
    await tx.run_many(_INSERT_VISIT, [_visit_row(visit) for visit in visits])


async def forget_old_visits(tx: Transaction, kept: int) -> int:
    """History beyond the newest N visits of each feed goes; the newest is never touched."""
    return await tx.run(
        "DELETE FROM visits WHERE (feed_id, scheduled_at) IN (SELECT feed_id, scheduled_at FROM"
        " (SELECT feed_id, scheduled_at, row_number() OVER (PARTITION BY feed_id"
        " ORDER BY scheduled_at DESC) AS place FROM visits) ranked WHERE place > ? LIMIT 5000)",
        kept,
    )


async def show_up(tx: Transaction, worker: WorkerId, host: str, pid: int, now: int) -> None:
    """A sign of life, on which the sharing of work is based."""
    await tx.run(
        "INSERT INTO workers (worker_id, host, pid, started_at, heartbeat_at)"
        " VALUES (?, ?, ?, ?, ?) ON CONFLICT (worker_id) DO UPDATE SET"
        " heartbeat_at = excluded.heartbeat_at, pid = excluded.pid, host = excluded.host",
        worker,
        host,
        pid,
        now,
        now,
    )


async def living_workers(tx: Transaction, since: int) -> int:
    row = await tx.row("SELECT count(*) AS n FROM workers WHERE heartbeat_at > ?", since)
    return int(row.n) if row else 0


async def renew_shards(tx: Transaction, worker: WorkerId, now: int, until: int) -> int:
    """Keep what we have (never what somebody else took over); answers how many that is."""
    return await tx.run("UPDATE shards SET until = ? WHERE worker_id = ?", until, worker)


async def take_shards(
    tx: Transaction, worker: WorkerId, now: int, until: int, most: int
) -> list[int]:
    """Free or abandoned shards become ours."""
    skip = " FOR UPDATE SKIP LOCKED" if tx.dialect == "postgresql" else ""
    rows = await tx.rows(
        "UPDATE shards SET worker_id = ?, until = ? WHERE shard IN (SELECT shard FROM shards"
        f" WHERE worker_id IS NULL OR until <= ? ORDER BY shard LIMIT ?{skip}) RETURNING shard",
        worker,
        until,
        now,
        most,
    )
    return [row.shard for row in rows]


async def let_go_of_shards(
    tx: Transaction, worker: WorkerId, most: int, busy: Sequence[int]
) -> None:
    """Make room for a new worker; hosts being asked right now stay ours until they are not."""
    keep = f" AND shard NOT IN ({marks(len(busy))})" if busy else ""
    await tx.run(
        "UPDATE shards SET worker_id = NULL, until = 0 WHERE shard IN (SELECT shard FROM shards"
        f" WHERE worker_id = ?{keep} ORDER BY shard DESC LIMIT ?)",
        worker,
        *busy,
        most,
    )


async def leave(tx: Transaction, worker: WorkerId) -> None:
    """A worker that stops in order leaves nothing to wait for."""
    await tx.run("UPDATE shards SET worker_id = NULL, until = 0 WHERE worker_id = ?", worker)
    await tx.run("DELETE FROM workers WHERE worker_id = ?", worker)


async def recently_asked_hosts(tx: Reader, shards: Sequence[int], since: int) -> list[str]:
    """Hosts of newly taken shards that were asked lately or are claimed: be careful with them."""
    rows = await tx.rows(
        "SELECT DISTINCT host FROM feeds WHERE (last_fetch_at > ? OR claimed_by IS NOT NULL)"
        f" AND shard IN ({marks(len(shards))})",
        since,
        *shards,
    )
    return [row.host for row in rows]


async def next_due(view: Reader, worker: WorkerId) -> int | None:
    """When the next feed of our shards is due."""
    row = await view.row(
        "SELECT min(next_visit_at) AS at FROM feeds WHERE next_visit_at IS NOT NULL AND shard IN"
        " (SELECT shard FROM shards WHERE worker_id = ?)",
        worker,
    )
    return row.at if row else None

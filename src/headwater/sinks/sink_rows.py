"""Sinks in the database: changes by people, and the progress of deliverers, one at a time.

A deliverer writes the end of its lease into `next_try_at`. That moment is also its proof that it
holds the lease: another deliverer that takes over writes a later one. A change by people (also a
replay) writes another `updated_at`, and ends the delivery under way: a new one begins.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import orjson

from headwater.core.ports import Row, SqlValue, Transaction, View, placeholders
from headwater.core.values.instant import from_micros, maybe_micros, maybe_moment, to_micros
from headwater.core.values.keep import KEEP
from headwater.events.event_filter import EventFilter
from headwater.events.event_rows import get_last_seq
from headwater.sinks.sink import DeadLetter, Failing, NewSink, Sink, SinkPatch, SinkStatus

COLUMNS = (
    "id, name, kind, origin, options, secrets, wanted, enabled, stopped, max_attempts, cursor,"
    " replays, attempts, failures, failing_since, next_try_at, delivered, last_delivered_at,"
    " last_error, last_detail, created_at, updated_at"
)
_LETTER = "sink_id, seq, event_id, type, attempts, error, detail, died_at, retry_asked"


async def list_sinks(view: View) -> list[Sink]:
    """All sinks, by name."""
    return [sink_of(row) for row in await view.rows(f"SELECT {COLUMNS} FROM sinks ORDER BY name")]


async def find_sink(view: View, name: str) -> Sink | None:
    row = await view.row(f"SELECT {COLUMNS} FROM sinks WHERE name = ?", name)
    return None if row is None else sink_of(row)


async def list_sink_statuses(view: View) -> list[SinkStatus]:
    """Every sink with its lag and its dead letters, by name."""
    last = await get_last_seq(view)
    counts = await view.rows("SELECT sink_id, count(*) AS many FROM dead_letters GROUP BY sink_id")
    dead = {row.sink_id: row.many for row in counts}
    return [
        SinkStatus(sink, max(0, last - sink.cursor), dead.get(sink.id, 0))
        for sink in await list_sinks(view)
    ]


async def sink_status_of(view: View, sink: Sink) -> SinkStatus:
    row = await view.row("SELECT count(*) AS many FROM dead_letters WHERE sink_id = ?", sink.id)
    assert row is not None
    return SinkStatus(sink, max(0, await get_last_seq(view) - sink.cursor), row.many)


async def list_dead_letters(
    view: View, sink_id: int, *, after: int = 0, limit: int = 100
) -> list[DeadLetter]:
    """Dead letters by their number in the log, those after `after`."""
    rows = await view.rows(
        f"SELECT {_LETTER} FROM dead_letters WHERE sink_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        sink_id,
        after,
        limit,
    )
    return dead_letters_of(rows)


async def list_letters_to_retry(view: View, sink_id: int, *, limit: int) -> list[DeadLetter]:
    """Dead letters that are to be retried, the oldest first."""
    rows = await view.rows(
        f"SELECT {_LETTER} FROM dead_letters WHERE sink_id = ? AND retry_asked"
        " ORDER BY seq LIMIT ?",
        sink_id,
        limit,
    )
    return dead_letters_of(rows)


def dead_letters_of(rows: Sequence[Row]) -> list[DeadLetter]:
    return [
        DeadLetter(
            row.sink_id,
            row.seq,
            row.event_id,
            row.type,
            row.attempts,
            row.error,
            row.detail,
            from_micros(row.died_at),
            bool(row.retry_asked),
        )
        for row in rows
    ]


def sink_of(row: Row) -> Sink:
    return Sink(
        id=row.id,
        name=row.name,
        kind=row.kind,
        origin=row.origin,
        options=orjson.loads(row.options),
        secrets=None if row.secrets is None else bytes(row.secrets),
        wanted=EventFilter.from_json(row.wanted),
        enabled=bool(row.enabled),
        stopped=row.stopped,
        max_attempts=row.max_attempts,
        cursor=row.cursor,
        replays=row.replays,
        attempts=row.attempts,
        failures=row.failures,
        failing_since=maybe_moment(row.failing_since),
        next_try_at=maybe_moment(row.next_try_at),
        delivered=row.delivered,
        last_delivered_at=maybe_moment(row.last_delivered_at),
        last_error=row.last_error,
        last_detail=row.last_detail,
        created_at=from_micros(row.created_at),
        updated_at=from_micros(row.updated_at),
    )


_NO_FAILURES = (
    "attempts = 0, failures = 0, failing_since = NULL, next_try_at = NULL, last_error = NULL,"
    " last_detail = NULL"
)

_LATER = "updated_at = CASE WHEN updated_at < ? THEN ? ELSE updated_at + 1 END"
"""Every change by people writes another `updated_at`: deliverers see it there."""


@dataclass(frozen=True, slots=True)
class SinkClaim:
    """A deliverer's proof that it holds the lease."""

    sink_id: int
    updated_at: int
    lease_end: int


@dataclass(frozen=True, slots=True)
class NewDeadLetter:
    """An event that becomes a dead letter."""

    seq: int
    event_id: str
    type: str
    attempts: int
    error: str
    detail: str


@dataclass(frozen=True, slots=True)
class DeliveryProgress:
    """Everything up to `cursor` is done: `delivered` more were taken since, and others are
    `buried`."""

    cursor: int
    delivered: int
    now: int
    buried: tuple[NewDeadLetter, ...] = ()


# Changes by people


async def insert_sink(tx: Transaction, new: NewSink, now: datetime) -> Sink | None:
    """None when the name is taken."""
    row: dict[str, SqlValue] = {
        "name": new.name,
        "kind": new.kind,
        "origin": new.origin,
        "options": _json(new.options),
        "secrets": new.secrets,
        "wanted": new.wanted.as_json(),
        "enabled": new.enabled,
        "max_attempts": new.max_attempts,
        "cursor": new.cursor,
        "replays": 0,
        "attempts": 0,
        "failures": 0,
        "delivered": 0,
        "created_at": to_micros(now),
        "updated_at": to_micros(now),
    }
    inserted = await tx.row(
        f"INSERT INTO sinks ({', '.join(row)}) VALUES ({placeholders(len(row))})"
        f" ON CONFLICT (name) DO NOTHING RETURNING {COLUMNS}",
        *row.values(),
    )
    return None if inserted is None else sink_of(inserted)


async def update_sink(
    tx: Transaction, sink_id: int, patch: SinkPatch, now: datetime
) -> Sink | None:
    """Change a sink; it starts afresh: not stopped, no pause, no lease. None when it is gone."""
    columns = {
        field.name: _column_value(value)
        for field in fields(patch)
        if (value := getattr(patch, field.name)) is not KEEP
    }
    assignments = "".join(f"{name} = ?, " for name in columns)
    row = await tx.row(
        f"UPDATE sinks SET {assignments}stopped = NULL, {_NO_FAILURES}, {_LATER} WHERE id = ?"
        f" RETURNING {COLUMNS}",
        *columns.values(),
        to_micros(now),
        to_micros(now),
        sink_id,
    )
    return None if row is None else sink_of(row)


async def delete_sink(tx: Transaction, sink_id: int) -> bool:
    """Delete a sink with its dead letters."""
    return await tx.run("DELETE FROM sinks WHERE id = ?", sink_id) == 1


async def rewind(tx: Transaction, sink_id: int, seq: int, now: datetime) -> Sink | None:
    """Move the cursor back: everything from `seq` on is delivered again, dead letters too. It never
    moves forward, past events that were not delivered. None when the sink is gone."""
    row = await tx.row(
        "UPDATE sinks SET cursor = CASE WHEN cursor < ? THEN cursor ELSE ? END,"
        f" replays = replays + 1, {_NO_FAILURES}, {_LATER} WHERE id = ? RETURNING {COLUMNS}",
        max(0, seq - 1),
        max(0, seq - 1),
        to_micros(now),
        to_micros(now),
        sink_id,
    )
    if row is None:
        return None
    await tx.run("DELETE FROM dead_letters WHERE sink_id = ? AND seq > ?", sink_id, row.cursor)
    return sink_of(row)


async def ask_retry(
    tx: Transaction, sink_id: int, seqs: Sequence[int] | None, now: datetime
) -> int:
    """Mark dead letters to be retried, all of them when `seqs` is None. How many they are.

    It counts as a replay: a sink that knows how far it has come would think that it has an older
    event already.
    """
    # The sink's row first, as deliverers do, so that no two transactions wait for each other.
    if not await _has_letters(tx, sink_id, seqs):
        return 0
    await tx.run(
        f"UPDATE sinks SET replays = replays + 1, next_try_at = NULL, {_LATER} WHERE id = ?",
        to_micros(now),
        to_micros(now),
        sink_id,
    )
    return await _on_letters(tx, "UPDATE dead_letters SET retry_asked = TRUE", sink_id, seqs)


async def delete_dead_letters(tx: Transaction, sink_id: int, seqs: Sequence[int] | None) -> int:
    """Delete dead letters, all of them when `seqs` is None. How many they were."""
    return await _on_letters(tx, "DELETE FROM dead_letters", sink_id, seqs)


# Deliveries


async def claim_sink(tx: Transaction, sink: Sink, lease_end: int) -> SinkClaim | None:
    """None when another deliverer was faster, or somebody changed the sink, since we looked."""
    touched = await tx.run(
        "UPDATE sinks SET next_try_at = ? WHERE id = ? AND cursor = ? AND replays = ?"
        " AND updated_at = ? AND next_try_at IS NOT DISTINCT FROM ?"
        " AND enabled AND stopped IS NULL",
        lease_end,
        *_as_seen(sink),
    )
    return SinkClaim(sink.id, to_micros(sink.updated_at), lease_end) if touched == 1 else None


async def renew_claim(tx: Transaction, claim: SinkClaim, until: int) -> bool:
    """Make the lease longer; nothing else is written."""
    touched = await tx.run(
        "UPDATE sinks SET next_try_at = ? WHERE id = ? AND next_try_at = ? AND updated_at = ?",
        until,
        claim.sink_id,
        claim.lease_end,
        claim.updated_at,
    )
    return touched == 1


async def note_progress(
    tx: Transaction, claim: SinkClaim, progress: DeliveryProgress, until: int | None
) -> bool:
    """Write the progress. `until` keeps the lease for more; None ends it."""
    columns: dict[str, SqlValue] = {"cursor": progress.cursor}
    return await _write_as_holder(
        tx, claim, progress, until, columns | _success_columns(progress.delivered)
    )


async def note_failure(
    tx: Transaction,
    claim: SinkClaim,
    progress: DeliveryProgress,
    failing: Failing,
    *,
    until: int | None,
    stopped: str | None = None,
) -> bool:
    """Write a failure: the event after the cursor was not taken. `until` is the end of the pause,
    or of the lease when it goes on at once; `stopped` is the reason why it never does."""
    columns: dict[str, SqlValue] = {
        "cursor": progress.cursor,
        "attempts": failing.attempts,
        "failures": failing.failures,
        "failing_since": failing.since,
        "last_error": failing.error,
        "last_detail": failing.detail,
        "stopped": stopped,
    }
    return await _write_as_holder(tx, claim, progress, until, columns)


async def note_retried(
    tx: Transaction, claim: SinkClaim, progress: DeliveryProgress, taken: Sequence[int], until: int
) -> bool:
    """Delete dead letters that were taken after all; those that failed again are buried again."""
    if not await _write_as_holder(tx, claim, progress, until, _success_columns(len(taken))):
        return False
    await _on_letters(tx, "DELETE FROM dead_letters", claim.sink_id, taken)
    return True


async def advance_cursor(tx: Transaction, sink: Sink, reached: int) -> bool:
    """Move the cursor to `reached`, as no event up to it is wanted. Only while nobody delivers.

    A cursor ahead of the log (after a restore from an older backup) moves back. That counts as a
    replay: other events will get the numbers beyond.
    """
    touched = await tx.run(
        "UPDATE sinks SET cursor = ?, replays = replays + ? WHERE id = ? AND cursor = ?"
        " AND replays = ? AND updated_at = ? AND next_try_at IS NOT DISTINCT FROM ?",
        reached,
        int(reached < sink.cursor),
        *_as_seen(sink),
    )
    return touched == 1


def _as_seen(sink: Sink) -> tuple[SqlValue, ...]:
    """The values that must be as they were when we looked."""
    return (
        sink.id,
        sink.cursor,
        sink.replays,
        to_micros(sink.updated_at),
        maybe_micros(sink.next_try_at),
    )


def _success_columns(delivered: int) -> dict[str, SqlValue]:
    """A success ends the failures."""
    if not delivered:
        return {}
    nothing = ("failing_since", "last_error", "last_detail")
    return {"attempts": 0, "failures": 0} | dict.fromkeys(nothing)


async def _write_as_holder(
    tx: Transaction,
    claim: SinkClaim,
    progress: DeliveryProgress,
    until: int | None,
    columns: dict[str, SqlValue],
) -> bool:
    """Write only while the lease is still held: everything, or nothing."""
    if progress.delivered:
        columns = columns | {"last_delivered_at": progress.now}
    assignments = "".join(f"{name} = ?, " for name in columns)
    touched = await tx.run(
        f"UPDATE sinks SET {assignments}delivered = delivered + ?, next_try_at = ?"
        " WHERE id = ? AND next_try_at = ? AND updated_at = ?",
        *columns.values(),
        progress.delivered,
        until,
        claim.sink_id,
        claim.lease_end,
        claim.updated_at,
    )
    if touched == 1:
        await _insert_dead_letters(tx, claim, progress)
    return touched == 1


async def _insert_dead_letters(
    tx: Transaction, claim: SinkClaim, progress: DeliveryProgress
) -> None:
    await tx.run_many(
        "INSERT INTO dead_letters"
        " (sink_id, seq, event_id, type, attempts, error, detail, died_at, retry_asked)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, FALSE) ON CONFLICT (sink_id, seq) DO UPDATE SET"
        " attempts = excluded.attempts, error = excluded.error, detail = excluded.detail,"
        " died_at = excluded.died_at, retry_asked = FALSE",
        [
            (claim.sink_id, each.seq, each.event_id, each.type, each.attempts, each.error,
             each.detail, progress.now)
            for each in progress.buried
        ],
    )  # fmt: skip


async def _has_letters(view: View, sink_id: int, seqs: Sequence[int] | None) -> bool:
    where, values = _letters(sink_id, seqs)
    return await view.row(f"SELECT 1 FROM dead_letters {where} LIMIT 1", *values) is not None


async def _on_letters(
    tx: Transaction, statement: str, sink_id: int, seqs: Sequence[int] | None
) -> int:
    where, values = _letters(sink_id, seqs)
    return await tx.run(f"{statement} {where}", *values)


def _letters(sink_id: int, seqs: Sequence[int] | None) -> tuple[str, list[int]]:
    """The condition for these letters; for all of them when `seqs` is None."""
    if seqs is None:
        return "WHERE sink_id = ?", [sink_id]
    if not seqs:
        return "WHERE FALSE", []
    return f"WHERE sink_id = ? AND seq IN ({placeholders(len(seqs))})", [sink_id, *seqs]


def _column_value(value: Any) -> SqlValue:
    if isinstance(value, EventFilter):
        return value.as_json()
    return value if isinstance(value, SqlValue) else _json(value)


def _json(value: object) -> str:
    return orjson.dumps(value).decode()

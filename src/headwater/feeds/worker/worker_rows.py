"""Workers in the database: their signs of life and their shards."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from headwater.core.ports import Transaction, View, placeholders
from headwater.core.values.ids import WorkerId
from headwater.core.values.instant import from_micros

SHARDS = 1024


async def upsert_heartbeat(
    tx: Transaction, worker: WorkerId, host: str, pid: int, now: int
) -> None:
    """Write a sign of life. Workers that show none lose their shards to the others."""
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


async def count_living_workers(tx: Transaction, since: int) -> int:
    row = await tx.row("SELECT count(*) AS n FROM workers WHERE heartbeat_at > ?", since)
    return int(row.n) if row else 0


async def renew_shards(tx: Transaction, worker: WorkerId, until: int) -> int:
    """Keep our shards (never those that another worker took over). Returns how many they are."""
    return await tx.run("UPDATE shards SET until = ? WHERE worker_id = ?", until, worker)


async def claim_shards(
    tx: Transaction, worker: WorkerId, now: int, until: int, most: int
) -> list[int]:
    """Take shards that are free or abandoned."""
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


async def release_shards(tx: Transaction, worker: WorkerId, most: int, busy: Sequence[int]) -> None:
    """Make room for a new worker. Shards of hosts being requested right now stay ours for now."""
    keep = f" AND shard NOT IN ({placeholders(len(busy))})" if busy else ""
    await tx.run(
        "UPDATE shards SET worker_id = NULL, until = 0 WHERE shard IN (SELECT shard FROM shards"
        f" WHERE worker_id = ?{keep}"
        " AND shard NOT IN (SELECT shard FROM feeds WHERE claimed_by = ?)"
        " ORDER BY shard DESC LIMIT ?)",
        worker,
        *busy,
        worker,
        most,
    )


async def delete_worker(tx: Transaction, worker: WorkerId) -> None:
    """A worker that stops in order leaves no lease behind for which others would wait."""
    await tx.run("UPDATE shards SET worker_id = NULL, until = 0 WHERE worker_id = ?", worker)
    await tx.run("DELETE FROM workers WHERE worker_id = ?", worker)


async def count_abandoned_shards(view: View, now: int) -> int:
    row = await view.row(
        "SELECT count(*) AS n FROM shards WHERE worker_id IS NULL OR until <= ?", now
    )
    return int(row.n) if row else 0


@dataclass(frozen=True, slots=True)
class RegisteredWorker:
    worker_id: str
    host: str
    pid: int
    started_at: datetime
    heartbeat_at: datetime


async def list_workers(view: View) -> list[RegisteredWorker]:
    rows = await view.rows("SELECT * FROM workers ORDER BY started_at, worker_id")
    return [
        RegisteredWorker(
            row.worker_id,
            row.host,
            row.pid,
            from_micros(row.started_at),
            from_micros(row.heartbeat_at),
        )
        for row in rows
    ]

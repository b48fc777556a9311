"""Workers in the database: their shards, the hosts that rest, and how much there is to do."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson

from headwater.core.errors import BadUrl
from headwater.core.ports import Row, Transaction, View, placeholders
from headwater.core.values.ids import FeedPk, WorkerId
from headwater.core.values.instant import from_micros, maybe_moment, to_micros
from headwater.core.values.url import host_of
from headwater.feeds.schedule.due import REST_ENDS

SHARDS = 1024

_LONGEST_LEASE_ELSEWHERE = 86_400_000_000
"""A registered fetcher says itself how long it needs, up to a day."""

_LONGEST_WAIT_FOR_A_TURN = 2 * 86_400_000_000
"""A host rests for a day at most, and those that waited for it come one after the other."""

_WAITS_TOO_LONG = (
    "state = 'active' AND claimed_by IS NULL AND scheduled_at < next_visit_at AND next_visit_at > ?"
)
"""Given back until a host has a turn, for longer than any host rests."""


async def upsert_heartbeat(
    tx: Transaction, worker: WorkerId, host: str, pid: int, now: int
) -> None:
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


async def count_living_workers(tx: Transaction, since: int) -> int:
    row = await tx.row("SELECT count(*) AS n FROM workers WHERE heartbeat_at > ?", since)
    return int(row.n) if row else 0


async def renew_shards(tx: Transaction, worker: WorkerId, until: int) -> int:
    """Keep what we have (never what somebody else took over); answers how many that is."""
    return await tx.run("UPDATE shards SET until = ? WHERE worker_id = ?", until, worker)


async def claim_shards(
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


async def release_shards(tx: Transaction, worker: WorkerId, most: int, busy: Sequence[int]) -> None:
    """Make room for a new worker; hosts being asked right now stay ours until they are not."""
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
    """A worker that stops in order leaves nothing to wait for."""
    await tx.run("UPDATE shards SET worker_id = NULL, until = 0 WHERE worker_id = ?", worker)
    await tx.run("DELETE FROM workers WHERE worker_id = ?", worker)


_OURS = "shard IN (SELECT shard FROM shards WHERE worker_id = ?)"


async def list_recently_asked_hosts(view: View, worker: WorkerId, since: int) -> list[str]:
    """Hosts of our shards that were asked lately, or are claimed: be careful with them."""
    rows = await view.rows(
        "SELECT DISTINCT host FROM feeds WHERE (last_fetch_at > ? OR claimed_by IS NOT NULL)"
        f" AND {_OURS}",
        since,
        worker,
    )
    return [row.host for row in rows]


_RESTS = (
    f"SELECT f.id, f.host, v.hops, {REST_ENDS} AS until FROM feeds f LEFT JOIN visits v"
    " ON v.feed_id = f.id AND v.scheduled_at ="
    " (SELECT max(latest.scheduled_at) FROM visits latest WHERE latest.feed_id = f.id)"
    " WHERE f.last_outcome = 'throttled'"
)
"""Who was told to wait, and on which way: at its end is the host that said so."""


async def list_resting_hosts(view: View, unsaid: float, now: int) -> list[tuple[str, int]]:
    """Hosts that asked one of our own workers for a rest, and until when.

    `unsaid` is the rest, in seconds, of one that did not say how long.
    """
    rows = await view.rows(
        f"{_RESTS} AND f.shard >= 0 GROUP BY f.id, f.host, v.hops",
        int(unsaid),
    )
    return [(_host_that_answered(row), row.until) for row in rows if (row.until or 0) > now]


async def find_end_of_rest(view: View, feed: FeedPk, unsaid: float) -> int | None:
    """Until when the host of this feed rests, or the one it led to, as any feed was told that the
    same visitor asks."""
    asked = await view.row("SELECT host, shard FROM feeds WHERE id = ?", feed)
    if asked is None:
        return None
    same_visitor = "f.shard >= 0" if asked.shard >= 0 else f"f.shard = {int(asked.shard)}"
    rows = await view.rows(
        f"{_RESTS} AND {same_visitor} GROUP BY f.id, f.host, v.hops", int(unsaid)
    )
    return max(
        (
            row.until
            for row in rows
            if row.until is not None and (row.id == feed or _host_that_answered(row) == asked.host)
        ),
        default=None,
    )


async def find_end_of_rest_of_host(view: View, host: str, unsaid: float) -> int | None:
    """Until when a host rests, as any of our own workers was told."""
    rests = await list_resting_hosts(view, unsaid, 0)
    return max((until for resting, until in rests if resting == host), default=None)


def _host_that_answered(row: Row) -> str:
    try:
        return host_of(orjson.loads(row.hops)[-1][2]) if row.hops else str(row.host)
    except BadUrl:  # as a registered fetcher may have reported it
        return str(row.host)


async def count_abandoned_shards(view: View, now: int) -> int:
    row = await view.row(
        "SELECT count(*) AS n FROM shards WHERE worker_id IS NULL OR until <= ?", now
    )
    return int(row.n) if row else 0


async def has_clock_stepped_back(view: View, now: int, lease: int) -> bool:
    """Whether any feed speaks of a time to come, as it does when the wall clock was set back.

    One look through the table, in which nobody who writes has to wait for us.
    """
    row = await view.row(
        "SELECT 1 AS found FROM feeds WHERE updated_at > ? OR last_decision_at > ?"
        f" OR ({_WAITS_TOO_LONG}) LIMIT 1",
        now + lease,
        now + lease,
        now + _LONGEST_WAIT_FOR_A_TURN,
    )
    return row is not None


async def reschedule_after_step_back(tx: Transaction, now: int, lease: int) -> None:
    """The wall clock was set back: what was decided "in the future" keeps its wait, from now on.

    So does what people asked for then (a feed followed, resumed, or asked for at once).
    """
    slack = now + lease
    await tx.run(
        "UPDATE feeds SET next_visit_at = next_visit_at - updated_at + ?,"
        " scheduled_at = next_visit_at - updated_at + ?, updated_at = ?"
        " WHERE state = 'active' AND claimed_by IS NULL AND updated_at > ?"
        " AND next_visit_at >= updated_at AND coalesce(last_decision_at, 0) <= ?",
        now,
        now,
        now,
        slack,
        slack,
    )
    await tx.run(
        "UPDATE feeds SET next_visit_at = next_visit_at - last_decision_at + ?,"
        " scheduled_at = next_visit_at - last_decision_at + ?, last_decision_at = ?,"
        " updated_at = ? WHERE state = 'active' AND claimed_by IS NULL AND last_decision_at > ?",
        now,
        now,
        now,
        now,
        slack,
    )
    await _let_no_host_rest_too_long(tx, now, slack)


async def cut_long_leases(tx: Transaction, now: int, lease: int) -> None:
    """Leases that would run for longer than any lease does are cut to one: they are of a clock that
    was set back since. A registered fetcher's may run for a day. A worker's last sign of life
    counts as one of now: if it is dead, that shows soon.
    """
    slack = now + lease
    await tx.run("UPDATE workers SET heartbeat_at = ? WHERE heartbeat_at > ?", now, slack)
    await tx.run(
        "UPDATE feeds SET next_visit_at = ? WHERE claimed_by IS NOT NULL"
        " AND next_visit_at > CASE WHEN shard >= 0 THEN CAST(? AS BIGINT)"
        " ELSE CAST(? AS BIGINT) END",
        slack,
        slack + lease,
        slack + _LONGEST_LEASE_ELSEWHERE,
    )
    await tx.run("UPDATE shards SET until = ? WHERE until > ?", slack, slack + lease)


async def _let_no_host_rest_too_long(tx: Transaction, now: int, slack: int) -> None:
    """What feeds were told that nobody visits any more counts from now on, at the latest. Feeds
    given back until their host has a turn are due: if it still rests, they are given back again.
    """
    await tx.run(
        "UPDATE feeds SET last_decision_at = ? WHERE state <> 'active' AND last_decision_at > ?",
        now,
        slack,
    )
    await tx.run(
        f"UPDATE feeds SET next_visit_at = ? WHERE {_WAITS_TOO_LONG}",
        now,
        now + _LONGEST_WAIT_FOR_A_TURN,
    )


async def find_next_due(view: View, worker: WorkerId) -> int | None:
    """When the next feed of our shards is due."""
    row = await view.row(
        "SELECT min(next_visit_at) AS at FROM feeds WHERE next_visit_at IS NOT NULL"
        " AND shard >= 0 AND shard IN (SELECT shard FROM shards WHERE worker_id = ?)",
        worker,
    )
    return row.at if row else None


@dataclass(frozen=True, slots=True)
class RegisteredWorker:
    worker_id: str
    host: str
    pid: int
    started_at: datetime
    heartbeat_at: datetime


@dataclass(frozen=True, slots=True)
class ScheduleLoad:
    """How much there is to do. `oldest_due_at`: when the longest-waiting feed was planned.

    What waits for a registered fetcher is not due for us.
    """

    by_state: dict[str, int]
    due: int
    claimed: int
    failing: int
    oldest_due_at: datetime | None


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


async def get_schedule_load(view: View, now: datetime) -> ScheduleLoad:
    states = await view.rows("SELECT state, count(*) AS feeds FROM feeds GROUP BY state")
    row = await view.row(
        "SELECT count(*) AS due, min(next_visit_at) AS oldest FROM feeds"
        " WHERE next_visit_at IS NOT NULL AND next_visit_at <= ? AND shard >= 0",
        to_micros(now),
    )
    claimed = await view.row("SELECT count(*) AS feeds FROM feeds WHERE claimed_by IS NOT NULL")
    failing = await view.row(
        "SELECT count(*) AS feeds FROM feeds WHERE failures > 0 AND state = 'active'"
    )
    assert row and claimed and failing
    return ScheduleLoad(
        by_state={each.state: each.feeds for each in states},
        due=row.due,
        claimed=claimed.feeds,
        failing=failing.feeds,
        oldest_due_at=maybe_moment(row.oldest),
    )


async def find_last_request_at(view: View, host: str) -> int | None:
    row = await view.row("SELECT max(last_fetch_at) AS at FROM feeds WHERE host = ?", host)
    return row.at if row else None

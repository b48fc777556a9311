"""Hosts in the database: which were asked lately, and which rest until when."""

import orjson

from headwater.core.errors import BadUrl
from headwater.core.ports import Row, View
from headwater.core.values.ids import FeedPk, WorkerId
from headwater.core.values.url import host_of

REST_ENDS = (
    "max(last_decision_at + CAST(1000000 * COALESCE(retry_after_sec,"
    " CASE WHEN last_status = 429 THEN CAST(? AS BIGINT) END) AS BIGINT))"
)
"""Until when the host of throttled feeds rests; its value is the rest, in whole seconds, of one
that did not say how long. Whoever said 429, or how long, rests as a whole; a bare 503 is one feed's
trouble."""

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


async def find_last_request_at(view: View, host: str) -> int | None:
    row = await view.row("SELECT max(last_fetch_at) AS at FROM feeds WHERE host = ?", host)
    return row.at if row else None

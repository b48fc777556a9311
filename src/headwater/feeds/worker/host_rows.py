"""Hosts in the database: which were requested lately, and which rest until when."""

import orjson

from headwater.core.errors import BadUrl
from headwater.core.ports import Row, View
from headwater.core.values.ids import FeedPk, WorkerId
from headwater.core.values.url import host_of

REST_ENDS = (
    "max(last_decision_at + CAST(1000000 * COALESCE(retry_after_sec,"
    " CASE WHEN last_status = 429 THEN CAST(? AS BIGINT) END) AS BIGINT))"
)
"""Until when the host of throttled feeds rests. The value of the `?` is the rest, in whole seconds,
of a host that did not say how long. A host that answered 429, or said how long, rests as a whole; a
503 without Retry-After is trouble of one feed."""

_OURS = "shard IN (SELECT shard FROM shards WHERE worker_id = ?)"


async def list_recently_asked_hosts(view: View, worker: WorkerId, since: int) -> list[str]:
    """Hosts of our shards that were requested lately, or that have a claimed feed."""
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
"""Feeds that were asked to wait, with their redirects: the host at the end asked for it."""


async def list_resting_hosts(view: View, usual_rest: float, now: int) -> list[tuple[str, int]]:
    """Hosts that asked one of our own workers for a rest, and until when.

    `usual_rest` is the rest, in seconds, of a host that did not say how long.
    """
    rows = await view.rows(
        f"{_RESTS} AND f.shard >= 0 GROUP BY f.id, f.host, v.hops",
        int(usual_rest),
    )
    return [(_host_that_answered(row), row.until) for row in rows if (row.until or 0) > now]


async def find_end_of_rest(view: View, feed: FeedPk, usual_rest: float) -> int | None:
    """Until when the host of this feed rests, or the host that it redirects to.

    The answers to all feeds count that the same visitor requests.
    """
    feed_row = await view.row("SELECT host, shard FROM feeds WHERE id = ?", feed)
    if feed_row is None:
        return None
    same_visitor = "f.shard >= 0" if feed_row.shard >= 0 else f"f.shard = {int(feed_row.shard)}"
    rows = await view.rows(
        f"{_RESTS} AND {same_visitor} GROUP BY f.id, f.host, v.hops", int(usual_rest)
    )
    return max(
        (
            row.until
            for row in rows
            if row.until is not None
            and (row.id == feed or _host_that_answered(row) == feed_row.host)
        ),
        default=None,
    )


async def find_end_of_rest_of_host(view: View, host: str, usual_rest: float) -> int | None:
    """Until when a host rests that asked any of our own workers for it."""
    rests = await list_resting_hosts(view, usual_rest, 0)
    return max((until for resting, until in rests if resting == host), default=None)


def _host_that_answered(row: Row) -> str:
    try:
        return host_of(orjson.loads(row.hops)[-1][2]) if row.hops else str(row.host)
    except BadUrl:  # as a registered fetcher may have reported it
        return str(row.host)


async def find_last_request_at(view: View, host: str) -> int | None:
    row = await view.row("SELECT max(last_fetch_at) AS at FROM feeds WHERE host = ?", host)
    return row.at if row else None

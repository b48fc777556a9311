"""Claims of registered fetchers in the database: due feeds claimed, kept and taken."""

from dataclasses import dataclass

from headwater.core.ports import Row, Transaction, View, placeholders
from headwater.core.values.ids import FeedPk, FetcherId, WorkerId
from headwater.feeds.schedule.due import DueFeed
from headwater.feeds.worker.claim_rows import DUE_COLUMNS, due_feed_of
from headwater.feeds.worker.host_rows import REST_ENDS


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """One claim as its holder knows it: which feed, which visit of it, and the proof."""

    feed: FeedPk
    scheduled_at: int
    fence: int


@dataclass(frozen=True, slots=True)
class AssignedFeed:
    """A due feed, claimed, and the subscription that it stands behind."""

    due: DueFeed
    subscription_id: int
    source_url: str
    source_type: str
    config: str | None


def fetcher_worker_id(fetcher: FetcherId) -> WorkerId:
    """Who holds a feed, in the calendar's own words."""
    return WorkerId(f"fetcher:{fetcher}")


def shard_of_fetcher(fetcher: FetcherId) -> int:
    """Below zero: no worker of ours ever leases it."""
    return -fetcher


_OURS = "f.shard = ? AND f.shard < 0 AND f.next_visit_at IS NOT NULL"
"""In the words of the index that holds the feeds of registered fetchers."""


async def claim_assigned_feeds(
    tx: Transaction, fetcher: FetcherId, now: int, lease_end: int, limit: int
) -> list[AssignedFeed]:
    """The most important and longest overdue first, in that order.

    As with our own workers, a claim moves `next_visit_at` to the end of the lease: a fetcher that
    dies leaves nothing behind but a little time.
    """
    skip = " FOR UPDATE OF f SKIP LOCKED" if tx.dialect == "postgresql" else ""
    found = await tx.rows(
        "SELECT f.id, s.subscription_id, s.source_url, s.source_type, s.config"
        " FROM feeds f JOIN rss_subscriptions s ON s.feed_id = f.id"
        f" WHERE {_OURS} AND f.state = 'active' AND f.next_visit_at <= ?"
        f" AND s.fetcher_id = ? AND s.is_active"
        f" ORDER BY f.priority DESC, f.next_visit_at, f.id LIMIT ?{skip}",
        shard_of_fetcher(fetcher),
        now,
        fetcher,
        limit,
    )
    if not found:
        return []
    rows = await tx.rows(
        "UPDATE feeds SET next_visit_at = ?, fence = fence + 1, claimed_by = ?"
        f" WHERE id IN ({placeholders(len(found))}) RETURNING {DUE_COLUMNS}",
        lease_end,
        fetcher_worker_id(fetcher),
        *(row.id for row in found),
    )
    claimed = {row.id: due_feed_of(row) for row in rows}
    return [_assigned_feed_of(row, claimed[row.id]) for row in found]


def _assigned_feed_of(row: Row, due: DueFeed) -> AssignedFeed:
    return AssignedFeed(due, row.subscription_id, row.source_url, row.source_type, row.config)


async def list_feeds_of_fetcher(
    view: View, fetcher: FetcherId, subscriptions: list[int]
) -> dict[int, FeedPk]:
    """Which of these subscriptions are the fetcher's, and the feed behind each."""
    rows = await view.rows(
        "SELECT subscription_id, feed_id FROM rss_subscriptions WHERE fetcher_id = ? AND is_active"
        f" AND feed_id IS NOT NULL AND subscription_id IN ({placeholders(len(subscriptions))})",
        fetcher,
        *subscriptions,
    )
    return {row.subscription_id: FeedPk(row.feed_id) for row in rows}


async def extend_claim(
    tx: Transaction, fetcher: FetcherId, held: HeldClaim, now: int, at_least_until: int
) -> DueFeed | None:
    """The claimed feed, its lease made long enough; None when the claim is lost."""
    row = await tx.row(
        "UPDATE feeds SET next_visit_at = CASE WHEN next_visit_at < ? THEN CAST(? AS BIGINT)"
        " ELSE next_visit_at END WHERE id = ? AND scheduled_at = ? AND fence = ? AND claimed_by = ?"
        f" AND next_visit_at > ? RETURNING {DUE_COLUMNS}",
        at_least_until,
        at_least_until,
        held.feed,
        held.scheduled_at,
        held.fence,
        fetcher_worker_id(fetcher),
        now,
    )
    return None if row is None else due_feed_of(row)


async def claim_early(
    tx: Transaction, fetcher: FetcherId, feed: FeedPk, now: int, lease_end: int
) -> DueFeed | None:
    """A claim on a feed before its time, as a visit of this moment; None while somebody has it."""
    last = await tx.row("SELECT max(scheduled_at) AS at FROM visits WHERE feed_id = ?", feed)
    moment = max(now, last.at + 1) if last and last.at is not None else now
    row = await tx.row(
        "UPDATE feeds SET next_visit_at = ?, scheduled_at = ?, fence = fence + 1, claimed_by = ?"
        " WHERE id = ? AND shard = ? AND state = 'active'"
        f" AND (claimed_by IS NULL OR next_visit_at <= ?) RETURNING {DUE_COLUMNS}",
        lease_end,
        moment,
        fetcher_worker_id(fetcher),
        feed,
        shard_of_fetcher(fetcher),
        now,
    )
    return None if row is None else due_feed_of(row)


async def find_next_due(view: View, fetcher: FetcherId) -> int | None:
    """When the fetcher's next feed is due; a claimed one at the end of its lease."""
    row = await view.row(
        f"SELECT min(f.next_visit_at) AS at FROM feeds f WHERE {_OURS}", shard_of_fetcher(fetcher)
    )
    return row.at if row else None


async def list_resting_hosts(
    view: View, fetcher: FetcherId, unsaid: float, now: int
) -> dict[str, int]:
    """Hosts that told this fetcher to rest, and until when.

    `unsaid` is the rest, in seconds, of one that did not say how long.
    """
    rows = await view.rows(
        f"SELECT f.host, {REST_ENDS} AS until FROM feeds f WHERE {_OURS}"
        " AND f.last_outcome = 'throttled' GROUP BY f.host",
        int(unsaid),
        shard_of_fetcher(fetcher),
    )
    return {row.host: row.until for row in rows if row.until is not None and row.until > now}

"""Claims of registered fetchers in the database: due feeds are claimed, kept and taken early."""

from dataclasses import dataclass

from headwater.core.ports import Transaction, View, placeholders
from headwater.core.values.ids import FeedPk, FetcherId, WorkerId
from headwater.feeds.schedule.due import DueFeed
from headwater.feeds.worker.claim_rows import DUE_COLUMNS, due_feed_of
from headwater.feeds.worker.host_rows import REST_ENDS


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """One claim as its holder has it: the feed, the visit, and the fence as proof."""

    feed: FeedPk
    scheduled_at: int
    fence: int


@dataclass(frozen=True, slots=True)
class AssignedFeed:
    """A due feed that is claimed, and its subscription."""

    due: DueFeed
    subscription_id: int
    source_url: str
    source_type: str
    config: str | None


def fetcher_worker_id(fetcher: FetcherId) -> WorkerId:
    """The name under which a fetcher claims feeds."""
    return WorkerId(f"fetcher:{fetcher}")


def shard_of_fetcher(fetcher: FetcherId) -> int:
    """The shard is below zero: no worker of ours ever leases it."""
    return -fetcher


_OURS = "f.shard = ? AND f.shard < 0 AND f.next_visit_at IS NOT NULL"
"""The condition in the words of the index of the feeds of registered fetchers."""


async def claim_assigned_feeds(
    tx: Transaction, fetcher: FetcherId, now: int, lease_end: int, limit: int
) -> list[AssignedFeed]:
    """Claim due feeds: the most important first, then the longest overdue.

    As with our own workers, a claim moves `next_visit_at` to the end of the lease: a fetcher that
    dies loses nothing but a little time.
    """
    skip = " FOR UPDATE OF f SKIP LOCKED" if tx.dialect == "postgresql" else ""
    due_rows = await tx.rows(
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
    if not due_rows:
        return []
    rows = await tx.rows(
        "UPDATE feeds SET next_visit_at = ?, fence = fence + 1, claimed_by = ?"
        f" WHERE id IN ({placeholders(len(due_rows))}) RETURNING {DUE_COLUMNS}",
        lease_end,
        fetcher_worker_id(fetcher),
        *(row.id for row in due_rows),
    )
    claimed = {row.id: due_feed_of(row) for row in rows}
    return [
        AssignedFeed(
            claimed[row.id], row.subscription_id, row.source_url, row.source_type, row.config
        )
        for row in due_rows
    ]


async def list_feeds_of_fetcher(
    view: View, fetcher: FetcherId, subscription_ids: list[int]
) -> dict[int, FeedPk]:
    """Subscription → its feed, for the active ones of this fetcher."""
    rows = await view.rows(
        "SELECT subscription_id, feed_id FROM rss_subscriptions WHERE fetcher_id = ? AND is_active"
        f" AND feed_id IS NOT NULL AND subscription_id IN ({placeholders(len(subscription_ids))})",
        fetcher,
        *subscription_ids,
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
    """Claim a feed before its time, for a visit of this moment; None while it is claimed."""
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
    """The moment when the fetcher's next feed is due; a claimed one is due when its lease ends."""
    row = await view.row(
        f"SELECT min(f.next_visit_at) AS at FROM feeds f WHERE {_OURS}", shard_of_fetcher(fetcher)
    )
    return row.at if row else None


async def list_resting_hosts(
    view: View, fetcher: FetcherId, default_rest: float, now: int
) -> dict[str, int]:
    """Host → the end of its rest, for hosts that asked this fetcher to rest.

    `default_rest` is the rest, in seconds, of a host that did not say how long.
    """
    rows = await view.rows(
        f"SELECT f.host, {REST_ENDS} AS until FROM feeds f WHERE {_OURS}"
        " AND f.last_outcome = 'throttled' GROUP BY f.host",
        int(default_rest),
        shard_of_fetcher(fetcher),
    )
    return {row.host: row.until for row in rows if row.until is not None and row.until > now}

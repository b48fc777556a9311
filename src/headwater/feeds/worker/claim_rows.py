"""Claims in the database: which worker may visit which feed, and until when."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import orjson

from headwater.core.ports import Row, Transaction, View, placeholders
from headwater.core.values.ids import FeedPk, WorkerId
from headwater.core.values.response import Validators
from headwater.feeds.overrides import Overrides, decode_overrides
from headwater.feeds.schedule.due import UNMOVED, DueFeed, ObservedMove
from headwater.feeds.schedule.hints import Hints
from headwater.feeds.schedule.state import ScheduleState

_NO_HINTS = "{}"

DUE_COLUMNS = (
    "id, feed_id, url, host, overrides, etag, last_modified, hints, identity, document_hash,"
    " documents_seen, document_seen_at, asked_whole_at, moved_to, moved_count, moved_since,"
    " gone_count, new_today, today, interval_sec, scheduled_at, fence, ewma_sec,"
    " recent_published, failures, failing_told, last_address,"
    " last_error, reason, last_decision_at,"
    # Most feeds have no credentials, so most visits need not look for them.
    " EXISTS (SELECT 1 FROM rss_subscriptions s LEFT JOIN subscription_groups g"
    " ON g.group_id = s.group_id WHERE s.feed_id = feeds.id"
    " AND (s.credentials IS NOT NULL OR g.credentials IS NOT NULL)) AS has_credentials"
)


def due_feed_of(row: Row, claimed_at: int | None = None) -> DueFeed:
    """Read the columns by position: looking each up by its name took two thirds of the time."""
    (
        pk, feed_id, url, host, overrides, etag, last_modified, hints, identity, document_hash,
        documents_seen, document_seen_at, asked_whole_at, moved_to, moved_count, moved_since,
        gone_count, new_today, today, interval, scheduled_at, fence, ewma, recent_published,
        failures, failing_told, last_address, last_error, reason, decided_at, has_credentials,
    ) = row  # fmt: skip
    known_hints = Hints() if hints == _NO_HINTS else Hints.from_json(orjson.loads(hints))
    moments = tuple(orjson.loads(recent_published))
    state = ScheduleState(
        interval, failures, gone_count, ewma, known_hints, moments, decode_overrides(overrides)
    )
    return DueFeed(
        pk, feed_id, url, host, scheduled_at, fence,
        Validators(etag, last_modified), state,
        orjson.loads(identity) if identity else None,
        document_hash, documents_seen, document_seen_at, asked_whole_at,
        UNMOVED if moved_to is None else ObservedMove(moved_to, moved_count, moved_since),
        new_today, today, bool(failing_told), last_address, bool(has_credentials),
        last_error is not None, reason, decided_at, claimed_at,
    )  # fmt: skip


class ClaimState(NamedTuple):
    """A claimed feed as it is in the database now."""

    fence: int
    overrides: Overrides


async def claim_feeds(
    tx: Transaction, worker: WorkerId, now: int, lease_end: int, limit: int
) -> list[DueFeed]:
    """Claim due feeds of our shards: the most important first, then the longest overdue.

    Shards below zero are for registered fetchers; the condition lets the index leave them out. The
    claim moves `next_visit_at` to the end of the lease: if we die, the feed is due again then.
    """
    skip = " FOR UPDATE SKIP LOCKED" if tx.dialect == "postgresql" else ""
    rows = await tx.rows(
        "UPDATE feeds SET next_visit_at = ?, fence = fence + 1, claimed_by = ? WHERE id IN"
        " (SELECT id FROM feeds WHERE next_visit_at <= ? AND state = 'active' AND shard >= 0"
        " AND shard IN (SELECT shard FROM shards WHERE worker_id = ? AND until > ?)"
        f" ORDER BY priority DESC, next_visit_at LIMIT ?{skip}) RETURNING {DUE_COLUMNS}, priority",
        lease_end,
        worker,
        now,
        worker,
        now,
        limit,
    )
    # UPDATE returns its rows in no order.
    in_order = sorted(rows, key=lambda row: (-row.priority, row.scheduled_at))
    return [due_feed_of(row[:-1], now) for row in in_order]


async def claim_feed(tx: Transaction, feed: FeedPk, worker: WorkerId, lease_end: int) -> DueFeed:
    """Claim a feed that was just inserted: its first visit is under way already."""
    row = await tx.row(
        "UPDATE feeds SET next_visit_at = ?, fence = fence + 1, claimed_by = ? WHERE id = ?"
        f" RETURNING {DUE_COLUMNS}",
        lease_end,
        worker,
        feed,
    )
    assert row is not None, "the feed was made in this transaction"
    return due_feed_of(row)


def _by_feed(due: DueFeed) -> int:
    """All transactions lock feeds in this order, so that no two wait for each other."""
    return due.feed


async def renew_claims(tx: Transaction, held: Iterable[DueFeed], lease_end: int) -> None:
    """Visits that take long keep their feed. The fence leaves out feeds that we have lost."""
    await tx.run_many(
        "UPDATE feeds SET next_visit_at = ? WHERE id = ? AND fence = ? AND claimed_by IS NOT NULL",
        [(lease_end, due.feed, due.fence) for due in sorted(held, key=_by_feed)],
    )


async def release_claims(
    tx: Transaction, later: Iterable[tuple[DueFeed, int]], reason: str | None = None
) -> None:
    """Give feeds back unvisited, due at the moment beside each.

    `scheduled_at` stays, because it is the same visit. `reason` replaces the stored one, which
    names another moment.
    """
    await tx.run_many(
        "UPDATE feeds SET next_visit_at = CASE WHEN state = 'active' THEN CAST(? AS BIGINT) END,"
        " reason = coalesce(?, reason), claimed_by = NULL"
        " WHERE id = ? AND fence = ? AND claimed_by IS NOT NULL",
        [
            (moment, reason, due.feed, due.fence)
            for due, moment in sorted(later, key=lambda pair: pair[0].feed)
        ],
    )


async def release_own_claims(tx: Transaction, worker: WorkerId) -> list[str]:
    """After a restart the feeds that this worker held are due again. Returns their hosts."""
    rows = await tx.rows(
        "UPDATE feeds SET next_visit_at = CASE WHEN state = 'active' THEN scheduled_at END,"
        " claimed_by = NULL, fence = fence + 1 WHERE claimed_by = ? RETURNING host",
        worker,
    )
    return sorted({row.host for row in rows})


async def lock_claimed_feeds(
    tx: Transaction, feeds: Sequence[FeedPk], now: int
) -> dict[FeedPk, ClaimState]:
    """Feeds whose lease runs, locked until the transaction ends, so that our checks stay true."""
    lock = " ORDER BY id FOR UPDATE" if tx.dialect == "postgresql" else ""
    rows = await tx.rows(
        "SELECT id, fence, overrides FROM feeds"
        " WHERE claimed_by IS NOT NULL AND next_visit_at > ?"
        f" AND id IN ({placeholders(len(feeds))}){lock}",
        now,
        *feeds,
    )
    return {
        FeedPk(pk): ClaimState(fence, decode_overrides(overrides)) for pk, fence, overrides in rows
    }


async def find_next_due(view: View, worker: WorkerId) -> int | None:
    """The moment at which the next feed of our shards is due."""
    row = await view.row(
        "SELECT min(next_visit_at) AS at FROM feeds WHERE next_visit_at IS NOT NULL"
        " AND shard >= 0 AND shard IN (SELECT shard FROM shards WHERE worker_id = ?)",
        worker,
    )
    return row.at if row else None

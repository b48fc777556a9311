"""The calendar in the database: who may visit what, since when, and what was decided."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from headwater.ports import Reader, Transaction, marks
from headwater.schedule.due import DUE_COLUMNS, Due, due_of
from headwater.values.ids import FeedId, FeedPk, WorkerId


class Holding(NamedTuple):
    """A claimed feed as it is in the database now."""

    fence: int
    overrides: str


async def claim(
    tx: Transaction, worker: WorkerId, now: int, lease_end: int, limit: int
) -> list[Due]:
    """Due feeds of our shards, the most important and longest overdue first. Those below zero are
    for registered fetchers; saying so lets the index leave them out.

    The claim moves `next_visit_at` to the end of the lease: if we die, the feed is due again then.
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
    # What an UPDATE returns comes in no order at all.
    in_order = sorted(rows, key=lambda row: (-row.priority, row.scheduled_at))
    return [due_of(row[:-1], now) for row in in_order]


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


def _by_feed(due: Due) -> int:
    """Everybody locks feeds in the same order, so that nobody waits for somebody who waits."""
    return due.feed


async def renew(tx: Transaction, held: Iterable[Due], lease_end: int) -> None:
    """Visits that take long keep their feed; the fence keeps us off feeds we have lost."""
    await tx.run_many(
        "UPDATE feeds SET next_visit_at = ? WHERE id = ? AND fence = ? AND claimed_by IS NOT NULL",
        [(lease_end, due.feed, due.fence) for due in sorted(held, key=_by_feed)],
    )


async def give_back(
    tx: Transaction, later: Iterable[tuple[Due, int]], why: str | None = None
) -> None:
    """Unvisited, due again at the given moment. `scheduled_at` stays: it is the same visit.

    `why` takes the place of the reason, which spoke of another moment.
    """
    await tx.run_many(
        "UPDATE feeds SET next_visit_at = CASE WHEN state = 'active' THEN CAST(? AS BIGINT) END,"
        " reason = coalesce(?, reason), claimed_by = NULL"
        " WHERE id = ? AND fence = ? AND claimed_by IS NOT NULL",
        [
            (when, why, due.feed, due.fence)
            for due, when in sorted(later, key=lambda each: each[0].feed)
        ],
    )


async def take_back_own(tx: Transaction, worker: WorkerId) -> list[str]:
    """After a restart: what this worker held when it died is due again. Answers the hosts."""
    rows = await tx.rows(
        "UPDATE feeds SET next_visit_at = CASE WHEN state = 'active' THEN scheduled_at END,"
        " claimed_by = NULL, fence = fence + 1 WHERE claimed_by = ? RETURNING host",
        worker,
    )
    return sorted({row.host for row in rows})


async def holdings(tx: Transaction, feeds: Sequence[FeedPk], now: int) -> dict[FeedPk, Holding]:
    """Feeds whose lease runs, locked until the end, so that what we check stays true meanwhile."""
    lock = " ORDER BY id FOR UPDATE" if tx.dialect == "postgresql" else ""
    rows = await tx.rows(
        "SELECT id, fence, overrides FROM feeds"
        " WHERE claimed_by IS NOT NULL AND next_visit_at > ?"
        f" AND id IN ({marks(len(feeds))}){lock}",
        now,
        *feeds,
    )
    return {FeedPk(pk): Holding(fence, overrides) for pk, fence, overrides in rows}


async def move_feed(
    tx: Transaction, feed: FeedPk, url: str, key: bytes, host: str, shard: int
) -> None:
    """Only the address changes: history, validators and identity stay, and so does a registered
    fetcher, whose shard is below zero."""
    await tx.run(
        "UPDATE feeds SET url = ?, url_key = ?, host = ?,"
        " shard = CASE WHEN shard < 0 THEN shard ELSE CAST(? AS INTEGER) END,"
        " moved_to = NULL, moved_count = 0, moved_since = NULL WHERE id = ?",
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


async def identity_of(view: Reader, feed: FeedPk) -> dict[str, Any] | None:
    """By what its entries are told apart, as its last document had it."""
    row = await view.row("SELECT identity FROM feeds WHERE id = ?", feed)
    return orjson.loads(row.identity) if row and row.identity else None


async def stop_as_duplicate(tx: Transaction, feed: FeedPk, of: str) -> None:
    """It moved to where another feed lives: no second visit to one place, both histories kept."""
    await tx.run(
        "UPDATE feeds SET state = 'duplicate', moved_to = ?, next_visit_at = NULL, reason = ?"
        " WHERE id = ?",
        of,
        "no more visits: it moved to an address that is followed already",
        feed,
    )


async def stopped_as_duplicates(view: Reader) -> list[tuple[FeedPk, str]]:
    """Feeds that moved to where another one lived, and where that is."""
    rows = await view.rows(
        "SELECT id, moved_to FROM feeds WHERE state = 'duplicate' AND moved_to IS NOT NULL"
    )
    return [(FeedPk(row.id), row.moved_to) for row in rows]


async def go_on(tx: Transaction, feed: FeedPk, now: int) -> bool:
    """A duplicate of what is not followed any more is visited again, and moves there itself."""
    touched = await tx.run(
        "UPDATE feeds SET state = 'active', scheduled_at = ?, next_visit_at = ?, reason = ?,"
        " updated_at = ? WHERE id = ? AND state = 'duplicate'",
        now,
        now,
        "now: nobody follows the address any more that it moved to",
        now,
        feed,
    )
    return touched == 1


async def old_visits(view: Reader, kept: int) -> list[tuple[FeedPk, int]]:
    """Feed and `scheduled_at` of some visits beyond the newest N of each feed.

    What has not been counted stays until it is.
    """
    rows = await view.rows(
        "SELECT feed_id, scheduled_at FROM (SELECT feed_id, scheduled_at, counted, row_number()"
        " OVER (PARTITION BY feed_id ORDER BY scheduled_at DESC) AS place FROM visits) ranked"
        " WHERE place > ? AND counted LIMIT 5000",
        kept,
    )
    return [(row.feed_id, row.scheduled_at) for row in rows]


async def forget_visits(tx: Transaction, visits: Sequence[tuple[FeedPk, int]]) -> None:
    await tx.run_many("DELETE FROM visits WHERE feed_id = ? AND scheduled_at = ?", visits)

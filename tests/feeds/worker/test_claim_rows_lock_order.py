"""Nobody in the house waits for each other in a circle: rows are always locked in one order."""

import asyncio
import time
from collections.abc import Callable, Sequence
from uuid import uuid4

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.values.ids import FeedId, WorkerId
from headwater.core.values.instant import to_micros
from headwater.feeds.feed import FeedOptions
from headwater.feeds.feed_rows import insert_or_restore_feed
from headwater.feeds.schedule.due import DueFeed
from headwater.feeds.worker import claim_rows, worker_rows
from tests.support.clock import START

ANNA = WorkerId("anna")
NOW = to_micros(START)
LEASE = 120_000_000
WAITS_AT_MOST = 20.0

pytestmark = pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)


async def two_claimed_feeds(database: SqlDatabase) -> list[DueFeed]:
    async with database.write() as tx:
        for number in range(2):
            url, feed_id = f"https://{number}.example/feed", FeedId(str(uuid4()))
            await insert_or_restore_feed(
                tx, url, FeedOptions(), feed_id=feed_id, interval_sec=900, now=START, visit_at=START
            )
        await worker_rows.claim_shards(tx, ANNA, NOW, NOW + LEASE, worker_rows.SHARDS)
        claimed = await claim_rows.claim_feeds(tx, ANNA, NOW, NOW + LEASE, 10)
    return sorted(claimed, key=lambda due: due.feed)


async def waiting_for_a_lock(database: SqlDatabase, count: int) -> None:
    """Returns when so many connections wait for somebody else's row."""
    deadline = time.monotonic() + WAITS_AT_MOST
    while True:
        async with database.read() as view:
            row = await view.row(
                "SELECT count(*) AS n FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
        if row is not None and row.n >= count:
            return
        assert time.monotonic() < deadline, f"{count} connections should wait for a lock"
        await asyncio.sleep(0.01)


async def remember(database: SqlDatabase, feeds: Sequence[DueFeed]) -> None:
    """What the second commit of visits locks first."""
    async with database.write() as tx:
        await claim_rows.lock_claimed_feeds(tx, [due.feed for due in feeds], now=0)


async def renew(database: SqlDatabase, feeds: Sequence[DueFeed]) -> None:
    async with database.write() as tx:
        await claim_rows.renew_claims(tx, feeds, NOW + 2 * LEASE)


async def give_back(database: SqlDatabase, feeds: Sequence[DueFeed]) -> None:
    async with database.write() as tx:
        await claim_rows.release_claims(tx, [(due, NOW) for due in feeds])


@pytest.mark.parametrize("action", [renew, give_back])
async def test_leases_are_written_while_visits_are_committed_without_a_deadlock(
    database: SqlDatabase,
    open_another: Callable[[], SqlDatabase],
    action: Callable[[SqlDatabase, Sequence[DueFeed]], asyncio.Future[None]],
) -> None:
    first, second = await two_claimed_feeds(database)
    async with database.write() as tx:
        await tx.row("SELECT id FROM feeds WHERE id = ? FOR UPDATE", first.feed)
        committing = asyncio.create_task(remember(open_another(), [first, second]))
        await waiting_for_a_lock(open_another(), 1)
        writing = asyncio.ensure_future(action(open_another(), [second, first]))
        await waiting_for_a_lock(open_another(), 2)
    await asyncio.gather(committing, writing)

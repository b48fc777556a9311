"""Row locks on PostgreSQL: two of our own transactions must not wait for each other in a circle."""

import asyncio

import pytest

from headwater.core.values.instant import to_micros
from headwater.feeds.schedule.due import DueFeed
from headwater.feeds.worker import claim_rows
from tests.support.origin import Post
from tests.support.visits import River


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_renewing_leases_and_committing_a_group_lock_feeds_in_one_order(river: River) -> None:
    """Feeds are held in the order they started, a group locks them by number."""
    for path in ("/a", "/b"):
        await river.add(river.origin.feed(path, [Post("1", "One")]).url)
    await river.clock.advance(3_600)
    now = to_micros(river.clock.now())
    database = river.engine.database
    async with database.write() as tx:
        await tx.run("UPDATE feeds SET next_visit_at = ?, scheduled_at = ?", now, now)
        dues = await claim_rows.claim_feeds(tx, river.engine.worker, now, now + 120_000_000, 10)
    dues.sort(key=lambda due: due.feed)
    async with database.write() as guard:
        await guard.rows("SELECT id FROM feeds WHERE id = ? FOR UPDATE", dues[0].feed)
        committing = asyncio.create_task(_held(river, dues, now))
        await asyncio.sleep(0.2)
        renewing = asyncio.create_task(_renewed(river, dues[::-1], now))
        await asyncio.sleep(0.2)
    outcomes = await asyncio.gather(renewing, committing, return_exceptions=True)
    assert [each for each in outcomes if isinstance(each, BaseException)] == []


async def _renewed(river: River, dues: list[DueFeed], now: int) -> None:
    async with river.engine.database.write() as tx:
        await claim_rows.renew_claims(tx, dues, now + 240_000_000)


async def _held(river: River, dues: list[DueFeed], now: int) -> None:
    async with river.engine.database.write() as tx:
        await claim_rows.lock_claimed_feeds(tx, [due.feed for due in dues], now)
        await asyncio.sleep(0.1)

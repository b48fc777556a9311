"""`headwater serve` and `headwater work` are two processes: they are one visitor all the same."""

from datetime import timedelta
from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import TooSoon
from headwater.feeds.change_feed import refetch
from headwater.feeds.feed import FeedOptions
from headwater.subscriptions.add_feed import add_feed, add_feed_later
from tests.support.engine import opened_engine
from tests.support.origin import Post, Reply
from tests.support.visits import River

ONE = Post("1", "One")


async def test_a_host_that_told_the_worker_to_rest_is_not_asked_by_the_server(
    river: River, database: SqlDatabase, tmp_path: Path
) -> None:
    throttled, other = river.origin.feed("/a", [ONE]), river.origin.feed("/b", [ONE])
    throttled.stand_in = Reply(429, headers={"Retry-After": "3600"})
    await add_feed_later(throttled.url, FeedOptions(), river.engine.registry)
    await river.visit(10)
    await river.clock.advance(60)
    blobs = tmp_path / "b"
    async with opened_engine(database, river.clock, blobs, worker="tester/serve") as server:
        with pytest.raises(TooSoon):
            await add_feed(other.url, FeedOptions(), server.registry)
    assert other.requests == []


@pytest.mark.parametrize("status", [403, 404, 500, 502])
async def test_a_rest_asked_for_beside_any_error_is_kept(river: River, status: int) -> None:
    """GitHub says 403 to whoever asks too often. Neither the schedule nor a person comes sooner."""
    feed = river.origin.feed("/a", [ONE])
    feed_id = await river.add(feed.url)
    feed.stand_in = Reply(status, headers={"Retry-After": "7200"})
    await river.visit()
    (row,) = await river.rows("SELECT next_visit_at, last_fetch_at, failures FROM feeds")
    assert (row.next_visit_at - row.last_fetch_at, row.failures) == (7_200_000_000, 1)
    await river.clock.advance(3_600)
    with pytest.raises(TooSoon):
        await refetch(feed_id, river.engine.feeds, whole=False, gap=timedelta(minutes=1))
    assert len(feed.requests) == 2

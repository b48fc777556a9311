"""More work than time at one host: the important feed is asked first."""

from pathlib import Path

from headwater.adapters.clock import SystemClock
from headwater.adapters.database import SqlDatabase
from headwater.feeds.feed import FeedOptions
from headwater.subscriptions.add_feed import add_feed_later
from tests.support.engine import opened_engine
from tests.support.origin import Origin, Post
from tests.support.worker import until, working

ONE = Post("1", "One")


async def test_the_important_feed_of_a_busy_host_goes_first(
    database: SqlDatabase, tmp_path: Path
) -> None:
    async with (
        Origin() as origin,
        opened_engine(database, SystemClock(), tmp_path / "blobs") as engine,
    ):
        for number in range(12):
            await add_feed_later(
                origin.feed(f"/{number}", [ONE]).url, FeedOptions(priority=1), engine.registry
            )
        urgent = origin.feed("/urgent", [ONE])
        await add_feed_later(urgent.url, FeedOptions(priority=100), engine.registry)
        async with working(engine):
            await until(lambda: len(origin.requests) >= 4, seconds=20)
        assert origin.requests[0].path == "/urgent"


async def test_the_important_host_goes_first(database: SqlDatabase, tmp_path: Path) -> None:
    async with (
        Origin() as origin,
        opened_engine(database, SystemClock(), tmp_path / "blobs") as engine,
    ):
        for number in range(1, 7):
            await origin.listen(f"127.0.9.{number}")
            priority = 100 if number == 5 else 1
            feed = origin.feed("/f", [ONE], address=f"127.0.9.{number}")
            await add_feed_later(feed.url, FeedOptions(priority=priority), engine.registry)
        async with working(engine, visits_at_once=3):
            await until(lambda: len(origin.requests) >= 5, seconds=20)
        assert "127.0.9.5" in [r.address for r in origin.requests[:3]]

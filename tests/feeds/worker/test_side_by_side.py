"""Visits really run side by side, and never against one host."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

from headwater.core.values.ids import FeedId
from headwater.feeds.feed import FeedOptions
from headwater.feeds.feed_rows import insert_or_restore_feed
from headwater.settings import Settings
from headwater.wiring.app import open_services
from headwater.wiring.background import build_worker
from tests.support.engine_parts import EngineParts
from tests.support.origin import Origin, OriginFeed, Post

ANSWERS_AFTER = 1.0


def shipped(database_url: str, folder: Path) -> Settings:
    """The defaults, with only the loopback opened."""
    return Settings(
        data_dir=folder, database_url=database_url, allow_addresses=["127.0.0.0/8"]
    )  # fmt: skip


async def follow_all(engine: EngineParts, feeds: Sequence[OriginFeed]) -> None:
    now = engine.clock.now()
    async with engine.database.write() as tx:
        for feed in feeds:
            await insert_or_restore_feed(
                tx,
                feed.url,
                FeedOptions(),
                feed_id=FeedId(str(uuid4())),
                interval_sec=900,
                now=now,
                visit_at=now,
            )


@asynccontextmanager
async def at_work(settings: Settings, feeds: Sequence[OriginFeed]) -> AsyncIterator[EngineParts]:
    """A worker on these feeds, all of them due, as long as the block lasts."""
    async with open_services(settings) as services:
        engine = EngineParts.of(services)
        await follow_all(engine, feeds)
        worker = build_worker(engine.services, settings)
        running = asyncio.create_task(worker.run())
        try:
            yield engine
        finally:
            worker.stop()
            await running


async def visits(engine: EngineParts) -> list[str]:
    async with engine.database.read() as view:
        return [row.outcome for row in await view.rows("SELECT outcome FROM visits")]


async def all_visited(engine: EngineParts, count: int, seconds: float) -> float:
    """How long it took until so many visits were committed."""
    began = time.monotonic()
    while len(await visits(engine)) < count:
        assert time.monotonic() - began < seconds, "the visits take too long"
        await asyncio.sleep(0.05)
    return time.monotonic() - began


async def test_a_hundred_slow_origins_are_visited_at_once(
    database_url: str, tmp_path: Path
) -> None:
    async with Origin() as origin:
        addresses = [f"127.78.1.{number}" for number in range(1, 101)]
        await origin.listen(*addresses)
        feeds = [origin.feed("/f", [Post("1", "One")], address=each) for each in addresses]
        for feed in feeds:
            feed.delay = ANSWERS_AFTER
        async with at_work(shipped(database_url, tmp_path / "data"), feeds) as engine:
            took = await all_visited(engine, 100, seconds=5.0)
            assert await visits(engine) == ["fetched"] * 100
    assert took < 5.0
    assert origin.most_open >= 80
    assert len(origin.requests) == 100


async def test_ten_feeds_of_one_host_wait_for_each_other(database_url: str, tmp_path: Path) -> None:
    async with Origin() as origin:
        feeds = [origin.feed(f"/{number}", [Post("1", "One")]) for number in range(10)]
        for feed in feeds:
            feed.delay = 0.3
        settings = Settings(
            data_dir=tmp_path / "data",
            database_url=database_url,
            allow_addresses=["127.0.0.0/8"],
            host_rps=5.0,
        )
        async with at_work(settings, feeds) as engine:
            await all_visited(engine, 10, seconds=20.0)
            assert await visits(engine) == ["fetched"] * 10
    assert origin.most_open == 2
    starts = [request.started for request in origin.requests]
    gaps = [later - earlier for earlier, later in pairwise(starts)]
    assert len(starts) == 10
    # They leave 0.2 s apart; a busy machine may bring one late and so seem to hurry the next.
    assert min(gaps) > 0.1

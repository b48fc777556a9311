"""The worker as a whole: what it starts, when, and how it stops."""

import asyncio

import pytest

from headwater.feeds.feed import FeedOptions
from headwater.settings import Settings
from headwater.subscriptions.add_feed import add_feed_later
from headwater.wiring.background import build_worker
from tests.support.engine_parts import EngineParts
from tests.support.origin import Origin, OriginFeed, Post, Reply
from tests.support.worker import FullDisk, until, working

ONE = Post("1", "One")


async def feeds(origin: Origin, engine: EngineParts, count: int) -> list[OriginFeed]:
    """Each on an address of its own, followed and due."""
    made = []
    for number in range(count):
        address = f"127.0.7.{number + 1}"
        await origin.listen(address)
        made.append(origin.feed("/feed", [ONE], address=address))
        await add_feed_later(made[-1].url, FeedOptions(), engine.registry)
    return made


async def visits(engine: EngineParts) -> int:
    async with engine.database.read() as view:
        row = await view.row("SELECT count(*) AS n FROM visits")
    assert row is not None
    return int(row.n)


async def claimed(engine: EngineParts) -> int:
    async with engine.database.read() as view:
        row = await view.row("SELECT count(*) AS n FROM feeds WHERE claimed_by IS NOT NULL")
    assert row is not None
    return int(row.n)


async def _is_done(engine: EngineParts) -> bool:
    return await visits(engine) > 0


async def _is_free(engine: EngineParts) -> bool:
    return await claimed(engine) == 0


async def test_due_feeds_are_visited_and_nothing_stays_claimed(
    engine: EngineParts, origin: Origin
) -> None:
    made = await feeds(origin, engine, 5)
    async with working(engine):
        await until(lambda: all(feed.requests and feed.requests[0].reply for feed in made))
    assert await visits(engine) == 5
    assert await claimed(engine) == 0
    assert [len(feed.requests) for feed in made] == [1] * 5


@pytest.mark.parametrize(("at_once", "batch"), [(1, 1), (2, 500), (256, 2)])
async def test_small_limits_slow_it_down_and_lose_nothing(
    engine: EngineParts, origin: Origin, at_once: int, batch: int
) -> None:
    made = await feeds(origin, engine, 5)
    async with working(engine, visits_at_once=at_once, claim_batch=batch):
        await until(lambda: all(feed.requests and feed.requests[0].reply for feed in made))
    assert await visits(engine) == 5
    assert origin.most_open <= at_once


async def test_a_feed_added_while_it_works_is_visited_at_once(
    engine: EngineParts, origin: Origin
) -> None:
    async with working(engine):
        (made,) = await feeds(origin, engine, 1)
        await until(lambda: bool(made.requests))


async def test_stopping_lets_a_visit_finish(engine: EngineParts, origin: Origin) -> None:
    (made,) = await feeds(origin, engine, 1)
    made.delay = 0.3
    async with working(engine):
        await until(lambda: origin.open == 1)
    assert await visits(engine) == 1


async def test_a_visit_that_takes_too_long_is_given_back(
    engine: EngineParts, origin: Origin
) -> None:
    (made,) = await feeds(origin, engine, 1)
    made.delay = 20
    async with working(engine, stop_seconds=0.1):
        await until(lambda: origin.open == 1)
    assert await visits(engine) == 0
    assert await claimed(engine) == 0
    async with engine.database.read() as view:
        row = await view.row("SELECT next_visit_at, scheduled_at FROM feeds")
    assert row is not None
    assert row.next_visit_at >= row.scheduled_at


async def test_stopped_at_once_it_leaves_no_visit_behind(
    engine: EngineParts, origin: Origin
) -> None:
    """Otherwise a visit would go on while what it needs is being closed."""
    (made,) = await feeds(origin, engine, 1)
    made.delay = 20
    worker = build_worker(engine.services, Settings(stop_seconds=20))
    running = asyncio.create_task(worker.run())
    await until(lambda: origin.open == 1)
    worker.stop()
    await until(lambda: not _tasks("Worker._every"))  # it only waits for what is in flight
    running.cancel()
    await asyncio.wait({running})
    assert running.cancelled()
    assert _tasks("Worker._visit") == []
    assert await visits(engine) == 0


def _tasks(of: str) -> list[asyncio.Task[object]]:
    return [task for task in asyncio.all_tasks() if of in repr(task)]


async def test_a_throttling_host_rests_as_a_whole(engine: EngineParts, origin: Origin) -> None:
    """Two feeds of one host: after the first one's 429 the second is not asked."""
    first, second = origin.feed("/1", [ONE]), origin.feed("/2", [ONE])
    first.stand_in = Reply(429, headers={"Retry-After": "3600"})
    await add_feed_later(first.url, FeedOptions(priority=90), engine.registry)
    await add_feed_later(second.url, FeedOptions(), engine.registry)
    async with working(engine):
        await until(lambda: _is_done(engine))
    assert engine.turns.wait_for("127.0.0.1", engine.clock.monotonic()) > 3_000
    assert second.requests == []


async def test_a_full_disk_pauses_claims_before_anything_is_lost(
    engine: EngineParts, origin: Origin
) -> None:
    made = await feeds(origin, engine, 1)
    engine.blobs = FullDisk()
    async with working(engine):
        await until(lambda: bool(made[0].requests and made[0].requests[0].reply))
        await until(lambda: _is_free(engine))
    assert await visits(engine) == 0
    assert len(made[0].requests) == 1

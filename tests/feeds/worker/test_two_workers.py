"""Two workers on one database: everything once, the log without gaps, whoever reads it."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from headwater.adapters.clock import SystemClock
from headwater.adapters.database import SqlDatabase
from headwater.events.event_rows import read_events
from headwater.feeds.feed import FeedOptions
from headwater.feeds.judge_visit import JudgedVisit
from headwater.feeds.visit import visit_feed
from headwater.settings import Settings
from headwater.subscriptions.add_feed import add_feed_later
from headwater.wiring.background import build_worker
from tests.feeds.worker.test_hosts import number
from tests.feeds.worker.test_trouble import closed_to_all
from tests.support.engine import opened_engine
from tests.support.engine_parts import EngineParts
from tests.support.origin import Origin, Post, Reply
from tests.support.visits import River
from tests.support.worker import until, working

ONE, TWO = Post("1", "One"), Post("2", "Two")
FEEDS = 40


async def _read_on(engine: EngineParts, seen: list[int]) -> None:
    after = 0
    while True:
        async with engine.database.read() as view:
            told = await read_events(view, after, limit=7)
        seen += [event.seq for event in told.events]
        after = told.next
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_two_workers_visit_each_feed_once_and_a_reader_misses_nothing(
    database: SqlDatabase, open_another: Callable[[], SqlDatabase], origin: Origin, tmp_path: Path
) -> None:
    clock, blobs = SystemClock(), tmp_path / "blobs"
    posts = [Post(str(n), "x") for n in range(5)]
    seen: list[int] = []
    async with (
        opened_engine(database, clock, blobs, worker="one") as one,
        opened_engine(open_another(), clock, blobs, worker="two") as two,
        working(one, lease_seconds=5),
        working(two, lease_seconds=5),
    ):
        reader = asyncio.create_task(_read_on(one, seen))
        await until(lambda: _shared(one), seconds=30)
        feeds = []
        for place in range(FEEDS):
            await origin.listen(f"127.0.8.{place + 1}")
            feeds.append(origin.feed("/f", posts, address=f"127.0.8.{place + 1}"))
            await add_feed_later(feeds[-1].url, FeedOptions(), one.registry)
        await until(lambda: _all_visited(one))
        await until(lambda: len(seen) >= FEEDS * 6)
        reader.cancel()
        who = await number(one, "SELECT count(DISTINCT worker) AS n FROM visits")
    assert [len(feed.requests) for feed in feeds] == [1] * FEEDS
    # For each feed its subscription and its five entries.
    assert seen == list(range(1, FEEDS * 6 + 1))
    assert who == 2


async def _shared(engine: EngineParts) -> bool:
    """Both hold half of the shards."""
    halves = "SELECT count(*) AS n FROM (SELECT 1 FROM shards GROUP BY worker_id HAVING"
    return await number(engine, f"{halves} count(*) = 512) AS half") == 2


async def _all_visited(engine: EngineParts) -> bool:
    return await number(engine, "SELECT count(*) AS n FROM visits") == FEEDS


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_a_database_that_restarts_between_the_two_commits_spoils_no_good_document(
    river: River, database_url: str
) -> None:
    """The feed did nothing wrong: no failure is written on it, and it is not put off for a day."""
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    feed.publish(TWO)
    await river.clock.advance(3_600)
    due, services = await river.claim(), river.engine.feeds
    inner, away = services.commits.commit, closed_to_all(database_url)
    calls = 0

    async def remember(finished: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 1:
            await away.__aenter__()
            try:
                return await inner(finished)  # type: ignore[arg-type]
            finally:
                await away.__aexit__(None, None, None)
        return await inner(finished)  # type: ignore[arg-type]

    services.commits.commit = remember  # type: ignore[method-assign,assignment]
    try:
        told: object = await visit_feed(due, services)
    except Exception as trouble:  # noqa: BLE001 (whatever it says, only the rows count)
        told = trouble
    (row,) = await river.rows("SELECT failures, last_error FROM feeds")
    assert (row.failures, row.last_error) == (0, None), told


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_stopping_while_the_database_is_away_still_ends_the_visits(
    engine: EngineParts, origin: Origin, database_url: str
) -> None:
    slow = origin.feed("/slow", [ONE])
    slow.delay = 20
    await add_feed_later(slow.url, FeedOptions(), engine.registry)
    worker = build_worker(engine.services, Settings(stop_seconds=0.2))
    running = asyncio.create_task(worker.run())
    await until(lambda: origin.open == 1)
    async with closed_to_all(database_url):
        worker.stop()
        await asyncio.wait({running}, timeout=5)
        left = [task for task in worker._running if not task.done()]
        for task in left:
            task.cancel()
        await asyncio.gather(running, *left, return_exceptions=True)
    assert left == []


async def test_the_validators_are_a_pair_also_when_the_document_is_the_same(river: River) -> None:
    """Good citizen 014: each 200 replaces both, and drops the one that is no longer sent."""
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    feed.answer_next(Reply(200, feed.document(), {"ETag": '"only"'}))
    assert isinstance(await river.visit(), JudgedVisit)
    (row,) = await river.rows("SELECT etag, last_modified FROM feeds")
    assert tuple(row) == ('"only"', None)
    await river.visit()
    assert feed.requests[-1].header("If-None-Match") == '"only"'
    assert feed.requests[-1].header("If-Modified-Since") is None

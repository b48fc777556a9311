"""Bad days: the database goes away, the disk is full, the clock jumps, a visit crashes."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from sqlalchemy.exc import TimeoutError as PoolExhausted

from headwater.adapters import sqlite
from headwater.adapters.database import SqlDatabase, open_database
from headwater.adapters.parse_processes.pool import ProcessParsers
from headwater.core.errors import DatabaseError, DatabaseRefused, HeadwaterError
from headwater.core.values.instant import to_micros
from headwater.feeds.commit_visits import CommitResult
from headwater.feeds.feed import FeedOptions
from headwater.feeds.fetch.host_turns import HostPacing, PacingPolicy
from headwater.feeds.judge_visit import JudgedVisit
from headwater.feeds.ports import ParserReply
from headwater.feeds.schedule.due import DueFeed
from headwater.feeds.visit import visit_feed
from headwater.feeds.visit_commits import VisitCommits
from headwater.feeds.worker import worker_rows
from headwater.feeds.worker.claims import Claims
from headwater.settings import Settings
from headwater.subscriptions.add_feed import add_feed_later
from headwater.wiring.background import build_worker
from tests.feeds.worker.test_hosts import number
from tests.support.clock import VirtualClock
from tests.support.engine import opened_engine
from tests.support.engine_parts import EngineParts
from tests.support.origin import Origin, Post
from tests.support.visits import River
from tests.support.worker import FullDisk, time_passes_until, until, working_in_virtual_time

ONE, TWO = Post("1", "One"), Post("2", "Two")


@asynccontextmanager
async def closed_to_all(url: str) -> AsyncIterator[None]:
    """A PostgreSQL that throws everybody out and takes nobody in, as one that restarts does."""
    base, _, name = url.rpartition("/")
    server = await asyncpg.connect(f"{base}/postgres")
    try:
        await server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        await server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name
        )
        yield
        await server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
    finally:
        await server.close()


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_a_database_that_takes_nobody_in_has_refused_nothing(
    database: SqlDatabase, database_url: str
) -> None:
    """`DatabaseRefused` would mean that it was asked and said no: a visit is given up then."""
    async with database.read() as view:
        await view.row("SELECT 1 AS n")
    async with closed_to_all(database_url):
        for _ in range(3):
            with pytest.raises(DatabaseError) as told:
                async with database.write() as tx:
                    await tx.run("UPDATE counters SET value = value")
            assert not isinstance(told.value, DatabaseRefused)


async def test_a_pool_that_is_exhausted_is_told_in_our_words(database_url: str) -> None:
    """A database that hangs keeps all connections busy: the worker must survive the sixth wish."""
    pool = open_database(database_url, pool_size=1, patience=0.1)
    try:
        async with pool.read() as view:
            await view.row("SELECT 1 AS n")
            with pytest.raises(HeadwaterError):
                async with pool.read():
                    pass
    finally:
        await pool.close()


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_a_worker_survives_a_database_that_restarts(
    virtual_engine: EngineParts,
    virtual_clock: VirtualClock,
    database_url: str,
    failed_signs: list[HeadwaterError],
) -> None:
    """Thrown out and kept out for two signs of life; afterwards feeds are visited as before."""
    engine = virtual_engine
    async with (
        Origin(virtual_clock) as origin,
        working_in_virtual_time(engine, lease_seconds=5) as pass_seconds,
    ):
        await pass_seconds(2, step=1)
        async with closed_to_all(database_url):
            await time_passes_until(pass_seconds, lambda: len(failed_signs) >= 2)
        feed = origin.feed("/a", [ONE])
        await until(lambda: _follows(feed.url, engine))
        await pass_seconds(6, step=1)  # longer than a lease: only a renewed one still counts
        late = origin.feed("/b", [ONE])
        await until(lambda: _follows(late.url, engine))
        await time_passes_until(pass_seconds, lambda: bool(late.requests))


@pytest.fixture
def failed_signs(monkeypatch: pytest.MonkeyPatch) -> list[HeadwaterError]:
    """The signs of life that a worker could not give, as they come."""
    inner, failed = Claims.show_up, list[HeadwaterError]()

    async def shown(claims: Claims, held: Sequence[DueFeed]) -> None:
        try:
            await inner(claims, held)
        except HeadwaterError as trouble:
            failed.append(trouble)
            raise

    monkeypatch.setattr(Claims, "show_up", shown)
    return failed


async def _follows(url: str, engine: EngineParts) -> bool:
    try:
        await add_feed_later(url, FeedOptions(), engine.registry)
    except HeadwaterError:
        return False
    return True


class WhileRemembering:
    """Lets a test act between a visit's two commits."""

    def __init__(self, commits: VisitCommits, act: Callable[[], None]) -> None:
        self._act, self._inner = act, commits.commit
        commits.commit = self._remember  # type: ignore[method-assign]

    async def _remember(self, finished: object) -> CommitResult:
        self._act()
        return await self._inner(finished)  # type: ignore[arg-type]


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_database_locked_for_a_while_spoils_no_good_document(
    database_url: str, virtual_clock: VirtualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else's backup holds the lock when we want to commit: the feed is not at fault."""
    monkeypatch.setattr(sqlite, "BUSY_MILLISECONDS", 200)
    database = open_database(database_url)
    path = database_url.removeprefix("sqlite:///")
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    async with (
        Origin(virtual_clock) as origin,
        opened_engine(database, virtual_clock, tmp_path / "blobs") as engine,
    ):
        feed = origin.feed("/a", [ONE])
        river = River(engine, origin, virtual_clock)
        async with database.write() as tx:
            await tx.run("UPDATE shards SET worker_id = 'tester', until = 4611686018427387904")
        await river.add(feed.url)
        feed.publish(TWO)
        await river.clock.advance(3_600)
        due, services = await river.claim(), engine.feeds
        words = iter(["BEGIN IMMEDIATE", "COMMIT"])

        def say() -> None:
            other.execute(next(words))

        WhileRemembering(services.commits, say)
        try:
            remembered: object = await visit_feed(due, services)
        except HeadwaterError as trouble:
            remembered = trouble
        if other.in_transaction:
            other.execute("COMMIT")
        other.close()
        told = remembered.error if isinstance(remembered, JudgedVisit) else None
        (row,) = await river.rows("SELECT failures FROM feeds")
    await database.close()
    assert (told, row.failures) == (None, 0)


class Crashing:
    """A parser port with a mistake in it: not an error it may raise."""

    async def read(self, job: bytes, body: bytes) -> ParserReply:
        raise RuntimeError("a mistake of ours")

    async def close(self) -> None:
        return None


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
@pytest.mark.parametrize("trouble", ["crash", "disk"])
async def test_our_own_trouble_does_not_make_us_ask_more_often_than_the_minimum(
    virtual_engine: EngineParts, virtual_clock: VirtualClock, trouble: str
) -> None:
    """Half an hour of it: at most one request in five minutes, the shortest interval there is."""
    engine = virtual_engine
    if trouble == "crash":
        engine.parsers = Crashing()
    else:
        engine.blobs = FullDisk()
    async with Origin(virtual_clock) as origin:
        feed = origin.feed("/a", [ONE])
        await add_feed_later(feed.url, FeedOptions(), engine.registry)
        async with working_in_virtual_time(engine) as pass_seconds:
            await pass_seconds(1_800)
        asked = len(feed.requests)
    assert 1 <= asked <= 1 + 1_800 / 300, asked


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
@pytest.mark.parametrize("jump", [-172_800.0, -315_360_000.0])
async def test_a_clock_set_back_does_not_stop_visits(
    virtual_engine: EngineParts, virtual_clock: VirtualClock, jump: float
) -> None:
    """Set back by two days, or by the ten years it was wrong: its plan is looked at again (J3)."""
    engine = virtual_engine
    async with Origin(virtual_clock) as origin:
        feed = origin.feed("/a", [ONE])
        await add_feed_later(feed.url, FeedOptions(), engine.registry)
        async with working_in_virtual_time(engine) as pass_seconds:
            await pass_seconds(60)
            await until(lambda: _visited(engine))
            virtual_clock.step(jump)
            # Its next visit was planned for eleven minutes later.
            await pass_seconds(5_400, step=30)
            asked = len(feed.requests)
    assert asked > 1


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_clock_set_back_does_not_stop_the_worker_from_looking(
    virtual_engine: EngineParts, virtual_clock: VirtualClock
) -> None:
    """A feed that is due by the new time too (another process made it due) is visited at once."""
    engine = virtual_engine
    async with Origin(virtual_clock) as origin:
        feed = origin.feed("/a", [ONE])
        async with working_in_virtual_time(engine) as pass_seconds:
            await pass_seconds(300)
            virtual_clock.step(-86_400)
            await add_feed_later(feed.url, FeedOptions(), engine.registry)
            engine.database.woken("feeds").clear()  # as if another process had followed it
            await pass_seconds(600)
            asked = len(feed.requests)
    assert asked == 1


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_clock_set_far_ahead_causes_one_visit_not_many(
    virtual_engine: EngineParts, virtual_clock: VirtualClock
) -> None:
    engine = virtual_engine
    async with Origin(virtual_clock) as origin:
        feed = origin.feed("/a", [ONE])
        await add_feed_later(feed.url, FeedOptions(), engine.registry)
        async with working_in_virtual_time(engine) as pass_seconds:
            await pass_seconds(60)
            await until(lambda: _visited(engine))
            virtual_clock.step(315_360_000)
            await pass_seconds(280)
            await until(lambda: len(feed.requests) > 1)
            asked = len(feed.requests)
    assert asked == 2


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_kill_does_not_make_hosts_forget_that_they_were_asked(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> None:
    """One feed of the host was visited and committed; after kill -9 the other waits its turn."""
    seldom = PacingPolicy(requests_per_second=0.01)
    async with Origin(virtual_clock) as origin:
        first, second = origin.feed("/1", [ONE]), origin.feed("/2", [ONE])
        async with opened_engine(database, virtual_clock, tmp_path / "blobs") as engine:
            engine.turns = HostPacing(seldom)
            await add_feed_later(first.url, FeedOptions(), engine.registry)
            worker = build_worker(engine.services, Settings(host_rps=0.01))
            running = asyncio.create_task(worker.run())
            await until(lambda: _visited(engine))
            worker._shut_down = _nothing  # type: ignore[method-assign]  # a kill ends nothing in order
            worker.stop()
            await running
            await add_feed_later(second.url, FeedOptions(), engine.registry)
        async with opened_engine(database, virtual_clock, tmp_path / "blobs") as engine:
            engine.turns = HostPacing(seldom)
            async with working_in_virtual_time(engine, host_rps=0.01) as pass_seconds:
                await pass_seconds(90)
                early = list(second.requests)
                await time_passes_until(pass_seconds, lambda: bool(second.requests))
    assert early == []


async def _nothing(keepers: Sequence[asyncio.Task[None]]) -> None:
    for keeper in keepers:
        keeper.cancel()


async def _visited(engine: EngineParts) -> bool:
    return await number(engine, "SELECT count(*) AS n FROM visits") == 1


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_machine_that_starts_no_parser_quarantines_no_document(river: River) -> None:
    """No process could be started (no memory, no descriptors): the document killed nobody."""
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    good = river.engine.parsers
    river.engine.parsers = ProcessParsers(count=1, reader="headwater.no_such_module:read")
    feed.publish(TWO)
    for _ in range(2):
        settled = await river.visit()
        assert isinstance(settled, JudgedVisit)
        assert settled.error is not None
    await river.engine.parsers.close()
    river.engine.parsers = good
    settled = await river.visit()
    assert isinstance(settled, JudgedVisit)
    assert settled.error is None


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_a_worker_survives_connections_that_are_all_busy_for_a_while(
    database_url: str,
    virtual_clock: VirtualClock,
    tmp_path: Path,
    failed_signs: list[HeadwaterError],
) -> None:
    """The database hangs and holds every connection longer than the pool waits, twice."""
    pool = open_database(database_url, pool_size=1, patience=0.2)
    try:
        async with (
            opened_engine(pool, virtual_clock, tmp_path / "blobs") as engine,
            working_in_virtual_time(engine, lease_seconds=5) as pass_seconds,
        ):
            await pass_seconds(5, step=1)
            async with pool.read() as view:
                await view.row("SELECT 1 AS n")
                await time_passes_until(pass_seconds, lambda: len(failed_signs) >= 2)
            await pass_seconds(5, step=1)
    finally:
        await pool.close()


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_dead_workers_feeds_are_taken_over_soon_after_its_lease(
    virtual_engine: EngineParts, virtual_clock: VirtualClock
) -> None:
    """J4: lease + 5 s. Ours is a moment before the dead one's lease ends, so we look too early."""
    engine = virtual_engine
    async with Origin(virtual_clock) as origin:
        feed = origin.feed("/a", [ONE])
        await add_feed_later(feed.url, FeedOptions(), engine.registry)
        lease_end = to_micros(virtual_clock.now()) + 2_000_000
        async with engine.database.write() as tx:
            await tx.run("UPDATE shards SET worker_id = 'dead', until = ?", lease_end)
            await tx.run(
                "UPDATE feeds SET claimed_by = 'dead', fence = 1, next_visit_at = ?", lease_end
            )
        worker = build_worker(engine.services, Settings())
        running = asyncio.create_task(worker.run())
        for _ in range(10):  # ten seconds: the lease, five more, and three for good measure
            await asyncio.sleep(0.05)
            await virtual_clock.advance(1)
        asked = len(feed.requests)
        worker.stop()
        await asyncio.sleep(0.05)
        await virtual_clock.advance(60)
        await running
    assert asked == 1


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_sign_of_life_that_fails_once_is_given_again(
    virtual_engine: EngineParts, virtual_clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the error: a worker without signs of life loses its shards and visits nothing."""
    engine, inner, calls = virtual_engine, worker_rows.upsert_heartbeat, 0

    async def stumbling(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise PoolExhausted("QueuePool limit of size 5 overflow 0 reached")
        await inner(*arguments)

    monkeypatch.setattr(worker_rows, "upsert_heartbeat", stumbling)
    async with Origin(virtual_clock) as origin:
        async with working_in_virtual_time(engine) as pass_seconds:
            await pass_seconds(600)
            feed = origin.feed("/a", [ONE])
            await add_feed_later(feed.url, FeedOptions(), engine.registry)
            await pass_seconds(300)
        asked = len(feed.requests)
    assert asked == 1

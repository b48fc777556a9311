"""Hosts and their turns: who rests, who waits, and that nobody waits for ever."""

import asyncio
from pathlib import Path

import pytest

from headwater.adapters.clock import SystemClock
from headwater.adapters.database import SqlDatabase
from headwater.core.errors import FetchFailed, TooSoon
from headwater.core.values.instant import to_micros
from headwater.feeds.feed import FeedOptions
from headwater.feeds.fetch.host_turns import HostPacing, PacingPolicy
from headwater.feeds.judge_visit import JudgedVisit
from headwater.feeds.visit import visit_feed
from headwater.subscriptions.add_feed import add_feed, add_feed_later
from tests.support.clock import VirtualClock
from tests.support.engine import opened_engine
from tests.support.engine_parts import EngineParts
from tests.support.origin import Origin, Post, Reply, rss
from tests.support.visits import River
from tests.support.worker import until, working, working_in_virtual_time

ONE = Post("1", "One")


async def number(engine: EngineParts, sql: str) -> int:
    async with engine.database.read() as view:
        row = await view.row(sql)
    assert row is not None
    return int(row.n)


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_visit_that_waited_for_an_adding_goes_on_after_it(
    engine: EngineParts, origin: Origin
) -> None:
    """Somebody adds a feed of a slow host; the worker's own feed there waits, but not for ever."""
    engine.turns = HostPacing(PacingPolicy(max_concurrency=1, requests_per_second=1000))
    slow, due = origin.feed("/slow", [ONE]), origin.feed("/due", [ONE])
    slow.delay = 0.5
    adding = asyncio.create_task(add_feed(slow.url, FeedOptions(), engine.registry))
    await until(lambda: origin.open == 1)
    await add_feed_later(due.url, FeedOptions(), engine.registry)
    async with working(engine, host_rps=1000):
        await adding
        await until(lambda: bool(due.requests), seconds=4)


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_throttled_redirect_rests_the_host_that_asked_for_rest(
    engine: EngineParts, origin: Origin
) -> None:
    """/moved answers 302 to another host, which says 429: that other host rests, not the first."""
    await origin.listen("127.0.9.2")
    first = origin.feed("/moved", [ONE])
    busy = origin.feed("/busy", [ONE], address="127.0.9.2")
    first.stand_in = Reply(302, headers={"Location": busy.url})
    busy.stand_in = Reply(429, headers={"Retry-After": "3600"})
    await add_feed_later(first.url, FeedOptions(), engine.registry)
    async with working(engine):
        await until(lambda: _visits(engine))
    now = engine.clock.monotonic()
    assert engine.turns.wait_for("127.0.9.2", now) > 3_000
    assert engine.turns.wait_for("127.0.0.1", now) < 10


async def _visits(engine: EngineParts, count: int = 1) -> bool:
    return await number(engine, "SELECT count(*) AS n FROM visits") >= count


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_feeds_own_quiet_days_do_not_stop_its_host(
    engine: EngineParts, origin: Origin
) -> None:
    """Retry-After: 60 is a minute's rest for the host, whatever skipDays this one feed has."""
    feed = origin.feed("/quiet", [ONE])
    hours = "".join(f"<hour>{hour}</hour>" for hour in range(24) if hour != _far_hour(engine))
    feed.render = lambda posts: rss(posts, channel=f"<skipHours>{hours}</skipHours>")
    await add_feed(feed.url, FeedOptions(), engine.registry)
    feed.stand_in = Reply(429, headers={"Retry-After": "600"})
    async with engine.database.write() as tx:
        await tx.run("UPDATE feeds SET next_visit_at = 1")
    async with working(engine):
        await until(lambda: _visits(engine, 2))
    assert engine.turns.wait_for("127.0.0.1", engine.clock.monotonic()) < 700


def _far_hour(engine: EngineParts) -> int:
    return (engine.clock.now().hour + 12) % 24


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_one_broken_feed_does_not_stop_its_hosts_other_feeds(
    engine: EngineParts, origin: Origin
) -> None:
    """503 without Retry-After, ten times in a row: that feed's circuit opens, not the host's."""
    broken = origin.feed("/broken", [ONE])
    await add_feed(broken.url, FeedOptions(), engine.registry)
    broken.stand_in = Reply(503)
    async with engine.database.write() as tx:
        await tx.run("UPDATE feeds SET next_visit_at = 1, failures = 10")
    async with working(engine):
        await until(lambda: _visits(engine, 2))
    assert engine.turns.wait_for("127.0.0.1", engine.clock.monotonic()) <= 3_600


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
@pytest.mark.parametrize("said", [{"Retry-After": "3600"}, {}, {"Retry-After": "0"}])
async def test_a_hosts_rest_survives_a_restart(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path, said: dict[str, str]
) -> None:
    """One feed was told 429, with how long or without (15 min; no time at all is not how long):
    after a restart the host's other feed is not asked."""
    async with Origin(virtual_clock) as origin:
        first, second = origin.feed("/1", [ONE]), origin.feed("/2", [ONE])
        first.stand_in = Reply(429, headers=said)
        async with opened_engine(database, virtual_clock, tmp_path / "blobs") as engine:
            await add_feed_later(first.url, FeedOptions(), engine.registry)
            async with working_in_virtual_time(engine):
                await until(lambda: _visits(engine))
            await add_feed_later(second.url, FeedOptions(), engine.registry)
        async with (
            opened_engine(database, virtual_clock, tmp_path / "blobs") as engine,
            working_in_virtual_time(engine) as pass_seconds,
        ):
            await pass_seconds(600)
    assert second.requests == []


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_redirect_to_a_resting_host_does_not_hold_a_visit_for_hours(river: River) -> None:
    """The deadline of a fetch is thirty seconds, for all hops together."""
    await river.origin.listen("127.0.9.3")
    feed = river.origin.feed("/a", [ONE])
    there = river.origin.feed("/b", [ONE], address="127.0.9.3")
    await river.add(feed.url)
    feed.stand_in = Reply(302, headers={"Location": there.url})
    await river.clock.advance(3_600)
    due = await river.claim()
    river.engine.turns.rest("127.0.9.3", river.clock.monotonic() + 86_400)
    with pytest.raises(TooSoon) as told:
        await visit_feed(due, river.engine.feeds)
    assert told.value.facts["retry_after_sec"] > 86_000


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_waiting_for_our_own_turn_is_no_failure_of_the_feed(river: River) -> None:
    """Forty blogs redirect to one host, a second each: the last waits longer than a deadline."""
    await river.origin.listen("127.0.9.3")
    feed = river.origin.feed("/a", [ONE])
    there = river.origin.feed("/b", [ONE], address="127.0.9.3")
    await river.add(feed.url)
    feed.stand_in = Reply(302, headers={"Location": there.url})
    await river.clock.advance(3_600)
    due = await river.claim()
    river.engine.turns.seen("127.0.9.3", river.clock.monotonic() + 39)
    visit = asyncio.create_task(visit_feed(due, river.engine.feeds))
    await river.clock.asleep()
    await river.clock.advance(60)
    settled = await visit
    assert not (isinstance(settled, JudgedVisit) and settled.error == "timeout")


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_adding_a_feed_of_a_resting_host_says_so_instead_of_waiting_a_day(
    river: River,
) -> None:
    feed = river.origin.feed("/a", [ONE])
    river.engine.turns.rest("127.0.0.1", river.clock.monotonic() + 86_400)
    with pytest.raises(TooSoon) as told:
        await add_feed(feed.url, FeedOptions(), river.engine.registry)
    assert told.value.facts["retry_after_sec"] > 86_000
    assert feed.requests == []


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_hosts_at_one_address_are_spaced_after_a_restart_too(
    database: SqlDatabase, tmp_path: Path
) -> None:
    """Last time both names led to one address; the rate of that address holds from the start."""
    async with (
        Origin() as origin,
        opened_engine(database, SystemClock(), tmp_path / "blobs") as engine,
    ):
        await origin.listen("127.0.9.1", "127.0.9.2")
        engine.turns = HostPacing(
            PacingPolicy(requests_per_second=1, address_requests_per_second=1)
        )
        feeds = [origin.feed("/f", [ONE], address=f"127.0.9.{n}") for n in (1, 2)]
        for feed in feeds:
            await add_feed_later(feed.url, FeedOptions(), engine.registry)
        async with database.write() as tx:
            await tx.run("UPDATE feeds SET last_address = '192.0.2.7'")
        async with working(engine):
            await until(lambda: _visits(engine, 2))
    moments = [feed.requests[0].started for feed in feeds]
    assert abs(moments[0] - moments[1]) > 0.9


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_feeds_of_a_resting_host_take_no_places_from_others(
    engine: EngineParts, origin: Origin
) -> None:
    """One host says 429 for an hour while seven of its feeds wait; others go on."""
    await origin.listen("127.0.9.2")
    engine.turns = HostPacing(PacingPolicy(max_concurrency=1))
    for place in range(8):
        feed = origin.feed(f"/{place}", [ONE])
        feed.stand_in = Reply(429, headers={"Retry-After": "3600"})
        await add_feed_later(feed.url, FeedOptions(priority=90), engine.registry)
    async with working(engine, visits_at_once=4):
        await until(lambda: _visits(engine))
        canary = origin.feed("/canary", [ONE], address="127.0.9.2")
        await add_feed_later(canary.url, FeedOptions(), engine.registry)
        await until(lambda: bool(canary.requests), seconds=5)


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_feeds_of_a_resting_host_are_not_held_for_the_whole_rest(
    engine: EngineParts, origin: Origin
) -> None:
    """While it rests nobody is on the way there: a refetch must not be told "in progress"."""
    engine.turns = HostPacing(PacingPolicy(max_concurrency=1))
    for place in range(3):
        feed = origin.feed(f"/{place}", [ONE])
        feed.stand_in = Reply(429, headers={"Retry-After": "3600"})
        await add_feed_later(feed.url, FeedOptions(), engine.registry)
    async with working(engine):
        await until(lambda: _visits(engine))
        await until(lambda: _none_is_claimed(engine), seconds=4)


async def _none_is_claimed(engine: EngineParts) -> bool:
    claimed = "SELECT count(*) AS n FROM feeds WHERE claimed_by IS NOT NULL"
    return await number(engine, claimed) == 0


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_429_at_adding_is_remembered(river: River) -> None:
    """The host said an hour: a second try after a minute is not asked of it."""
    feed = river.origin.feed("/a", [ONE])
    feed.stand_in = Reply(429, headers={"Retry-After": "3600"})
    with pytest.raises(FetchFailed):
        await river.add(feed.url)
    await river.clock.advance(60)
    again = asyncio.create_task(add_feed(feed.url, FeedOptions(), river.engine.registry))
    await asyncio.wait({again}, timeout=1)
    again.cancel()
    await asyncio.gather(again, return_exceptions=True)
    assert len(feed.requests) == 1


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_feed_whose_adder_died_is_visited_by_a_worker(
    engine: EngineParts, origin: Origin
) -> None:
    """The command line claimed it as "local" and was killed; its lease ended just now."""
    feed = origin.feed("/a", [ONE])
    await add_feed_later(feed.url, FeedOptions(), engine.registry)
    async with engine.database.write() as tx:
        await tx.run(
            "UPDATE feeds SET claimed_by = 'local', fence = 1, next_visit_at = ?",
            to_micros(engine.clock.now()) + 500_000,
        )
    async with working(engine):
        await until(lambda: _visits(engine))
    assert await _none_is_claimed(engine)
    assert len(feed.requests) == 1

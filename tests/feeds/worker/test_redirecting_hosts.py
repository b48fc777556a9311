"""A feed's host leads to another one: each is asked, spaced and left in peace for itself."""

import pytest

from headwater.core.errors import TooSoon
from headwater.feeds.feed import FeedOptions
from headwater.feeds.fetch.host_turns import HostPacing, PacingPolicy
from headwater.subscriptions.add_feed import add_feed, add_feed_later
from tests.support.engine_parts import EngineParts
from tests.support.origin import Origin, OriginFeed, Post, Reply
from tests.support.worker import until, working

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)

ONE = Post("1", "One")
HERE, THERE = "127.0.0.1", "127.0.9.2"


async def led_away(origin: Origin, path: str) -> tuple[OriginFeed, OriginFeed]:
    """A feed here, and where it leads."""
    await origin.listen(THERE)
    here, there = origin.feed(path, [ONE]), origin.feed(path, [ONE], address=THERE)
    here.stand_in = Reply(302, headers={"Location": there.url})
    return here, there


async def throttled_there(engine: EngineParts, origin: Origin) -> None:
    """One visit: here answers 302, there answers 429."""
    here, there = await led_away(origin, "/moved")
    there.stand_in = Reply(429, headers={"Retry-After": "3600"})
    await add_feed_later(here.url, FeedOptions(), engine.registry)
    async with working(engine):
        await until(lambda: _has(engine, "SELECT 1 FROM visits"))


async def _has(engine: EngineParts, sql: str) -> bool:
    async with engine.database.read() as view:
        return await view.row(sql) is not None


async def test_after_a_restart_the_host_rests_that_asked_for_it(
    engine: EngineParts, origin: Origin
) -> None:
    await throttled_there(engine, origin)
    engine.turns = HostPacing(PacingPolicy())
    async with working(engine):
        now = engine.clock.monotonic()
        await until(lambda: engine.turns.wait_for(THERE, now) > 3_000)
    assert engine.turns.wait_for(HERE, engine.clock.monotonic()) < 10


async def test_another_process_adds_nothing_at_the_host_that_asked_for_rest(
    engine: EngineParts, origin: Origin
) -> None:
    await throttled_there(engine, origin)
    other = origin.feed("/other", [ONE], address=THERE)
    engine.turns = HostPacing(PacingPolicy())
    with pytest.raises(TooSoon):
        await add_feed(other.url, FeedOptions(), engine.registry)
    assert other.requests == []


async def test_the_host_that_only_led_there_may_be_asked_by_others(
    engine: EngineParts, origin: Origin
) -> None:
    await throttled_there(engine, origin)
    engine.turns = HostPacing(PacingPolicy())
    await add_feed(origin.feed("/other", [ONE]).url, FeedOptions(), engine.registry)


async def test_a_host_is_spaced_by_its_own_address_not_by_that_of_where_it_leads(
    engine: EngineParts, origin: Origin
) -> None:
    here, _ = await led_away(origin, "/moved")
    await add_feed_later(here.url, FeedOptions(), engine.registry)
    async with working(engine):
        await until(lambda: _has(engine, "SELECT 1 FROM visits"))
    async with engine.database.read() as view:
        row = await view.row("SELECT last_address FROM feeds")
    assert row is not None
    assert row.last_address == HERE

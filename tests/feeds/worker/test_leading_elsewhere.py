"""Feeds that lead to another host: no visit stands in its own way, and nobody is asked in vain."""

import pytest

from headwater.core.values.instant import to_micros
from headwater.feeds.feed import FeedOptions
from headwater.feeds.fetch.host_turns import HostPacing, PacingPolicy
from headwater.subscriptions.add_feed import add_feed_later
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.origin import Origin, OriginFeed, Post, Reply
from tests.support.worker import working_in_virtual_time

ONE = Post("1", "One")


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
@pytest.mark.parametrize("places", [1, 2])
async def test_feeds_that_lead_away_and_back_again_wait_for_no_place(
    virtual_engine: EngineParts, virtual_clock: VirtualClock, places: int
) -> None:
    """Both by way of another host, and back to the one whose places they have themselves."""
    virtual_engine.turns = HostPacing(PacingPolicy(max_concurrency=places))
    async with Origin(virtual_clock) as origin:
        await origin.listen("127.0.9.2")
        feeds = [_there_and_back(origin, name) for name in ("/posts", "/comments")]
        for feed in feeds:
            await add_feed_later(feed.url, FeedOptions(), virtual_engine.registry)
        async with working_in_virtual_time(virtual_engine) as pass_seconds:
            await pass_seconds(300, step=0.5)
    assert await outcomes(virtual_engine) == ["fetched", "fetched"]
    assert [len(feed.requests) for feed in feeds] == [1, 1]


def _there_and_back(origin: Origin, path: str) -> OriginFeed:
    there = origin.feed(path, [ONE], address="127.0.9.2")
    back = origin.feed(f"{path}/", [ONE])
    feed = origin.feed(path, [ONE])
    feed.stand_in = Reply(302, headers={"Location": there.url}, delay=2)
    there.stand_in = Reply(302, headers={"Location": back.url})
    return feed


async def outcomes(engine: EngineParts) -> list[str | None]:
    async with engine.database.read() as view:
        return [row.last_outcome for row in await view.rows("SELECT last_outcome FROM feeds")]


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_of_many_blogs_that_lead_to_one_host_none_is_asked_again_before_its_time(
    virtual_engine: EngineParts, virtual_clock: VirtualClock
) -> None:
    """A hundred at a request a second: some must go home, and ask again not before the minimum."""
    async with Origin(virtual_clock) as origin:
        await origin.listen("127.0.9.2")
        blogs = [await _leading_there(origin, number) for number in range(1, 101)]
        for blog in blogs:
            await add_feed_later(blog.url, FeedOptions(), virtual_engine.registry)
        async with working_in_virtual_time(virtual_engine) as pass_seconds:
            await pass_seconds(420, step=1)
    asked = [[request.started for request in blog.requests] for blog in blogs]
    again = [times[1] - times[0] for times in asked if len(times) > 1]
    assert await outcomes(virtual_engine) == ["fetched"] * 100
    assert max(len(times) for times in asked) == 2
    assert min(again) >= virtual_engine.schedule.min_interval


async def _leading_there(origin: Origin, number: int) -> OriginFeed:
    address = f"127.0.7.{number}"
    await origin.listen(address)
    there = origin.feed(f"/{number}", [ONE], address="127.0.9.2")
    blog = origin.feed("/feed", [ONE], address=address)
    blog.stand_in = Reply(302, headers={"Location": there.url})
    return blog


@pytest.mark.parametrize("leads_there", [False, True])
async def test_why_a_visit_waits_for_a_host_is_told(
    virtual_engine: EngineParts, virtual_clock: VirtualClock, leads_there: bool
) -> None:
    """Not "in 11 min" for a day: whoever looks at the feed sees what it waits for."""
    async with Origin(virtual_clock) as origin:
        await origin.listen("127.0.9.2")
        there = origin.feed("/there", [ONE], address="127.0.9.2")
        feed = origin.feed("/feed", [ONE])
        feed.stand_in = Reply(302, headers={"Location": there.url})
        await add_feed_later(
            feed.url if leads_there else there.url, FeedOptions(), virtual_engine.registry
        )
        virtual_engine.turns.rest("127.0.9.2", virtual_clock.monotonic() + 86_400)
        async with working_in_virtual_time(virtual_engine) as pass_seconds:
            await pass_seconds(30)
    async with virtual_engine.database.read() as view:
        (row,) = await view.rows("SELECT reason, next_visit_at FROM feeds")
    assert row.next_visit_at >= to_micros(virtual_clock.now()) + 86_000_000_000
    assert ("that it leads to has a turn" in row.reason) is leads_there
    assert "asked for a rest" in row.reason

"""The event log from a reader's side."""

from datetime import timedelta

from headwater.events.event_rows import read_events
from headwater.feeds.change_feed import change_feed
from headwater.feeds.feed import FeedPatch
from tests.support.origin import Post, Reply
from tests.support.visits import River


async def test_a_reader_ahead_of_the_log_is_not_led_past_new_events(river: River) -> None:
    """After an older backup was restored the log is shorter than what a reader has seen."""
    feed = river.origin.feed("/a", [Post("1", "One")])
    await river.add(feed.url)
    async with river.engine.database.read() as view:
        told = await read_events(view, 500, limit=100)
    assert told.last_seq == 2  # the subscription, and its first entry
    assert told.next <= told.last_seq


async def test_a_failing_feed_that_is_paused_and_resumed_is_told_as_recovered(river: River) -> None:
    """Told once when it begins and once when it ends, also when a person had a hand in it."""
    feed = river.origin.feed("/a", [Post("1", "One")])
    feed_id = await river.add(feed.url)
    feed.stand_in = Reply(500)
    for _ in range(3):
        await river.visit()
    for state in ("paused", "active"):
        await change_feed(feed_id, FeedPatch(state=state), river.engine.feeds, gap=timedelta())
    for _ in range(3):
        await river.visit()
    feed.stand_in = None
    await river.visit()
    assert (await river.told())[2:] == ["feed_failing", "feed_recovered"]

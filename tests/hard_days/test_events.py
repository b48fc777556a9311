"""The event log from a reader's side."""

from headwater.announce.queries import events_after
from tests.origin import Post
from tests.visit.conftest import River


async def test_a_reader_ahead_of_the_log_is_not_led_past_new_events(river: River) -> None:
    """After an older backup was restored the log is shorter than what a reader has seen."""
    feed = river.origin.feed("/a", [Post("1", "One")])
    await river.add(feed.url)
    async with river.engine.database.read() as view:
        told = await events_after(view, 500, limit=100)
    assert told.last_seq == 2  # the subscription, and its first entry
    assert told.next <= told.last_seq

"""Several people add the same new feed at the same moment: it is asked for once."""

import asyncio

import pytest

from headwater.core.errors import ConflictError, DuplicateUrl, FetchFailed
from headwater.core.values.ids import FeedId
from headwater.feeds.feed import FeedOptions
from headwater.subscriptions.add_feed import add_feed
from headwater.subscriptions.unsubscribe import remove_feed
from tests.support.origin import Post, Reply
from tests.support.visits import River

ONE = Post("1", "One")
LONG = 1_000.0


def adding(river: River, *urls: str) -> list[asyncio.Task[FeedId]]:
    return [
        asyncio.create_task(add_feed(url, FeedOptions(), river.engine.registry)) for url in urls
    ]


async def test_the_others_wait_and_are_told_of_the_feed_that_is_known_then(river: River) -> None:
    feed = river.origin.feed("/feed.xml", [ONE])
    made, *others = await asyncio.gather(
        *adding(river, feed.url, f" {feed.url}#top", feed.url), return_exceptions=True
    )
    assert len(feed.requests) == 1
    assert [type(each) for each in others] == [DuplicateUrl, DuplicateUrl]
    assert {each.facts["feed_id"] for each in others if isinstance(each, DuplicateUrl)} == {made}
    assert await river.count("visits") == 1
    assert await river.told() == ["subscription_created", "new_entry"]


async def test_after_one_that_failed_the_next_asks_for_itself(river: River) -> None:
    feed = river.origin.feed("/feed.xml", [ONE])
    feed.answer_next(Reply(404))
    first, second, third = adding(river, feed.url, feed.url, feed.url)
    with pytest.raises(FetchFailed):
        await first
    assert await river.clock.advance_to_next() == pytest.approx(1.0)  # the host's turn
    feed_id = await second
    with pytest.raises(DuplicateUrl) as told:
        await third
    assert told.value.facts["feed_id"] == feed_id
    assert [each.status for each in feed.requests] == [404, 200]


async def test_after_one_that_was_given_up_the_next_asks_for_itself(river: River) -> None:
    feed = river.origin.feed("/feed.xml", [ONE])
    feed.answer_next(Reply(200, delay=LONG))
    first, second, third = adding(river, feed.url, feed.url, feed.url)
    await river.clock.asleep()  # the origin, before its answer
    first.cancel()
    third.cancel()
    await river.clock.asleep(2)  # and the second, until the host's turn
    await river.clock.advance(1)
    assert await second
    assert first.cancelled()
    assert third.cancelled()
    assert len(feed.requests) == 2


async def test_another_feed_does_not_wait(river: River) -> None:
    await river.origin.listen("127.0.0.2")
    slow = river.origin.feed("/feed.xml", [ONE])
    quick = river.origin.feed("/feed.xml", [ONE], address="127.0.0.2")
    slow.answer_next(Reply(200, delay=LONG))
    (waiting,) = adding(river, slow.url)
    await river.clock.asleep()
    assert await add_feed(quick.url, FeedOptions(), river.engine.registry)
    assert not waiting.done()
    waiting.cancel()
    await asyncio.wait([waiting])


async def test_one_that_is_deleted_for_good_meanwhile_is_a_conflict(
    river: River, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the row that names it and the row of its bytes."""
    feed = river.origin.feed("/feed.xml", [ONE])
    put_many = river.engine.blobs.put_many

    async def deleted_first(bodies: list[tuple[str, bytes]]) -> None:
        (row,) = await river.rows("SELECT feed_id FROM feeds")
        await remove_feed(row.feed_id, river.engine.database, hard=True)
        await put_many(bodies)

    monkeypatch.setattr(type(river.engine.blobs), "put_many", staticmethod(deleted_first))
    with pytest.raises(ConflictError, match="while it was being added"):
        await add_feed(feed.url, FeedOptions(), river.engine.registry)
    assert await river.count("feeds") == 0
    assert await river.count("raw_fetches") == 0
    assert await river.told() == ["subscription_created", "subscription_deleted"]

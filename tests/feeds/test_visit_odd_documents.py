"""Whole visits to feeds whose documents end early, or show what was taken for one entry as two."""

from headwater.feeds.entries.entry_search_rows import KeptEntry, get_entry
from tests.support.origin import OriginFeed, Post, Reply, rss
from tests.support.visits import River

ONE, TWO, THREE = Post("1", "One"), Post("2", "Two"), Post("3", "Three")


async def kept(river: River, uid: str) -> KeptEntry:
    async with river.engine.database.read() as view:
        return await get_entry(view, uid)


async def show(river: River, feed: OriginFeed, *posts: Post) -> None:
    feed.posts = list(posts)
    feed.publish()
    await river.visit()


async def show_only_the_beginning(river: River, feed: OriginFeed, *posts: Post) -> None:
    """The last of the posts is torn."""
    whole = rss(list(posts))
    feed.answer_next(Reply(200, whole[: whole.rindex(b"<item>") + 30], {"ETag": '"half"'}))
    await river.visit()


async def test_a_document_that_ends_early_counts_only_for_what_it_shows(river: River) -> None:
    feed = river.origin.feed("/a", [TWO, ONE])
    await river.add(feed.url)
    before = await kept(river, "1")
    await show_only_the_beginning(river, feed, THREE, TWO, ONE)
    hidden, shown, new = [await kept(river, uid) for uid in "123"]
    assert (hidden.seen_count, hidden.last_seen, hidden.is_present) == (1, before.last_seen, True)
    assert (shown.seen_count, new.seen_count) == (2, 1)
    assert shown.last_seen == new.last_seen == new.first_seen > before.last_seen
    await show(river, feed, THREE, TWO, ONE)
    again = [await kept(river, uid) for uid in "123"]
    assert [each.seen_count for each in again] == [2, 3, 2]
    assert len({each.last_seen for each in again}) == 1


async def test_an_entry_hidden_and_then_gone_was_last_seen_before_it_was_hidden(
    river: River,
) -> None:
    feed = river.origin.feed("/a", [TWO, ONE])
    await river.add(feed.url)
    before = await kept(river, "1")
    await show_only_the_beginning(river, feed, THREE, TWO, ONE)
    await show(river, feed, THREE, TWO)
    gone = await kept(river, "1")
    assert (gone.seen_count, gone.last_seen, gone.is_present) == (1, before.last_seen, False)
    await show(river, feed, THREE, TWO, ONE)
    back = await kept(river, "1")
    assert (back.seen_count, back.is_present) == (2, True)
    assert await river.told() == ["subscription_created", *["new_entry"] * 3]


async def test_what_a_feed_that_is_never_whole_stops_showing_is_not_present_for_ever(
    river: River,
) -> None:
    feed = river.origin.feed("/a", [TWO, ONE])
    await river.add(feed.url)
    before = await kept(river, "1")
    await show_only_the_beginning(river, feed, TWO, ONE)
    await show_only_the_beginning(river, feed, TWO, ONE)
    gone, there = await kept(river, "1"), await kept(river, "2")
    assert (gone.seen_count, gone.last_seen, gone.is_present) == (1, before.last_seen, False)
    assert (there.seen_count, there.is_present) == (3, True)


async def test_an_alias_that_became_an_entry_stays_one_when_it_comes_back(river: River) -> None:
    old = Post("a", "Post", link="https://posts.example/1")
    feed = river.origin.feed("/a", [old])
    await river.add(feed.url)
    await show(river, feed, Post("b", "Post", link="https://posts.example/1"))
    own = Post("b", "Another post", link="https://posts.example/2")
    await show(river, feed, own, old)
    await show(river, feed, TWO)
    await show(river, feed, own, old)
    await show(river, feed, own)
    rows = await river.rows("SELECT entry_uid, title, version, present_since FROM entries")
    assert sorted((row.entry_uid, row.title, row.version) for row in rows) == [
        ("2", "Two", 1),
        ("a", "Post", 1),
        ("b", "Another post", 1),
    ]
    assert [row.entry_uid for row in rows if row.present_since is not None] == ["b"]


async def test_a_document_that_always_ends_early_is_asked_for_conditionally_in_the_end(
    river: River,
) -> None:
    """A missing end tag is no reason to fetch the whole feed for ever."""
    feed = river.origin.feed("/a", [Post("1", "One")])
    feed.render = lambda posts: rss(posts).replace(b"</channel></rss>", b"")
    await river.add(feed.url)
    await river.visit()
    await river.visit()
    assert [each.status for each in feed.requests] == [200, 200, 304]


async def test_a_server_that_says_304_for_ever_is_found_out_after_four_weeks(river: River) -> None:
    """It has news and goes on saying that nothing changed, to whoever asks with its old tag."""
    feed = river.origin.feed("/a", [ONE])
    await river.add(feed.url)
    feed.publish(TWO)
    for days in (1, 26):
        feed.answer_next(Reply(304, b"", {}))
        await river.visit(days * 86_400)
    assert await river.count("entries") == 1
    await river.visit(86_400)
    await river.visit()
    asked = [(each.header("If-None-Match") is not None, each.status) for each in feed.requests]
    assert asked == [(False, 200), (True, 304), (True, 304), (False, 200), (True, 304)]
    assert await river.count("entries") == 2

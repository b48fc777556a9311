"""Personal feeds as a process serves them: nothing is asked twice, nothing old is shown."""

import asyncio
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import ConnectionLost
from headwater.personal_feeds import personal_feed, served_feeds
from headwater.personal_feeds.cache import CleanItemCache
from headwater.personal_feeds.database_store import PersonalDatabase
from headwater.personal_feeds.ports import KeptItem, TokenHolder
from headwater.personal_feeds.served_feeds import (
    BuiltFeed,
    PersonalFeedRequest,
    PersonalFeeds,
    PersonalPolicy,
)
from headwater.publish.document import PublishedItem
from tests.support.clock import VirtualClock
from tests.support.counting_store import CountingStore
from tests.support.personal_items import (
    BEGIN,
    DAY,
    SECOND,
    a_reader,
    an_item,
    another_token,
    guid,
    with_token,
)

RSS = PersonalFeedRequest("rss", base_url="https://feeds.example.org")

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)


@dataclass(slots=True)
class World:
    """One place, and two processes that serve from it."""

    clock: VirtualClock
    store: PersonalDatabase
    counted: CountingStore
    feeds: PersonalFeeds
    others: PersonalFeeds

    async def shown(
        self, token: str, ask: PersonalFeedRequest = RSS, feeds: PersonalFeeds | None = None
    ) -> BuiltFeed:
        feeds = feeds or self.feeds
        holder = await feeds.holder(token)
        assert holder is not None
        return await feeds.built(holder, ask)

    async def held(self, token: str) -> TokenHolder:
        holder = await self.feeds.holder(token)
        assert holder is not None
        return holder


@pytest.fixture
async def world(database: SqlDatabase, virtual_clock: VirtualClock) -> AsyncIterator[World]:
    store = PersonalDatabase(database, virtual_clock)
    counted = CountingStore(store)
    policy = PersonalPolicy()
    feeds = PersonalFeeds(counted, virtual_clock, policy)
    others = PersonalFeeds(store, virtual_clock, policy)
    await with_token(store, a_reader("mia", "news", "art"), "sesame")
    await with_token(store, a_reader("bo", "art"), "bo's")
    await store.add([an_item("news", 1), an_item("art", 2)])
    yield World(virtual_clock, store, counted, feeds, others)
    await feeds.close()
    await others.close()
    await store.close()


async def test_a_feed_that_nobody_touched_costs_no_question(world: World) -> None:
    first = await world.shown("sesame")
    assert world.counted.taken() == {"changes": 1, "holder": 1, "newest": 1}
    for _ in range(100):
        assert await world.shown("sesame") is first
    assert world.counted.taken() == {}


async def test_the_store_is_asked_what_changed_every_half_second_at_most(world: World) -> None:
    first = await world.shown("sesame")
    world.counted.taken()
    for _ in range(10):
        await world.clock.advance(0.1)
        assert await world.shown("sesame") is first
    assert world.counted.taken() == {"changes": 2}


async def test_nobody_asks_the_store_while_nobody_asks_for_a_feed(world: World) -> None:
    await world.shown("sesame")
    world.counted.taken()
    await world.clock.advance(3_600)
    assert world.counted.taken() == {}


async def test_those_who_ask_at_once_share_every_question(world: World) -> None:
    shown = await asyncio.gather(*(world.shown("sesame") for _ in range(50)))
    assert all(each is shown[0] for each in shown)
    asked = world.counted.taken()
    assert (asked["changes"], asked["newest"]) == (1, 1)


async def test_a_revoked_token_opens_nothing_half_a_second_later_in_every_process(
    world: World,
) -> None:
    await world.shown("sesame")
    await world.shown("sesame", feeds=world.others)
    await world.store.end_token("id-of-sesame", until=BEGIN, revoked=True, now=BEGIN)
    await world.clock.advance(0.5)
    assert await world.feeds.holder("sesame") is None
    assert await world.others.holder("sesame") is None


async def test_a_token_that_ends_opens_nothing_from_that_moment_on(world: World) -> None:
    await another_token(world.store, "id-of-mia", "short", until=BEGIN + SECOND // 4)
    assert await world.feeds.holder("short") is not None
    await world.clock.advance(0.25)
    assert await world.feeds.holder("short") is None


async def test_a_token_made_a_moment_ago_opens_its_feed_at_once(world: World) -> None:
    assert await world.feeds.holder("fresh") is None
    await another_token(world.store, "id-of-mia", "fresh")
    assert await world.feeds.holder("fresh") is not None


async def test_a_new_item_is_shown_half_a_second_later_in_every_process(world: World) -> None:
    old = await world.shown("sesame"), await world.shown("sesame", feeds=world.others)
    await world.store.add([an_item("news", 3)])
    await world.clock.advance(0.5)
    new = await world.shown("sesame"), await world.shown("sesame", feeds=world.others)
    assert b"<title>Title 3</title>" in new[0].body
    assert (old[0].body, old[0].etag) == (old[1].body, old[1].etag)
    assert (new[0].body, new[0].etag, new[0].zipped) == (new[1].body, new[1].etag, new[1].zipped)
    assert new[0].etag != old[0].etag


async def test_an_item_makes_only_the_feeds_of_its_category_anew(world: World) -> None:
    bo, mia = await world.shown("bo's"), await world.shown("sesame")
    art = await world.shown("sesame", PersonalFeedRequest("rss", categories=("art",)))
    world.counted.taken()
    await world.store.add([an_item("news", 3)])
    await world.clock.advance(0.5)
    assert await world.shown("bo's") is bo
    assert await world.shown("sesame", PersonalFeedRequest("rss", categories=("art",))) is art
    assert await world.shown("sesame") is not mia
    assert world.counted.taken() == {"changes": 1, "newest": 1}


async def test_a_change_long_ago_is_not_forgotten_by_a_feed_nobody_asked_for(
    world: World,
) -> None:
    bo, mia = await world.shown("bo's"), await world.shown("sesame")
    await world.store.add([an_item("news", 3)])
    for _ in range(5):
        await world.clock.advance(0.5)
        await world.store.add([an_item("elsewhere", int(world.clock.monotonic() * 100))])
        assert await world.shown("bo's") is bo
    assert await world.shown("sesame") is not mia


async def test_categories_that_change_change_the_feed(world: World) -> None:
    await world.shown("sesame")
    bo = await world.shown("bo's")
    await world.store.change_reader("id-of-mia", name=None, categories=["art"], now=BEGIN + 1)
    await world.clock.advance(0.5)
    shown = await world.shown("sesame")
    assert b"Title 2" in shown.body
    assert b"Title 1<" not in shown.body
    assert await world.shown("bo's") is bo


async def test_a_holder_of_an_earlier_time_leaves_nothing_behind(world: World) -> None:
    """The reader was changed between two questions: the old feed must not be kept as the new."""
    old = await world.held("sesame")
    await world.store.change_reader("id-of-mia", name=None, categories=[], now=BEGIN + 1)
    await world.clock.advance(0.5)
    new = await world.held("sesame")
    assert b"Title 1" in (await world.feeds.built(old, RSS)).body
    assert b"Title 1" not in (await world.feeds.built(new, RSS)).body


async def test_what_was_read_before_a_change_is_not_kept_after_it(world: World) -> None:
    """The feed is read, an item comes and is known of, and only then the feed is made."""
    holder = await world.held("sesame")
    go_on = world.counted.hold("newest")
    late = asyncio.create_task(world.feeds.built(holder, RSS))
    await world.counted.begun["newest"].wait()
    await world.store.add([an_item("news", 3)])
    await world.clock.advance(0.5)
    assert await world.feeds.holder("bo's") is not None
    go_on.set()
    assert b"Title 3" not in (await late).body
    assert b"Title 3" in (await world.feeds.built(holder, RSS)).body


async def test_a_holder_read_before_a_revocation_is_not_kept_after_it(world: World) -> None:
    go_on = world.counted.hold("holder")
    late = asyncio.create_task(world.feeds.holder("sesame"))
    await world.counted.begun["holder"].wait()
    await world.store.end_token("id-of-sesame", until=BEGIN, revoked=True, now=BEGIN)
    await world.clock.advance(0.5)
    del world.counted.held["holder"]
    assert await world.feeds.holder("bo's") is not None
    go_on.set()
    await late
    assert await world.feeds.holder("sesame") is None


async def test_a_look_that_began_too_long_ago_is_not_good_enough(world: World) -> None:
    """It was asked before the token was revoked, and answers only now."""
    await world.shown("sesame")
    await world.clock.advance(0.5)
    go_on = world.counted.hold("changes")
    early = asyncio.create_task(world.feeds.holder("sesame"))
    await world.counted.begun["changes"].wait()
    await world.store.end_token("id-of-sesame", until=BEGIN, revoked=True, now=BEGIN)
    await world.clock.advance(0.5)
    late = asyncio.create_task(world.feeds.holder("sesame"))
    await asyncio.sleep(0)
    go_on.set()
    assert await early is not None
    assert await late is None


async def test_an_expired_item_is_gone_at_its_moment_without_any_change(world: World) -> None:
    await world.store.add([an_item("news", 3, days=1)])
    first = await world.shown("sesame")
    assert first.valid_until == BEGIN + DAY
    await world.clock.advance(86_400 - 0.001)
    assert await world.shown("sesame") is first
    await world.clock.advance(0.001)
    later = await world.shown("sesame")
    assert b"Title 3" not in later.body
    assert (later.modified, later.valid_until) == (BEGIN + DAY, BEGIN + 14 * DAY)


async def test_clearing_away_makes_nothing_anew(world: World) -> None:
    await world.store.add([an_item("news", 3, days=1)])
    await world.clock.advance(2 * 86_400)
    first = await world.shown("sesame")
    await world.store.upkeep(BEGIN + 2 * DAY)
    await world.clock.advance(0.5)
    assert await world.shown("sesame") is first
    assert (await world.shown("sesame", feeds=world.others)).body == first.body


async def test_what_expires_beyond_the_end_of_a_full_feed_changes_no_byte(world: World) -> None:
    ask = PersonalFeedRequest("rss", limit=2)
    await world.store.add([an_item("news", n) for n in (5, 6)])
    await world.store.add([an_item("news", 4, days=1)])
    first = await world.shown("sesame", ask)
    await world.clock.advance(2 * 86_400)
    assert await world.shown("sesame", ask) is first
    fresh = await world.shown("sesame", ask, feeds=world.others)
    assert (fresh.body, fresh.etag) == (first.body, first.etag)


async def test_while_the_store_is_away_nothing_is_shown(world: World) -> None:
    """A token may have been revoked meanwhile."""
    await world.shown("sesame")
    world.counted.is_away = True
    await world.clock.advance(0.5)
    for _ in range(2):
        with pytest.raises(ConnectionLost):
            await world.shown("sesame")
    world.counted.is_away = False
    assert b"Title 1" in (await world.shown("sesame")).body


async def test_a_store_that_fails_fails_everybody_who_waits(world: World) -> None:
    world.counted.is_away = True
    trouble = await asyncio.gather(
        *(world.feeds.holder("sesame") for _ in range(10)), return_exceptions=True
    )
    assert [type(each) for each in trouble] == [ConnectionLost] * 10
    assert world.counted.taken() == {"changes": 1}


async def test_a_store_that_says_nothing_cannot_be_reached(world: World) -> None:
    feeds = PersonalFeeds(world.counted, world.clock, PersonalPolicy(patience=0.01))
    go_on = world.counted.hold("changes")
    with pytest.raises(ConnectionLost):
        await feeds.holder("sesame")
    go_on.set()
    assert await feeds.holder("sesame") is not None


async def test_one_who_goes_away_takes_the_feed_from_nobody(world: World) -> None:
    holder = await world.held("sesame")
    go_on = world.counted.hold("newest")
    first, second = (asyncio.create_task(world.feeds.built(holder, RSS)) for _ in range(2))
    await world.counted.begun["newest"].wait()
    first.cancel()
    go_on.set()
    assert b"Title 1" in (await second).body
    assert world.counted.taken()["newest"] == 1


async def test_a_restored_store_is_looked_at_anew(world: World, database: SqlDatabase) -> None:
    await world.shown("sesame")
    async with database.write() as tx:
        await tx.run("UPDATE counters SET value = 0 WHERE name = 'personal'")
        await tx.run("DELETE FROM reader_tokens WHERE id = 'id-of-sesame'")
    await world.clock.advance(0.5)
    assert await world.feeds.holder("sesame") is None


async def test_tags_are_the_readers_own_even_for_the_same_words(world: World) -> None:
    twin = replace(a_reader("mia", "news", "art"), id="twin", name="mia2")
    await with_token(world.store, twin, "twin's")
    await world.store.change_reader("id-of-mia", name="else", categories=None, now=BEGIN)
    await world.store.change_reader("twin", name="mia", categories=None, now=BEGIN)
    mia, other = (
        await world.shown("sesame", PersonalFeedRequest("json")),
        await world.shown("twin's", PersonalFeedRequest("json")),
    )
    assert mia.etag != other.etag
    assert mia.etag.startswith('W/"')


async def test_gzip_is_the_same_document_and_says_no_time(world: World) -> None:
    shown = await world.shown("sesame")
    assert zlib.decompress(shown.zipped, 31) == shown.body
    assert shown.zipped[4:8] == b"\0\0\0\0"


async def test_a_large_document_is_made_beside_the_event_loop(world: World) -> None:
    long = "<p>" + "word " * 4_000 + "</p>"
    await world.store.add([an_item("news", n, description=long) for n in range(10, 40)])
    assert (await world.shown("sesame")).body.count(b"<item>") == 32


async def test_readers_who_see_the_same_items_share_their_cleaning(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleaned: list[str] = []

    def noted(kept: KeptItem) -> PublishedItem:
        cleaned.append(kept.guid)
        return personal_feed.clean_item(kept)

    monkeypatch.setattr(served_feeds, "clean_item", noted)
    await world.shown("sesame")
    await world.shown("sesame", PersonalFeedRequest("atom"))
    await world.shown("bo's")
    assert cleaned == [guid(2), guid(1)]
    await world.store.revise([an_item("art", 2, title="New", changed_at=BEGIN + 1)])
    await world.clock.advance(0.5)
    assert b"<title>New</title>" in (await world.shown("bo's")).body
    assert cleaned == [guid(2), guid(1), guid(2)]


async def test_clean_items_are_bounded(world: World) -> None:
    clean = CleanItemCache(most_bytes=3 * 4_096)
    items = [an_item("news", n, description="x" * 400) for n in range(10)]
    clean.keep({item: personal_feed.clean_item(item) for item in items})
    assert list(clean.find(items)) == items[-3:]
    assert clean.size <= 3 * 4_096


async def test_a_category_nobody_follows_is_empty_and_not_remembered(world: World) -> None:
    for name in ("secret", "nothing"):
        shown = await world.shown("bo's", PersonalFeedRequest("rss", categories=(name,)))
        assert b"<item>" not in shown.body
    first = await world.shown("bo's", PersonalFeedRequest("rss", categories=("art", "news")))
    assert first.body.count(b"<item>") == 1
    assert (
        await world.shown("bo's", PersonalFeedRequest("rss", categories=("art", "news")))
        is not first
    )


async def test_the_limit_has_a_limit(world: World, virtual_clock: VirtualClock) -> None:
    feeds = PersonalFeeds(world.store, virtual_clock, PersonalPolicy(limit=3, limit_max=5))
    await world.store.add([an_item("news", n) for n in range(10, 30)])
    for asked, given in ((None, 3), (4, 4), (5, 5), (500, 5)):
        shown = await world.shown("sesame", PersonalFeedRequest("rss", limit=asked), feeds)
        assert shown.body.count(b"<item>") == given


async def test_memory_is_bounded_and_the_oldest_goes(world: World) -> None:
    one = await world.shown("sesame", PersonalFeedRequest("rss"))
    room = 3 * (len(one.body) + len(one.zipped) + 2_048)
    feeds = PersonalFeeds(world.counted, world.clock, PersonalPolicy(cache_bytes=room))
    asks = [PersonalFeedRequest("rss", limit=n) for n in range(10, 20)]
    kept = [await world.shown("sesame", ask, feeds) for ask in asks]
    world.counted.taken()
    assert await world.shown("sesame", asks[-1], feeds) is kept[-1]
    assert world.counted.taken() == {}
    await world.shown("sesame", asks[0], feeds)
    assert world.counted.taken() == {"newest": 1}


async def test_holders_are_bounded(world: World) -> None:
    feeds = PersonalFeeds(world.counted, world.clock, PersonalPolicy(holders=1))
    await world.shown("sesame", RSS, feeds)
    await world.shown("bo's", RSS, feeds)
    world.counted.taken()
    await world.shown("bo's", RSS, feeds)
    assert world.counted.taken() == {}
    await world.shown("sesame", RSS, feeds)
    assert world.counted.taken() == {"holder": 1, "newest": 1}


async def test_two_tokens_of_one_reader_share_the_document(world: World) -> None:
    await another_token(world.store, "id-of-mia", "second")
    assert await world.shown("sesame") is await world.shown("second")


async def test_a_use_is_written_once_a_minute(world: World) -> None:
    for _ in range(3):
        world.feeds.note_use("id-of-sesame")
    await world.feeds.flush()
    world.feeds.note_use("id-of-sesame")
    await world.feeds.flush()
    assert world.counted.taken() == {"note_used": 1}
    (token,) = await world.store.tokens("id-of-mia")
    assert token.last_used_at == BEGIN
    await world.clock.advance(60)
    world.feeds.note_use("id-of-sesame")
    world.feeds.note_use("id-of-bo's")
    await world.feeds.flush()
    assert world.counted.taken() == {"note_used": 1}
    (token,) = await world.store.tokens("id-of-mia")
    assert token.last_used_at == BEGIN + 60 * SECOND


async def test_uses_wait_for_a_store_that_is_away(world: World) -> None:
    world.feeds.note_use("id-of-sesame")
    world.counted.is_away = True
    with pytest.raises(ConnectionLost):
        await world.feeds.flush()
    world.counted.is_away = False
    await world.feeds.close()
    (token,) = await world.store.tokens("id-of-mia")
    assert token.last_used_at == BEGIN


async def test_who_asks_after_a_change_is_not_given_what_was_read_before_it(world: World) -> None:
    """However long the store takes for the document that somebody else waits for already."""
    go_on = world.counted.hold("newest")
    early = asyncio.create_task(world.shown("sesame"))
    await world.counted.begun["newest"].wait()
    await world.store.add([an_item("news", 3)])
    await world.clock.advance(1)
    del world.counted.held["newest"]
    late = asyncio.create_task(world.shown("sesame"))
    await asyncio.wait([late], timeout=0.2)
    go_on.set()
    await early
    assert b"Title 3" in (await late).body

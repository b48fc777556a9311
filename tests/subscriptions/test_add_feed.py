"""Following a new feed: one request, which is the first visit, or a refusal showing what came."""

import asyncio
from threading import get_ident

import pytest

from headwater.adapters.parse_processes.pool import ProcessParsers
from headwater.core.errors import BadUrl, BlockedAddress, DuplicateUrl, FetchFailed, NotAFeed
from headwater.feeds.feed import FeedOptions
from headwater.feeds.fetch.content_coding import DecodedBody, decode_body
from headwater.feeds.overrides import Overrides
from headwater.subscriptions.add_feed import add_feed, add_feed_later
from headwater.subscriptions.unsubscribe import remove_feed
from tests.support.origin import Post, Reply
from tests.support.visits import River

ONE, TWO = Post("1", "One"), Post("2", "Two")
PAGE = b"""<html><head><title>A blog</title>
<link rel="alternate" type="application/rss+xml" title="Posts" href="/feed.xml">
<link rel="alternate" type="application/atom+xml" href="/comments.atom">
</head><body>Hello</body></html>"""
HTML = {"Content-Type": "text/html; charset=utf-8"}


async def test_adding_is_one_request_and_that_is_the_first_visit(river: River) -> None:
    feed = river.origin.feed("/feed.xml", [TWO, ONE])
    feed_id = await river.add(feed.url)
    assert len(feed.requests) == 1
    (row,) = await river.rows("SELECT * FROM feeds")
    assert (row.feed_id, row.state, row.type, row.claimed_by) == (feed_id, "active", "rss", None)
    assert row.next_visit_at == row.scheduled_at > row.last_fetch_at
    counts = [await river.count(t) for t in ("visits", "raw_fetches", "entries")]
    assert counts == [1, 1, 2]
    assert await river.told() == ["subscription_created", "new_entry", "new_entry"]


async def test_a_page_is_refused_with_the_feeds_it_links_to(river: River) -> None:
    page = river.origin.feed("/")
    page.stand_in = Reply(200, PAGE, HTML)
    with pytest.raises(NotAFeed) as told:
        await river.add(page.url)
    site = page.url.rstrip("/")
    assert told.value.facts["candidates"] == [
        {"url": f"{site}/feed.xml", "title": "Posts", "type": "application/rss+xml"},
        {"url": f"{site}/comments.atom", "title": None, "type": "application/atom+xml"},
    ]
    assert len(river.origin.requests) == 1
    assert await river.count("feeds") == 0
    assert await river.count("raw_fetches") == 0


async def test_a_page_is_unpacked_beside_the_loop(
    river: River, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten megabytes of empty zstd blocks take a second: nobody else is kept waiting for it."""
    threads: list[int] = []

    def noted(body: bytes, coding: str | None, *, max_bytes: int) -> DecodedBody:
        threads.append(get_ident())
        return decode_body(body, coding, max_bytes=max_bytes)

    monkeypatch.setattr("headwater.feeds.first_fetch.decode_body", noted)
    page = river.origin.feed("/")
    page.stand_in = Reply(200, PAGE, HTML)
    with pytest.raises(NotAFeed, match="a page that links to feeds"):
        await river.add(page.url)
    assert len(threads) == 1
    assert threads != [get_ident()]


async def test_without_autodiscovery_a_page_is_just_no_feed(river: River) -> None:
    page = river.origin.feed("/")
    page.stand_in = Reply(200, PAGE, HTML)
    wish = FeedOptions(overrides=Overrides(disable_autodiscovery=True))
    with pytest.raises(NotAFeed, match="This is not a feed") as told:
        await add_feed(page.url, wish, river.engine.registry)
    assert told.value.facts["candidates"] == []


async def test_what_is_no_feed_is_refused_showing_what_came(river: River) -> None:
    page = river.origin.feed("/cat.txt")
    page.stand_in = Reply(200, b"meow", {"Content-Type": "text/plain"})
    with pytest.raises(NotAFeed, match="not a feed") as told:
        await river.add(page.url)
    assert told.value.facts["received"] == {
        "url": page.url,
        "status": 200,
        "content_type": "text/plain",
        "bytes": 4,
        "begins": "meow",
    }
    assert told.value.facts["candidates"] == []


async def test_an_error_of_the_server_is_told_as_such(river: River) -> None:
    feed = river.origin.feed("/feed.xml", [ONE])
    feed.stand_in = Reply(404, b"no such page")
    with pytest.raises(FetchFailed) as told:
        await river.add(feed.url)
    assert (told.value.facts["outcome"], told.value.facts["status"]) == ("http_404", 404)
    assert await river.count("feeds") == 0


async def test_a_url_that_is_followed_is_refused_without_a_request(river: River) -> None:
    feed = river.origin.feed("/feed.xml", [ONE])
    feed_id = await river.add(feed.url)
    with pytest.raises(DuplicateUrl) as told:
        await river.add(f"  {feed.url}#top ")
    assert told.value.facts["feed_id"] == feed_id
    assert len(feed.requests) == 1


async def test_a_redirect_to_a_followed_feed_is_that_feed(river: River) -> None:
    feed, short = river.origin.feed("/feed.xml", [ONE]), river.origin.feed("/short")
    feed_id = await river.add(feed.url)
    short.stand_in = Reply(302, headers={"Location": "/feed.xml"})
    with pytest.raises(DuplicateUrl) as told:
        await river.add(short.url)
    assert told.value.facts["feed_id"] == feed_id


async def test_a_removed_feed_comes_back_with_its_history(river: River) -> None:
    feed = river.origin.feed("/feed.xml", [ONE])
    first = await river.add(feed.url)
    await remove_feed(first, river.engine.database, hard=False)
    feed.publish(TWO)
    assert await river.add(feed.url) == first
    assert await river.told() == [
        "subscription_created",
        "new_entry",
        "subscription_deleted",
        "subscription_created",
        "new_entry",
    ]
    assert await river.count("entries") == 2
    assert await river.count("visits") == 2


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1/feed", "http://169.254.169.254/", "http://[::1]/"]
)
async def test_private_addresses_are_refused_before_any_request(river: River, url: str) -> None:
    with pytest.raises(BlockedAddress):
        await river.add(url)
    assert await river.count("feeds") == 0


async def test_what_is_no_url_is_refused(river: River) -> None:
    with pytest.raises(BadUrl):
        await add_feed("file:///etc/passwd", FeedOptions(), river.engine.registry)


async def test_a_feed_for_later_is_due_at_once_and_wakes_the_worker(river: River) -> None:
    feed = river.origin.feed("/feed.xml", [ONE])
    await add_feed_later(feed.url, FeedOptions(categories=("news",)), river.engine.registry)
    assert feed.requests == []
    assert river.engine.database.woken("feeds").is_set()
    due = await river.claim()
    assert due.url == feed.url


async def test_the_hosts_turn_is_kept_when_adding_too(river: River) -> None:
    """Two feeds of one host, one right after the other: a second apart."""
    first, second = river.origin.feed("/1", [ONE]), river.origin.feed("/2", [ONE])
    await river.add(first.url)
    asked_at = river.clock.monotonic()
    river.engine.turns.seen("127.0.0.1", asked_at)
    adding = asyncio.ensure_future(add_feed(second.url, FeedOptions(), river.engine.registry))
    assert await river.clock.advance_to_next() == pytest.approx(1.0)
    await adding
    assert second.requests[0].started == pytest.approx(asked_at + 1.0)


async def test_a_machine_that_cannot_parse_does_not_say_that_it_is_no_feed(river: River) -> None:
    feed = river.origin.feed("/feed.xml", [ONE])
    river.engine.parsers = ProcessParsers(count=1, reader="headwater.no_such_module:read")
    with pytest.raises(FetchFailed) as told:
        await river.add(feed.url)
    await river.engine.parsers.close()
    assert told.value.facts["outcome"] == "parser_unavailable"
    assert await river.count("feeds") == 0

"""Feeds, entries and raw bytes, typed, by both clients."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headwater.adapters.clock import SystemClock
from headwater.adapters.database import SqlDatabase
from headwater.client import AsyncClient, Client, Enclosure, Entry, Feed, Person, Refusal
from headwater.core.errors import BadInput
from headwater.feeds.feed import FeedOptions
from headwater.settings import Settings
from tests.support.api_server import Served, served
from tests.support.both_clients import KINDS, Kind
from tests.support.engine_parts import EngineParts
from tests.support.scripted_engine import River, ScriptedWeb, an_engine, an_entry

pytestmark = [
    pytest.mark.parametrize("dialect", ["sqlite"], indirect=True),
    pytest.mark.parametrize("kind", KINDS),
]


@pytest.fixture
def engine(database: SqlDatabase, tmp_path: Path) -> EngineParts:
    return an_engine(database, SystemClock(), ScriptedWeb(), tmp_path)


@pytest.fixture
def river(engine: EngineParts) -> River:
    return River(engine, ScriptedWeb())


@pytest.fixture
async def service(engine: EngineParts, tmp_path: Path) -> AsyncIterator[Served]:
    async with served(engine, Settings(data_dir=tmp_path, port=0)) as running:
        yield running


class Asker:
    """Either client; listings as lists."""

    def __init__(self, kind: Kind, url: str) -> None:
        self._kind, self._threads, self._loops = kind, Client(url), AsyncClient(url)

    async def feeds(self, state: str | None = None) -> list[Feed]:
        if self._kind == "threads":
            return await asyncio.to_thread(lambda: list(self._threads.feeds(state, page_size=2)))
        return [feed async for feed in self._loops.feeds(state, page_size=2)]

    async def ask(self, method: str, path: str, said: Mapping[str, Any]) -> Any:
        if self._kind == "threads":
            return await asyncio.to_thread(self._threads.ask, method, path, said)
        return await self._loops.ask(method, path, said)

    async def feed(self, feed_id: str) -> Feed:
        if self._kind == "threads":
            return await asyncio.to_thread(self._threads.feed, feed_id)
        return await self._loops.feed(feed_id)

    async def entries(
        self,
        feed: str | None = None,
        since: datetime | None = None,
        category: str | None = None,
        words: str | None = None,
    ) -> list[Entry]:
        if self._kind == "threads":
            found = self._threads.entries(feed, since, category=category, words=words, page_size=2)
            return await asyncio.to_thread(list, found)
        asked = self._loops.entries(feed, since, category=category, words=words, page_size=2)
        return [each async for each in asked]

    async def entry(self, uid: str, feed: str | None = None) -> Entry:
        if self._kind == "threads":
            return await asyncio.to_thread(self._threads.entry, uid, feed)
        return await self._loops.entry(uid, feed)

    async def raw(self, fetch_id: str) -> bytes:
        if self._kind == "threads":
            return await asyncio.to_thread(self._threads.raw, fetch_id)
        return await self._loops.raw(fetch_id)


@pytest.fixture
def asker(kind: Kind, service: Served) -> Asker:
    return Asker(kind, service.url)


async def test_feeds_page_by_page(asker: Asker, river: River) -> None:
    ids = [await river.feed(name, FeedOptions(categories=("news",))) for name in "abcde"]
    feeds = await asker.feeds()
    assert [feed.id for feed in feeds] == ids
    assert await asker.feeds("paused") == []
    one = await asker.feed(ids[2])
    assert one == feeds[2]
    assert (one.url, one.state, one.categories) == (
        "https://c.example/feed",
        "active",
        ("news",),
    )
    assert one.created_at.tzinfo is not None
    assert one.more["schedule"]["interval_sec"] == 900


async def test_entries_page_by_page_and_by_what_is_wanted(asker: Asker, river: River) -> None:
    feed = await river.feed("a")
    other = await river.feed("b")
    tagged = an_entry("https://a.example/?p=1&x=/..", "Tagged", categories=("water",))
    more = [an_entry(f"u{n}", f"Title {n}") for n in range(4)]
    await river.entries(feed, tagged, *more)
    await river.entries(other, an_entry("u1", "Another"))
    assert len(await asker.entries()) == 6
    assert {entry.uid for entry in await asker.entries(feed)} == {
        "https://a.example/?p=1&x=/..",
        "u0",
        "u1",
        "u2",
        "u3",
    }
    assert [entry.title for entry in await asker.entries(category="water")] == ["Tagged"]
    assert [entry.title for entry in await asker.entries(words="title 3")] == ["Title 3"]
    assert await asker.entries(since=datetime.now(UTC) + timedelta(hours=1)) == []
    with pytest.raises(BadInput, match="time zone"):
        await asker.entries(since=datetime(2026, 1, 5))


async def test_one_entry(asker: Asker, river: River) -> None:
    feed, other = await river.feed("a"), await river.feed("b")
    uid = "https://a.example/?p=1&x=/..#é"
    await river.entries(feed, an_entry(uid, "One", categories=("a", "b")))
    await river.entries(other, an_entry("same"))
    await river.entries(feed, an_entry("same"), before=1)
    entry = await asker.entry(uid)
    assert (entry.uid, entry.feed_id, entry.title) == (uid, feed, "One")
    assert entry.categories == ("a", "b")
    assert entry.authors == (Person("Ada", None, None),)
    assert entry.enclosures == (Enclosure("https://a.example/1.mp3", "audio/mpeg", 5, {}),)
    assert (entry.raw_refs[0].offset, entry.raw_refs[0].length) == (10, 20)
    assert entry.published is None
    assert entry.first_seen <= datetime.now(UTC)
    with pytest.raises(Refusal) as refused:
        await asker.entry("same")
    assert refused.value.code == "ambiguous_entry"
    assert sorted(refused.value.facts["feeds"]) == sorted([feed, other])
    assert (await asker.entry("same", other)).feed_id == other


async def test_raw_bytes_as_they_were_served(asker: Asker, river: River) -> None:
    feed = await river.feed("a")
    body = bytes(range(256)) * 5_000
    fetch_id = await river.raw(feed, body)
    assert await asker.raw(fetch_id) == body
    with pytest.raises(Refusal) as refused:
        await asker.raw("01900000-0000-7000-9000-000000000099")
    assert (refused.value.status, refused.value.code) == (404, "not_found")


async def test_a_request_that_is_too_large_is_refused_and_not_unreachable(asker: Asker) -> None:
    """The service hangs up before it has all of it; what it said before that is heard."""
    with pytest.raises(Refusal) as refused:
        await asker.ask("POST", "/feeds", {"url": "x" * 30_000_000})
    assert (refused.value.code, refused.value.status) == ("body_too_large", 413)

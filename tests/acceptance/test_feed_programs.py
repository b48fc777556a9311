"""newsboat and sfeed, as people have them, read personal feeds of the real service."""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import feedparser
import pytest

from headwater.feeds.feed import FeedOptions
from headwater.publish.safe_text import xml_safe_text
from tests.support.feed_programs import Newsboat, ProgramMissing, Sfeed, overheard
from tests.support.hostile_texts import NASTY
from tests.support.scripted_engine import River, ScriptedWeb, an_entry
from tests.support.wired_service import TOKEN, Live, live, settings_for

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)

T = TypeVar("T")

PATHS = ["/rss", "/atom"]
MARCH = 1_772_368_215
"""2026-03-01T12:30:15Z"""
FILE = {"url": "https://posts.example/1.mp3", "type": "audio/mpeg", "length": 5}


@pytest.fixture
def newsboat(tmp_path: Path) -> Newsboat:
    return had(Newsboat, tmp_path / "newsboat")


@pytest.fixture
def sfeed(tmp_path: Path) -> Sfeed:
    return had(Sfeed, tmp_path / "sfeed")


@pytest.fixture
async def service(database_url: str, tmp_path: Path) -> AsyncIterator[Live]:
    async with live(settings_for(tmp_path, database_url)) as running:
        await running.readers.opened("Ada", "rivers", "lakes", token=TOKEN)
        yield running


def had(program: Callable[[Path], T], folder: Path) -> T:
    """Where it cannot be had, the test is skipped; not where nothing may be missing."""
    folder.mkdir()
    try:
        return program(folder)
    except ProgramMissing as reason:
        if os.environ.get("CI") == "true":
            pytest.fail(str(reason))
        pytest.skip(str(reason))


async def two_items(service: Live) -> list[str]:
    """Their guids, oldest first."""
    return [
        await service.publish(
            title="The first",
            description="<p>In short</p>",
            content='<p>At <b>length</b>, <a href="https://posts.example/x">there</a></p>',
            link="https://posts.example/1",
            category="rivers",
            pub_date="2026-03-01T12:30:15Z",
            authors=["Ada Lovelace"],
            enclosures=[FILE],
            tags=["water"],
        ),
        await service.publish(
            title="The second & last",
            description="<p>Words</p><script>alert(1)</script>",
            link="https://posts.example/2?a=1&b=2",
            category="lakes",
            pub_date="2026-03-01T12:31:15Z",
        ),
    ]


async def hostile_items(service: Live) -> list[str]:
    """The titles that a reader should see, newest first. NUL would be refused."""
    said = [text for text in (xml_safe_text(nasty).strip() for nasty in NASTY) if text]
    for number, text in enumerate(said):
        link = f"https://posts.example/{number}"
        await service.publish(title=text, description=text, link=link, category="rivers")
    return [" ".join(text.split()) for text in reversed(said)]


def plain_guid(guid: str) -> str:
    return guid.removeprefix("urn:uuid:")


# newsboat ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
async def test_newsboat_reads_a_feed_without_a_warning(
    service: Live, newsboat: Newsboat, path: str
) -> None:
    first, second = await two_items(service)
    url = f"{service.url}{path}?token={TOKEN}"
    said = await newsboat.reload(url)
    assert (said.status, said.words) == (0, "")
    assert newsboat.title(url) == "Personal feed of Ada"
    newest, oldest = newsboat.items(url)
    assert [plain_guid(newest.id), plain_guid(oldest.id)] == [second, first]
    assert (oldest.title, oldest.link) == ("The first", "https://posts.example/1")
    assert (oldest.author, oldest.moment) == ("Ada Lovelace", MARCH)
    assert oldest.enclosure == "https://posts.example/1.mp3"
    assert "<p>At <b>length</b>, " in oldest.content
    assert (newest.title, newest.link) == ("The second & last", "https://posts.example/2?a=1&b=2")
    assert (newest.content, newest.moment) == ("<p>Words</p>", MARCH + 60)


@pytest.mark.parametrize("path", PATHS)
async def test_newsboat_reads_hostile_titles_as_they_are(
    service: Live, newsboat: Newsboat, path: str
) -> None:
    titles = await hostile_items(service)
    url = f"{service.url}{path}?token={TOKEN}"
    said = await newsboat.reload(url)
    assert (said.status, said.words) == (0, "")
    assert [item.title for item in newsboat.items(url)] == titles


@pytest.mark.parametrize("path", PATHS)
async def test_newsboat_takes_an_empty_feed_for_a_feed(
    service: Live, newsboat: Newsboat, path: str
) -> None:
    url = f"{service.url}{path}?token={TOKEN}"
    said = await newsboat.reload(url)
    assert (said.status, said.words) == (0, "")
    assert newsboat.items(url) == []


async def test_newsboat_is_told_once_that_nothing_is_new(service: Live, newsboat: Newsboat) -> None:
    """It writes the tag down with its second visit, when it knows the feed: the third has it."""
    await two_items(service)
    async with overheard(service.place) as ear:
        url = f"{ear.url}/rss?token={TOKEN}"
        for _ in range(3):
            assert (await newsboat.reload(url)).words == ""
        full, again, unchanged = ear.exchanges
        assert [full.status, again.status, unchanged.status] == [200, 200, 304]
        assert full.answered("content-encoding") == "gzip"
        assert unchanged.asked("if-none-match") == full.answered("etag")
        assert unchanged.asked("if-modified-since") == full.answered("last-modified")
        assert unchanged.answer.partition(b"\r\n\r\n")[2] == b""
        assert len(newsboat.items(url)) == 2
        await service.publish(
            title="New", description="x", link="https://a.example/", category="lakes"
        )
        while ear.exchanges[-1].status == 304:  # for half a second, and it is asked again at once
            assert (await newsboat.reload(url)).words == ""
        assert ear.exchanges[-1].status == 200
        assert titles(newsboat, url) == ["New", "The second & last", "The first"]


async def test_newsboat_takes_our_list_of_feeds(
    service: Live, newsboat: Newsboat, tmp_path: Path
) -> None:
    """What /opml gives is imported, and every address in it works."""
    await two_items(service)
    listed = await service.ask(f"/opml?token={TOKEN}")
    (tmp_path / "feeds.opml").write_bytes(listed.body)
    urls = await newsboat.imported(tmp_path / "feeds.opml")
    assert len(urls) == 3
    assert (await newsboat.reload(*urls)).words == ""
    assert sorted(title for url in urls for title in titles(newsboat, url)) == [
        *("The first", "The second & last"),
    ]


async def test_newsboat_reads_a_collection(service: Live, newsboat: Newsboat) -> None:
    """Of the feeds in the reader's categories, as /meta tells it."""
    river = River(service.engine, ScriptedWeb())
    feed = await river.feed("one", replace(FeedOptions(), categories=("rivers",)))
    await river.entries(feed, an_entry("1", "a < b"), an_entry("2", "c & d ]]>"))
    url = f"{service.url}/meta/all.xml?token={TOKEN}"
    said = await newsboat.reload(url)
    assert (said.status, said.words) == (0, "")
    assert sorted(titles(newsboat, url)) == ["a < b", "c & d ]]>"]


def titles(newsboat: Newsboat, url: str) -> list[str]:
    return [item.title for item in newsboat.items(url)]


# sfeed -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
async def test_sfeed_reads_a_feed_without_a_warning(service: Live, sfeed: Sfeed, path: str) -> None:
    first, second = await two_items(service)
    said = await sfeed.update(f"{service.url}{path}?token={TOKEN}")
    assert said.status == 0
    assert re.findall(r"fail|error|warn", said.words, re.IGNORECASE) == []
    newest, oldest = sfeed.items()
    assert [plain_guid(newest.id), plain_guid(oldest.id)] == [second, first]
    assert (oldest.title, oldest.link) == ("The first", "https://posts.example/1")
    assert (oldest.author, oldest.moment) == ("Ada Lovelace", MARCH)
    assert oldest.enclosure == "https://posts.example/1.mp3"
    assert oldest.categories == ("rivers", "water")
    assert oldest.content.startswith("<p>At <b>length</b>, <a href=")
    assert (newest.title, newest.link) == ("The second & last", "https://posts.example/2?a=1&b=2")
    assert newest.content == "<p>Words</p>"


@pytest.mark.parametrize("path", PATHS)
async def test_sfeed_reads_hostile_titles_as_they_are(
    service: Live, sfeed: Sfeed, path: str
) -> None:
    wanted = await hostile_items(service)
    assert (await sfeed.update(f"{service.url}{path}?token={TOKEN}")).status == 0
    # Its order is by whole seconds, then by the words; it shows no control characters.
    assert sorted(item.title for item in sfeed.items()) == sorted(
        title.replace("\x7f", "") for title in wanted
    )


@pytest.mark.parametrize("path", PATHS)
async def test_sfeed_takes_an_empty_feed_for_a_feed(service: Live, sfeed: Sfeed, path: str) -> None:
    assert (await sfeed.update(f"{service.url}{path}?token={TOKEN}")).status == 0
    assert sfeed.items() == []


# feedparser --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
async def test_feedparser_asks_by_itself_and_is_told_when_nothing_is_new(
    service: Live, path: str
) -> None:
    await two_items(service)
    url = f"{service.url}{path}?token={TOKEN}"
    full = await asyncio.to_thread(feedparser.parse, url)
    assert (full.status, full.bozo) == (200, False)
    assert [entry.title for entry in full.entries] == ["The second & last", "The first"]
    known = {"etag": full.etag, "modified": full.modified}
    unchanged = await asyncio.to_thread(feedparser.parse, url, **known)
    assert (unchanged.status, unchanged.entries) == (304, [])

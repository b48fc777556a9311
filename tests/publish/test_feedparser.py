"""feedparser, the library most programs read feeds with, reads back what we wrote."""

from collections.abc import Callable
from datetime import UTC, datetime
from time import struct_time
from typing import Any

import feedparser
import pytest

from headwater.publish.atom import render_atom
from headwater.publish.clean_html import clean_html
from headwater.publish.document import ItemEnclosure, PublishedFeed
from headwater.publish.rss import render_rss
from headwater.publish.safe_text import xml_safe_text
from tests.support.hostile_texts import LONG, NASTY
from tests.support.published_documents import PUBLISHED, SELF, a_document, an_item

Writer = Callable[[PublishedFeed], bytes]

WRITERS = [pytest.param(render_rss, id="rss"), pytest.param(render_atom, id="atom")]
TEXTS = [
    pytest.param(text, id=f"text-{number}")
    for number, text in enumerate((*NASTY, *LONG))
    # feedparser takes U+0085 for a mistake of Windows, and makes it an ellipsis.
    if "\x85" not in text
]


def read(body: bytes, **options: bool) -> Any:
    found = feedparser.parse(body, **options)
    assert not found.bozo, found.get("bozo_exception")
    return found


def moment(read_as: struct_time) -> datetime:
    return datetime(*read_as[:6], tzinfo=UTC)


@pytest.mark.parametrize("write", WRITERS)
def test_an_item_comes_back_whole(write: Writer) -> None:
    found = read(write(a_document(an_item(), hub="https://hub.example/")))
    assert found.version == ("rss20" if write is render_rss else "atom10")
    assert found.feed.title == "All entries"
    links = {link.rel: link.href for link in found.feed.links if link.rel in ("self", "hub")}
    assert links == {"self": SELF, "hub": "https://hub.example/"}
    (entry,) = found.entries
    item = an_item()
    assert (entry.id, entry.title, entry.link) == (item.id, item.title, item.link)
    assert moment(entry.published_parsed) == PUBLISHED
    assert entry.author_detail.name == "Ada"
    assert [tag.term for tag in entry.tags] == ["water", "stone"]
    assert (entry.summary, entry.content[0].value) == (item.summary, item.content)
    assert [(e.href, e.type, e.length) for e in entry.enclosures] == [
        ("https://posts.example/1.mp3", "audio/mpeg", "5")
    ]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("text", TEXTS)
def test_a_hostile_title_comes_back_as_it_was(write: Writer, text: str) -> None:
    """Without the options by which feedparser takes a title for HTML when it looks like it."""
    title = " ".join(xml_safe_text(text).split())
    body = write(a_document(an_item(title=title, categories=(text,))))
    (entry,) = read(body, sanitize_html=False, resolve_relative_uris=False).entries
    assert entry.get("title", "") == title
    terms = [tag.term.strip() for tag in entry.get("tags", [])]
    assert terms == [xml_safe_text(text).strip()] * bool(xml_safe_text(text).strip())
    ordinary = read(write(a_document(an_item()))).entries[0]
    assert entry.keys() <= ordinary.keys()


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("text", TEXTS)
def test_hostile_html_comes_back_clean_and_is_cleaned_no_further(write: Writer, text: str) -> None:
    """With feedparser's own sanitiser on: it finds nothing that ours has left."""
    html = clean_html(f"<p>{text}</p>")
    (entry,) = read(write(a_document(an_item(content=html, summary=html)))).entries
    assert entry.content[0].value == html.strip()


@pytest.mark.parametrize("write", WRITERS)
def test_a_magnet_is_found_among_the_enclosures(write: Writer) -> None:
    attached = (ItemEnclosure("magnet:?xt=urn:btih:00", "application/x-bittorrent", 5),)
    (entry,) = read(write(a_document(an_item(enclosures=attached)))).entries
    assert [(e.href, e.type) for e in entry.enclosures] == [
        ("magnet:?xt=urn:btih:00", "application/x-bittorrent")
    ]


@pytest.mark.parametrize("write", WRITERS)
def test_an_empty_feed_is_a_feed(write: Writer) -> None:
    found = read(write(a_document()))
    assert (found.feed.title, found.entries) == ("All entries", [])

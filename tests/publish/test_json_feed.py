"""JSON Feed 1.1 as its specification demands it, of our own output."""

from typing import Any

import orjson

from headwater.parse.parser import parse
from headwater.publish.document import ItemAuthor, ItemEnclosure, PublishedItem
from headwater.publish.json_feed import render_json_feed
from tests.support.published_documents import PUBLISHED, SELF, SOURCE, UPDATED, a_document, an_item

BARE = PublishedItem(id="urn:x", updated=UPDATED)


def said(*items: PublishedItem, **places: str | None) -> Any:
    return orjson.loads(render_json_feed(a_document(*items, **places)))


def test_version_title_and_items_are_always_there() -> None:
    feed = said()
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert (feed["title"], feed["feed_url"], feed["items"]) == ("All entries", SELF, [])
    assert "next_url" not in feed
    assert "hubs" not in feed


def test_the_next_page_is_another_address() -> None:
    feed = said(next=f"{SELF}?cursor=2", first=SELF, previous=SELF)
    assert feed["next_url"] == f"{SELF}?cursor=2" != feed["feed_url"]
    assert feed["_headwater"]["previous_url"] == SELF


def test_a_hub_has_a_type_and_an_address() -> None:
    feed = said(hub="https://hub.example/")
    assert feed["hubs"] == [{"type": "WebSub", "url": "https://hub.example/"}]


def test_an_item_has_an_id_and_a_content_even_when_it_says_nothing() -> None:
    (item,) = said(BARE)["items"]
    assert item == {
        "id": "urn:x",
        "date_modified": "2026-03-01T12:30:15.250000Z",
        "content_html": "",
    }


def test_an_item_in_full() -> None:
    (item,) = said(an_item())["items"]
    assert item == {
        "id": an_item().id,
        "url": "https://posts.example/1",
        "title": "Post 1",
        "content_html": "<p>At <b>length</b></p>",
        "summary": "In short",
        "date_published": "2026-02-28T08:00:00Z",
        "date_modified": "2026-03-01T12:30:15.250000Z",
        "authors": [{"name": "Ada", "url": "https://ada.example/"}],
        "tags": ["water", "stone"],
        "attachments": [
            {
                "url": "https://posts.example/1.mp3",
                "mime_type": "audio/mpeg",
                "title": "Sound",
                "size_in_bytes": 5,
                "duration_in_seconds": 61,
            }
        ],
        "_source": {"id": SOURCE.id, "title": "A river", "url": "https://posts.example/"},
    }


def test_an_author_says_at_least_one_thing() -> None:
    (item,) = said(an_item(authors=(ItemAuthor(), ItemAuthor("Ada"), ItemAuthor(uri="ftp://x"))))[
        "items"
    ]
    assert item["authors"] == [{"name": "Ada"}]


def test_an_attachment_always_has_a_type() -> None:
    attached = (
        ItemEnclosure("https://posts.example/a"),
        ItemEnclosure("javascript:1", "text/html"),
    )
    (item,) = said(an_item(enclosures=attached))["items"]
    assert item["attachments"] == [
        {"url": "https://posts.example/a", "mime_type": "application/octet-stream"}
    ]


def test_a_summary_is_plain_text_and_a_content_html() -> None:
    (item,) = said(an_item(summary="<p>1 &lt; 2 <i>indeed</i></p>", content=None))["items"]
    assert item["summary"] == "1 < 2 indeed"
    assert item["content_html"] == "<p>1 &lt; 2 <i>indeed</i></p>"


def test_our_own_parser_reads_it_back_equal() -> None:
    read = parse(render_json_feed(a_document(an_item(), next=f"{SELF}?cursor=2")))
    assert (read.format, read.problems) == ("json", ())
    assert read.feed.next_link == f"{SELF}?cursor=2"
    (entry,) = read.entries
    item = an_item()
    assert entry.native_id == item.id
    assert entry.title is not None
    assert entry.content is not None
    assert (entry.title.value, entry.content.value) == (item.title, item.content)
    assert (entry.link, entry.published, entry.updated) == (item.link, PUBLISHED, UPDATED)
    assert [(a.name, a.uri) for a in entry.authors] == [("Ada", "https://ada.example/")]
    assert [category.term for category in entry.categories] == ["water", "stone"]
    assert [(e.url, e.type, e.length) for e in entry.enclosures] == [
        ("https://posts.example/1.mp3", "audio/mpeg", 5)
    ]

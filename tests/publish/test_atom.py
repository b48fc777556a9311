"""Atom 1.0 as RFC 4287 demands it, of our own output."""

import re

import pytest

from headwater.parse.parser import parse
from headwater.publish.atom import render_atom
from headwater.publish.document import ItemAuthor, ItemEnclosure, ItemSource, PublishedItem
from tests.support.published_documents import (
    ATOM,
    PUBLISHED,
    SELF,
    SOURCE,
    UPDATED,
    a_document,
    an_item,
    strict,
    texts,
)

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
BARE = PublishedItem(id="urn:uuid:01900000-0000-8000-8000-000000000009", updated=UPDATED)


def test_a_feed_has_exactly_one_id_title_and_moment() -> None:
    """4.1.1: each exactly once; generator, subtitle at most once."""
    feed = strict(render_atom(a_document(an_item(1), an_item(2))))
    assert feed.tag == f"{ATOM}feed"
    assert texts(feed, f"{ATOM}title") == ["All entries"]
    assert texts(feed, f"{ATOM}updated") == ["2026-03-01T12:30:15.250000Z"]
    (name,) = texts(feed, f"{ATOM}id")
    assert name.startswith("urn:uuid:")
    assert len(feed.findall(f"{ATOM}generator")) == 1


def test_a_feed_has_an_author_whatever_its_entries_have() -> None:
    """4.1.1: one or more, unless all entries have their own."""
    for document in (a_document(), a_document(BARE)):
        assert texts(strict(render_atom(document)), f"{ATOM}author/{ATOM}name") == ["Headwater"]


def test_an_entry_has_exactly_one_id_title_and_moment() -> None:
    """4.1.2."""
    feed = strict(render_atom(a_document(an_item(1), BARE)))
    entries = feed.findall(f"{ATOM}entry")
    assert len(entries) == 2
    for entry in entries:
        for name in ("id", "title", "updated"):
            assert len(entry.findall(f"{ATOM}{name}")) == 1
        for name in ("content", "published", "source", "summary", "rights"):
            assert len(entry.findall(f"{ATOM}{name}")) <= 1


def test_an_entry_without_a_link_has_content() -> None:
    """4.1.2: no content, then at least one alternate link."""
    (entry,) = strict(render_atom(a_document(BARE))).findall(f"{ATOM}entry")
    assert entry.findall(f"{ATOM}link") == []
    (content,) = entry.findall(f"{ATOM}content")
    assert (content.text, content.get("type")) == (None, "html")


def test_an_entry_with_a_link_needs_no_content() -> None:
    (entry,) = strict(
        render_atom(a_document(an_item(content=None, summary=None, enclosures=())))
    ).findall(f"{ATOM}entry")
    assert entry.find(f"{ATOM}content") is None
    (link,) = entry.findall(f"{ATOM}link")
    assert dict(link.attrib) == {"rel": "alternate", "href": "https://posts.example/1"}


def test_moments_are_rfc_3339_in_upper_case() -> None:
    """3.3."""
    feed = strict(render_atom(a_document(an_item())))
    found = [e.text for e in feed.iter(f"{ATOM}updated", f"{ATOM}published")]
    assert found == [
        "2026-03-01T12:30:15.250000Z",
        "2026-03-01T12:30:15.250000Z",
        "2026-02-28T08:00:00Z",
    ]
    assert all(MOMENT.fullmatch(text) for text in found)


def test_a_person_has_a_name_and_only_sound_addresses() -> None:
    """3.2: exactly one name, at most one uri and email, the email an address."""
    people = (
        ItemAuthor("Ada", "ada@posts.example", "https://ada.example/"),
        ItemAuthor("Bert", "no address", "javascript:alert(1)"),
        ItemAuthor(None, "eve@posts.example"),
        ItemAuthor(),
    )
    (entry,) = strict(render_atom(a_document(an_item(authors=people)))).findall(f"{ATOM}entry")
    authors = [
        [(child.tag.removeprefix(ATOM), child.text) for child in author]
        for author in entry.findall(f"{ATOM}author")
    ]
    assert authors == [
        [("name", "Ada"), ("email", "ada@posts.example"), ("uri", "https://ada.example/")],
        [("name", "Bert")],
        [("name", "eve@posts.example"), ("email", "eve@posts.example")],
    ]


def test_html_is_escaped_text_inside_the_element() -> None:
    """3.1.1.2: no child elements; 4.1.3.3 for content."""
    (entry,) = strict(render_atom(a_document(an_item()))).findall(f"{ATOM}entry")
    for name, html in (("summary", "<p>In short</p>"), ("content", "<p>At <b>length</b></p>")):
        (element,) = entry.findall(f"{ATOM}{name}")
        assert (element.get("type"), element.text, len(element)) == ("html", html, 0)


def test_each_category_once_with_its_term() -> None:
    """4.2.2: a term is a must."""
    item = an_item(categories=("water", "stone", "water"))
    (entry,) = strict(render_atom(a_document(item))).findall(f"{ATOM}entry")
    assert [c.get("term") for c in entry.findall(f"{ATOM}category")] == ["water", "stone"]


def test_the_links_of_a_paged_feed() -> None:
    """RFC 5005, 3; hub by WebSub; no two alternates of one type (4.1.1)."""
    pages = {name: f"{SELF}?cursor={name}" for name in ("first", "previous", "next")}
    feed = strict(
        render_atom(a_document(hub="https://hub.example/", home="https://river.example/", **pages))
    )
    links = {link.get("rel"): link.get("href") for link in feed.findall(f"{ATOM}link")}
    assert links == {
        "self": SELF,
        "alternate": "https://river.example/",
        "hub": "https://hub.example/",
        **pages,
    }
    assert len(feed.findall(f"{ATOM}link")) == len(links)


def test_an_enclosure_says_what_is_known() -> None:
    attached = (
        ItemEnclosure("https://posts.example/a b.mp3", "Audio/MPEG; x=1", 5, 61, "Sound"),
        ItemEnclosure("magnet:?xt=urn:btih:00", None, None),
        ItemEnclosure("javascript:alert(1)", "text/html", 1),
        ItemEnclosure("https://posts.example/c", "nonsense", -1),
    )
    item = an_item(enclosures=attached)
    (entry,) = strict(render_atom(a_document(item))).findall(f"{ATOM}entry")
    links = [dict(link.attrib) for link in entry.findall(f"{ATOM}link")][1:]
    assert links == [
        {
            "rel": "enclosure",
            "href": "https://posts.example/a%20b.mp3",
            "type": "audio/mpeg",
            "length": "5",
            "title": "Sound",
        },
        {"rel": "enclosure", "href": "magnet:?xt=urn:btih:00"},
        {"rel": "enclosure", "href": "https://posts.example/c"},
    ]


def test_the_source_is_named_and_speaks_for_who_has_no_author() -> None:
    item = an_item(authors=(), source=SOURCE)
    (source,) = strict(render_atom(a_document(item))).findall(f"{ATOM}entry/{ATOM}source")
    assert texts(source, f"{ATOM}id") == [SOURCE.id]
    assert texts(source, f"{ATOM}title") == ["A river"]
    assert texts(source, f"{ATOM}author/{ATOM}name") == ["A river"]
    assert [link.get("href") for link in source.findall(f"{ATOM}link")] == [SOURCE.link]


@pytest.mark.parametrize("link", ["javascript:alert(1)", "data:text/html,x", "ftp://a/b", "/x"])
def test_only_web_addresses_are_links(link: str) -> None:
    item = an_item(link=link, source=ItemSource("urn:x", "t", link), enclosures=())
    assert link.encode() not in render_atom(a_document(item))


def test_an_empty_feed_is_valid() -> None:
    feed = strict(render_atom(a_document()))
    assert [child.tag.removeprefix(ATOM) for child in feed] == [
        "id",
        "title",
        "updated",
        "author",
        "link",
        "generator",
    ]


def test_our_own_parser_reads_it_back_equal() -> None:
    read = parse(
        render_atom(a_document(an_item(), next=f"{SELF}?cursor=2", hub="https://hub.example/"))
    )
    assert read.format == "atom"
    assert read.feed.title is not None
    assert read.feed.title.value == "All entries"
    assert (read.feed.self_link, read.feed.next_link) == (SELF, f"{SELF}?cursor=2")
    assert read.feed.hub == "https://hub.example/"
    assert read.feed.updated == UPDATED
    assert not read.problems
    (entry,) = read.entries
    item = an_item()
    assert entry.native_id == item.id
    assert entry.title is not None
    assert entry.summary is not None
    assert entry.content is not None
    assert (entry.title.value, entry.title.type) == (item.title, "text")
    assert (entry.summary.value, entry.summary.type) == (item.summary, "html")
    assert (entry.content.value, entry.content.type) == (item.content, "html")
    assert entry.link == item.link
    assert [(a.name, a.email, a.uri) for a in entry.authors] == [
        ("Ada", "ada@posts.example", "https://ada.example/")
    ]
    assert [category.term for category in entry.categories] == ["water", "stone"]
    assert [(e.url, e.type, e.length) for e in entry.enclosures] == [
        ("https://posts.example/1.mp3", "audio/mpeg", 5)
    ]
    assert (entry.published, entry.updated) == (PUBLISHED, UPDATED)
    assert entry.source is not None
    assert (entry.source.title, entry.source.id) == (SOURCE.title, SOURCE.id)


def test_the_same_document_is_the_same_bytes() -> None:
    assert render_atom(a_document(an_item(1), an_item(2))) == render_atom(
        a_document(an_item(1), an_item(2))
    )

"""JSON Feed 1.0 and 1.1."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from headwater.parse import Category, Content, Enclosure, Entry, Feed, Link, Person, Text, parse

VERSION = "https://jsonfeed.org/version/1.1"
HOME = "https://example.org/blog/feed.json"


def feed_of(**fields: Any) -> Feed:
    body = orjson.dumps({"version": VERSION, "items": [], **fields})
    return parse(body, url=HOME).feed


def entry_of(**fields: Any) -> Entry:
    body = orjson.dumps({"version": VERSION, "items": [{"id": "1", **fields}]})
    return parse(body, url=HOME).entries[0]


FEEDS: list[tuple[dict[str, Any], str, Any]] = [
    ({"title": "T"}, "title", Text("T")),
    ({"description": "D"}, "subtitle", Text("D")),
    ({"home_page_url": "https://e.org/"}, "link", "https://e.org/"),
    ({"feed_url": "https://e.org/f"}, "self_link", "https://e.org/f"),
    ({"next_url": "/2"}, "next_link", "https://example.org/2"),
    ({"hubs": [{"type": "WebSub", "url": "https://h.org/"}]}, "hub", "https://h.org/"),
    ({"hubs": [{"url": "file:///etc/passwd"}]}, "hub", None),
    ({"icon": "/i.png", "favicon": "/f.ico"}, "image", "https://example.org/i.png"),
    ({"icon": "/i.png", "favicon": "/f.ico"}, "icon", "https://example.org/f.ico"),
    ({"language": "de"}, "language", "de"),
    ({"author": {"name": "A"}}, "authors", (Person("A"),)),
    ({"authors": [{"name": "A", "url": "https://a.org/"}, {"name": "B"}]}, "authors",
     (Person("A", None, "https://a.org/"), Person("B"))),
    ({"authors": "not a list"}, "authors", ()),
    ({"title": 7}, "title", Text("7")),
    ({"title": ["x"]}, "title", None),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "name", "expected"), FEEDS)
def test_feed_fields(fields: dict[str, Any], name: str, expected: Any) -> None:
    assert getattr(feed_of(**fields), name) == expected


ENTRIES: list[tuple[dict[str, Any], str, Any]] = [
    ({}, "native_id", "1"),
    ({"id": 7}, "native_id", "7"),
    ({"id": "https://e.org/1"}, "link", "https://e.org/1"),
    ({"url": "/1"}, "link", "https://example.org/1"),
    ({"url": "/1", "external_url": "https://x.org/"}, "links",
     (Link("https://example.org/1"), Link("https://x.org/", "related"))),
    ({"external_url": "https://x.org/"}, "link", "https://x.org/"),
    ({"url": "javascript:x"}, "link", None),
    ({"title": " T "}, "title", Text("T")),
    ({"content_html": "<p>x</p>"}, "contents", (Content("<p>x</p>", "html"),)),
    ({"content_html": "<a href='/x'>x</a>"}, "contents",
     (Content('<a href="https://example.org/x">x</a>', "html"),)),
    ({"content_text": "x"}, "contents", (Content("x"),)),
    ({"content_text": "x", "content_html": "y"}, "content", Content("y", "html")),
    ({"summary": "s"}, "summary", Text("s")),
    ({"date_published": "2004-01-05T12:00:00Z"}, "published", datetime(2004, 1, 5, 12, tzinfo=UTC)),
    ({"date_modified": "2004-01-05T12:00:00+01:00"}, "updated",
     datetime(2004, 1, 5, 11, tzinfo=UTC)),
    ({"date_published": 12}, "published", None),
    ({"tags": ["a", "b", "a", 3, None]}, "categories",
     (Category("a"), Category("b"), Category("3"))),
    ({"author": {"name": "A"}}, "authors", (Person("A"),)),
    ({"author": "Ann"}, "authors", (Person("Ann"),)),
    ({"authors": ["Ann", {"name": "Bob"}]}, "authors", (Person("Ann"), Person("Bob"))),
    ({"language": "fr"}, "language", "fr"),
    ({"image": "/i.png", "banner_image": "/b.png"}, "thumbnails",
     ("https://example.org/i.png", "https://example.org/b.png")),
    ({"attachments": [{"url": "/a.mp3", "mime_type": "audio/mpeg", "size_in_bytes": 9,
                       "duration_in_seconds": 61, "title": "T"}]}, "enclosures",
     (Enclosure("https://example.org/a.mp3", "audio/mpeg", 9, 61, "T"),)),
    ({"attachments": [{"url": 5}, {"mime_type": "x"}, "y", {"url": "/a", "size_in_bytes": -1}]},
     "enclosures", (Enclosure("https://example.org/a"),)),
    ({"attachments": [{"url": "/a", "size_in_bytes": "9", "duration_in_seconds": "61"}]},
     "enclosures", (Enclosure("https://example.org/a", None, 9, 61),)),
    ({"title": "a\u0007b\u009bc"}, "title", Text("abc")),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "name", "expected"), ENTRIES)
def test_entry_fields(fields: dict[str, Any], name: str, expected: Any) -> None:
    assert getattr(entry_of(**fields), name) == expected


def test_json_in_another_charset_is_read_and_says_so() -> None:
    body = f'{{"version": "{VERSION}", "title": "caf\u00e9", "items": []}}'
    latin = parse(body.encode("latin-1"))
    assert (latin.feed.title, latin.encoding) == (Text("caf\u00e9"), "windows-1252")
    assert "encoding_override" in {problem.code for problem in latin.problems}
    wide = parse(body.encode("utf-16"))
    assert (wide.feed.title, wide.encoding) == (Text("caf\u00e9"), "utf-16le")
    plain = parse(body.encode())
    assert (plain.feed.title, plain.encoding, plain.problems) == (Text("caf\u00e9"), "utf-8", ())


def test_an_item_without_authors_has_the_feeds() -> None:
    body = orjson.dumps({"version": VERSION, "authors": [{"name": "F"}], "items": [{"id": "1"}]})
    assert parse(body).entries[0].authors == (Person("F"),)


NO_FEEDS = [
    b"{", b"[1, 2]", b'{"items": null}', b'{"version": "1"}', b'{"items": []}',
    b'{"version": "https://jsonfeed.org/version/1.1", "items": NaN}',
    b'{"version": "https://jsonfeed.org/version/1.1", "items": 1e999}',
    b'{"version": "https://jsonfeed.org/version/1.1"}',
    b"[" * 200_000, b'{"a":' * 200_000, b"[" * 200_000 + b"]" * 200_000,
]  # fmt: skip


@pytest.mark.parametrize("body", NO_FEEDS, ids=lambda body: body[:40].decode())
def test_json_that_is_no_feed_is_refused(body: bytes) -> None:
    document = parse(body)
    assert document.format == "unknown"
    assert ("not_a_feed", "json") in document.problems


def test_a_cut_off_feed_keeps_its_complete_items() -> None:
    whole = orjson.dumps(
        {
            "version": VERSION,
            "title": "T } ] \u00e9",
            "authors": [{"name": "A"}],
            "items": [
                {"id": "1", "content_html": 'a "quoted" } ]', "tags": ["x", "y"]},
                {"id": "2", "attachments": [{"url": "https://e.org/a"}]},
                {"id": "3"},
            ],
            "hubs": [{"url": "https://h.org/"}],
        }
    )
    ends = [whole.index(b'"y"]}') + 5, whole.index(b'}]},{"id":"3"') + 3]
    ends.append(whole.index(b'{"id":"3"}') + 10)
    for length in range(len(whole)):
        document = parse(whole[:length])
        complete = sum(length >= end for end in ends)
        assert document.partial is (complete > 0)
        assert [entry.native_id for entry in document.entries] == ["1", "2", "3"][:complete]
        assert ("partial" in {problem.code for problem in document.problems}) is document.partial
    assert not parse(whole).partial


def test_strange_items_are_passed_over() -> None:
    body = orjson.dumps({"version": VERSION, "items": [None, 1, "x", [], {"id": "ok"}]})
    assert [entry.native_id for entry in parse(body).entries] == ["ok"]


def test_duplicate_keys_and_long_numbers_do_no_harm() -> None:
    digits = b"9" * 5_000
    body = b'{"version": "%b", "items": [{"id": "a", "id": "b", "title": %b}]}' % (
        VERSION.encode(), digits,
    )  # fmt: skip
    document = parse(body)
    assert document.format in ("json", "unknown")


def test_lone_surrogates_do_not_survive() -> None:
    body = b'{"version": "%b", "items": [{"id": "1", "title": "a\\ud800b\\ud83d\\ude00\\\\ud800"}]}'
    title = parse(body % VERSION.encode()).entries[0].title
    assert title is not None
    assert title.value == "a\ufffdb\U0001f600\\ud800"


SLIPS = [
    '{"items": [{"id": "1", "content_text": "a,]\\nb",},], "title": "T",}',
    '{"items": [{"id": "1", "content_text": "a,]\nb"}], "title": "T"}',
    '{"items": [{"id": "1", "content_text": "\\a,\\]\\\nb"}], "title": "T"}',
    '{"items": [{"id": "1", "content_text": "a,]\\nb"}], "title": "T"}<!-- cached -->',
]


@pytest.mark.parametrize("body", SLIPS)
def test_what_a_template_leaves_in_json_costs_no_entry(body: str) -> None:
    document = parse(body.encode(), url=HOME)
    assert [entry.contents for entry in document.entries] == [(Content("a,]\nb"),)]
    assert not document.partial
    assert [problem.code for problem in document.problems] == ["json_repaired"]


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "Infinity", "1e999", "-1.5E+400"])
def test_a_number_that_json_does_not_have_is_no_reason_to_lose_the_feed(number: str) -> None:
    """Python's own writer makes NaN and Infinity, which are no JSON."""
    audio = (
        f'{{"url": "https://e.org/a.mp3", "mime_type": "audio/mpeg", "size_in_bytes": {number}}}'
    )
    item = f'{{"id": "1", "content_text": "Infinity", "attachments": [{audio}]}}'
    found = parse(f'{{"version": "{VERSION}", "title": "NaN, 1e999", "items": [{item}]}}'.encode())
    assert (found.format, found.feed.title, [each.code for each in found.problems]) == (
        "json",
        Text("NaN, 1e999"),
        ["json_repaired"],
    )
    entry = found.entries[0]
    assert entry.contents[0].value == "Infinity"
    assert (entry.enclosures[0].url, entry.enclosures[0].length) == ("https://e.org/a.mp3", None)


@pytest.mark.parametrize("before", ["", "\r\n "])
@pytest.mark.parametrize("charset", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_characters_need_no_mark(charset: str, before: str) -> None:
    written = f'{before}{{"version": "{VERSION}", "title": "Ü", "items": [{{"id": "é"}}]}}'
    found = parse(written.encode(charset))
    assert (found.format, found.feed.title, [each.uid for each in found.entries]) == (
        "json",
        Text("Ü"),
        ["é"],
    )
    assert (found.encoding, found.problems) == (
        charset.replace("-le", "le").replace("-be", "be"),
        (),
    )


def test_no_items_may_be_written_as_null() -> None:
    document = parse(b'{"version": "%b", "title": "T", "items": null}' % VERSION.encode())
    assert (document.format, document.feed.title, document.entries) == ("json", Text("T"), ())
    assert document.problems == ()
    assert parse(b'{"title": "T", "items": null}').format == "unknown"
    assert parse(b'{"version": "%b", "items": {}}' % VERSION.encode()).format == "unknown"

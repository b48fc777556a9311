"""Hostile text: charsets, control characters, schemes, sizes, feed semantics."""

import re
import time
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from headwater.parse import parse

CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def item(inner: str) -> bytes:
    return f"<rss><channel><item>{inner}</item></channel></rss>".encode("utf-8", "surrogatepass")


def texts_in(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if is_dataclass(value):
        return [text for one in fields(value) for text in texts_in(getattr(value, one.name))]
    if isinstance(value, dict):
        return [text for pair in value.items() for one in pair for text in texts_in(one)]
    return [text for one in value for text in texts_in(one)] if isinstance(value, tuple) else []


def title_of(body: bytes, content_type: str = "") -> str:
    title = parse(body, headers={"Content-Type": content_type}).entries[0].title
    assert title is not None
    return title.value


BAD_UTF8: list[tuple[bytes, str]] = [
    (b"\xc0\xaf", "overlong"),
    (b"\xed\xa0\x80", "surrogate"),
    (b"\xf5\x80\x80\x80", "beyond Unicode"),
    (b"\xe6\x97", "cut short"),
]


@pytest.mark.parametrize(("bad", "name"), BAD_UTF8)
def test_invalid_utf8_is_replaced(bad: bytes, name: str) -> None:
    good = "\u65e5\u672c\u8a9e" * 5
    title = title_of(item(f"<title>{good}X</title>").replace(b"X", bad))
    assert title.startswith(good + "\ufffd")
    title.encode("utf-8")


CODECS = ["utf-7", "zip", "rot13", "rot_13", "idna", "unicode_escape", "../../x", "hex", "bz2"]


@pytest.mark.parametrize("codec", CODECS)
def test_attackers_do_not_choose_codecs(codec: str) -> None:
    body = f"<?xml version='1.0' encoding='{codec}'?>".encode() + item("<title>+ADw-b+AD4-</title>")
    assert title_of(body, f"text/xml; charset={codec}") == "+ADw-b+AD4-"


CONTROL_SPELLINGS = [
    "a\x1b[31mb", "a\x07b", "a\x00b", "a\x7fb", "a\x85b", "a\u009bb", "a&#x1b;b", "a&#27;b",
    "a&#x7f;b", "a&#127;b", "a&#x9b;b", "a&#155;b", "a&#0155;b", "a&#x009b;b", "a\ud800b",
    "a&#xD800;b", "a&#xDFFF;b", "a\ufffeb", "a&#xFFFE;b", "<![CDATA[a\x1bb]]>",
]  # fmt: skip


@pytest.mark.parametrize("spelled", CONTROL_SPELLINGS)
@pytest.mark.parametrize("element", ["title", "guid", "author", "category", "description", "x"])
def test_control_characters_never_survive(spelled: str, element: str) -> None:
    document = parse(item(f"<{element}>{spelled}</{element}>"))
    found = texts_in(document.entries)
    assert [text for text in found if CONTROLS.search(text)] == []


@pytest.mark.parametrize("spelled", CONTROL_SPELLINGS[:16])
def test_control_characters_never_survive_in_attributes(spelled: str) -> None:
    if "<" in spelled:
        pytest.skip("CDATA is no attribute")
    document = parse(item(f"<category domain='{spelled}'>x</category><y z='{spelled}'/>"))
    entry = document.entries[0]
    scheme = entry.categories[0].scheme or ""
    assert CONTROLS.search(scheme) is None
    assert CONTROLS.search("".join(entry.extensions[""]["y@z"])) is None


SCHEMES = [
    "javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\tscript:alert(1)",
    "&#106;avascript:alert(1)", " javascript:alert(1)", "javascript://e.org/%0Aalert(1)",
    "data:text/html,x", "vbscript:x", "file:///etc/passwd", "ftp://e.org/", "blob:x",
    "\x01javascript:x", "feed:javascript:x", "view-source:https://e.org/",
]  # fmt: skip


@pytest.mark.parametrize("address", SCHEMES)
def test_links_are_web_addresses_or_nothing(address: str) -> None:
    inner = (
        f"<link>{address}</link><comments>{address}</comments><enclosure url='{address}'/>"
        f"<media:thumbnail url='{address}'/><source url='{address}'>s</source>"
        f"<a:link xmlns:a='http://www.w3.org/2005/Atom' rel='related' href='{address}'/>"
    )
    entry = parse(item(inner)).entries[0]
    assert (entry.link, entry.comments, entry.enclosures) == (None, None, ())
    assert (entry.thumbnails, entry.links) == ((), ())
    assert entry.source is not None
    assert entry.source.link is None


LENGTHS = [("-1", None), (str(2**70), None), ("abc", None), ("1e9", None), ("0", 0), ("12", 12)]


@pytest.mark.parametrize(("given", "expected"), LENGTHS)
def test_lengths_are_numbers_a_file_can_have(given: str, expected: int | None) -> None:
    entry = parse(item(f"<enclosure url='https://e.org/' length='{given}'/>")).entries[0]
    assert entry.enclosures[0].length == expected


HUGE: dict[str, bytes] = {
    "title": item("<title>" + "x" * 9_000_000 + "</title>"),
    "categories": item("".join(f"<category>{n}</category>" for n in range(100_000))),
    "authors": item("".join(f"<author>{n}</author>" for n in range(100_000))),
    "enclosures": item("".join(f"<enclosure url='https://e.org/{n}'/>" for n in range(50_000))),
    "keywords": item("<tags>" + "a," * 1_000_000 + "</tags>"),
    "email": item("<author>" + "a." * 500_000 + "@" + "b." * 500_000 + "</author>"),
    "date": item("<pubDate>" + "9" * 5_000 + "</pubDate>" + "<pubDate>" + "-1" * 60 + "</pubDate>"),
    "relative links": item(
        "<description><![CDATA[" + "<a href='x'>" * 20_000 + "]]></description>"
    ),
    "open tags": item("<description><![CDATA[" + "<a href=" * 100_000 + "]]></description>"),
    "angle brackets": item("<description>" + "&lt;" * 300_000 + "</description>"),
    "link": item("<link>https://e.org/" + "@" * 100_000 + "%" * 100_000 + "</link>"),
}


@pytest.mark.parametrize("body", HUGE.values(), ids=HUGE.keys())
def test_huge_fields_take_little_time(body: bytes) -> None:
    started = time.process_time()
    document = parse(body, url="https://example.org/")
    assert time.process_time() - started < 4.0
    entry = document.entries[0]
    assert len(entry.categories) <= 64
    assert len(entry.authors) <= 64
    assert len(entry.enclosures) <= 32


DATES = [
    "0000-00-00T00:00:00Z", "Mon, 01 Jan 0001 00:00:00 GMT", "99999-12-31", "25:61:61",
    "9999-12-31T23:59:59-12:00", "Mon, 05 Jan 2004 12:00:00 +9999", "2016-12-31T23:59:60Z",
]  # fmt: skip


@pytest.mark.parametrize("raw", DATES)
def test_impossible_dates_are_none_and_kept_as_given(raw: str) -> None:
    entry = parse(item(f"<pubDate>{raw}</pubDate>")).entries[0]
    assert entry.published is None
    assert entry.raw_dates == {"published": raw}


def test_one_feed_cannot_name_anothers_entry() -> None:
    stolen = item("<title>x</title>")
    ours = parse(stolen, url="https://a.org/").entries[0].uid
    theirs = parse(stolen, url="https://b.org/").entries[0].uid
    assert ours != theirs

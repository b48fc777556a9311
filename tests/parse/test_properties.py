"""For any bytes at all: no exception, bounded results, clean text."""

import json
import re
from dataclasses import fields, is_dataclass
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.core.values.url import resolve
from headwater.parse import Document, parse
from headwater.parse.relative_links import resolve_url

ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")

PIECES = [
    b"<rss>", b"<channel>", b"</channel>", b"</rss>", b"<item>", b"</item>", b"<title>",
    b"</title>", b"<link>", b"</link>", b"<feed xmlns='http://www.w3.org/2005/Atom'>", b"</feed>",
    b"<entry>", b"</entry>", b"<content type='xhtml'>", b"</content>", b"<description>",
    b"</description>", b"<![CDATA[", b"]]>", b"<!--", b"-->", b"<!DOCTYPE rss [", b"]>",
    b"<!ENTITY a 'b'>", b"&a;", b"&nbsp;", b"&", b"<", b">", b"<?xml version='1.0'?>",
    b"<?xml version='1.0' encoding='utf-16'?>", b"&#150;", b"&#xD800;", b"\xc3\x83\xc2\xa9",
    b"\xff\xfe", b"\xc2\x85", b"text", b"<br>", b"<a href='/x'>", b"</a>", b"<guid>g</guid>",
    b"<enclosure url='x' length='9'/>", b"<pubDate>Mon, 05 Jan 2004 12:00:00 GMT</pubDate>",
    b"xml:base='", b"\x00", b"'", b'"', b"<media:content url='x'>", b"<x:y z='1'>", b"{", b"}",
]  # fmt: skip


def texts_in(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if is_dataclass(value):
        return [text for one in fields(value) for text in texts_in(getattr(value, one.name))]
    if isinstance(value, dict):
        return [text for pair in value.items() for one in pair for text in texts_in(one)]
    if isinstance(value, tuple):
        return [text for one in value for text in texts_in(one)]
    return []


def check(document: Document, size: int) -> None:
    assert document.format in ("rss", "atom", "json", "unknown")
    assert len(document.entries) <= min(5_000, size)
    for text in texts_in(document.feed) + texts_in(document.entries):
        assert ODD.search(text) is None, repr(text)
        text.encode("utf-8")
    for entry in document.entries:
        assert entry.uid
        assert entry.link is None or entry.link.startswith(("http://", "https://"))


@given(st.binary(max_size=2_000))
def test_no_bytes_raise(body: bytes) -> None:
    check(parse(body), len(body))


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_no_heap_of_feed_pieces_raises(pieces: list[bytes]) -> None:
    body = b"".join(pieces)
    check(parse(body, url="https://example.org/"), len(body))


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=20), st.integers(0, 1_000))
def test_no_cut_of_a_document_raises(pieces: list[bytes], at: int) -> None:
    body = b"<rss><channel><item>" + b"".join(pieces) + b"</item></channel></rss>"
    check(parse(body[:at], url="https://example.org/"), len(body))


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=20),
                    lambda inner: st.lists(inner, max_size=4)
                    | st.dictionaries(st.sampled_from(
                        "version items id title url authors author tags attachments hubs "
                        "content_html date_published image".split()), inner, max_size=6),
                    max_leaves=20))  # fmt: skip
def test_no_json_raises(value: Any) -> None:
    body = repr_json(value)
    check(parse(body), max(len(body), 1))


def repr_json(value: Any) -> bytes:
    """JSON with all its permitted oddities, lone surrogates and NaN included."""
    return json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": [value]}).encode()


@given(st.text(max_size=60))
def test_words_survive_the_way_through_xml(words: str) -> None:
    legal = "".join(one for one in words if re.match("[\t\n -~\xa0-\ud7ff\ue000-\ufffd]", one))
    body = f"<rss><channel><item><title><![CDATA[{legal.replace(']]>', '')}]]></title></item>"
    document = parse((body + "</channel></rss>").encode())
    title = document.entries[0].title
    expected = legal.replace("]]>", "").strip()
    if not expected:
        assert title is None
    elif "\xc2" not in expected and "\xc3" not in expected:
        assert title is not None
        assert title.value == expected


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(
        [
            "https://e.org/",
            "https://e.org/a/b.xml",
            "http://w.e.org/a/.b/c",
            "https://e.org/a/../b?c=/d",
            "https://e.org/a~b//c#/d",
            "https://e.org:8443/a/b",
            "https://xn--bcher-kva.org/a/b",
        ]
    ),
    st.text("aZ0_~=,./?#-:", max_size=8),
)
def test_what_is_put_together_is_what_the_url_parser_says(base: str, reference: str) -> None:
    assert resolve_url(base, reference) == resolve(base, reference)

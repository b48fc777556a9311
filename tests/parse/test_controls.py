"""No control character comes out, by whatever way it went in; tab, newline and return may stay."""

import base64
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import pytest

from headwater.parse import Document, parse

CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
UTF8 = {"Content-Type": "application/rss+xml; charset=utf-8"}


def texts_in(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, tuple):
        return [text for one in value for text in texts_in(one)]
    if isinstance(value, Mapping):
        return [text for pair in value.items() for text in texts_in(pair)]
    if is_dataclass(value):
        return [text for field in fields(value) for text in texts_in(getattr(value, field.name))]
    return []


def title_of(document: Document) -> str:
    assert document.feed.title is not None
    return document.feed.title.value


def titled(title: bytes, before: bytes = b"") -> bytes:
    return before + b"<rss><channel><title>" + title + b"</title></channel></rss>"


ENTITIES: list[tuple[bytes, str]] = [
    (b"a\x7fb", "ab"),
    (b"a\xc2\x80b", "a\u20acb"),
    (b"a&#127;b", "ab"),
    (b"a&#x80;b", "a\u20acb"),
    (b"a&#x00000080;b", "a\u20acb"),
    (b"a&#1;b", "a\ufffdb"),
    (b"a\x01b", "ab"),
    (b"a&#xFFFF;b", "a\ufffdb"),
    (b"a&#xD800;b", "a\ufffdb"),
    (b"a&#9999999;b", "a\ufffdb"),
    (b"a&#x1F600;b", "a\U0001f600b"),
    (b"a&#9;b", "a\tb"),
]


@pytest.mark.parametrize(("value", "title"), ENTITIES)
def test_an_entity_of_a_doctype_brings_no_control_character(value: bytes, title: str) -> None:
    doctype = b'<!DOCTYPE rss [<!ENTITY co "' + value + b'">]>'
    assert title_of(parse(titled(b"&co;", doctype))) == title


REFERENCES: list[tuple[bytes, str]] = [
    (b"a&#127;b", "ab"),
    (b"a&#128;b", "a\u20acb"),
    (b"a&#x0000000000080;b", "a\u20acb"),
    (b"a&#000000000000128;b", "a\u20acb"),
    (b"a&#1;b", "a\ufffdb"),
    (b"a&#x1f;b", "a\ufffdb"),
    (b"<![CDATA[a&#x0000000000080;b]]>", "a\u20acb"),
]


@pytest.mark.parametrize(("given", "title"), REFERENCES)
def test_a_numeric_reference_brings_no_control_character(given: bytes, title: str) -> None:
    assert title_of(parse(titled(given))) == title


@pytest.mark.parametrize("dropped", [b"&#129;", b"&#x81;", b"\x7f", b"\xc2\x81"])
def test_what_is_dropped_does_not_make_a_reference_of_what_is_around_it(dropped: bytes) -> None:
    for given in (b"a&#1" + dropped + b"28;b", b"a&#1&#1" + dropped + b"29;28;b"):
        assert CONTROL.search(title_of(parse(titled(given)))) is None


def test_bytes_that_fit_no_declared_charset_are_scrubbed_after_decoding() -> None:
    body = (
        b'<?xml ersion=".0" encoding="shift_jis"?><rss><channel><title>'
        b"\xfa\x96\xf0\x9f\x98\x80\x8c\xea\x83\\t\xea \x83\\e>li"
    )
    document = parse(body, url="https://example.org/blog/feed.xml", headers=UTF8)
    assert [text for text in texts_in(document) if CONTROL.search(text)] == []


def test_a_charset_found_out_by_trial_is_scrubbed_too() -> None:
    body = b"<?xml version='1.0' encoding='iso-8859-5'?>" + titled(b"\xbf\x80\xe0")
    assert title_of(parse(body, headers=UTF8)) == "\u041f\u20ac\u0440"


ATTRIBUTES = [b"a\x7fb", b"a\xc2\x85b", b"a&#127;b", b"a&#x85;b", b"a&#2;b", b"a\x02b"]


@pytest.mark.parametrize("value", ATTRIBUTES)
def test_attributes_bring_no_control_character(value: bytes) -> None:
    body = (
        b"<rss xmlns:x='urn:" + value + b"'><channel><item><category domain='" + value + b"'>c"
        b"</category><x:y z='" + value + b"'>" + value + b"</x:y><enclosure url='/e' type='"
        + value + b"'/></item></channel></rss>"
    )  # fmt: skip
    document = parse(body, url="https://example.org/")
    assert document.entries[0].categories[0].scheme is not None
    assert [text for text in texts_in(document) if CONTROL.search(text)] == []


def test_base64_brings_no_control_character() -> None:
    given = base64.b64encode("a\x00b\x1b\x7f\tc\u0080\uffff".encode())
    body = (
        b"<feed xmlns='http://www.w3.org/2005/Atom'><entry><content type='application/x'>"
        + given
        + b"</content></entry></feed>"
    )
    assert parse(body).entries[0].contents[0].value == "ab\tc"


def test_text_that_was_encoded_twice_brings_no_control_character() -> None:
    for code in range(0x7F, 0xA0):
        twice = f"caf\u00e9 {chr(code)}".encode().decode("latin-1").encode()
        assert CONTROL.search(title_of(parse(titled(twice)))) is None
        reference = b"caf\xc3\x83\xc2\xa9 \xc3\x82&#%d;" % code
        assert CONTROL.search(title_of(parse(titled(reference)))) is None


def test_a_json_feed_brings_no_control_character() -> None:
    body = (
        b'{"version": "https://jsonfeed.org/version/1.1", "title": "a\\u0000\\u007f\\u0085b",'
        b'"authors": [{"name": "n\\u0001\\u009f"}], "items": [{"id": "i\\u001b\xc2\x80",'
        b'"title": "t\\u0007\\tx", "content_html": "<p>\\u0002\xc2\x9f</p>", "tags": ["\\u0003g"],'
        b'"language": "d\\u0004e", "date_published": "2024\\u0005"}]}'
    )
    document = parse(body)
    assert title_of(document) == "ab"
    assert document.entries[0].native_id == "i"
    assert document.entries[0].title is not None
    assert document.entries[0].title.value == "t\tx"
    assert [text for text in texts_in(document) if CONTROL.search(text)] == []


def test_a_header_brings_no_control_character() -> None:
    document = parse(titled(b"t"), headers={"Content-Language": "d\x7fe\x00\x80"})
    assert document.feed.language == "de"

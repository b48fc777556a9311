"""Whole documents are searched by two engines, by their size; both must say the same."""

import pytest

from headwater.parse import parse, parse_fragment
from headwater.parse.repair_text import ByteSearch, has_c1_controls, may_be_encoded_twice

PADDING = (b"", b"x" * 10_000, b"!#xml:\xc2\xa0\xc3" * 1_000)


@pytest.mark.parametrize("padding", PADDING, ids=["small", "large", "large and alike"])
@pytest.mark.parametrize(
    ("piece", "is_found"),
    [
        (b"&#150;", True),
        (b"&#0150;", True),
        (b"&#x96;", True),
        (b"&#x7F;", True),
        (b"\x7f", True),
        (b"\xc2\x96", True),
        (b"#150;", False),
        (b"&#15;", False),
        (b"&#8217;", False),
        (b"&#x2019;", False),
        (b"\xc2\xa0", False),
    ],
)
def test_control_characters_are_found_in_documents_of_any_size(
    padding: bytes, piece: bytes, is_found: bool
) -> None:
    assert has_c1_controls(padding + b" " + piece + b" ") is is_found
    assert has_c1_controls(piece + b" " + padding) is is_found


@pytest.mark.parametrize("padding", PADDING, ids=["small", "large", "large and alike"])
def test_text_encoded_twice_is_found_in_documents_of_any_size(padding: bytes) -> None:
    assert may_be_encoded_twice(padding + "é".encode().decode("latin-1").encode()) is True
    assert may_be_encoded_twice(padding + " é ".encode()) is False


@pytest.mark.parametrize("padding", PADDING, ids=["small", "large", "large and alike"])
def test_the_first_place_is_told(padding: bytes) -> None:
    scan = ByteSearch(rb"!\[CDATA\[")
    assert scan.first(padding + b"<![CDATA[a]]><![CDATA[b]]>") == len(padding) + 1
    assert scan.first(padding + b"<!CDATA[a]]>") == -1


URL = "https://example.org/feed.xml"
HEAD = b"<rss version='2.0'><channel><title>t</title>"
ONE = b"<item><title>One</title><guid>1</guid></item>"
TWO = b"<item><title>Two</title><guid>2</guid></item>"


@pytest.mark.parametrize(
    "torn",
    [
        b"<item><title>Thr",
        b"<item><title>Three</title><description><![CDATA[</item><item>",
        b"<note><![CDATA[</item> ",
        b"<!-- </item> <item> ",
        b"<note>words",
    ],
)
def test_entries_before_a_cut_keep_their_own_places(torn: bytes) -> None:
    """Whatever stands in the torn end, the complete entries are read as they were written."""
    body = HEAD + ONE + b"\n" + TWO + torn
    document = parse(body, url=URL)
    assert document.partial
    assert [entry.native_id for entry in document.entries] == ["1", "2"]
    places = [entry.fragment for entry in document.entries]
    assert [body[place.offset : place.offset + place.length] for place in places if place] == [
        ONE,
        TWO,
    ]
    for entry, place in zip(document.entries, places, strict=True):
        assert place is not None
        assert parse_fragment(body, place, url=URL) == entry


def test_what_looks_like_an_entry_in_a_lifted_text_is_none() -> None:
    """A long section is known to be text: entries beside it are still found by position."""
    long = b"</item> <item> " * 200
    described = b"<item><guid>3</guid><description><![CDATA[" + long + b"]]></description></item>"
    body = b"\n" + HEAD + ONE + described + TWO + b"</channel></rss>"
    document = parse(body, url=URL)
    places = [entry.fragment for entry in document.entries]
    assert [body[place.offset : place.offset + place.length] for place in places if place] == [
        ONE,
        described,
        TWO,
    ]

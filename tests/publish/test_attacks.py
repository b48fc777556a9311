"""Whatever an item holds, what goes out is well-formed and says the same."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.parse.parser import parse
from headwater.publish.atom import render_atom
from headwater.publish.document import ItemAuthor, ItemEnclosure, ItemSource, PublishedItem
from headwater.publish.json_feed import render_json_feed
from headwater.publish.rss import render_rss
from headwater.publish.safe_text import xml_safe_text
from tests.support.published_documents import ATOM, CONTENT, UPDATED, a_document, strict, texts

NASTY = (
    "]]>",
    "<![CDATA[x]]>",
    "&amp;&#0;&nope;",
    '<!DOCTYPE x [<!ENTITY y SYSTEM "file:///etc/passwd">]>&y;',
    "\x00\x01\x0b\x1f\x7f\x85",
    "\ufffe\uffff\ufdd0",
    "\ud800 lone \udfff",
    '" xmlns:x="urn:x" x:y="',
    "a\r\nb\rc\td\n",
    "<?xml version='1.0'?><?pi x?>",
    "<!-- -- -->",
    "{http://www.w3.org/2005/Atom}entry",
    "\u202e\u2028\ufeff🌊",
)

anything = st.text(st.characters(exclude_categories=()), max_size=40) | st.sampled_from(NASTY)


def item_of(text: str) -> PublishedItem:
    return PublishedItem(
        id=f"urn:x:{text}",
        updated=UPDATED,
        title=text,
        link=text,
        summary=text,
        content=text,
        authors=(ItemAuthor(text, text, text),),
        categories=(text,),
        enclosures=(ItemEnclosure(text, text, 1, 1, text),),
        source=ItemSource(text, text, text, text),
    )


@given(text=anything)
def test_atom_carries_any_text_through_a_strict_parser(text: str) -> None:
    feed = strict(render_atom(a_document(item_of(text))))
    (entry,) = feed.findall(f"{ATOM}entry")
    assert texts(entry, f"{ATOM}title") == [xml_safe_text(text)]
    assert texts(entry, f"{ATOM}id") == [xml_safe_text(f"urn:x:{text}")]
    for name in ("summary", "content"):
        assert texts(entry, f"{ATOM}{name}") in ([xml_safe_text(text)], [])
    terms = [xml_safe_text(text)] if xml_safe_text(text).strip() else []
    assert [c.get("term") for c in entry.findall(f"{ATOM}category")] == terms
    known = {"id", "title", "updated", "author", "category", "link", "summary", "content", "source"}
    assert {child.tag.removeprefix(ATOM) for child in entry} <= known


@given(text=anything)
def test_rss_carries_any_text_through_a_strict_parser(text: str) -> None:
    (item,) = strict(render_rss(a_document(item_of(text)))).findall("channel/item")
    assert texts(item, "guid") == [xml_safe_text(f"urn:x:{text}")]
    assert texts(item, "title") == ([xml_safe_text(text)] if xml_safe_text(text) else [])
    assert texts(item, f"{CONTENT}encoded") == ([xml_safe_text(text)] if text else [])


@given(text=anything)
def test_json_carries_any_text(text: str) -> None:
    body = render_json_feed(a_document(item_of(text)))
    (item,) = json.loads(body.decode("utf-8", "strict"))["items"]
    assert item["id"] == xml_safe_text(f"urn:x:{text}")
    assert item["content_html"] == xml_safe_text(text)


@pytest.mark.parametrize("text", NASTY)
@pytest.mark.parametrize("write", [render_atom, render_rss])
def test_no_dtd_and_no_control_ever_goes_out(write: object, text: str) -> None:
    assert callable(write)
    body: bytes = write(a_document(item_of(text)))
    assert b"<!DOCTYPE" not in body
    assert b"<![CDATA[" not in body
    assert b"<?pi" not in body
    assert not {code for code in body if code < 0x20 and code not in (0x09, 0x0A, 0x0D)}
    assert parse(body).format in ("atom", "rss")


def test_what_xml_cannot_carry_is_dropped_and_nothing_else() -> None:
    assert xml_safe_text("a\x00b\x0bc\ufffed\uffffe\ud800f\x7f\x85\U0010ffff\t\n\r") == (
        "abcdef\x7f\x85\U0010ffff\t\n\r"
    )

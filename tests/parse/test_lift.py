"""Long CDATA sections go past the XML library, and nothing is read differently for it."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.parse import Document, Entry, ParseLimits, parse
from headwater.parse.lift import PLACEHOLDER, SHORTEST, lifted

URL = "https://example.org/feed"
LONG = "<p>Many words. </p>" * 60
WORDS = "Many words, " * 100 + "and an end."
ATOM = "http://www.w3.org/2005/Atom"
CONTENT = "http://purl.org/rss/1.0/modules/content/"


def rss(inner: str, feed: str = "") -> Document:
    body = f"<rss xmlns:content='{CONTENT}'><channel>{feed}<item>{inner}</item></channel></rss>"
    return parse(body.encode(), url=URL)


def described(text: str) -> Entry:
    return entry_of("<description>" + section(text) + "</description>")


def entry_of(inner: str) -> Entry:
    return rss(inner).entries[0]


def section(text: str) -> str:
    return f"<![CDATA[{text}]]>"


def test_the_sample_is_long_enough_to_be_lifted() -> None:
    body = f"<a><description>{section(LONG)}</description></a>".encode()
    document, texts, places = lifted(body)
    assert document.decode() == f"<a><description>{PLACEHOLDER}0</description></a>"
    assert texts == {f"{PLACEHOLDER}0": LONG}
    assert [body[start:end].decode() for start, end in places] == [LONG]


@pytest.mark.parametrize("around", ["", "\n\t", "  "])
def test_a_long_description_is_read_whole(around: str) -> None:
    entry = entry_of(f"<description>{around}{section(LONG)}{around}</description>")
    assert entry.summary is not None
    assert (entry.summary.value, entry.summary.type) == (LONG.strip(), "html")


def test_each_section_comes_to_its_own_place() -> None:
    items = "".join(
        f"<item><description>{section(f'{number} {LONG}')}</description>"
        f"<content:encoded>{section(f'{LONG} {number}')}</content:encoded></item>"
        for number in range(12)
    )
    body = f"<rss xmlns:content='{CONTENT}'><channel>{items}</channel></rss>"
    entries = parse(body.encode(), url=URL).entries
    for number, entry in enumerate(entries):
        assert entry.summary is not None
        assert entry.summary.value == f"{number} {LONG}".strip()
        assert [one.value for one in entry.contents] == [f"{LONG} {number}"]


@pytest.mark.parametrize("kind", ["html", "text"])
def test_atoms_content_and_summary_keep_their_kind(kind: str) -> None:
    body = (
        f"<feed xmlns='{ATOM}'><entry><content type='{kind}'>{section(LONG)}</content>"
        f"<summary type='{kind}'>{section(LONG)}</summary></entry></feed>"
    )
    entry = parse(body.encode(), url=URL).entries[0]
    assert entry.summary is not None
    assert (entry.summary.value, entry.summary.type) == (LONG.strip(), kind)
    assert [(one.value, one.type) for one in entry.contents] == [(LONG.strip(), kind)]


def test_relative_links_are_resolved_in_it() -> None:
    entry = described('<a href="/x">x</a>' + LONG)
    assert entry.summary is not None
    assert entry.summary.value.startswith('<a href="https://example.org/x">x</a>')


def test_line_ends_are_normalised_as_xml_says() -> None:
    entry = described("a\r\nb\rc\n" + LONG)
    assert entry.summary is not None
    assert entry.summary.value == ("a\nb\nc\n" + LONG).strip()


def test_references_in_it_are_not_replaced() -> None:
    entry = described("&amp;nbsp; &#65; " + LONG)
    assert entry.summary is not None
    assert entry.summary.value == ("&amp;nbsp; &#65; " + LONG).strip()


ELSEWHERE = [
    ("in a comment", f"<!-- <description>{section(WORDS)}</description> --><title>t</title>"),
    ("below an unknown element", f"<x><description>{section(WORDS)}</description></x>"),
    ("beside other text", f"<description>a {section(WORDS)}</description>"),
    ("beside a child", f"<description><b>a</b>{section(WORDS)}</description>"),
    ("two in one element", f"<description>{section(WORDS)}{section(WORDS)}</description>"),
    ("in another section", f"<rights>{section('<description>' + section(WORDS)[:-3])}</rights>"),
    ("opened in a comment", f"<!-- <![CDATA[ --><description>{section(WORDS)}</description>"),
    ("after a name like it", f"<description>{section(WORDS)}</description><summary/>"),
]


@pytest.mark.parametrize(("where", "inner"), ELSEWHERE, ids=[where for where, _ in ELSEWHERE])
def test_wherever_a_section_stands_it_is_read_as_when_it_is_short(where: str, inner: str) -> None:
    """The same document with a text too short to be lifted tells what is right."""
    short = replace(entry_of(inner.replace(WORDS, "Short.")), uid="", fragment=None)
    long = replace(entry_of(inner), uid="", fragment=None)
    assert repr(long).replace(WORDS, "Short.") == repr(short)


def test_sections_of_entries_that_are_cut_do_no_harm() -> None:
    item = f"<item><description>{section(LONG)}</description></item>"
    document = parse(
        f"<rss><channel>{item * 4}</channel></rss>".encode(), limits=ParseLimits(items=2)
    )
    assert [entry.summary.value for entry in document.entries if entry.summary] == [
        LONG.strip(),
        LONG.strip(),
    ]
    assert [problem.code for problem in document.problems] == ["items_cut"]


def test_problems_are_told_once_when_a_document_is_read_again() -> None:
    feed = f"<image><description>{section(LONG)}</description></image>"
    document = rss("<link>javascript:x</link>", feed)
    assert [(one.code, "×" in one.detail) for one in document.problems] == [("link_dropped", False)]


@pytest.mark.parametrize("odd", ["\x01", "\ufffe", "\uffff", "\x0b"])
def test_what_xml_forbids_is_forbidden_in_it(odd: str) -> None:
    document = rss(f"<description>{section(odd + LONG)}</description>")
    assert document.entries[0].summary is not None
    assert document.entries[0].summary.value == LONG.strip()
    assert "control_characters" in [problem.code for problem in document.problems]


def test_bytes_that_are_no_utf8_are_found_in_it() -> None:
    body = f"<rss><channel><item><description>{section('é' + LONG)}</description></item></channel>"
    document = parse(f"{body}</rss>".encode("latin-1"), url=URL)
    assert document.encoding == "windows-1252"
    assert document.entries[0].summary is not None
    assert document.entries[0].summary.value == ("é" + LONG).strip()


def test_a_document_with_the_mark_in_it_is_left_as_it_is() -> None:
    body = f"<rss><description>{section(PLACEHOLDER + LONG)}</description></rss>".encode()
    assert lifted(body) == (body, {}, [])


def test_a_text_encoded_twice_is_put_right() -> None:
    twice = "é".encode().decode("latin-1")
    document = rss(f"<title>{twice}</title><description>{section(twice + LONG)}</description>")
    assert document.entries[0].summary is not None
    assert document.entries[0].summary.value == ("é" + LONG).strip()
    assert [problem.code for problem in document.problems] == ["encoded_twice"]


TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff")
)


@settings(max_examples=60)
@given(TEXTS, TEXTS)
def test_any_text_is_read_alike_in_a_section_and_escaped(begin: str, end: str) -> None:
    text = begin + LONG + end
    if "]]>" in text:
        return
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert len(text) > SHORTEST
    lifted_out = described(text)
    parsed = entry_of(f"<description>{escaped}</description>")
    assert lifted_out.summary == parsed.summary

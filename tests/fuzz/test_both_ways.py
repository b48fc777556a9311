"""What is compiled says exactly what Python says, of plain elements and of all others."""

import random

import pytest

from headwater.parse import Document, accelerator, parse
from headwater.parse.lift import PLACEHOLDER
from tests.fuzz.mutate import Mutator
from tests.fuzz.ways import compiled, eager, taking
from tests.fuzz.worker import seeds

URL = "https://example.org/blog/feed.xml"
NAMES = (
    "title link guid id description summary content content:encoded pubDate published updated "
    "dcterms:issued dc:date dc:creator author category dc:subject enclosure comments "
    "media:thumbnail media:content itunes:image itunes:author slash:comments x:other"
).split()
TEXTS = (
    "",
    " \n\t ",
    "word",
    " two words\n",
    "\u00a0no-break\u00a0",
    "\u00a0https://example.org/1",
    "\u2003",
    "\u00fcber",
    "1 &lt; 2",
    "a &amp;amp; b",
    "&lt;b&gt;bold&lt;/b&gt;",
    "&lt;a href='/x'&gt;x&lt;/a&gt;",
    "<![CDATA[<p>in a section</p>]]>",
    "&lt;![CDATA[twice]]&gt;",
    "before <b>a tag</b> after",
    "<![CDATA[one]]> and <![CDATA[two]]>",
    "https://example.org/1",
    "http://example.org",
    "https://example.org/?a=1&amp;b=2",
    "https://example.org/a b",
    "https://ex\u00e4mple.org/",
    "HTTPS://EXAMPLE.org/",
    "/relative",
    "./dots",
    "tag:example.org,2026:1",
    "magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88a",
    "Mon, 02 Feb 2026 10:00:00 +0100",
    "Mon, 02 Feb 2026 10:00:00 GMT",
    "Mon, 02 Feb 2026 10:00:00 EST",
    "Mon, 02 Feb 2026 10:00:00 +0017",
    "Sun, 29 Feb 2026 10:00:00 GMT",
    "Sat, 29 Feb 2020 10:00:00 GMT",
    "Tue, 31 Apr 2026 10:00:00 GMT",
    "Mon, 02 Feb 2026 24:00:00 GMT",
    "Mon, 02 Feb 2026 10:00:60 GMT",
    "M n, 02 Feb 2026 10:00:00 GMT",
    "\u00e9x, 02 Feb 2026 10:00:00 GMT",
    "Mon, 02 Feb 2026 10:00:00 GMT and more",
    "Mon, 02 Feb 1026 10:00:00 GMT",
    "Fri, 31 Dec 9999 23:59:59 -0100",
    "2026-02-02T10:00:00Z",
    "2026-02-02T10:00:00",
    "2026-02-02T10:00:00+05:30",
    "2026-02-02T10:00:00.123Z",
    "2026-02-02 10:00:00Z",
    "2026-02-30T10:00:00Z",
    "0001-01-01T00:00:00Z",
    "2026-02-02",
    "17",
    "a@example.org (Ann)",
    "&undeclared;",
)
ATTRIBUTES = (
    "",
    "type='html'",
    "type='text'",
    "type='text/html'",
    "type='xhtml'",
    "type=''",
    "type='html' mode='base64'",
    "isPermaLink='false'",
    "isPermaLink='true'",
    "isPermaLink='TRUE'",
    "ispermalink='false'",
    "href='https://example.org/2'",
    "href='https://example.org/2' rel='self' type='text/html'",
    "href='https://example.org/2' rel='alternate' title='T' hreflang='en' length='5'",
    "href='https://example.org/2' rel='enclosure' length='7'",
    "href='https://example.org/2' rel='replies' x:count='3'",
    "href='https://example.org/2' rel=' Via '",
    "href='/2' rel='alternate'",
    "href=''",
    "x:href='https://example.org/2'",
    "url='https://example.org/3.mp3' type='audio/mpeg' length='1,000'",
    "url='https://example.org/3.jpg' medium=' Image ' fileSize='12' duration='1:02'",
    "url='' href='https://example.org/4.jpg'",
    "url='rel/3.mp3'",
    "domain='d'",
    "term='t' scheme='s' label='l'",
    "xml:lang='de'",
    "xml:base='https://other.example/'",
)
ENVELOPES = (
    "<rss version='2.0' {ns}><channel><title>t</title>{items}</channel></rss>",
    "<feed xmlns='http://www.w3.org/2005/Atom' {ns}><title>t</title>{items}</feed>",
    "<feed xmlns='http://www.w3.org/2005/Atom' xml:lang='fr' {ns}>{items}</feed>",
    "<rss version='2.0' xml:base='https://base.example/x/' {ns}><channel>{items}</channel></rss>",
)
NAMESPACES = " ".join(
    f"xmlns:{prefix}='{uri}'"
    for prefix, uri in {
        "content": "http://purl.org/rss/1.0/modules/content/",
        "dc": "http://purl.org/dc/elements/1.1/",
        "dcterms": "http://purl.org/dc/terms/",
        "media": "http://search.yahoo.com/mrss/",
        "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
        "slash": "http://purl.org/rss/1.0/modules/slash/",
        "x": "https://example.org/ns",
    }.items()
)


def assert_both_say_the_same(body: bytes) -> Document:
    """Long texts are lifted as usual, and once more with all that can be lifted."""
    with taking(accelerator.PLAIN):
        expected = parse(body, url=URL)
    for way in (compiled(), eager(compiled())):
        with taking(way):
            found = parse(body, url=URL)
        assert found == expected
        assert repr(found) == repr(expected)
    return expected


def item(inner: str, envelope: str) -> str:
    return f"<entry>{inner}</entry>" if "<feed" in envelope else f"<item>{inner}</item>"


@pytest.mark.parametrize("envelope", ENVELOPES, ids=["rss", "atom", "lang", "base"])
@pytest.mark.parametrize("name", NAMES)
def test_each_element_with_each_text(name: str, envelope: str) -> None:
    items = "".join(item(f"<{name}>{text}</{name}>", envelope) for text in TEXTS)
    items = items.replace("&undeclared;", "&#169;")  # its document would be repaired, below
    found = assert_both_say_the_same(envelope.format(ns=NAMESPACES, items=items).encode())
    assert len(found.entries) == len(TEXTS)


@pytest.mark.parametrize("envelope", ENVELOPES, ids=["rss", "atom", "lang", "base"])
@pytest.mark.parametrize("name", NAMES)
def test_each_element_with_each_attribute(name: str, envelope: str) -> None:
    texts = ("", "https://example.org/1", "&lt;a href='/x'&gt;x&lt;/a&gt;")
    items = "".join(
        item(f"<{name} {attributes}>{text}</{name}>", envelope)
        for attributes in ATTRIBUTES
        for text in texts
    )
    found = assert_both_say_the_same(envelope.format(ns=NAMESPACES, items=items).encode())
    assert len(found.entries) == len(ATTRIBUTES) * len(texts)


def test_elements_after_one_another() -> None:
    """Luck puts entries together: what comes second often means less."""
    luck = random.Random(2026)
    for _ in range(150):
        envelope = luck.choice(ENVELOPES)
        items = "".join(
            item("".join(_element(luck) for _ in range(luck.randrange(1, 9))), envelope)
            for _ in range(6)
        )
        assert_both_say_the_same(envelope.format(ns=NAMESPACES, items=items).encode())


def _element(luck: random.Random) -> str:
    name = luck.choice(NAMES)
    attributes = luck.choice(ATTRIBUTES) if luck.random() < 0.3 else ""
    return f"<{name} {attributes}>{luck.choice(TEXTS)}</{name}>"


def test_people_in_elements_of_their_own() -> None:
    people = (
        "<name>Ann</name>",
        "<name>Ann</name><email>a@example.org</email>",
        " <name> Ann </name> <uri>/ann</uri> ",
        "<name><b>Ann</b></name>",
        "<x:person><name>Ann</name></x:person>",
        "",
    )
    items = "".join(
        item(f"<author>{first}</author><author>{second}</author>", ENVELOPES[1])
        for first in people
        for second in people
    )
    assert_both_say_the_same(ENVELOPES[1].format(ns=NAMESPACES, items=items * 2).encode())


@pytest.mark.parametrize("count", [1, 16, 17, 32, 33, 64, 65, 256, 257])
@pytest.mark.parametrize("name", ["category", "x:other", "media:thumbnail", "content", "link"])
def test_as_many_as_a_limit_allows_and_more(name: str, count: int) -> None:
    many = "".join(
        f"<{name} href='https://example.org/{n}'>{n}</{name}><{name}>{n}</{name}>"
        for n in range(count)
    )
    items = item(many, ENVELOPES[0])
    assert_both_say_the_same(ENVELOPES[0].format(ns=NAMESPACES, items=items).encode())


@pytest.mark.parametrize("length", [127, 129, 1_023, 1_025, 4_095, 4_097, 300_000, 1_100_000])
@pytest.mark.parametrize("letter", ["a", "\u00fc", "\U0001f600"])
def test_texts_as_long_as_a_limit_allows_and_longer(length: int, letter: str) -> None:
    for name in ("title", "guid", "link", "category", "pubDate", "x:other", "description"):
        start = "https://example.org/" if name in ("guid", "link") else ""
        inner = f"<{name}>{start}{letter * (length - len(start))}</{name}>"
        items = item(inner, ENVELOPES[0])
        assert_both_say_the_same(ENVELOPES[0].format(ns=NAMESPACES, items=items).encode())


def test_mutated_documents() -> None:
    mutator = Mutator(seeds(), random.Random(4))
    for body in [*seeds(), *(mutator.next() for _ in range(1_500))]:
        assert_both_say_the_same(body)


LONG = "Tom &amp; Ann &lt;b&gt;met&lt;/b&gt; &quot;us&quot; &#38; &#x1F600; &apos;" * 8
READ = LONG.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"')
READ = READ.replace("&#38;", "&").replace("&#x1F600;", "\U0001f600").replace("&apos;", "'")


def test_a_long_escaped_text_is_lifted() -> None:
    body = f"<a><description a='>'>\n{LONG}</description></a>".encode()
    document, texts, places = compiled().lifted(body)
    assert document.decode() == f"<a><description a='>'>{PLACEHOLDER}0</description></a>"
    assert texts == {f"{PLACEHOLDER}0": f"\n{READ}"}
    assert places == []


@pytest.mark.parametrize(
    "text",
    [
        LONG + "&copy;",  # declared in HTML only
        LONG + "& more",
        LONG + "&#0;",
        LONG + "&#xFFFE;",
        LONG + "&#xD800;",
        LONG + "&#X41;",
        LONG + "&#1114112;",
        LONG + "&#;",
        LONG + "\x01",
        LONG + "\ufffe",
        LONG + "a\rb",
        LONG + "]]>",
        LONG + "<b/>",
        LONG + PLACEHOLDER,
        LONG[:150],
    ],
)
def test_what_the_xml_library_must_see_is_not_lifted(text: str) -> None:
    body = f"<a><description>{text}</description></a>".encode()
    assert compiled().lifted(body) == (body, {}, [])


@pytest.mark.parametrize(
    "body",
    [
        f"<a><description/>{LONG}</description></a>",
        f"<a><descriptions>{LONG}</descriptions></a>",
        f"<a><description>{LONG}</summary></a>",
        f"<a><title>{LONG}</title></a>",
        f"<a><description {LONG}",
        f"<a><description>{LONG}",
        f"<a><description>{LONG}</description",
        f"<a><![CDATA[<description>{LONG}</description>",
        "",
        "<",
        "<a",
        "<![CDATA[",
    ],
)
def test_what_is_no_whole_element_of_ours_is_not_lifted(body: str) -> None:
    assert compiled().lifted(body.encode()) == (body.encode(), {}, [])


def test_bytes_that_are_no_utf_8_are_not_lifted() -> None:
    body = b"<a><description>" + LONG.encode() + b"\xff</description></a>"
    assert compiled().lifted(body) == (body, {}, [])
    body = b"<a><description><![CDATA[" + LONG.encode() * 3 + b"\xff]]></description></a>"
    assert compiled().lifted(body) == (body, {}, [])


def test_a_mark_that_nobody_reads_makes_the_document_be_read_again() -> None:
    """In a comment, or inside a section of something else."""
    hidden = f"<description>{LONG}</description>"
    body = (
        f"<rss><channel><!-- {hidden} --><item><title>{'t' * 9}</title>"
        f"<x><![CDATA[{hidden}]]></x>{hidden}</item></channel></rss>"
    )
    found = assert_both_say_the_same(body.encode())
    assert found.entries[0].summary is not None
    assert found.entries[0].summary.value == READ

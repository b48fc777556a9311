"""Namespaces that are not what they should be, lists around items, and Microsoft's channels."""

from datetime import UTC, datetime

import pytest

from headwater.parse import Content, Document, Entry, Link, Person, Text, parse, parse_fragment

RDF = "xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'"
HOME = "https://example.org/feed.xml"


def with_same_fragments(body: bytes) -> Document:
    document = parse(body, url=HOME)
    for entry in document.entries:
        assert entry.fragment is not None
        assert parse_fragment(body, entry.fragment, url=HOME) == entry
    return document


def only_entry(prefix: str, uri: str, item: str, attributes: str = "version='2.0'") -> Entry:
    body = f"<rss {attributes} xmlns:{prefix}='{uri}'><channel><item>{item}</item></channel></rss>"
    (entry,) = with_same_fragments(body.encode()).entries
    return entry


@pytest.mark.parametrize("uri", ["https://made.up/", "http://purl.org/metadata/dublin_core#"])
@pytest.mark.parametrize("prefix", ["dc", "DC"])
def test_a_usual_prefix_means_the_usual_thing_whatever_its_address(prefix: str, uri: str) -> None:
    item = f"<title>T</title><{prefix}:creator>J</{prefix}:creator>"
    entry = only_entry(prefix, uri, item)
    assert (entry.authors, entry.extensions) == ((Person("J"),), {})


def test_usual_prefixes_with_addresses_that_nobody_knows() -> None:
    encoded = "<content:encoded>&lt;p&gt;x&lt;/p&gt;</content:encoded>"
    assert only_entry("content", "x", encoded).contents == (Content("<p>x</p>", "html"),)
    body = "<xhtml:body><xhtml:p>x<xhtml:br/></xhtml:p></xhtml:body>"
    assert only_entry("xhtml", "http://www.w3.org/TR/xhtml1", body).contents == (
        Content("<p>x<br /></p>", "xhtml"),
    )
    thumbnail = "<media:thumbnail url='https://e.org/i'/>"
    assert only_entry("media", "urn:media", thumbnail).thumbnails == ("https://e.org/i",)
    title = "<itunes:title>T</itunes:title><itunes:episode>3</itunes:episode>"
    podcast = only_entry("itunes", "https://www.apple.com/itunes/podcast", title)
    assert podcast.title == Text("T")
    assert podcast.extensions == {"http://www.itunes.com/dtds/podcast-1.0.dtd": {"episode": ("3",)}}
    place = only_entry(
        "georss", "http://www.georss.org/georss/10", "<georss:point>1 2</georss:point>"
    )
    assert place.extensions == {"http://www.georss.org/georss": {"point": ("1 2",)}}
    total = only_entry("thr", "https://made.up/", "<thr:total>7</thr:total>")
    assert total.extensions == {"http://purl.org/syndication/thread/1.0": {"total": ("7",)}}


def test_other_prefixes_mean_what_their_address_says() -> None:
    item = "<mine:creator>J</mine:creator><mine:title>T</mine:title>"
    entry = only_entry("mine", "https://made.up/", item)
    assert (entry.authors, entry.title) == ((), None)
    assert entry.extensions == {"https://made.up/": {"creator": ("J",), "title": ("T",)}}
    # A usual prefix for something else that is known.
    assert only_entry(
        "dc", "http://search.yahoo.com/mrss/", "<dc:title>T</dc:title>"
    ).title == Text("T")
    assert only_entry("atom", "https://made.up/", "<atom:title>T</atom:title>").title is None


@pytest.mark.parametrize("uri", ["https://made.up/}x#", "}", "{", "*", "a b", "[1]"])
def test_no_address_is_too_odd_for_a_usual_prefix(uri: str) -> None:
    assert only_entry("dc", uri, "<dc:creator>J</dc:creator>").authors == (Person("J"),)


def test_channels_and_items_in_a_namespace_that_nobody_knows() -> None:
    channel, item = "<channel><title>T</title></channel>", "<item><title>I</title></item>"
    for inside in (channel + item, item + channel):
        body = f"<rdf:RDF {RDF} xmlns='https://made.up/'>{inside}</rdf:RDF>"
        document = parse(body.encode())
        assert (document.format, document.version) == ("rss", "1.0")
        assert document.feed.title == Text("T")
        assert [entry.title for entry in document.entries] == [Text("I")]
    inner = f"<rss version='2.0'><channel xmlns='https://made.up/'><title>T</title>{item}{item}"
    document = with_same_fragments(f"{inner}</channel></rss>".encode())
    assert document.feed.title == Text("T")
    assert [entry.title for entry in document.entries] == [Text("I"), Text("I")]


def test_a_list_around_items_is_looked_into() -> None:
    items = "<items><item><title>A</title></item><item><title>B</title></item></items>"
    document = with_same_fragments(
        f"<rss><channel><title>T</title>{items}<item><title>C</title></item></channel></rss>".encode()
    )
    assert [entry.title for entry in document.entries] == [Text("A"), Text("B"), Text("C")]
    assert document.feed.title == Text("T")
    document = with_same_fragments(f"<rss><channel>{items}</channel></rss>".encode())
    assert [entry.title for entry in document.entries] == [Text("A"), Text("B")]


def test_the_list_of_rss_1_0_names_no_items() -> None:
    body = (
        f"<rdf:RDF {RDF} xmlns='http://purl.org/rss/1.0/'><channel><items><rdf:Seq>"
        "<rdf:li rdf:resource='https://e.org/1'/></rdf:Seq></items></channel>"
        "<item rdf:about='https://e.org/1'><title>A</title></item></rdf:RDF>"
    )
    document = with_same_fragments(body.encode())
    assert [entry.title for entry in document.entries] == [Text("A")]


def test_a_channel_definition_has_its_addresses_in_attributes() -> None:
    document = with_same_fragments(
        b"<CHANNEL BASE='https://e.org/a/' HREF='index.html' LASTMOD='2020-01-01'><TITLE>T</TITLE>"
        b"<ABSTRACT>S</ABSTRACT><ITEM HREF='1.html' LASTMOD='2020-01-02T03:04:05'><TITLE>I</TITLE>"
        b"<ABSTRACT>A</ABSTRACT></ITEM><ITEM/></CHANNEL>"
    )
    assert document.format == "rss"
    feed, (first, second) = document.feed, document.entries
    assert (feed.title, feed.subtitle) == (Text("T"), Text("S"))
    assert feed.link == "https://e.org/a/index.html"
    assert feed.updated == datetime(2020, 1, 1, tzinfo=UTC)
    assert first.links == (Link("https://e.org/a/1.html"),)
    assert (first.link, first.summary) == ("https://e.org/a/1.html", Text("A"))
    assert first.updated == datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert first.raw_dates == {"updated": "2020-01-02T03:04:05"}
    assert (second.link, second.updated) == (None, None)


BEYOND_REPAIR: list[tuple[str, str]] = [
    ("<item a='1' a='2'><title>a &lt; b &amp; c</title></item>", "a < b & c"),
    ("<item><x a='1' a='2'/><title>&quot;a&quot; &gt; &apos;b&apos;</title></item>", "\"a\" > 'b'"),
    ("<item><x a='1' a='2'/><title><![CDATA[a &lt; b]]></title></item>", "a &lt; b"),
    ("<item><x a='1' a='2'/><title>a &amp;lt; b &#60; c</title></item>", "a &lt; b < c"),
]


@pytest.mark.parametrize(("item", "expected"), BEYOND_REPAIR)
def test_what_cannot_be_repaired_loses_no_characters_after_it(item: str, expected: str) -> None:
    (entry,) = parse(f"<rss><channel>{item}</channel></rss>".encode()).entries
    assert entry.title is not None
    assert entry.title.value == expected

"""What a document says about itself: formats, feed fields, publisher hints."""

from datetime import UTC, datetime
from typing import Any

import pytest

from headwater.parse import (
    Category,
    Cloud,
    Document,
    Feed,
    Link,
    Person,
    Text,
    parse,
    parse_fragment,
)

NAMESPACES = (
    'xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:sy="http://purl.org/rss/1.0/modules/syndication/" '
    'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" '
    'xmlns:atom="http://www.w3.org/2005/Atom" '
    'xmlns:admin="http://webns.net/mvcb/" '
    'xmlns:dcterms="http://purl.org/dc/terms/" '
    'xmlns:googleplay="http://www.google.com/schemas/play-podcasts/1.0" '
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
)
HOME = "https://example.org/blog/feed.xml"
RDF = "xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'"


def rss_feed(channel: str) -> Feed:
    body = f'<rss version="2.0" {NAMESPACES}><channel>{channel}</channel></rss>'
    return parse(body.encode(), url=HOME).feed


def atom_feed(inner: str, attributes: str = "") -> Feed:
    body = f'<feed xmlns="http://www.w3.org/2005/Atom" {attributes}>{inner}</feed>'
    return parse(body.encode(), url=HOME).feed


FORMATS: list[tuple[str, str, str]] = [
    ("<rss version='2.0'><channel/></rss>", "rss", "2.0"),
    ("<rss version='2.0.1'><channel/></rss>", "rss", "2.0"),
    ("<rss version='0.91'><channel/></rss>", "rss", "0.91"),
    ("<rss version='0.92'><channel/></rss>", "rss", "0.92"),
    ("<rss version='0.93'><channel/></rss>", "rss", "0.93"),
    ("<rss version='0.94'><channel/></rss>", "rss", "0.94"),
    ("<rss><channel/></rss>", "rss", "2.0"),
    ("<RSS version='2.0'><CHANNEL/></RSS>", "rss", "2.0"),
    ("<rss xmlns='http://backend.userland.com/rss2' version='2.0'><channel/></rss>", "rss", "2.0"),
    ("<rss xmlns='http://cyber.law.harvard.edu/rss/rss.html' version='2.0'><channel/></rss>",
     "rss", "2.0"),
    ("<rss xmlns='https://nobody.knows/' version='0.92'><channel/></rss>", "rss", "0.92"),
    ("<feed xmlns='http://purl.org/atom/ns#draft-ietf-atompub-format-08'/>", "atom", "0.3"),
    ("<feed xmlns='https://nobody.knows/'><entry/></feed>", "atom", "1.0"),
    (f"<rdf:RDF {RDF} xmlns='http://purl.org/rss/1.0/'><channel/></rdf:RDF>", "rss", "1.0"),
    (f"<rdf:RDF {RDF} xmlns='http://my.netscape.com/rdf/simple/0.9/'><channel/></rdf:RDF>",
     "rss", "0.90"),
    (f"<r:RDF {RDF.replace('xmlns:rdf', 'xmlns:r')} xmlns='http://purl.org/rss/1.0/'><item/>"
     "</r:RDF>", "rss", "1.0"),
    ("<feed xmlns='http://www.w3.org/2005/Atom'/>", "atom", "1.0"),
    ("<a:feed xmlns:a='http://www.w3.org/2005/Atom'/>", "atom", "1.0"),
    ("<feed/>", "atom", "1.0"),
    ("<feed version='0.3' xmlns='http://purl.org/atom/ns#'/>", "atom", "0.3"),
    ("<feed xmlns='http://purl.org/atom/ns#'/>", "atom", "0.3"),
    ("<channel><item><title>x</title></item></channel>", "rss", "2.0"),
    ('{"version": "https://jsonfeed.org/version/1", "items": []}', "json", "1.0"),
    ('{"version": "https://jsonfeed.org/version/1.1", "items": []}', "json", "1.1"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "format_", "version"), FORMATS)
def test_formats_and_versions(body: str, format_: str, version: str) -> None:
    document = parse(body.encode())
    assert (document.format, document.version) == (format_, version)


NO_FEEDS: list[tuple[bytes, str]] = [
    (b"", "empty"),
    (b" \n\t ", "empty"),
    (b"<!DOCTYPE html><html><body>hi</body></html>", "html page"),
    (b"<html><head><title>x</title></head></html>", "html page"),
    (b"<!-- c --><HTML></HTML>", "html page"),
    (b"<!DOCTYPE html><html><body><pre><rss><channel></rss></pre><br></body></html>", "html page"),
    (b"<html><script>var a = '<feed>';</script><br></html>", "html page"),
    (b"<!-- <rss> --><html><body><entry>x</entry><br></body></html>", "html page"),
    (b"<feed xmlns='https://shop.example/'><product/></feed>", "xml (feed)"),
    (b"plain words", "plain text"),
    (b"%PDF-1.7 ...", "binary"),
    (b"\x1f\x8b\x08\x00\x00", "binary"),
    (b"\xff" * 100, "binary"),
    (b"<opml version='2.0'><body/></opml>", "opml"),
    (b"<urlset/>", "sitemap"),
    (b"<note><to>x</to></note>", "xml (note)"),
    (b"{}", "json"),
    (b"[]", "json"),
    (b"null", "plain text"),
    (b"<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'/>", "xml (rdf:rdf)"),
]


@pytest.mark.parametrize(("body", "looks_like"), NO_FEEDS)
def test_what_is_no_feed_says_what_it_is(body: bytes, looks_like: str) -> None:
    document = parse(body)
    assert document.format == "unknown"
    assert document.entries == ()
    assert ("not_a_feed", looks_like) in document.problems


MARCH = datetime(2024, 3, 1, tzinfo=UTC)
RSS: list[tuple[str, str, Any]] = [
    ("<title>T</title>", "title", Text("T")),
    ("<title>T</title><image><title>I</title></image>", "title", Text("T")),
    ("<image><title>I</title></image><title>T</title>", "title", Text("T")),
    ("<dc:title>D</dc:title><title>T</title>", "title", Text("T")),
    ("<itunes:title>I</itunes:title>", "title", Text("I")),
    ("<itunes:title>I</itunes:title><title>T</title>", "title", Text("T")),
    ("<description>D</description>", "subtitle", Text("D", "html")),
    ("<googleplay:description>G</googleplay:description>", "subtitle", Text("G")),
    ("<itunes:subtitle>I</itunes:subtitle>", "subtitle", Text("I")),
    ("<description>D</description><itunes:subtitle>I</itunes:subtitle>", "subtitle",
     Text("D", "html")),
    ("<link>https://example.org/</link>", "link", "https://example.org/"),
    ("<atom:link rel='self' href='/f'/><link>https://e.org/</link>", "link", "https://e.org/"),
    ("<link>https://e.org/</link><atom:link rel='self' href='/f'/>", "self_link",
     "https://example.org/f"),
    ("<link>https://e.org/</link><atom:link href='/feed.xml'/>", "link", "https://e.org/"),
    ("<atom:link rel='hub' href='https://hub.org/'/>", "hub", "https://hub.org/"),
    ("<atom:link rel='next' href='/2'/>", "next_link", "https://example.org/2"),
    ("<atom:link rel='prev-archive' href='/0'/>", "prev_archive", "https://example.org/0"),
    ("<atom:link rel='hub' href='ftp://hub.org/'/>", "hub", None),
    ("<language>en-us</language>", "language", "en-us"),
    ("<dc:language>fr</dc:language>", "language", "fr"),
    ("<language>en_US</language>", "language", "en-US"),
    ("<copyright>C</copyright>", "rights", "C"),
    ("<generator>G 1.0</generator>", "generator", "G 1.0"),
    ("<admin:generatorAgent rdf:resource='https://g.org/?v=1'/>", "generator",
     "https://g.org/?v=1"),
    ("<managingEditor>e@e.org (Ed)</managingEditor>", "authors", (Person("Ed", "e@e.org"),)),
    ("<itunes:author>A</itunes:author>", "authors", (Person("A"),)),
    ("<itunes:owner><itunes:name>O</itunes:name><itunes:email>o@e.org</itunes:email>"
     "</itunes:owner>", "authors", (Person("O", "o@e.org"),)),
    ("<category domain='d'>c</category>", "categories", (Category("c", "d"),)),
    ("<itunes:category text='A'><itunes:category text='B'/></itunes:category>", "categories",
     (Category("A", "http://www.itunes.com/"), Category("B", "http://www.itunes.com/"))),
    ("<image><url>/i.png</url></image>", "image", "https://example.org/i.png"),
    ("<itunes:image href='/i.png'/>", "image", "https://example.org/i.png"),
    ("<googleplay:image href='/i.png'/>", "image", "https://example.org/i.png"),
    ("<googleplay:author>A</googleplay:author>", "authors", (Person("A"),)),
    ("<dcterms:creator>A</dcterms:creator>", "authors", (Person("A"),)),
    ("<dcterms:language>fr</dcterms:language>", "language", "fr"),
    ("<pubDate>Fri, 01 Mar 2024 00:00:00 GMT</pubDate>", "published", MARCH),
    ("<lastBuildDate>Fri, 01 Mar 2024 00:00:00 GMT</lastBuildDate>", "updated", MARCH),
    ("<dc:date>2024-03-01</dc:date>", "updated", MARCH),
    ("<ttl>60</ttl>", "ttl_minutes", 60),
    ("<ttl> 60 </ttl>", "ttl_minutes", 60),
    ("<ttl>0</ttl>", "ttl_minutes", None),
    ("<ttl>-1</ttl>", "ttl_minutes", None),
    ("<ttl>abc</ttl>", "ttl_minutes", None),
    ("<ttl>1000000000000</ttl>", "ttl_minutes", None),
    ("<skipHours><hour>3</hour><hour>1</hour><hour>3</hour></skipHours>", "skip_hours", (1, 3)),
    ("<skipHours><hour>24</hour><hour>99</hour><hour>x</hour></skipHours>", "skip_hours", (0,)),
    ("<skipDays><day>Sunday</day><day>monday</day><day>Funday</day></skipDays>", "skip_days",
     ("Mon", "Sun")),
    ("<sy:updatePeriod> Hourly </sy:updatePeriod>", "update_period", "hourly"),
    ("<sy:updatePeriod>sometimes</sy:updatePeriod>", "update_period", "sometimes"),
    ("<sy:updatePeriod> </sy:updatePeriod>", "update_period", None),
    ("<sy:updateFrequency>2</sy:updateFrequency>", "update_frequency", 2),
    ("<sy:updateFrequency>-2</sy:updateFrequency>", "update_frequency", None),
    ("<sy:updateBase>2024-03-01T00:00+00:00</sy:updateBase>", "update_base", MARCH),
    ("<cloud domain='d.org' port='80' path='/p' registerProcedure='r' protocol='XML-RPC'/>",
     "cloud", Cloud("d.org", 80, "/p", "r", "xml-rpc")),
    ("<cloud/>", "cloud", None),
]  # fmt: skip


@pytest.mark.parametrize(("channel", "field", "expected"), RSS)
def test_fields_of_a_channel(channel: str, field: str, expected: Any) -> None:
    assert getattr(rss_feed(channel), field) == expected


ATOM: list[tuple[str, str, Any]] = [
    ("<title type='html'>&lt;b&gt;T&lt;/b&gt;</title>", "title", Text("<b>T</b>", "html")),
    ("<subtitle>S</subtitle>", "subtitle", Text("S")),
    ("<tagline>S</tagline>", "subtitle", Text("S")),
    ("<id>urn:x</id>", "id", "urn:x"),
    ("<link href='https://e.org/'/>", "link", "https://e.org/"),
    ("<link rel='self' href='/f'/>", "self_link", "https://example.org/f"),
    ("<link rel='self' href='/f'/>", "links", (Link("https://example.org/f", "self"),)),
    ("<icon>/i.ico</icon>", "icon", "https://example.org/i.ico"),
    ("<logo>/l.png</logo>", "image", "https://example.org/l.png"),
    ("<rights>R</rights>", "rights", "R"),
    ("<generator uri='https://g.org/' version='1'>G</generator>", "generator", "G"),
    ("<updated>2024-03-01T00:00:00Z</updated>", "updated", MARCH),
    ("<author><name>A</name></author>", "authors", (Person("A"),)),
    ("<contributor><name>C</name></contributor>", "contributors", (Person("C"),)),
    ("<category term='t'/>", "categories", (Category("t"),)),
]  # fmt: skip


@pytest.mark.parametrize(("inner", "field", "expected"), ATOM)
def test_fields_of_an_atom_feed(inner: str, field: str, expected: Any) -> None:
    assert getattr(atom_feed(inner), field) == expected


def test_the_language_may_stand_on_the_root_or_in_a_header() -> None:
    assert atom_feed("<title>x</title>", "xml:lang='de'").language == "de"
    served = parse(b"<rss><channel/></rss>", headers={"Content-Language": "sv"})
    assert served.feed.language == "sv"


def test_a_default_namespace_that_nobody_knows_changes_nothing() -> None:
    body = (
        b"<rss xmlns='https://nobody.knows/' xmlns:o='https://other.example/'><channel>"
        b"<title>T</title><item><title>I</title><link>https://e.org/1</link><o:title>O</o:title>"
        b"</item></channel></rss>"
    )
    document = parse(body)
    (entry,) = document.entries
    assert document.feed.title == Text("T")
    assert (entry.title, entry.link) == (Text("I"), "https://e.org/1")
    assert entry.extensions == {"https://other.example/": {"title": ("O",)}}
    assert entry.fragment is not None
    assert parse_fragment(body, entry.fragment) == entry


def test_a_name_that_xml_forbids_keeps_the_namespace_that_nobody_knows() -> None:
    body = b"<rss xmlns='https://nobody.knows/'><channel><at:><item><title>I</title></item></rss>"
    assert [entry.title for entry in parse(body).entries] == [Text("I")]


@pytest.mark.parametrize("uri", ["https://nobody.knows/}x#", "}", "{", "*", "a b", "[1]"])
def test_no_namespace_is_too_odd_to_be_unknown(uri: str) -> None:
    body = f"<feed xmlns='{uri}'><entry><title>I</title></entry></feed>".encode()
    assert [entry.title for entry in parse(body).entries] == [Text("I")]


def test_items_beside_the_channel_count_in_rdf() -> None:
    body = (
        f"<rdf:RDF {RDF} xmlns='http://purl.org/rss/1.0/'><channel rdf:about='https://e.org/'>"
        "<title>T</title></channel><image><url>https://e.org/i.png</url></image>"
        "<item rdf:about='https://e.org/1'><title>I</title></item></rdf:RDF>"
    )
    document: Document = parse(body.encode())
    assert document.entries[0].native_id == "https://e.org/1"
    assert document.entries[0].link == "https://e.org/1"
    assert document.feed.id == "https://e.org/"
    assert document.feed.image == "https://e.org/i.png"


@pytest.mark.parametrize("name", ["rdf:about", "about"])
def test_an_undeclared_about_names_its_item_too(name: str) -> None:
    body = f"<rdf:RDF xmlns='http://purl.org/rss/1.0/'><item {name}='https://e.org/1'/></rdf:RDF>"
    assert [entry.native_id for entry in parse(body.encode()).entries] == ["https://e.org/1"]


def test_a_feeds_own_page_is_the_base_when_nothing_else_is_known() -> None:
    body = b"<rss><channel><link>https://e.org/b/</link><item><link>1</link></item></channel></rss>"
    assert parse(body).entries[0].link == "https://e.org/b/1"


def test_content_location_is_the_base_when_served() -> None:
    body = b"<rss><channel><item><link>1</link></item></channel></rss>"
    document = parse(body, url="https://e.org/x", headers={"content-location": "/b/"})
    assert document.entries[0].link == "https://e.org/b/1"

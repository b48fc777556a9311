"""What an RSS item says, element by element."""

from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

import pytest

from headwater.parse import Content, Enclosure, Entry, Link, Source, Text, parse

NAMESPACES = (
    'xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:dcterms="http://purl.org/dc/terms/" '
    'xmlns:content="http://purl.org/rss/1.0/modules/content/" '
    'xmlns:atom="http://www.w3.org/2005/Atom" '
    'xmlns:cc="http://web.resource.org/cc/" '
    'xmlns:creativeCommons="http://backend.userland.com/creativeCommonsRssModule" '
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:xhtml="http://www.w3.org/1999/xhtml"'
)
HOME = "https://example.org/blog/feed.xml"


def entry_of(item: str) -> Entry:
    body = f'<rss version="2.0" {NAMESPACES}><channel><item>{item}</item></channel></rss>'
    document = parse(body.encode(), url=HOME)
    assert len(document.entries) == 1
    return document.entries[0]


TITLES: list[tuple[str, Text | None]] = [
    ("<title>Plain words</title>", Text("Plain words")),
    ("<title>  trimmed\n</title>", Text("trimmed")),
    ("<title>two\nlines</title>", Text("two\nlines")),
    ("<title></title>", None),
    ("<title>   </title>", None),
    ("<title>AT&amp;T</title>", Text("AT&T")),
    ("<title>AT&amp;amp;T</title>", Text("AT&amp;T", "html")),
    ("<title>1 &lt; 2</title>", Text("1 < 2")),
    (
        "<title><![CDATA[It&apos;s &quot;on&quot;]]></title>",
        Text("It&apos;s &quot;on&quot;", "html"),
    ),
    ("<title>&lt;mark&gt;New&lt;/mark&gt; ideas</title>", Text("<mark>New</mark> ideas", "html")),
    ("<title>&lt;b&gt;Bold&lt;/b&gt;</title>", Text("<b>Bold</b>", "html")),
    ("<title><![CDATA[<i>x</i> & y]]></title>", Text("<i>x</i> & y", "html")),
    ("<title><![CDATA[A]]> and <![CDATA[B]]></title>", Text("A and B")),
    ("<title>List&lt;String&gt; in Java</title>", Text("List<String> in Java")),
    ("<title>&lt;string&gt;x&lt;/string&gt;</title>", Text("<string>x</string>")),
    ("<title>caf\u00e9 \u65e5\u672c</title>", Text("caf\u00e9 \u65e5\u672c")),
    ("<title>&#233;t&#xE9;</title>", Text("\u00e9t\u00e9")),
    ("<title>One <b>two</b></title>", Text("One <b>two</b>", "xhtml")),
    ("<title>first</title><title>second</title>", Text("first")),
    ("<dc:title>only dc</dc:title>", Text("only dc")),
    ("<dcterms:title>only dc</dcterms:title>", Text("only dc")),
    ("<dc:title>dc</dc:title><title>own</title>", Text("own")),
    ("<title>own</title><dc:title>dc</dc:title>", Text("own")),
    ("<atom:title>atom's</atom:title>", Text("atom's")),
    ("<TITLE>shouted</TITLE>", Text("shouted")),
]


@pytest.mark.parametrize(("item", "expected"), TITLES)
def test_titles_keep_their_words_and_their_kind(item: str, expected: Text | None) -> None:
    assert entry_of(item).title == expected


SUMMARIES: list[tuple[str, Text | None]] = [
    ("<description>words</description>", Text("words", "html")),
    ("<description>&lt;p&gt;x&lt;/p&gt;</description>", Text("<p>x</p>", "html")),
    ("<description><![CDATA[<p>x</p>]]></description>", Text("<p>x</p>", "html")),
    ("<description>&amp;lt;p&amp;gt;</description>", Text("&lt;p&gt;", "html")),
    ("<description><p>in <b>line</b></p></description>", Text("<p>in <b>line</b></p>", "xhtml")),
    ("<description/>", None),
    ("<summary>words</summary>", Text("words")),
    ("<summary>&lt;b&gt;x&lt;/b&gt;</summary>", Text("<b>x</b>", "html")),
    ("<abstract>words</abstract>", Text("words")),
    ("<dc:description>words</dc:description>", Text("words", "html")),
    ("<dcterms:description>words</dcterms:description>", Text("words", "html")),
    ("<dcterms:abstract>words</dcterms:abstract>", Text("words")),
    ("<description>a</description><dc:description>b</dc:description>", Text("a", "html")),
    ("<atom:summary>words</atom:summary>", Text("words")),
    ("<DESCRIPTION>words</DESCRIPTION>", Text("words", "html")),
]


@pytest.mark.parametrize(("item", "expected"), SUMMARIES)
def test_summaries_keep_their_markup(item: str, expected: Text | None) -> None:
    assert entry_of(item).summary == expected


CONTENTS: list[tuple[str, tuple[Content, ...]]] = [
    ("<content:encoded>&lt;p&gt;x&lt;/p&gt;</content:encoded>", (Content("<p>x</p>", "html"),)),
    (
        "<description>d</description><content:encoded>c</content:encoded>",
        (Content("c", "html"),),
    ),
    ("<fullitem>all of it</fullitem>", (Content("all of it", "html"),)),
    ("<xhtml:body><p>x</p></xhtml:body>", (Content("<p>x</p>", "xhtml"),)),
    ('<body xmlns="http://www.w3.org/1999/xhtml">x</body>', (Content("x", "xhtml"),)),
    (
        "<atom:content type='html'>&lt;i&gt;x&lt;/i&gt;</atom:content>",
        (Content("<i>x</i>", "html"),),
    ),
    ("<description>a</description><description>b</description>", (Content("b", "html"),)),
    ("<description>only</description>", ()),
    ("<content:encoded/>", ()),
    (
        "<atom:content type='xhtml'><xhtml:div><xhtml:p>x</xhtml:p></xhtml:div></atom:content>",
        (Content("<p>x</p>", "xhtml"),),
    ),
    (
        "<content:items><rdf:Bag><rdf:li><content:item>"
        "<content:format rdf:resource='http://www.w3.org/1999/xhtml'/>"
        "<rdf:value>&lt;b&gt;x&lt;/b&gt;</rdf:value></content:item></rdf:li>"
        "<rdf:li><content:item><rdf:value rdf:parseType='Literal'><xhtml:i>y</xhtml:i></rdf:value>"
        "</content:item></rdf:li></rdf:Bag></content:items>",
        (Content("<b>x</b>", "html"), Content("<i>y</i>", "xhtml")),
    ),
    (
        "<content:encoded>1</content:encoded><content:encoded>2</content:encoded>",
        (Content("1", "html"), Content("2", "html")),
    ),
]


@pytest.mark.parametrize(("item", "expected"), CONTENTS)
def test_bodies_are_gathered_in_order(item: str, expected: tuple[Content, ...]) -> None:
    assert entry_of(item).contents == expected


def test_the_best_body_is_the_first_with_markup() -> None:
    entry = entry_of(
        "<atom:content type='text'>plain</atom:content><content:encoded>rich</content:encoded>"
    )
    assert entry.content == Content("rich", "html")


def test_an_entry_without_a_body_has_no_content() -> None:
    assert entry_of("<description>x</description>").content is None


IDS: list[tuple[str, str | None, bool, str | None]] = [
    ("<guid>https://example.org/1</guid>", "https://example.org/1", True, "https://example.org/1"),
    ("<guid isPermaLink='false'>https://e.org/1</guid>", "https://e.org/1", False, None),
    ("<guid isPermaLink='FALSE'>abc</guid>", "abc", False, None),
    ("<guid isPermalink='false'>https://e.org/1</guid>", "https://e.org/1", False, None),
    ("<guid ISPERMALINK='false'>https://e.org/1</guid>", "https://e.org/1", False, None),
    ("<guid xml:lang='en'>https://e.org/1</guid>", "https://e.org/1", True, "https://e.org/1"),
    ("<guid isPermaLink='true'>/1</guid>", "/1", True, "https://example.org/1"),
    ("<guid>abc-123</guid>", "abc-123", False, None),
    ("<guid> 12 </guid>", "12", False, None),
    ("<guid/>", None, False, None),
    ("<link>https://e.org/l</link><guid>https://e.org/g</guid>", "https://e.org/g", True, "https://e.org/l"),
    ("<guid>https://e.org/g</guid><link>https://e.org/l</link>", "https://e.org/g", True, "https://e.org/l"),
    ("<atom:id>tag:e.org,1</atom:id>", "tag:e.org,1", False, None),
]  # fmt: skip


@pytest.mark.parametrize(("item", "native_id", "is_permalink", "link"), IDS)
def test_guids_are_kept_as_given_and_serve_as_links(
    item: str, native_id: str | None, is_permalink: bool, link: str | None
) -> None:
    entry = entry_of(item)
    assert (entry.native_id, entry.id_is_permalink, entry.link) == (native_id, is_permalink, link)


LINKS: list[tuple[str, str | None]] = [
    ("<link>https://example.org/a</link>", "https://example.org/a"),
    ("<link> https://example.org/a\n</link>", "https://example.org/a"),
    ("<link>/a</link>", "https://example.org/a"),
    ("<link>a</link>", "https://example.org/blog/a"),
    ("<link>//cdn.example.org/a</link>", "https://cdn.example.org/a"),
    ("<link>?p=1</link>", "https://example.org/blog/feed.xml?p=1"),
    ("<link>https://example.org/?a=1&amp;b=2</link>", "https://example.org/?a=1&b=2"),
    ("<link>https://example.org/?a=1&amp;amp;b=2</link>", "https://example.org/?a=1&b=2"),
    ("<link><![CDATA[https://example.org/?a=1&b=2]]></link>", "https://example.org/?a=1&b=2"),
    ("<link href='https://example.org/h'/>", "https://example.org/h"),
    ("<atom:link rel='alternate' href='https://example.org/h'/>", "https://example.org/h"),
    ("<link>/own</link><atom:link href='/feed'/>", "https://example.org/own"),
    (
        "<link>/own</link><atom:link rel='alternate' type='text/html' href='/amp'/>",
        "https://example.org/own",
    ),
    ("<atom:link href='/feed'/><link>/own</link>", "https://example.org/own"),
    ("<atom:link rel='self' href='https://example.org/s'/>", None),
    ("<link>javascript:alert(1)</link>", None),
    ("<link>JaVaScRiPt:alert(1)</link>", None),
    ("<link>mailto:a@example.org</link>", None),
    ("<link>data:text/html,x</link>", None),
    ("<link/>", None),
    ("<link>https://example.org/\u00e9</link>", "https://example.org/%C3%A9"),
    ("<link>https://example.org/a b</link>", "https://example.org/a%20b"),
    ('<link>https://example.org/"a"&lt;b&gt;</link>', "https://example.org/%22a%22%3Cb%3E"),
    ("<link>https://example.org/{a}</link>", "https://example.org/%7Ba%7D"),
    ("<link>https://example.org\\a</link>", "https://example.org/a"),
    (
        "<link>https://example.org/a?b[]=1|2&amp;c=(d)*'!~#e</link>",
        "https://example.org/a?b[]=1|2&c=(d)*'!~#e",
    ),
    ("<link>https://example.org/a\nb</link>", "https://example.org/ab"),
]


@pytest.mark.parametrize(("item", "expected"), LINKS)
def test_links_are_absolute_web_addresses_or_nothing(item: str, expected: str | None) -> None:
    assert entry_of(item).link == expected


FIELDS: list[tuple[str, str, Any]] = [
    ("<comments>https://example.org/1#c</comments>", "comments", "https://example.org/1#c"),
    ("<comments>/1#c</comments>", "comments", "https://example.org/1#c"),
    ("<comments>javascript:x</comments>", "comments", None),
    ("<comments>12</comments>", "comments", None),
    ("<comments>No comments yet</comments>", "comments", None),
    ("<comments><comment>Jira's own</comment></comments>", "comments", None),
    ("<source url='https://s.org/f'>The Source</source>", "source",
     Source("The Source", "https://s.org/f")),
    ("<source url='https://s.org/f'/>", "source", Source(None, "https://s.org/f")),
    ("<source>Name only</source>", "source", Source("Name only")),
    ("<dc:language>de</dc:language>", "language", "de"),
    ("<dcterms:language>de</dcterms:language>", "language", "de"),
    ("<dc:rights>Mine</dc:rights>", "rights", "Mine"),
    ("<dcterms:rights>Mine</dcterms:rights>", "rights", "Mine"),
    ("<copyright>Mine</copyright>", "rights", "Mine"),
    ("<cc:license rdf:resource='https://cc.org/by'/>", "links",
     (Link("https://cc.org/by", "license"),)),
    ("<creativeCommons:license>https://cc.org/by</creativeCommons:license>", "links",
     (Link("https://cc.org/by", "license"),)),
    ("<enclosure url='https://e.org/a.mp3' length='10' type='audio/mpeg'/>", "enclosures",
     (Enclosure("https://e.org/a.mp3", "audio/mpeg", 10),)),
    ("<enclosure url='/a.mp3'/>", "enclosures", (Enclosure("https://example.org/a.mp3"),)),
    ("<enclosure url='magnet:?xt=urn:btih:AB'/>", "enclosures",
     (Enclosure("magnet:?xt=urn:btih:AB"),)),
    ("<link>magnet:?xt=urn:btih:AB&amp;dn=Sea</link>", "enclosures",
     (Enclosure("magnet:?xt=urn:btih:AB&dn=Sea"),)),
    ("<link> MAGNET:?xt=urn:btih:AB </link><guid>https://a.example/1</guid>", "link",
     "https://a.example/1"),
    ("<link>magnet:?xt=1</link><enclosure url='magnet:?xt=1' length='5000'/>", "enclosures",
     (Enclosure("magnet:?xt=1", length=5000),)),
    ("<enclosure url='ftp://e.org/a'/>", "enclosures", ()),
    ("<enclosure url=''/>", "enclosures", ()),
    ("<enclosure url='https://e.org/a' length='-1'/>", "enclosures", (Enclosure("https://e.org/a"),)),
    ("<enclosure url='https://e.org/a' length='1,234'/>", "enclosures",
     (Enclosure("https://e.org/a", None, 1234),)),
    ("<enclosure url='https://e.org/a' length='abc' type='text/html;&lt;script>'/>", "enclosures",
     (Enclosure("https://e.org/a", "text/html"),)),
    ("<enclosure url='https://e.org/a'/><enclosure url='https://e.org/b'/>", "enclosures",
     (Enclosure("https://e.org/a"), Enclosure("https://e.org/b"))),
    ("<enclosure url='https://e.org/a'/><enclosure url='https://e.org/a' length='5'/>",
     "enclosures",
     (Enclosure("https://e.org/a", None, 5),)),
]  # fmt: skip


@pytest.mark.parametrize(("item", "field", "expected"), FIELDS)
def test_other_fields_of_an_item(item: str, field: str, expected: Any) -> None:
    assert attrgetter(field)(entry_of(item)) == expected


NEW_YEAR = datetime(2004, 1, 1, 19, 48, 21, tzinfo=UTC)
MOMENTS: list[tuple[str, str, datetime | None]] = [
    ("<pubDate>Thu, 01 Jan 2004 19:48:21 GMT</pubDate>", "published", NEW_YEAR),
    ("<pubdate>Thu, 01 Jan 2004 19:48:21 GMT</pubdate>", "published", NEW_YEAR),
    ("<atom:published>2004-01-01T19:48:21Z</atom:published>", "published", NEW_YEAR),
    ("<dcterms:issued>2004-01-01T19:48:21Z</dcterms:issued>", "published", NEW_YEAR),
    (
        "<pubDate>Thu, 01 Jan 2004 19:48:21 GMT</pubDate>"
        "<dcterms:issued>2004-01-01</dcterms:issued>",
        "published",
        NEW_YEAR,
    ),
    (
        "<atom:updated>2004-01-01T19:48:21Z</atom:updated><dc:date>2004-01-01</dc:date>",
        "updated",
        NEW_YEAR,
    ),
    ("<dc:date>2004-01-01T19:48:21Z</dc:date>", "updated", NEW_YEAR),
    ("<dcterms:modified>2004-01-01T19:48:21Z</dcterms:modified>", "updated", NEW_YEAR),
    ("<dcterms:date>2004-01-01T19:48:21Z</dcterms:date>", "updated", NEW_YEAR),
    ("<lastBuildDate>Thu, 01 Jan 2004 19:48:21 GMT</lastBuildDate>", "updated", NEW_YEAR),
    ("<dcterms:created>2004-01-01T19:48:21Z</dcterms:created>", "created", NEW_YEAR),
    ("<expirationDate>Thu, 01 Jan 2004 19:48:21 GMT</expirationDate>", "expired", NEW_YEAR),
    ("<pubDate>soon</pubDate>", "published", None),
    ("<pubDate/>", "published", None),
]


@pytest.mark.parametrize(("item", "field", "expected"), MOMENTS)
def test_dates_of_an_item(item: str, field: str, expected: datetime | None) -> None:
    assert getattr(entry_of(item), field) == expected


def test_dates_are_kept_as_given_too() -> None:
    entry = entry_of("<pubDate>next Tuesday</pubDate><dc:date>2004</dc:date>")
    assert entry.raw_dates == {"published": "next Tuesday", "updated": "2004"}


def test_an_entry_cannot_be_changed() -> None:
    entry = entry_of("<title>x</title>")
    with pytest.raises(AttributeError):
        entry.title = None  # type: ignore[misc]
    assert type(entry) is Entry

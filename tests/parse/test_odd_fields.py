"""Elements in unusual places, with unusual attributes, or of one format in another."""

from operator import attrgetter
from typing import Any

import pytest

from headwater.parse import (
    Category,
    Content,
    Document,
    Enclosure,
    Link,
    Person,
    Source,
    Text,
    parse,
)

NAMESPACES = (
    'xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" '
    'xmlns:media="http://search.yahoo.com/mrss/" '
    'xmlns:admin="http://webns.net/mvcb/" '
    'xmlns:cc="http://web.resource.org/cc/" '
    'xmlns:xhtml="http://www.w3.org/1999/xhtml" '
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
)
HOME = "https://example.org/blog/feed.xml"
ITUNES = "http://www.itunes.com/"
MEDIA = "http://search.yahoo.com/mrss/category_schema"


def rss(channel: str = "", item: str = "", namespaces: str = NAMESPACES) -> Document:
    body = f"<rss {namespaces}><channel>{channel}<item>{item}</item></channel></rss>"
    return parse(body.encode(), url=HOME)


def atom(feed: str = "", entry: str = "", attributes: str = "") -> Document:
    inside = f"{feed}<entry>{entry}</entry>"
    body = f'<feed xmlns="http://www.w3.org/2005/Atom" {attributes}>{inside}</feed>'
    return parse(body.encode(), url=HOME)


FEEDS: list[tuple[str, str, Any]] = [
    ("<abstract>A</abstract>", "subtitle", Text("A")),
    ("<abstract>A</abstract><description>D</description>", "subtitle", Text("D", "html")),
    ("<media:description>M</media:description>", "subtitle", Text("M", "html")),
    ("<description>D</description><media:description>M</media:description>", "subtitle",
     Text("D", "html")),
    ("<summary>S</summary>", "subtitle", Text("S")),
    ("<categories><category>a</category><category>b</category></categories>", "categories",
     (Category("a"), Category("b"))),
    ("<itunes:category>T</itunes:category>", "categories", (Category("T", ITUNES),)),
    ("<itunes:link rel='image' href='/i.png'>x</itunes:link>", "image",
     "https://example.org/i.png"),
    ("<itunes:link rel='other' href='/i.png'>x</itunes:link>", "image", None),
    ("<generator>G</generator><admin:generatorAgent rdf:resource='http://g.org/'/>", "generator",
     "G"),
    ("<admin:generatorAgent rdf:resource='http://g.org/'/><generator>G</generator>", "generator",
     "G"),
    ("<admin:generatorAgent rdf:resource='http://g.org/'/>", "generator", "http://g.org/"),
    ("<itunes:image HREF='https://e.org/i'/>", "image", "https://e.org/i"),
    # The page that an id or permalink names is better than none.
    ("<id>https://e.org/</id>", "link", "https://e.org/"),
    ("<id>tag:e.org,2020:1</id>", "link", None),
    ("<id>https://e.org/</id><link>https://e.org/a</link>", "link", "https://e.org/a"),
    ("<link>https://e.org/a</link><id>https://e.org/</id>", "link", "https://e.org/a"),
    # One person who is named twice, once with an address.
    ("<itunes:author>A</itunes:author><itunes:owner><itunes:name>A</itunes:name>"
     "<itunes:email>a@e.org</itunes:email></itunes:owner>", "authors", (Person("A", "a@e.org"),)),
    ("<itunes:owner><itunes:name>A</itunes:name><itunes:email>a@e.org</itunes:email>"
     "</itunes:owner><itunes:author>A</itunes:author>", "authors", (Person("A", "a@e.org"),)),
]  # fmt: skip


@pytest.mark.parametrize(("channel", "path", "expected"), FEEDS)
def test_a_feed_says_it_in_another_way(channel: str, path: str, expected: Any) -> None:
    assert attrgetter(path)(rss(channel).feed) == expected


ENTRIES: list[tuple[str, str, Any]] = [
    ("<itunes:category>T</itunes:category>", "categories", (Category("T", ITUNES),)),
    ("<itunes:category text='T'> <itunes:category text='U'/> </itunes:category>", "categories",
     (Category("T", ITUNES), Category("U", ITUNES))),
    ("<media:category label='L'/>", "categories", (Category("L", MEDIA, "L"),)),
    ("<tags><tag>a</tag><tag>b</tag></tags>", "categories", (Category("a"), Category("b"))),
    ("<tags>a, b</tags>", "categories", (Category("a"), Category("b"))),
    ("<itunes:link rel='image' href='/i.png'>x</itunes:link>", "thumbnails",
     ("https://example.org/i.png",)),
    ("<itunes:owner><itunes:name>O</itunes:name><itunes:email>o@e.org</itunes:email>"
     "</itunes:owner>", "authors", (Person("O", "o@e.org"),)),
    ("<author>A</author><dc:creator>a@e.org (A)</dc:creator><dc:creator>B</dc:creator>", "authors",
     (Person("A", "a@e.org"), Person("B"))),
    ("<author>a@e.org (A)</author><dc:creator>b@e.org (A)</dc:creator>", "authors",
     (Person("A", "a@e.org"), Person("A", "b@e.org"))),
    # A link's attributes count though its address is text.
    ("<link rel='self'>https://e.org/f</link>", "links", (Link("https://e.org/f", "self"),)),
    ("<link rel='self'>https://e.org/f</link>", "link", None),
    ("<link rel='enclosure' type='audio/mpeg'>https://e.org/a.mp3</link>", "enclosures",
     (Enclosure("https://e.org/a.mp3", "audio/mpeg"),)),
    ("<link type='text/html'>https://e.org/?a=1&amp;amp;b=2</link>", "links",
     (Link("https://e.org/?a=1&b=2", "alternate", "text/html"),)),
    ("<link xml:space='preserve'>https://e.org/p</link>", "link", "https://e.org/p"),
    # Names of attributes in capitals.
    ("<enclosure URL='https://e.org/a' TYPE='a/b' Length='3'/>", "enclosures",
     (Enclosure("https://e.org/a", "a/b", 3),)),
    ("<link HREF='https://e.org/p' REL='alternate'/>", "link", "https://e.org/p"),
    ("<category TERM='a' Scheme='s'/>", "categories", (Category("a", "s"),)),
    ("<category foo='a' FOO='s'/>", "categories", ()),
    ("<itunes:category TEXT='T'/>", "categories", (Category("T", ITUNES),)),
    ("<media:content URL='https://e.org/a' Type='a/b'/>", "enclosures",
     (Enclosure("https://e.org/a", "a/b"),)),
    ("<media:thumbnail URL='https://e.org/i'/>", "thumbnails", ("https://e.org/i",)),
    ("<itunes:image HREF='https://e.org/i'/>", "thumbnails", ("https://e.org/i",)),
    # Names of attributes with a prefix.
    ("<link dc:href='https://e.org/p' dc:rel='self'/>", "links",
     (Link("https://e.org/p", "self"),)),
    ("<link none:href='https://e.org/p'/>", "link", "https://e.org/p"),
    ("<category dc:term='a'/>", "categories", (Category("a"),)),
    ("<media:thumbnail media:url='https://e.org/i'/>", "thumbnails", ("https://e.org/i",)),
    ("<category xml:lang='de'/>", "categories", ()),
    ("<enclosure rdf:resource='https://e.org/a' type='a/b'/>", "enclosures",
     (Enclosure("https://e.org/a", "a/b"),)),
    # A source that says nothing is none.
    ("<source><subtitle>S</subtitle></source>", "source", None),
    ("<source><title>T</title></source>", "source", Source("T")),
    # XHTML is XML: what is escaped in it is text.
    ("<xhtml:body>1 &lt; 2 &amp;amp; 3</xhtml:body>", "contents",
     (Content("1 &lt; 2 &amp;amp; 3", "xhtml"),)),
    ("<xhtml:body><xhtml:p>x</xhtml:p></xhtml:body>", "contents", (Content("<p>x</p>", "xhtml"),)),
    # A body of no namespace holds HTML as a description does.
    ("<body>&lt;p&gt;x&lt;/p&gt;</body>", "contents", (Content("<p>x</p>", "html"),)),
    ("<body><p>x</p></body>", "contents", (Content("<p>x</p>", "xhtml"),)),
]  # fmt: skip


@pytest.mark.parametrize(("item", "path", "expected"), ENTRIES)
def test_an_item_says_it_in_another_way(item: str, path: str, expected: Any) -> None:
    assert attrgetter(path)(rss(item=item).entries[0]) == expected


UNDECLARED: list[tuple[str, str, Any]] = [
    (
        "<cc:license rdf:resource='https://e.org/l'/>",
        "links",
        (Link("https://e.org/l", "license"),),
    ),
    ("<link rdf:resource='https://e.org/p'/>", "link", "https://e.org/p"),
    ("<xhtml:body><xhtml:p>x</xhtml:p></xhtml:body>", "contents", (Content("<p>x</p>", "xhtml"),)),
]


@pytest.mark.parametrize(("item", "path", "expected"), UNDECLARED)
def test_prefixes_that_were_not_declared_count_for_attributes_too(
    item: str, path: str, expected: Any
) -> None:
    assert attrgetter(path)(rss(item=item, namespaces="").entries[0]) == expected


def test_the_language_of_a_title_is_not_the_feeds() -> None:
    assert atom("<title xml:lang='fr'>x</title>").feed.language is None
    assert atom("<title xml:lang='fr'>x</title>", attributes="xml:lang='de'").feed.language == "de"
    whole = b"<rss><channel xml:lang='fr'><title xml:lang='de'>x</title></channel></rss>"
    assert parse(whole).feed.language == "fr"
    other = b"<rss><foo xml:lang='fr'/><channel xml:lang='de'/></rss>"
    assert parse(other).feed.language == "de"


def test_an_empty_reference_means_the_base_where_one_is_given() -> None:
    given = "<link href='' xml:base='https://e.org/a/'/>"
    assert atom(entry=given).entries[0].link == "https://e.org/a/"
    assert atom(given).feed.link == "https://e.org/a/"
    # Without one it would be the feed itself, which is no entry's page.
    assert atom(entry="<link href=''/>").entries[0].link is None


def test_base64_of_atom_0_3_is_read_in_a_newer_feed_too() -> None:
    (entry,) = atom(
        entry="<title mode='base64'>VGl0bGU=</title>"
        "<content type='html' mode='base64'>\nPGI+\neDwvYj4=\n</content>"
        "<summary>VGl0bGU=</summary>"
    ).entries
    assert entry.title == Text("Title")
    assert entry.contents == (Content("<b>x</b>", "html"),)
    assert entry.summary == Text("VGl0bGU=")


def test_the_namespace_of_atom_1_0_says_more_than_a_version() -> None:
    body = b"<feed xmlns='http://www.w3.org/2005/Atom' version='0.3'><entry/></feed>"
    assert parse(body).version == "1.0"
    assert parse(b"<feed version='0.3'><entry/></feed>").version == "0.3"


def test_text_that_is_html_has_its_addresses_resolved_too() -> None:
    (entry,) = rss(item="<title>&lt;a href='p'&gt;x&lt;/a&gt;</title>").entries
    assert entry.title == Text('<a href="https://example.org/blog/p">x</a>', "html")


def test_the_base_of_an_images_address_is_its_own() -> None:
    channel = (
        "<image xml:base='https://a.org/'><url xml:base='https://e.org/i/'>p.png</url></image>"
    )
    assert rss(channel).feed.image == "https://e.org/i/p.png"


def test_a_duration_is_not_the_pictures() -> None:
    (entry,) = rss(
        item="<media:content url='https://e.org/i.png' medium='image'/>"
        "<enclosure url='https://e.org/j' type='image/png'/>"
        "<enclosure url='https://e.org/a.mp3' type='audio/mpeg'/>"
        "<itunes:duration>60</itunes:duration>"
    ).entries
    assert [one.duration for one in entry.enclosures] == [None, None, 60]
    (alone,) = rss(
        item="<enclosure url='https://e.org/j' type='image/png'/>"
        "<itunes:duration>60</itunes:duration>"
    ).entries
    assert [one.duration for one in alone.enclosures] == [None]


ESCAPED_SECTIONS: list[tuple[str, Text]] = [
    ("&lt;![CDATA[Tom &amp; Jerry]]&gt;", Text("Tom & Jerry")),
    ("&lt;![CDATA[ &lt;b&gt;x&lt;/b&gt; ]]&gt;", Text("<b>x</b>", "html")),
    ("a &lt;![CDATA[b]]&gt;", Text("a <![CDATA[b]]>")),
    ("x]]&gt;", Text("x]]>")),
]


@pytest.mark.parametrize(("given", "expected"), ESCAPED_SECTIONS)
def test_a_section_that_was_escaped_is_no_part_of_the_words(given: str, expected: Text) -> None:
    (entry,) = rss(item=f"<title>{given}</title>").entries
    assert entry.title == expected

"""What an Atom entry says, element by element, in 1.0 and 0.3."""

from datetime import UTC, datetime
from typing import Any

import pytest

from headwater.parse import Category, Content, Enclosure, Entry, Link, Person, Source, Text, parse

HOME = "https://example.org/blog/feed.xml"
DIV = '<div xmlns="http://www.w3.org/1999/xhtml">'


def entry_of(inner: str, attributes: str = "", feed: str = "") -> Entry:
    body = (
        f'<feed xmlns="http://www.w3.org/2005/Atom" xmlns:h="http://www.w3.org/1999/xhtml" {feed}>'
        f"<entry {attributes}>{inner}</entry></feed>"
    )
    document = parse(body.encode(), url=HOME)
    assert (document.format, document.version, len(document.entries)) == ("atom", "1.0", 1)
    return document.entries[0]


def old_entry_of(inner: str) -> Entry:
    body = f'<feed version="0.3" xmlns="http://purl.org/atom/ns#"><entry>{inner}</entry></feed>'
    document = parse(body.encode(), url=HOME)
    assert (document.format, document.version) == ("atom", "0.3")
    return document.entries[0]


TITLES: list[tuple[str, Text | None]] = [
    ("<title>words</title>", Text("words")),
    ("<title>a &lt;b&gt; c</title>", Text("a <b> c")),
    ("<title type='text'>AT&amp;amp;T</title>", Text("AT&amp;T")),
    ("<title type='html'>&lt;b&gt;x&lt;/b&gt;</title>", Text("<b>x</b>", "html")),
    ("<title type='HTML'>x</title>", Text("x", "html")),
    ("<title type='text/html'>&lt;b&gt;x&lt;/b&gt;</title>", Text("<b>x</b>", "html")),
    ("<title type='Text/HTML; charset=utf-8'>&lt;b&gt;</title>", Text("<b>", "html")),
    ("<title type='text/plain;x=y'>a &lt;b&gt; c</title>", Text("a <b> c")),
    (f"<title type='xhtml'>{DIV}a <b>c</b></div></title>", Text("a <b>c</b>", "xhtml")),
    (f"<title type='xhtml'>{DIV}1 &lt; 2</div></title>", Text("1 &lt; 2", "xhtml")),
    ("<title type='xhtml'>bare &amp; text</title>", Text("bare &amp; text", "xhtml")),
    ("<title type='html'><![CDATA[<b>x</b>]]></title>", Text("<b>x</b>", "html")),
    ("<title/>", None),
]


@pytest.mark.parametrize(("inner", "expected"), TITLES)
def test_titles_have_the_kind_they_declare(inner: str, expected: Text | None) -> None:
    assert entry_of(inner).title == expected


CONTENTS: list[tuple[str, Content]] = [
    ("<content>words</content>", Content("words")),
    ("<content type='html'>&lt;p&gt;x&lt;/p&gt;</content>", Content("<p>x</p>", "html")),
    (f"<content type='xhtml'>{DIV}<p>x</p></div></content>", Content("<p>x</p>", "xhtml")),
    (f"<content type='xhtml'>{DIV}a<br/>b</div></content>", Content("a<br />b", "xhtml")),
    (f"<content type='xhtml'>{DIV}<a name='x'></a>b</div></content>",
     Content('<a name="x"></a>b', "xhtml")),
    (f"<content type='xhtml'>{DIV}a</div>{DIV}b</div></content>",
     Content("<div>a</div><div>b</div>", "xhtml")),
    ("<content type='xhtml'><h:div><h:p>x</h:p></h:div></content>", Content("<p>x</p>", "xhtml")),
    (f"<content type='xhtml'>{DIV}\u00e9 &#233;</div></content>",
     Content("\u00e9 \u00e9", "xhtml")),
    ("<content type='html'><p>not escaped</p></content>", Content("<p>not escaped</p>", "xhtml")),
    ("<content type='text/plain'>x</content>", Content("x")),
    ("<content type='application/octet-stream'>aGVsbG8=</content>",
     Content("hello", "application/octet-stream")),
    ("<content type='image/svg+xml'><svg xmlns='http://www.w3.org/2000/svg'><g/></svg></content>",
     Content("<svg><g></g></svg>", "image/svg+xml")),
    ("<content src='/x.html' type='text/html'/>",
     Content("", "html", "https://example.org/x.html")),
    ("<content type='html' xml:lang='de'>x</content>", Content("x", "html", None, "de")),
]  # fmt: skip


@pytest.mark.parametrize(("inner", "expected"), CONTENTS)
def test_content_in_all_its_types(inner: str, expected: Content) -> None:
    assert entry_of(inner).contents == (expected,)


PEOPLE: list[tuple[str, str, tuple[Person, ...]]] = [
    ("<author><name>N</name></author>", "authors", (Person("N"),)),
    ("<author><name>N</name><email>n@e.org</email><uri>https://e.org/n</uri></author>", "authors",
     (Person("N", "n@e.org", "https://e.org/n"),)),
    ("<author><name>N</name><uri>/n</uri></author>", "authors",
     (Person("N", None, "https://example.org/n"),)),
    ("<author><name>N</name><uri>javascript:x</uri></author>", "authors", (Person("N"),)),
    ("<author><name>A</name></author><author><name>B</name></author>", "authors",
     (Person("A"), Person("B"))),
    ("<author>N</author>", "authors", (Person("N"),)),
    ("<author><name/></author>", "authors", ()),
    ("<contributor><name>C</name></contributor>", "contributors", (Person("C"),)),
    ("<source><author><name>S</name></author></source>", "authors", (Person("S"),)),
    ("<author><name>N</name></author><source><author><name>S</name></author></source>", "authors",
     (Person("N"),)),
]  # fmt: skip


@pytest.mark.parametrize(("inner", "field", "expected"), PEOPLE)
def test_people(inner: str, field: str, expected: tuple[Person, ...]) -> None:
    assert getattr(entry_of(inner), field) == expected


FIELDS: list[tuple[str, str, Any]] = [
    ("<id>tag:e.org,2004:1</id>", "native_id", "tag:e.org,2004:1"),
    ("<id>https://e.org/1</id>", "link", "https://e.org/1"),
    ("<id>https://e.org/1</id><link href='https://e.org/l'/>", "link", "https://e.org/l"),
    ("<id>tag:e.org,1</id>", "link", None),
    ("<id>https://e.org/1</id>", "id_is_permalink", False),
    ("<link href='/a'/>", "link", "https://example.org/a"),
    ("<link href='/a' type='text/html'/>", "links",
     (Link("https://example.org/a", "alternate", "text/html"),)),
    ("<link rel='related' href='/a' title='T' length='7' hreflang='de'/>", "links",
     (Link("https://example.org/a", "related", None, "T", 7, "de"),)),
    ("<link href='/a' hreflang='de'/>", "links",
     (Link("https://example.org/a", hreflang="de"),)),
    ("<link rel='related' href='/a' length='7'/>", "links",
     (Link("https://example.org/a", "related", length=7),)),
    ("<link rel='RELATED' href='/a'/>", "links", (Link("https://example.org/a", "related"),)),
    ("<link rel='http://www.iana.org/assignments/relation/related' href='/a'/>", "links",
     (Link("https://example.org/a", "related"),)),
    ("<link rel='alternate' type='application/json' href='/j'/><link href='/h'/>", "link",
     "https://example.org/h"),
    ("<link href='/h'/><link rel='alternate' type='application/json' href='/j'/>", "link",
     "https://example.org/h"),
    ("<link rel='alternate' type='application/pdf' href='/p'/>", "link", "https://example.org/p"),
    ("<link rel='self' href='/s'/>", "link", None),
    ("<link rel='enclosure' href='/e.mp3' type='audio/mpeg' length='9' title='T'/>", "enclosures",
     (Enclosure("https://example.org/e.mp3", "audio/mpeg", 9, None, "T"),)),
    ("<link rel='enclosure' href='magnet:?xt=1'/>", "enclosures", (Enclosure("magnet:?xt=1"),)),
    ("<link href='magnet:?xt=1'/>", "links", ()),
    ("<link href='magnet:?xt=1'/>", "enclosures", (Enclosure("magnet:?xt=1"),)),
    ("<category term='t'/>", "categories", (Category("t"),)),
    ("<category term='t' scheme='s' label='l'/>", "categories", (Category("t", "s", "l"),)),
    ("<category label='l'/>", "categories", (Category("l", None, "l"),)),
    ("<category>text</category>", "categories", (Category("text"),)),
    ("<category/>", "categories", ()),
    ("<published>2003-12-31T10:14:55+01:00</published>", "published",
     datetime(2003, 12, 31, 9, 14, 55, tzinfo=UTC)),
    ("<updated>2003-12-31T10:14:55.25Z</updated>", "updated",
     datetime(2003, 12, 31, 10, 14, 55, 250000, tzinfo=UTC)),
    ("<rights>Mine</rights>", "rights", "Mine"),
    ("<rights type='html'>&amp;copy; me</rights>", "rights", "&copy; me"),
    ("<source><title>T</title><id>i</id><link href='https://s.org/'/></source>", "source",
     Source("T", "https://s.org/", "i")),
    ("<summary>s</summary>", "summary", Text("s")),
    ("<summary type='html'>&lt;i&gt;</summary>", "summary", Text("<i>", "html")),
]  # fmt: skip


@pytest.mark.parametrize(("inner", "field", "expected"), FIELDS)
def test_other_fields_of_an_entry(inner: str, field: str, expected: Any) -> None:
    assert getattr(entry_of(inner), field) == expected


OLD: list[tuple[str, str, Any]] = [
    ("<title mode='escaped' type='text/html'>&lt;b&gt;x&lt;/b&gt;</title>", "title",
     Text("<b>x</b>", "html")),
    ("<content type='text/html' mode='escaped'>&lt;b&gt;x&lt;/b&gt;</content>", "contents",
     (Content("<b>x</b>", "html"),)),
    ("<content type='text/html' mode='base64'>PGI+eDwvYj4=</content>", "contents",
     (Content("<b>x</b>", "html"),)),
    (f"<content type='application/xhtml+xml' mode='xml'>{DIV}x</div></content>", "contents",
     (Content("<div>x</div>", "xhtml"),)),
    ("<issued>2003-12-31T10:14:55Z</issued>", "published",
     datetime(2003, 12, 31, 10, 14, 55, tzinfo=UTC)),
    ("<modified>2003-12-31T10:14:55Z</modified>", "updated",
     datetime(2003, 12, 31, 10, 14, 55, tzinfo=UTC)),
    ("<content type='multipart/alternative'><content type='text/plain'>p</content>"
     "<content type='text/html' mode='escaped'>&lt;b&gt;x&lt;/b&gt;</content></content>",
     "contents", (Content("p"), Content("<b>x</b>", "html"))),
    ("<created>2003-12-31T10:14:55Z</created>", "created",
     datetime(2003, 12, 31, 10, 14, 55, tzinfo=UTC)),
    ("<author><name>N</name><url>https://e.org/</url></author>", "authors",
     (Person("N", None, "https://e.org/"),)),
]  # fmt: skip


@pytest.mark.parametrize(("inner", "field", "expected"), OLD)
def test_atom_03(inner: str, field: str, expected: Any) -> None:
    assert getattr(old_entry_of(inner), field) == expected


def test_an_entry_without_authors_has_the_feeds() -> None:
    body = (
        b"<feed xmlns='http://www.w3.org/2005/Atom'><author><name>F</name></author>"
        b"<entry><title>x</title></entry></feed>"
    )
    assert parse(body).entries[0].authors == (Person("F"),)


def test_the_language_of_an_entry_is_the_nearest_one() -> None:
    assert entry_of("<title>x</title>", "xml:lang='de'", "xml:lang='en'").language == "de"
    assert entry_of("<title>x</title>", "", "xml:lang='en_GB'").language == "en-GB"
    assert entry_of("<title>x</title>", "xml:lang=''", "xml:lang='en'").language is None


def test_a_lone_entry_is_a_feed_of_one() -> None:
    document = parse(b"<entry xmlns='http://www.w3.org/2005/Atom'><title>x</title></entry>")
    assert (document.format, len(document.entries)) == ("atom", 1)


KINDS: list[tuple[str, Text]] = [
    ("<title type='application/xml'>a &amp; b</title>", Text("a & b", "text")),
    ("<title type='application/xml'><b>a</b></title>", Text("<b>a</b>", "xhtml")),
    ("<title type='no such type'>a</title>", Text("a", "text")),
    ("<title type='text/html; charset=utf-8'>a</title>", Text("a", "html")),
]


@pytest.mark.parametrize(("given", "title"), KINDS)
def test_a_title_is_text_html_or_xhtml(given: str, title: Text) -> None:
    assert entry_of(given).title == title
    assert old_entry_of(given).title == title
    summary = given.replace("title", "summary")
    assert entry_of(summary).summary == title


def test_a_content_of_no_known_kind_is_text() -> None:
    assert entry_of("<content type='nonsense'>a</content>").contents == (Content("a", "text"),)
    assert entry_of("<content type='text/x-y'>a</content>").contents == (Content("a", "text/x-y"),)

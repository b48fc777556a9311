"""Relative references: resolved in links and in HTML, against the nearest base."""

import pytest

from headwater.parse import Entry, parse

HOME = "https://example.org/blog/feed.xml"


def entry_of(inner: str, feed: str = "", entry: str = "", url: str | None = HOME) -> Entry:
    body = f'<feed xmlns="http://www.w3.org/2005/Atom" {feed}><entry {entry}>{inner}</entry></feed>'
    return parse(body.encode(), url=url).entries[0]


BASES: list[tuple[str, str, str, str | None]] = [
    ("", "", "a", "https://example.org/blog/a"),
    ("xml:base='https://b.org/x/'", "", "a", "https://b.org/x/a"),
    ("xml:base='https://b.org/x/'", "xml:base='y/'", "a", "https://b.org/x/y/a"),
    ("xml:base='/x/'", "", "a", "https://example.org/x/a"),
    ("", "xml:base='../'", "a", "https://example.org/a"),
    ("xml:base='https://b.org/x/'", "xml:base=''", "a", "https://b.org/x/a"),
    ("xml:base='file:///etc/'", "", "passwd", "https://example.org/blog/passwd"),
    ("xml:base='javascript:'", "", "a", "https://example.org/blog/a"),
    ("xml:base='https://b.org/'", "", "https://c.org/a", "https://c.org/a"),
]


@pytest.mark.parametrize(("feed", "entry", "href", "expected"), BASES)
def test_the_nearest_base_counts(feed: str, entry: str, href: str, expected: str | None) -> None:
    assert entry_of(f"<link href='{href}'/>", feed, entry).link == expected


PLAIN: list[tuple[str, str, str]] = [
    # the address of the feed, the reference, what it means
    (HOME, "img/a.png", "https://example.org/blog/img/a.png"),
    (HOME, "a", "https://example.org/blog/a"),
    (HOME, "/a/b?c=d#e:f", "https://example.org/a/b?c=d#e:f"),
    (HOME, "p.html?c=d/e", "https://example.org/blog/p.html?c=d/e"),
    (HOME, "?p=3", "https://example.org/blog/feed.xml?p=3"),
    (HOME, "#s", "https://example.org/blog/feed.xml#s"),
    (HOME, "a/../b", "https://example.org/blog/b"),
    (HOME, "./a", "https://example.org/blog/a"),
    (HOME, "a/./b", "https://example.org/blog/a/b"),
    (HOME, "a//b", "https://example.org/blog/a//b"),
    (HOME, "//b.org/c", "https://b.org/c"),
    (HOME, "www.b.org/c", "https://example.org/blog/www.b.org/c"),
    (HOME, "http.html", "https://example.org/blog/http.html"),
    (HOME, "a b", "https://example.org/blog/a%20b"),
    ("https://example.org/f?at=/x/y", "a", "https://example.org/a"),
    ("https://example.org/f#/x/y", "a", "https://example.org/a"),
    ("https://example.org/x/../y/f", "a", "https://example.org/y/a"),
    ("https://example.org/%7Ea/f", "a", "https://example.org/%7Ea/a"),
    ("https://example.org/", "a", "https://example.org/a"),
    ("https://EXAMPLE.org/x/f", "a", "https://example.org/x/a"),
]


@pytest.mark.parametrize(("base", "given", "expected"), PLAIN)
def test_a_reference_means_the_same_in_a_link_and_in_html(
    base: str, given: str, expected: str
) -> None:
    assert entry_of(f"<link href='{given}'/>", url=base).link == expected
    content = entry_of(
        f"<content type='html'>&lt;a href='{given}'>b&lt;/a></content>", url=base
    ).content
    assert content is not None
    assert content.value == f'<a href="{expected}">b</a>'


def test_the_base_may_stand_on_the_link_itself() -> None:
    assert entry_of("<link xml:base='https://b.org/' href='a'/>").link == "https://b.org/a"


def test_the_base_may_stand_on_a_persons_page() -> None:
    person = "<name>N</name><uri xml:base='https://b.org/'>n</uri>"
    assert entry_of(f"<author>{person}</author>").authors[0].uri == "https://b.org/n"


INNER: list[tuple[str, str]] = [
    ("<p xml:base='https://b.org/x/'><a href='y'>z</a></p><a href='y'>z</a>",
     '<p xml:base="https://b.org/x/"><a href="https://b.org/x/y">z</a></p>'
     '<a href="https://example.org/blog/y">z</a>'),
    ("<a xml:base='https://b.org/x/' href='y'>z</a>",
     '<a xml:base="https://b.org/x/" href="https://b.org/x/y">z</a>'),
    ("<p xml:base='/u/'><img xml:base='v/' src='w.png' alt=''/></p>",
     '<p xml:base="/u/"><img xml:base="v/" src="https://example.org/u/v/w.png" alt="" /></p>'),
    ("<p xml:base='https://b.org/'><img srcset='a 1x, b 2x'/></p>",
     '<p xml:base="https://b.org/"><img srcset="https://b.org/a 1x, https://b.org/b 2x" /></p>'),
    ("<p xml:base='https://b.org/'><a href='mailto:A b'>z</a><a href=''>z</a></p>",
     '<p xml:base="https://b.org/"><a href="mailto:A b">z</a><a href="https://b.org/">z</a></p>'),
]  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), INNER)
def test_a_base_inside_xhtml_holds_for_what_is_below_it(given: str, expected: str) -> None:
    div = f'<div xmlns="http://www.w3.org/1999/xhtml">{given}</div>'
    content = entry_of(f"<content type='xhtml'>{div}</content>").content
    assert content is not None
    assert content.value == expected


def test_without_any_base_a_relative_link_is_nothing() -> None:
    entry = entry_of("<link href='a'/>", url=None)
    assert entry.link is None


HTML: list[tuple[str, str]] = [
    ('<a href="/x">x</a>', '<a href="https://example.org/x">x</a>'),
    ("<a href='/x'>x</a>", '<a href="https://example.org/x">x</a>'),
    ("<a href=/x>x</a>", '<a href="https://example.org/x">x</a>'),
    ('<a href="#f">x</a>', '<a href="https://example.org/blog/feed.xml#f">x</a>'),
    ('<a href="//c.org/x">x</a>', '<a href="https://c.org/x">x</a>'),
    ('<a class="c" href="x" id="i">x</a>',
     '<a class="c" href="https://example.org/blog/x" id="i">x</a>'),
    ('<A HREF="/x">x</A>', '<A HREF="https://example.org/x">x</A>'),
    ('<a Href="/x">x</a>', '<a Href="https://example.org/x">x</a>'),
    ('<img Src="/i.png">', '<img Src="https://example.org/i.png">'),
    ('<img src="i.png" alt="a"/>', '<img src="https://example.org/blog/i.png" alt="a"/>'),
    ('<IMG SRC="i.png">', '<IMG SRC="https://example.org/blog/i.png">'),
    ('<a href="?a=1&amp;b=2">x</a>',
     '<a href="https://example.org/blog/feed.xml?a=1&amp;b=2">x</a>'),
    # HTML, 13.2.5.73: what is followed by "=" or a letter is no reference in an attribute
    ('<a href="/x?a=1&section=2&copy=3">x</a>',
     '<a href="https://example.org/x?a=1&amp;section=2&amp;copy=3">x</a>'),
    ('<img srcset="/a?b=1&region=2 1x">',
     '<img srcset="https://example.org/a?b=1&amp;region=2 1x">'),
    ('<blockquote cite="/q">x</blockquote>',
     '<blockquote cite="https://example.org/q">x</blockquote>'),
    ('<video poster="/p.jpg"></video>', '<video poster="https://example.org/p.jpg"></video>'),
    ('<form action="/f"></form>', '<form action="https://example.org/f"></form>'),
    ('<a href="https://c.org/x">x</a>', '<a href="https://c.org/x">x</a>'),
    ('<a href="mailto:a@b.org">x</a>', '<a href="mailto:a@b.org">x</a>'),
    ('<a href="javascript:x()">x</a>', '<a href="javascript:x()">x</a>'),
    ('<img src="data:image/png;base64,AA"/>', '<img src="data:image/png;base64,AA"/>'),
    # RFC 3986 §5.2.2; an empty src means no picture, and many put the real one elsewhere
    ('<a href="">x</a>', '<a href="https://example.org/blog/feed.xml">x</a>'),
    ('<img src="" data-src="/i.png">', '<img src="" data-src="/i.png">'),
    ('<VIDEO POSTER="/p.jpg">', '<VIDEO POSTER="https://example.org/p.jpg">'),
    ('<Q Cite=/q>x</Q>', '<Q Cite="https://example.org/q">x</Q>'),
    ('<img alt = x\nsrc\n= "/i">', '<img alt = x\nsrc\n="https://example.org/i">'),
    ('<img srcset="/a.png 1x, b,c.png 2x ,d.png,">',
     '<img srcset="https://example.org/a.png 1x, https://example.org/blog/b,c.png 2x ,'
     'https://example.org/blog/d.png,">'),
    ('<img srcset = "/a.png, https://c.org/b.png 2x">',
     '<img srcset ="https://example.org/a.png, https://c.org/b.png 2x">'),
    ('<img srcset="/a?b=1&amp;c=2 1x">', '<img srcset="https://example.org/a?b=1&amp;c=2 1x">'),
    ('<img srcset="https://c.org/a 1x">', '<img srcset="https://c.org/a 1x">'),
    ('<img srcset=" , ">', '<img srcset=" , ">'),
    ('<img alt="a > b" src="/i.png">', '<img alt="a > b" src="https://example.org/i.png">'),
    ('<img alt="<b>c</b>" src="/i.png">',
     '<img alt="<b>c</b>" src="https://example.org/i.png">'),
    ("<p><a title='x>' href='/x'>y</a>", """<p><a title='x>' href="https://example.org/x">y</a>"""),
    ('<p>5 > 4, href="/x"</p>', '<p>5 > 4, href="/x"</p>'),
    ('<i>it\'s</i> an href="/x" too', '<i>it\'s</i> an href="/x" too'),
    ('write href="/x" in text', 'write href="/x" in text'),
    ('<p>if a < b, href="/x" > c</p>', '<p>if a < b, href="/x" > c</p>'),
    ('<img alt="a < b" src="/i.png">', '<img alt="a < b" src="https://example.org/i.png">'),
    ('<a title="<<< back" href="/x">y</a>',
     '<a title="<<< back" href="https://example.org/x">y</a>'),
    ('<img alt="1 < 2 < 3 < 4 < 5" src="/i.png">',
     '<img alt="1 < 2 < 3 < 4 < 5" src="https://example.org/i.png">'),
    ('<button formaction="/f">x</button>', '<button formaction="https://example.org/f">x</button>'),
    ('<a data-href="/x">x</a>', '<a data-href="/x">x</a>'),
    ('<a href="/x"><img src="/y"></a>',
     '<a href="https://example.org/x"><img src="https://example.org/y"></a>'),
]  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), HTML)
def test_relative_addresses_in_html_become_absolute(given: str, expected: str) -> None:
    content = entry_of(f"<content type='html'><![CDATA[{given}]]></content>").content
    assert content is not None
    assert content.value == expected


def test_a_reference_of_thousands_of_digits_stops_nothing() -> None:
    number = f"&#{'1' * 5000};"
    html = f'<a href="/x?a={number}">{number}</a>'
    content = entry_of(f"<content type='html'><![CDATA[{html}]]></content>").content
    assert content is not None
    assert content.value == f'<a href="https://example.org/x?a=%EF%BF%BD">{number}</a>'


def test_xhtml_is_resolved_too_and_text_is_not() -> None:
    div = '<div xmlns="http://www.w3.org/1999/xhtml"><a href="/x">x</a></div>'
    content = entry_of(f"<content type='xhtml'>{div}</content>").content
    assert content is not None
    assert content.value == '<a href="https://example.org/x">x</a>'
    plain = entry_of("<content type='text'>&lt;a href='/x'></content>").content
    assert plain is not None
    assert plain.value == "<a href='/x'>"


LARGE = (
    "href src HREF SRC Href Src srcset poster cite data action background longdesc usemap"
    " formaction".split()
)


@pytest.mark.parametrize("name", LARGE)
def test_a_large_document_is_resolved_as_a_small_one(name: str) -> None:
    words = "word " * 4_000
    content = entry_of(f"<content type='html'>{words}&lt;a {name}='/x'&gt;</content>").content
    assert content is not None
    assert content.value.endswith(f'<a {name}="https://example.org/x">')

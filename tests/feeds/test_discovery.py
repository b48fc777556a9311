"""What a page offers, and what a hostile page cannot make us do."""

import time

import pytest

from headwater.core.errors import BlockedAddress
from headwater.feeds.discovery import MIB, FeedLink, find_feed_links
from headwater.web.address_gate import AddressPolicy, check_url

PAGE = "https://example.org/blog/"
RSS = "application/rss+xml"


def urls(html: str, base: str = PAGE) -> list[str]:
    return [candidate.url for candidate in find_feed_links(html.encode(), base)]


def link(href: str, kind: str = RSS, rel: str = "alternate") -> str:
    return f'<link rel="{rel}" type="{kind}" href="{href}">'


def test_a_page_offers_its_feeds_in_order_each_once() -> None:
    html = b"""<!doctype html><html><head><title>x</title>
      <link rel="stylesheet" href="/style.css">
      <link rel="alternate" type="application/rss+xml" title="All &amp; more
        posts" href="/feed.xml">
      <LINK REL='ALTERNATE' TYPE='Application/Atom+XML; charset=utf-8' HREF='atom'/>
      <link href=/feed.json type=application/feed+json rel=alternate>
      <link rel="alternate" type="application/rss+xml" href="https://example.org/feed.xml">
    </head></html>"""
    assert find_feed_links(html, PAGE) == (
        FeedLink("https://example.org/feed.xml", "All & more posts", "application/rss+xml"),
        FeedLink("https://example.org/blog/atom", None, "application/atom+xml"),
        FeedLink("https://example.org/feed.json", None, "application/feed+json"),
    )


@pytest.mark.parametrize(
    "tag",
    [
        link("/feed", rel="stylesheet"),
        link("/feed", kind="text/html"),
        link("/feed", kind=""),
        '<a rel="alternate" type="application/rss+xml" href="/feed">',
        '<link rel="alternate" type="application/rss+xml">',
        '<linked rel="alternate" type="application/rss+xml" href="/feed">',
        f"<!-- {link('/feed')} -->",
        f"<script>var x = '{link('/feed')}'</script>",
        f"<style>{link('/feed')}</style>",
        f"<textarea>{link('/feed')}</textarea>",
        '<meta http-equiv="refresh" content="0; url=/feed">',
    ],
)
def test_only_alternate_links_of_feed_types_are_offered(tag: str) -> None:
    assert urls(tag) == []


def test_json_counts_only_when_it_says_that_it_is_a_feed() -> None:
    kind = "application/json"
    assert urls(link("/feed.json", kind)) == ["https://example.org/feed.json"]
    assert urls(link("/wp-json/wp/v2/pages/2", kind)) == []


@pytest.mark.parametrize(
    ("href", "base", "found"),
    [
        ("/x", "https://cdn.example/a/", "https://cdn.example/x"),
        ("x", "../b/", "https://example.org/b/x"),
        ("x", "file:///etc/", "https://example.org/blog/x"),
        ("x", "javascript:alert(1)", "https://example.org/blog/x"),
    ],
)
def test_a_base_counts_when_it_is_http(href: str, base: str, found: str) -> None:
    assert urls(f'<base href="{base}">{link(href)}') == [found]


def test_only_the_first_base_counts() -> None:
    html = f'<base target=x><base href="/a/"><base href="/b/">{link("x")}'
    assert urls(html) == ["https://example.org/a/x"]


@pytest.mark.parametrize(
    "href", ["file:///etc/passwd", "javascript:alert(1)", "ftp://e.org/", "data:,x", "http://[", ""]
)
def test_what_is_not_http_is_not_offered(href: str) -> None:
    assert urls(link(href)) == []


def test_a_candidate_at_a_private_address_is_refused_by_the_gate() -> None:
    (candidate,) = find_feed_links(link("http://169.254.169.254/feed").encode(), PAGE)
    with pytest.raises(BlockedAddress):
        check_url(candidate.url, AddressPolicy())


def test_a_page_in_another_encoding_still_offers_its_feed() -> None:
    html = '<link rel=alternate type=application/rss+xml title="Caf\xe9" href=/f>'.encode("latin-1")
    assert find_feed_links(html, PAGE) == (FeedLink("https://example.org/f", "Café", RSS),)


NEWS = '<link rel=alternate type=application/rss+xml title="Новости" href="/новости/">'
OFFERED = FeedLink(
    "https://example.org/%D0%BD%D0%BE%D0%B2%D0%BE%D1%81%D1%82%D0%B8/", "Новости", RSS
)


@pytest.mark.parametrize(
    ("html", "content_type"),
    [
        (f"<meta charset=windows-1251>{NEWS}".encode("cp1251"), "text/html"),
        (NEWS.encode("cp1251"), 'text/html; charset="Windows-1251"'),
        (
            f'<meta http-equiv=Content-Type content="text/html; charset=koi8-r">{NEWS}'.encode(
                "koi8-r"
            ),
            None,
        ),
        (f"<meta charset=iso-8859-1>{NEWS}".encode(), None),
        (NEWS.encode("utf-16"), None),
    ],
)
def test_a_pages_letters_are_those_of_its_charset(html: bytes, content_type: str | None) -> None:
    assert find_feed_links(html, PAGE, content_type) == (OFFERED,)


def test_half_a_letter_spoils_no_address() -> None:
    """Where somebody cut an excerpt, or where our own scan ends."""
    half = "д".encode()[:1]
    assert find_feed_links(half + b"</p>" + NEWS.encode(), PAGE) == (OFFERED,)
    assert find_feed_links(NEWS.encode() + half, PAGE, scan_bytes=len(NEWS.encode()) + 1) == (
        OFFERED,
    )


def test_the_fields_of_a_query_are_no_letters() -> None:
    """`&sect` alone would be a §."""
    assert urls(link("/feed?format=rss&section=news&amp;region=eu")) == [
        "https://example.org/feed?format=rss&section=news&region=eu"
    ]


def test_a_reference_of_thousands_of_digits_stops_nothing() -> None:
    title = f'title="a &#{"1" * 5000};"'
    html = f"<link rel=alternate type=application/rss+xml href=/f {title}>"
    assert find_feed_links(html.encode(), PAGE) == (
        FeedLink("https://example.org/f", "a \ufffd", RSS),
    )


def test_a_feed_scheme_means_http() -> None:
    assert urls(link("feed://a.example/x") + link(" feed:https://a.example/y")) == [
        "http://a.example/x",
        "https://a.example/y",
    ]
    assert urls(link("feed:file:///etc/passwd")) == []


def test_no_more_than_twenty_are_offered() -> None:
    html = "".join(link(f"/{number}") for number in range(100_000))
    assert urls(html) == [f"https://example.org/{number}" for number in range(20)]


def test_nothing_is_read_beyond_the_scan() -> None:
    assert find_feed_links(b" " * MIB + link("/x").encode(), PAGE) == ()
    assert len(find_feed_links(b" " * 100 + link("/x").encode(), PAGE, scan_bytes=99)) == 0


@pytest.mark.parametrize(
    "pattern",
    [
        "<div>",
        "<b><p>",
        "<link ",
        '<link a="',
        "<link a='b",
        "<link rel=alternate type=application/rss+xml href=/same>",
        "<!--",
        "<script>",
        "<script></script>",
        "<title>",
        "<",
        "<base href=/x>",
        "<link " + "/" * 1000,
        "<link " + "a " * 1000,
    ],
)
def test_hostile_html_takes_no_time(pattern: str) -> None:
    html = (pattern * (MIB // len(pattern) + 1)).encode()
    started = time.thread_time()
    find_feed_links(html, PAGE)
    assert time.thread_time() - started < 1.0


def test_a_hostile_charset_takes_no_time() -> None:
    started = time.thread_time()
    find_feed_links(b"<html>", PAGE, "text/html; charset=" + " " * 60_000 + "!")
    assert time.thread_time() - started < 1.0

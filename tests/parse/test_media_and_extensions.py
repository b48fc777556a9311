"""Media, podcasts, and what has no field of its own."""

from datetime import UTC, datetime
from typing import Any

import pytest

from headwater.parse import Content, Enclosure, Entry, Text, parse

MEDIA = "http://search.yahoo.com/mrss/"
ITUNES = "http://www.itunes.com/dtds/podcast-1.0.dtd"
NYAA = "https://nyaa.si/xmlns/nyaa"
TORZNAB = "http://torznab.com/schemas/2015/feed"
MIKAN = "https://mikanani.me/0.1/"
NAMESPACES = (
    f'xmlns:media="{MEDIA}" xmlns:itunes="{ITUNES}" xmlns:nyaa="{NYAA}" xmlns:torznab="{TORZNAB}" '
    'xmlns:podcast="https://podcastindex.org/namespace/1.0" '
    'xmlns:slash="http://purl.org/rss/1.0/modules/slash/" '
    'xmlns:thr="http://purl.org/syndication/thread/1.0" '
    'xmlns:wfw="http://wellformedweb.org/CommentAPI/" '
    'xmlns:georss="http://www.georss.org/georss" '
    'xmlns:feedburner="http://rssnamespace.org/feedburner/ext/1.0" '
    'xmlns:enc="http://purl.oclc.org/net/rss_2.0/enc#" '
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:own="https://example.org/ns"'
)


def entry_of(item: str) -> Entry:
    body = f"<rss {NAMESPACES}><channel><item>{item}</item></channel></rss>"
    return parse(body.encode(), url="https://example.org/feed").entries[0]


FILES: list[tuple[str, tuple[Enclosure, ...]]] = [
    ("<media:content url='https://e.org/v.mp4' type='video/mp4' fileSize='9' duration='61' "
     "medium='video'/>",
     (Enclosure("https://e.org/v.mp4", "video/mp4", 9, 61, None, "video"),)),
    ("<media:content url='/v.mp4'><media:title>T</media:title></media:content>",
     (Enclosure("https://example.org/v.mp4", None, None, None, "T"),)),
    ("<media:group><media:content url='https://e.org/a'/><media:content url='https://e.org/b'/>"
     "</media:group>",
     (Enclosure("https://e.org/a"), Enclosure("https://e.org/b"))),
    ("<media:content medium='image'/>", ()),
    ("<media:content url='javascript:x'/>", ()),
    ("<enclosure url='https://e.org/a' type='audio/mpeg'/>"
     "<media:content url='https://e.org/a' duration='5'/>",
     (Enclosure("https://e.org/a", "audio/mpeg", None, 5),)),
    ("<enclosure url='https://e.org/a'/><itunes:duration>1:02:03</itunes:duration>",
     (Enclosure("https://e.org/a", None, None, 3723),)),
    ("<itunes:duration>62:03</itunes:duration><enclosure url='https://e.org/a'/>",
     (Enclosure("https://e.org/a", None, None, 3723),)),
    ("<enclosure url='https://e.org/a'/><itunes:duration>about an hour</itunes:duration>",
     (Enclosure("https://e.org/a"),)),
    ("<podcast:alternateEnclosure type='audio/opus' length='7' title='O'>"
     "<podcast:source uri='https://e.org/o'/></podcast:alternateEnclosure>",
     (Enclosure("https://e.org/o", "audio/opus", 7, None, "O"),)),
    ("<enc:enclosure rdf:resource='https://e.org/a' enc:type='audio/mpeg' enc:length='7'/>",
     (Enclosure("https://e.org/a", "audio/mpeg", 7),)),
    ("<enc:enclosure resource='https://e.org/a' type='image/jpeg'/>",
     (Enclosure("https://e.org/a", "image/jpeg"),)),
    ("<enclosure URL='https://e.org/a' LENGTH='7'/>", (Enclosure("https://e.org/a", None, 7),)),
]  # fmt: skip


@pytest.mark.parametrize(("item", "expected"), FILES)
def test_files(item: str, expected: tuple[Enclosure, ...]) -> None:
    assert entry_of(item).enclosures == expected


THUMBNAILS: list[tuple[str, tuple[str, ...]]] = [
    ("<media:thumbnail url='https://e.org/t.png'/>", ("https://e.org/t.png",)),
    ("<media:thumbnail>https://e.org/t.png</media:thumbnail>", ("https://e.org/t.png",)),
    ("<media:thumbnail url='data:image/png;base64,x'/>", ()),
    ("<media:content url='https://e.org/v'><media:thumbnail url='/t.png'/></media:content>",
     ("https://example.org/t.png",)),
    ("<itunes:image href='https://e.org/i.png'/>", ("https://e.org/i.png",)),
    ("<image><url>https://e.org/i.png</url></image>", ("https://e.org/i.png",)),
]  # fmt: skip


@pytest.mark.parametrize(("item", "expected"), THUMBNAILS)
def test_thumbnails(item: str, expected: tuple[str, ...]) -> None:
    assert entry_of(item).thumbnails == expected


def test_a_media_title_and_description_stand_in_for_missing_ones() -> None:
    entry = entry_of(
        "<media:group><media:title>T</media:title><media:description>D</media:description>"
        "</media:group>"
    )
    assert (entry.title, entry.summary) == (Text("T"), Text("D"))


def test_what_is_said_of_a_picture_is_not_the_post() -> None:
    """Mastodon's alt text, a newspaper's caption: before or after the description."""
    picture = (
        "<media:content url='https://e.org/1.png' medium='image'>"
        "<media:description type='plain'>A cat</media:description></media:content>"
    )
    toot = "<description>&lt;p&gt;Look!&lt;/p&gt;</description>"
    for item in (toot + picture, picture + toot):
        entry = entry_of(item)
        assert (entry.summary, entry.contents) == (Text("<p>Look!</p>", "html"), ())
        assert entry.extensions == {"http://search.yahoo.com/mrss/": {"description": ("A cat",)}}


def test_a_media_description_is_plain_text_unless_it_says_or_looks_otherwise() -> None:
    """Media RSS: the type's default is plain. YouTube writes lines, and hearts as <3."""
    said = "<media:description{}>{}</media:description>"
    assert entry_of(said.format("", "a &lt;3 b\nc")).summary == Text("a <3 b\nc")
    assert entry_of(said.format(" type='html'", "a&lt;br&gt;b")).summary == Text("a<br>b", "html")
    assert entry_of(said.format("", "&lt;p&gt;a&lt;/p&gt;")).summary == Text("<p>a</p>", "html")


def test_a_reference_of_thousands_of_digits_is_compared_too() -> None:
    notes = f"&lt;p>&amp;#{'1' * 5000};&lt;/p>"
    entry = entry_of(f"<description>{notes}</description><itunes:summary>D</itunes:summary>")
    assert [each.value for each in entry.contents] == ["D"]


def test_a_summary_said_again_without_its_markup_is_no_body() -> None:
    notes = (
        "&lt;p&gt;With &lt;a href='/x'&gt;Ann&lt;/a&gt;&lt;/p&gt;&lt;p&gt;&amp;amp; Bo&lt;/p&gt;"
    )
    again = entry_of(
        f"<description>{notes}</description><itunes:summary>With Ann\n&amp; Bo</itunes:summary>"
    )
    assert (again.contents, again.summary and again.summary.type) == ((), "html")
    same = entry_of("<description>D</description><itunes:summary>D</itunes:summary>")
    assert (same.summary, same.contents) == (Text("D", "html"), ())


@pytest.mark.parametrize(
    ("notes", "words"),
    [
        ("&lt;p>&lt;b>W&lt;/b>ith Ann&lt;/p>", "With Ann"),
        ("&lt;p>&amp;#87;ith Ann&lt;/p>", "With Ann"),
        ("\u00a0&lt;br>With Ann", "With  Ann"),
        ("&lt;p>WithAnn&lt;/p>", "With Ann"),
        ("&lt;p>1 &lt; 2&lt;/p>", "1 &lt; 2"),
    ],
)
def test_however_the_first_word_is_written_it_is_the_same(notes: str, words: str) -> None:
    given = f"<description>{notes}</description><itunes:summary>{words}</itunes:summary>"
    assert entry_of(given).contents == ()


def test_a_second_summary_with_words_of_its_own_is_the_body() -> None:
    for more in ("D, and more", "E"):
        entry = entry_of(f"<description>D</description><itunes:summary>{more}</itunes:summary>")
        assert (entry.summary, entry.contents) == (Text("D", "html"), (Content(more),))


EXTENSIONS: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("<slash:comments>3</slash:comments>", "http://purl.org/rss/1.0/modules/slash/", "comments",
     ("3",)),
    ("<thr:total>3</thr:total>", "http://purl.org/syndication/thread/1.0", "total", ("3",)),
    ("<wfw:commentRss>https://e.org/c</wfw:commentRss>", "http://wellformedweb.org/CommentAPI/",
     "commentRss", ("https://e.org/c",)),
    ("<feedburner:origLink>https://e.org/o</feedburner:origLink>",
     "http://rssnamespace.org/feedburner/ext/1.0", "origLink", ("https://e.org/o",)),
    ("<georss:point>45.2 -71.9</georss:point>", "http://www.georss.org/georss", "point",
     ("45.2 -71.9",)),
    ("<itunes:episode>7</itunes:episode>", ITUNES, "episode", ("7",)),
    ("<itunes:duration>61</itunes:duration>", ITUNES, "duration", ("61",)),
    ("<nyaa:infoHash>ab12</nyaa:infoHash><nyaa:seeders>5</nyaa:seeders>", NYAA, "infoHash",
     ("ab12",)),
    ("<torznab:attr name='seeders' value='5'/>", TORZNAB, "seeders", ("5",)),
    ("<torznab:attr name='category' value='1'/><torznab:attr name='category' value='2'/>", TORZNAB,
     "category", ("1", "2")),
    (f"<torrent xmlns='{MIKAN}'><contentLength>9</contentLength></torrent>", MIKAN,
     "contentLength", ("9",)),
    ("<own:thing kind='x'>y</own:thing>", "https://example.org/ns", "thing@kind", ("x",)),
    ("<own:thing kind='x'>y</own:thing>", "https://example.org/ns", "thing", ("y",)),
    ("<rating>good</rating>", "", "rating", ("good",)),
]  # fmt: skip


@pytest.mark.parametrize(("item", "uri", "name", "expected"), EXTENSIONS)
def test_what_has_no_field_is_kept_by_namespace(
    item: str, uri: str, name: str, expected: tuple[str, ...]
) -> None:
    assert entry_of(item).extensions[uri][name] == expected


ZONES: list[tuple[str, datetime]] = [
    ("2024-09-12T17:30:00", datetime(2024, 9, 12, 9, 30, tzinfo=UTC)),
    ("2024-09-12T17:30:00.123", datetime(2024, 9, 12, 9, 30, 0, 123000, tzinfo=UTC)),
    ("2024-09-12T17:30:00Z", datetime(2024, 9, 12, 17, 30, tzinfo=UTC)),
]


@pytest.mark.parametrize(("raw", "expected"), ZONES)
def test_mikans_dates_without_a_zone_are_chinas(raw: str, expected: datetime) -> None:
    entry = entry_of(f"<torrent xmlns='{MIKAN}'><pubDate>{raw}</pubDate></torrent>")
    assert entry.published == expected


PREFIXES: list[tuple[str, str, Any]] = [
    ("<m:thumbnail xmlns:m='http://search.yahoo.com/mrss' url='https://e.org/t'/>", "thumbnails",
     ("https://e.org/t",)),
    ("<m:thumbnail xmlns:m='http://www.rssboard.org/media-rss' url='https://e.org/t'/>",
     "thumbnails", ("https://e.org/t",)),
    ("<m:thumbnail xmlns:m='https://search.yahoo.com/mrss/' url='https://e.org/t'/>",
     "thumbnails", ("https://e.org/t",)),
    ("<t:title xmlns:t='http://purl.org/dc/elements/1.1/'>T</t:title>", "title", Text("T")),
    ("<t:title xmlns:t='https://purl.org/dc/elements/1.1/'>T</t:title>", "title", Text("T")),
    ("<c:encoded xmlns:c='https://purl.org/rss/1.0/modules/content'>C</c:encoded>",
     "content.value", "C"),
    ("<t:title xmlns:t=' http://purl.org/dc/elements/1.1/ '>T</t:title>", "title", Text("T")),
    ("<i:title xmlns:i='http://itunes.com/dtds/podcast-1.0.dtd'>T</i:title>", "title", Text("T")),
    ("<t:attr xmlns:t='https://torznab.com/schemas/2015/feed/' name='size' value='5'/>",
     "extensions", {"https://torznab.com/schemas/2015/feed/": {"size": ("5",)}}),
    ("<c:encoded xmlns:c='HTTP://PURL.ORG/RSS/1.0/MODULES/CONTENT/'>C</c:encoded>",
     "content.value", "C"),
    ("<media:title xmlns:media='https://not.media.example/'>T</media:title>", "title", None),
]  # fmt: skip


@pytest.mark.parametrize(("item", "path", "expected"), PREFIXES)
def test_namespaces_count_by_uri_and_not_by_prefix(item: str, path: str, expected: Any) -> None:
    found: Any = entry_of(item)
    for name in path.split("."):
        found = getattr(found, name)
    assert found == expected


ORDERS: list[tuple[str, str, tuple[str, ...]]] = [
    ("idc", "D", ("C",)), ("icd", "D", ("C",)), ("cid", "D", ("C",)), ("dic", "D", ("C",)),
    ("adc", "D", ("C",)), ("aac", "A", ("C",)), ("iac", "S", ("C",)), ("tdc", "D", ("C",)),
    ("ic", "S", ("C",)), ("id", "S", ("D",)), ("di", "D", ("S",)), ("iedc", "D", ("C",)),
    ("edac", "D", ("C",)), ("idac", "D", ("C",)),
]  # fmt: skip
"""Which elements in which order; the summary, the bodies."""


@pytest.mark.parametrize(("order", "summary", "bodies"), ORDERS)
def test_a_modules_summary_does_not_push_out_the_description(
    order: str, summary: str, bodies: tuple[str, ...]
) -> None:
    written = {
        "i": "<itunes:summary>S</itunes:summary>",
        "e": "<itunes:summary/>",
        "d": "<description>D</description>",
        "a": "<dc:description>A</dc:description>",
        "t": "<dcterms:abstract>T</dcterms:abstract>",
        "c": "<content:encoded>C</content:encoded>",
    }
    entry = entry_of("".join(written[letter] for letter in order))
    assert entry.summary is not None
    assert (entry.summary.value, tuple(one.value for one in entry.contents)) == (summary, bodies)


SPELLINGS: list[tuple[str, str, str]] = [
    ("georss", "https://georss.org/georss/", "http://www.georss.org/georss"),
    ("thr", "http://purl.org/syndication/thread/1.0/", "http://purl.org/syndication/thread/1.0"),
    ("slash", "http://purl.org/rss/1.0/modules/slash", "http://purl.org/rss/1.0/modules/slash/"),
    ("wfw", "http://wellformedweb.org/commentapi", "http://wellformedweb.org/CommentAPI/"),
    ("media", "http://www.rssboard.org/media-rss", "http://search.yahoo.com/mrss/"),
    ("itunes", "http://www.itunes.com/DTDs/Podcast-1.0.dtd", ITUNES),
    ("x", "http://purl.org/dc/elements/1.0/", "http://purl.org/dc/elements/1.1/"),
    ("thr", "http://purl.org/rss/1.0/modules/threading/",
     "http://purl.org/rss/1.0/modules/threading/"),
    ("mine", "https://made.up/", "https://made.up/"),
]  # fmt: skip


@pytest.mark.parametrize(("prefix", "uri", "usual"), SPELLINGS)
def test_extensions_of_a_usual_vocabulary_stand_under_its_own_uri(
    prefix: str, uri: str, usual: str
) -> None:
    entry = entry_of(f"<{prefix}:thing xmlns:{prefix}='{uri}' kind='k'>1</{prefix}:thing>")
    assert entry.extensions == {usual: {"thing": ("1",), "thing@kind": ("k",)}}


@pytest.mark.parametrize(
    ("prefix", "usual"),
    [
        ("georss", "http://www.georss.org/georss"),
        ("GeoRSS", "http://www.georss.org/georss"),
        ("wfw", "http://wellformedweb.org/CommentAPI/"),
        ("mine", "mine"),
    ],
)
def test_so_do_those_whose_prefix_was_not_declared(prefix: str, usual: str) -> None:
    body = f"<rss version='2.0'><channel><item><{prefix}:a>1</{prefix}:a></item></channel></rss>"
    assert parse(body.encode()).entries[0].extensions == {usual: {"a": ("1",)}}


def test_how_many_replies_stand_behind_a_link_is_kept() -> None:
    thread = "http://purl.org/syndication/thread/1.0"
    entry = entry_of(
        f"<a:link xmlns:a='http://www.w3.org/2005/Atom' xmlns:t='{thread}' rel='replies'"
        " href='https://e.org/c' t:count=' 7 ' t:updated='2024-01-02T03:04:05Z'/>"
    )
    assert entry.extensions == {
        thread: {"link@count": ("7",), "link@updated": ("2024-01-02T03:04:05Z",)}
    }
    assert [(one.rel, one.href) for one in entry.links] == [("replies", "https://e.org/c")]

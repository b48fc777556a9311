"""Forms that specifications allow and few feeds use."""

from base64 import b64encode
from datetime import UTC, datetime

import pytest

from headwater.parse import (
    Category,
    Cloud,
    Content,
    Document,
    Entry,
    Person,
    Text,
    parse,
    parse_fragment,
)

NAMESPACES = (
    'xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:dcterms="http://purl.org/dc/terms/" '
    'xmlns:foaf="http://xmlns.com/foaf/0.1/" '
    'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" '
    'xmlns:media="http://search.yahoo.com/mrss/" '
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
)
RDF = "xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'"
HOME = "https://example.org/blog/feed.xml"
DAY = datetime(2004, 1, 1, tzinfo=UTC)


def rss(channel: str = "", item: str = "") -> Document:
    body = f"<rss {NAMESPACES}><channel>{channel}<item>{item}</item></channel></rss>"
    return parse(body.encode(), url=HOME)


def entry_of(item: str) -> Entry:
    return rss(item=item).entries[0]


TITLES = [
    ("<media:title>M</media:title><dc:title>D</dc:title>", "D"),
    ("<itunes:title>I</itunes:title><dc:title>D</dc:title>", "D"),
    ("<dc:title>D</dc:title><media:title>M</media:title>", "D"),
    ("<media:title>M</media:title><dc:title>D</dc:title><title>T</title>", "T"),
    ("<media:title>M</media:title><itunes:title>I</itunes:title>", "M"),
]
FILE = "<media:content url='https://example.org/a.mp3'><media:title>F</media:title></media:content>"


@pytest.mark.parametrize(("said", "expected"), TITLES)
def test_dublin_cores_title_stands_before_that_of_a_file(said: str, expected: str) -> None:
    document = rss(said, said)
    assert (document.feed.title, document.entries[0].title) == (Text(expected), Text(expected))


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (FILE, "F"),
        (f"{FILE}<media:title>M</media:title>", "M"),
        (f"<title>T</title>{FILE}", "T"),
        (f"{FILE}<title>T</title>", "T"),
        (FILE + FILE.replace("F<", "G<"), "F"),
    ],
)
def test_a_files_title_stands_in_for_that_of_an_entry(item: str, expected: str) -> None:
    entry = entry_of(item)
    assert (entry.title, entry.enclosures[0].title) == (Text(expected), "F")


WRAPPED = [
    ("<rdf:Description><rdf:value>Jane</rdf:value></rdf:Description>", Person("Jane")),
    ("<foaf:Person><foaf:name>Jane</foaf:name><foaf:nick>j</foaf:nick></foaf:Person>",
     Person("Jane")),
    ("<foaf:Person><foaf:name>Jane</foaf:name><foaf:homepage>/j</foaf:homepage></foaf:Person>",
     Person("Jane", None, "https://example.org/j")),
    ("<a href='/j'>Jane Doe</a>", Person("Jane Doe")),
    ("<b>Jane</b> Doe", Person("Jane Doe")),
]  # fmt: skip


@pytest.mark.parametrize("element", ["dc:creator", "author"])
@pytest.mark.parametrize(("inside", "expected"), WRAPPED)
def test_a_person_in_an_element_of_its_own(element: str, inside: str, expected: Person) -> None:
    assert entry_of(f"<{element}>{inside}</{element}>").authors == (expected,)


def test_people_beside_the_same_markup_are_not_the_same() -> None:
    items = "<item><author>Jane<br/></author></item><item><author>Joe<br/></author></item>"
    jane, joe = parse(f"<rss><channel>{items}</channel></rss>".encode()).entries
    assert (jane.authors, joe.authors) == ((Person("Jane"),), (Person("Joe"),))


BRACKETS = [
    ("Jane (Reuters) j@e.org", "Jane (Reuters)"),
    ("j@e.org (Jane (Reuters))", "Jane (Reuters)"),
    ("j@e.org (Jane", "Jane"),
    ("j@e.org Jane)", "Jane"),
]


@pytest.mark.parametrize(("text", "name"), BRACKETS)
def test_only_brackets_around_a_name_go(text: str, name: str) -> None:
    assert entry_of(f"<author>{text}</author>").authors == (Person(name, "j@e.org"),)


def test_a_period_ends() -> None:
    period = "start=2003-01-01; end=2004-01-01; scheme=W3C-DTF"
    entry = entry_of(f"<dcterms:valid>{period}</dcterms:valid>")
    assert (entry.expired, entry.raw_dates) == (DAY, {"expired": "2004-01-01"})
    assert entry.extensions == {"http://purl.org/dc/terms/": {"valid": (period,)}}
    assert entry_of("<dcterms:valid>start=2003-01-01</dcterms:valid>").expired is None
    own = f"<expirationDate>{DAY:%Y-%m-%d}</expirationDate>"
    valid = "<dcterms:valid>end=2003-01-01</dcterms:valid>"
    for entry in (entry_of(own + valid), entry_of(valid + own)):
        assert (entry.expired, entry.raw_dates) == (DAY, {"expired": "2004-01-01"})
    assert entry_of("<dcterms:valid>end=</dcterms:valid>").raw_dates == {}


def test_a_date_without_more_words() -> None:
    document = rss("<date>2004-01-01</date>", "<date>2004-01-01</date>")
    assert (document.feed.updated, document.entries[0].updated) == (DAY, DAY)


PERMALINKS = [
    ('<guid isPermaLink="true">2004/one</guid>', True, "https://example.org/blog/2004/one"),
    ('<guid isPermaLink="true">one</guid>', False, None),
    ('<guid isPermaLink="true">urn:2004/one</guid>', False, None),
    ('<guid isPermaLink="true">one / two</guid>', False, None),
    ("<guid>2004/one</guid>", False, None),
    ('<guid lang="en">2004/one</guid>', False, None),
]


@pytest.mark.parametrize(("guid", "is_permalink", "link"), PERMALINKS)
def test_a_path_that_is_said_to_be_a_permalink(
    guid: str, is_permalink: bool, link: str | None
) -> None:
    entry = entry_of(guid)
    assert (entry.id_is_permalink, entry.link) == (is_permalink, link)


def test_a_thumbnail_stands_in_for_the_image_of_a_feed() -> None:
    thumbnail = '<media:thumbnail url="/t.png"/>'
    assert rss(thumbnail).feed.image == "https://example.org/t.png"
    image = "<image><url>/i.png</url></image>"
    assert rss(thumbnail + image).feed.image == "https://example.org/i.png"


def test_links_in_base64_are_resolved() -> None:
    hidden = b64encode(b' <a href="/r">x</a>\n').decode()
    feed = (
        '<feed version="0.3" xmlns="http://purl.org/atom/ns#"><entry>'
        f'<title type="text/html" mode="base64">{hidden}</title>'
        f'<content type="text/plain" mode="base64">{hidden}</content></entry></feed>'
    )
    (entry,) = parse(feed.encode(), url=HOME).entries
    assert entry.title == Text('<a href="https://example.org/r">x</a>', "html")
    assert entry.contents[0].value == '<a href="/r">x</a>'


def test_the_header_names_the_language_of_what_does_not() -> None:
    body = (
        b'<feed xmlns="http://www.w3.org/2005/Atom"><entry><content>x</content></entry>'
        b'<entry xml:lang="de"><content>x</content></entry>'
        b'<entry xml:lang=""><content>x</content></entry></feed>'
    )
    headers = {"Content-Language": "fr"}
    document = parse(body, url=HOME, headers=headers)
    assert [entry.language for entry in document.entries] == ["fr", "de", None]
    assert [entry.contents[0].language for entry in document.entries] == ["fr", "de", None]
    for entry in document.entries:
        assert entry.fragment is not None
        assert parse_fragment(body, entry.fragment, url=HOME, headers=headers) == entry


VERSIONS = [
    (f"<rdf:RDF {RDF} xmlns='http://purl.org/rss/1.0/'/>", "rss", "1.0"),
    (f"<rdf:RDF {RDF} xmlns='http://my.netscape.com/rdf/simple/0.9/'/>", "rss", "0.90"),
    (f"<rdf:RDF {RDF} xmlns='http://xmlns.com/foaf/0.1/'/>", "unknown", ""),
    ("<CHANNEL><TITLE>T</TITLE></CHANNEL>", "rss", "2.0"),
    ("<CHANNEL><ABSTRACT>T</ABSTRACT></CHANNEL>", "rss", "2.0"),
    ("<channel><name>T</name></channel>", "unknown", ""),
]


@pytest.mark.parametrize(("body", "format_", "version"), VERSIONS)
def test_feeds_without_entries(body: str, format_: str, version: str) -> None:
    document = parse(body.encode())
    assert (document.format, document.version) == (format_, version)


def test_rss_1_1() -> None:
    body = (
        f"<Channel xmlns='http://purl.org/net/rss1.1#' {RDF}><title>T</title>"
        "<link>https://example.org/</link><items rdf:parseType='Collection'>"
        "<item rdf:about='/1'><title>I</title><link>/1</link></item></items></Channel>"
    ).encode()
    document = parse(body, url=HOME)
    (entry,) = document.entries
    assert (document.version, document.feed.title) == ("1.1", Text("T"))
    assert (entry.title, entry.link) == (Text("I"), "https://example.org/1")
    assert entry.fragment is not None
    assert parse_fragment(body, entry.fragment, url=HOME) == entry


@pytest.mark.parametrize(
    ("guid", "link"),
    [
        ("<guid>http://example.org/</guid>", "http://example.org/"),
        ("<guid isPermaLink='true'>http://example.org/</guid>", "http://example.org/"),
        ("<guid isPermaLink='false'>http://example.org/</guid>", None),
        ("<guid>http://example.org/</guid><link>http://other.org/</link>", "http://other.org/"),
        ("<link>http://other.org/</link><guid>http://example.org/</guid>", "http://other.org/"),
        ("<guid>urn:x:1</guid>", None),
    ],
)
def test_a_feeds_permalink_is_its_link(guid: str, link: str | None) -> None:
    assert rss(guid).feed.link == link


def test_a_scheme_in_capitals() -> None:
    entry = entry_of("<guid>HTTP://Example.org/A</guid>")
    assert (entry.native_id, entry.id_is_permalink) == ("HTTP://Example.org/A", True)
    assert entry.link == "http://example.org/A"
    assert entry_of("<id>HTTPS://Example.org/A</id>").link == "https://example.org/A"


CAPITALS = [
    ("<category DOMAIN='d'>T</category>", Category("T", "d")),
    ("<category TERM='T' SCHEME='d' LABEL='L'/>", Category("T", "d", "L")),
    ("<category other='o'>T</category>", Category("T")),
    ("<itunes:category TEXT='T'><itunes:category TEXT='U'/></itunes:category>",
     Category("T", "http://www.itunes.com/")),
]  # fmt: skip


@pytest.mark.parametrize(("said", "expected"), CAPITALS)
def test_a_categorys_attributes_in_capitals(said: str, expected: Category) -> None:
    document = rss(said, said)
    assert document.feed.categories[0] == document.entries[0].categories[0] == expected


@pytest.mark.parametrize(
    "said",
    [
        "domain='d.org' port='80' path='/p' registerProcedure='r' protocol='soap'",
        "domain='d.org' port='80' path='/p' registerprocedure='r' protocol='soap'",
        "DOMAIN='d.org' PORT='80' PATH='/p' REGISTERPROCEDURE='r' PROTOCOL='SOAP'",
    ],
)
def test_a_clouds_attributes_in_any_case(said: str) -> None:
    assert rss(f"<cloud {said}/>").feed.cloud == Cloud("d.org", 80, "/p", "r", "soap")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("xhtml", Content("<p>a</p>", "xhtml")),
        ("application/xml", Content("<div><p>a</p></div>", "application/xml")),
        ("image/svg+xml", Content("<div><p>a</p></div>", "image/svg+xml")),
    ],
)
def test_only_xhtml_is_wrapped_into_a_div(kind: str, expected: Content) -> None:
    body = (
        f"<feed xmlns='http://www.w3.org/2005/Atom'><entry><content type='{kind}'>"
        "<div><p>a</p></div></content></entry></feed>"
    )
    assert parse(body.encode()).entries[0].contents == (expected,)


def test_a_percent_sign_in_an_address() -> None:
    assert entry_of("<author>a%b@example.org (J)</author>").authors == (
        Person("J", "a%b@example.org"),
    )

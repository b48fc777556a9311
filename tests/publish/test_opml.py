"""OPML as people really have it, and as we write it."""

import time
from codecs import BOM_UTF8
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from headwater.core.errors import BadInput
from headwater.publish.opml import OpmlRow, parse_opml, render_opml

MONDAY = datetime(2026, 3, 2, 10, 0, 5, tzinfo=UTC)


def opml(outlines: str) -> bytes:
    return f'<?xml version="1.0"?><opml version="1.0"><body>{outlines}</body></opml>'.encode()


def test_a_list_with_folders() -> None:
    body = opml(
        """
        <outline text="Tech">
          <outline text="Linux" title="">
            <outline type="rss" text="LWN" title="LWN.net"
              xmlUrl="https://lwn.net/rss" htmlUrl="https://lwn.net/"/>
          </outline>
          <outline type="atom" text="A blog" xmlUrl=" https://blog.example/atom "/>
        </outline>
        <outline text="Alone" xmlUrl="https://alone.example/feed"/>
        """
    )
    assert parse_opml(body) == (
        OpmlRow("https://lwn.net/rss", "LWN.net", "https://lwn.net/", ("Tech", "Linux")),
        OpmlRow("https://blog.example/atom", "A blog", None, ("Tech",)),
        OpmlRow("https://alone.example/feed", "Alone"),
    )


@pytest.mark.parametrize("name", ["xmlUrl", "xmlurl", "XMLURL", "xmlURL", "url", "URL"])
def test_the_feeds_address_is_found_however_it_is_spelled(name: str) -> None:
    assert parse_opml(opml(f'<outline {name}="https://a.example/"/>')) == (
        OpmlRow("https://a.example/"),
    )


@pytest.mark.parametrize("kind", ["link", "include", "LINK"])
def test_links_to_pages_and_other_lists_are_no_feeds(kind: str) -> None:
    assert parse_opml(opml(f'<outline type="{kind}" url="https://a.example/"/>')) == ()


def test_a_feed_that_lost_its_address_is_a_row_without_one() -> None:
    """So that it is told, not passed over. A folder is none."""
    body = opml(
        '<outline type="rss" text="A" xmlUrl=""/><outline type="rss" text="B"/>'
        '<outline text="Folder"><outline text="C" xmlUrl=" "/></outline><outline text="Empty"/>'
    )
    assert parse_opml(body) == (
        OpmlRow("", "A"),
        OpmlRow("", "B"),
        OpmlRow("", "C", None, ("Folder",)),
    )


def test_categories_come_from_folders_and_from_the_attribute() -> None:
    body = opml(
        '<outline text="News"><outline xmlUrl="https://a.example/" '
        'category="/Boston/Weather, News ,,Sport"/></outline>'
    )
    assert parse_opml(body)[0].categories == ("News", "Boston/Weather", "Sport")


def test_a_feed_in_several_folders_is_one_row_with_all_of_them() -> None:
    body = opml(
        '<outline text="A"><outline xmlUrl="https://a.example/"/></outline>'
        '<outline text="B"><outline xmlUrl="https://a.example/" text="Name"/></outline>'
    )
    assert parse_opml(body) == (OpmlRow("https://a.example/", "Name", None, ("A", "B")),)


def test_bare_ampersands_in_urls_are_meant_as_such() -> None:
    body = opml('<outline text="Q & A &eacute; &unknown;" xmlUrl="http://a.example/?x=1&y=2&z"/>')
    assert parse_opml(body) == (OpmlRow("http://a.example/?x=1&y=2&z", "Q & A é &unknown;"),)


@pytest.mark.parametrize(
    "body",
    [
        b'<opml><body><outline text="x" xmlUrl="https://a.example/"/>',
        b'\xef\xbb\xbf\n<opml><body><outline text="x" xmlUrl="https://a.example/"/></body></opml>',
        b'<OPML><BODY><OUTLINE TEXT="x" XMLURL="https://a.example/"/></BODY></OPML>',
        b'<opml><outline text="x" xmlUrl="https://a.example/"></opml>',
        b'<opml xmlns="http://x.example/"><body><outline text="x" xmlUrl="https://a.example/"/>'
        b"</body></opml>",
        b'<?xml version="1.0" encoding="utf-16"?><opml><body><outline text="x"'
        b' xmlUrl="https://a.example/"/></body></opml>',
        b'<opml><body><outline text="x\x08" xmlUrl="https://a.example/"/></body></opml>',
        b'<body><outline text="x" xmlUrl="https://a.example/"/></body>',
        '<opml><body><outline text="x" xmlUrl="https://a.example/"/></body></opml>'.encode(
            "utf-16"
        ),
        b'<!DOCTYPE opml SYSTEM "http://a.example/opml.dtd"><opml><body><outline text="x"'
        b' xmlUrl="https://a.example/"/></body></opml>',
    ],
)
def test_broken_lists_are_mended(body: bytes) -> None:
    assert parse_opml(body) == (OpmlRow("https://a.example/", "x"),)


def test_a_list_in_an_old_encoding_keeps_its_letters() -> None:
    undeclared = '<opml><body><outline text="Müller" xmlUrl="https://a.example/"/></body></opml>'
    declared = '<?xml version="1.0" encoding="iso-8859-1"?>' + undeclared
    assert parse_opml(undeclared.encode("latin-1"))[0].title == "Müller"
    assert parse_opml(declared.encode("latin-1"))[0].title == "Müller"


def named(title: str, charset: str | None) -> str:
    prolog = f'<?xml version="1.0" encoding="{charset}"?>' if charset else ""
    outline = f'<outline text="{title}" xmlUrl="https://a.example/?x=1&y=2"/>'
    return f"{prolog}<opml><body>{outline}</body></opml>"


@pytest.mark.parametrize(
    ("title", "charset", "codec"),
    [
        ("Хабр", "windows-1251", "cp1251"),
        ("日本語", "Shift_JIS", "shift_jis"),
        ("한국어", "EUC-KR", "euc_kr"),
        ("镕基新闻", "gb2312", "gbk"),  # the first letter is GBK's, not GB 2312's
        ("Müller", "iso-8859-1", "utf-8"),
    ],
)
def test_a_list_with_mistakes_keeps_the_letters_of_its_charset(
    title: str, charset: str, codec: str
) -> None:
    broken = named(title, charset).encode(codec)
    sound = broken.replace(b"&y", b"&amp;y")
    row = OpmlRow("https://a.example/?x=1&y=2", title)
    assert parse_opml(broken) == parse_opml(sound) == (row,)


@pytest.mark.parametrize("charset", [None, "utf-8", "iso-8859-1", "no-such-charset"])
def test_a_letter_cut_in_half_spoils_no_other(charset: str | None) -> None:
    """Some programs cut titles after so many bytes."""
    body = named("新闻联播 CUT", charset).encode().replace(b"CUT", "日".encode()[:2])
    assert parse_opml(body)[0].title == "新闻联播 \ufffd"


@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1"])
def test_a_letter_that_does_not_fit_costs_no_list_that_has_a_mark(charset: str) -> None:
    """The mark of UTF-8 at its start, read as letters, would stand before the list."""
    text = f'<?xml version="1.0" encoding="{charset}"?><opml><body>' + (
        '<outline text="café" xmlUrl="https://a.example/f"/></body></opml>'
    )
    (row,) = parse_opml(BOM_UTF8 + text.encode("latin-1"))
    assert row == OpmlRow("https://a.example/f", "café")


def test_a_mark_of_utf_8_is_believed_over_an_old_claim() -> None:
    """Two Chinese characters alone could be either."""
    text = '<?xml version="1.0" encoding="gb2312"?><opml><body>' + (
        '<outline text="中文" xmlUrl="https://a.example/f"/></body></opml>'
    )
    (row,) = parse_opml(BOM_UTF8 + text.encode())
    assert row == OpmlRow("https://a.example/f", "中文")


@pytest.mark.parametrize(
    "title",
    ['The "best" of', '"quoted"', 'at "the end"', "say 'yes' & \"no\""],
)
def test_bare_quotes_in_a_title_cost_no_feed(title: str) -> None:
    body = (
        '<!DOCTYPE opml SYSTEM "http://a.example/opml.dtd"><opml><body>'
        f'<outline text="{title}"\n  xmlUrl="https://a.example/?x=" />'
        '<outline text="Next"xmlUrl = "https://b.example/"></outline></body></opml>'
    )
    assert parse_opml(body.encode()) == (
        OpmlRow("https://a.example/?x=", title),
        OpmlRow("https://b.example/", "Next"),
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"   ",
        b"hello",
        b"\x00\xff" * 100,
        b"<html><body><a href='x'>y</a></body></html>",
        b"<rss><channel><title>x</title></channel></rss>",
        b'{"version": "https://jsonfeed.org/version/1.1"}',
        b"PK\x03\x04 a zip",
    ],
)
def test_what_is_no_list_is_refused(body: bytes) -> None:
    with pytest.raises(BadInput):
        parse_opml(body)


def test_an_empty_list_is_a_list() -> None:
    assert parse_opml(b"<opml version='2.0'><head/><body/></opml>") == ()


def test_a_list_has_a_largest_size() -> None:
    body = opml('<outline xmlUrl="https://a.example/"/>')
    assert len(parse_opml(body + b" " * (5 * 1024 * 1024 - len(body)))) == 1
    with pytest.raises(BadInput):
        parse_opml(body + b" " * (5 * 1024 * 1024))


def test_folders_may_be_nested_without_end() -> None:
    deep = '<outline text="x">' * 200 + '<outline xmlUrl="https://a.example/"/>'
    assert parse_opml(opml(deep + "</outline>" * 200))[0].categories == ("x",)
    parse_opml(opml('<outline text="x">' * 100_000))


def test_folders_deeper_than_anybodys_add_no_category() -> None:
    deep = "".join(f'<outline text="f{n}">' for n in range(1, 21))
    body = opml(deep + '<outline xmlUrl="https://a.example/"/>' + "</outline>" * 20)
    assert parse_opml(body)[0].categories == tuple(f"f{n}" for n in range(1, 17))


LAUGHS = "".join(
    f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' if n else '<!ENTITY a0 "lol">' for n in range(10)
)
HUGE = f'<!ENTITY a9 "{"x" * 50_000}">'


@pytest.mark.parametrize("entities", [LAUGHS, HUGE])
def test_entities_do_not_grow(entities: str) -> None:
    outlines = '<outline text="&a9;" xmlUrl="https://a.example/"/>' * 20_000
    body = f"<!DOCTYPE opml [{entities}]><opml><body>{outlines}</body></opml>".encode()
    began = time.process_time()
    rows = parse_opml(body)
    assert time.process_time() - began < 3
    assert sum(len(row.title or "") for row in rows) < 1_000_000


def test_no_file_is_read_for_an_entity() -> None:
    body = (
        b'<!DOCTYPE opml [<!ENTITY f SYSTEM "file:///etc/passwd">]><opml><body>'
        b'<outline text="&f;" xmlUrl="https://a.example/">&f;</outline></body></opml>'
    )
    assert parse_opml(body) == (OpmlRow("https://a.example/", "&f;"),)


def test_what_is_written_is_opml_2() -> None:
    rows = [
        OpmlRow("https://a.example/?x=1&y=2", 'A "feed"', "https://a.example/", ("News", "Daily")),
        OpmlRow("https://b.example/"),
        OpmlRow("https://c.example/", "C", None, ("News",)),
    ]
    written = render_opml(rows, "My <feeds>", MONDAY)
    assert written.decode() == (
        "<?xml version='1.0' encoding='utf-8'?>\n"
        '<opml version="2.0">\n'
        "  <head>\n"
        "    <title>My &lt;feeds&gt;</title>\n"
        "    <dateCreated>Mon, 02 Mar 2026 10:00:05 GMT</dateCreated>\n"
        "  </head>\n"
        "  <body>\n"
        '    <outline text="News">\n'
        '      <outline type="rss" text="A &quot;feed&quot;" title="A &quot;feed&quot;" '
        'xmlUrl="https://a.example/?x=1&amp;y=2" htmlUrl="https://a.example/" category="Daily"/>\n'
        '      <outline type="rss" text="C" title="C" xmlUrl="https://c.example/"/>\n'
        "    </outline>\n"
        '    <outline type="rss" text="https://b.example/" title="https://b.example/" '
        'xmlUrl="https://b.example/"/>\n'
        "  </body>\n"
        "</opml>\n"
    )


texts = st.text(max_size=20)
rows_of_any_kind = st.lists(
    st.builds(
        OpmlRow,
        url=st.integers(0, 10**6).map(lambda n: f"https://{n}.example/?a=1&b=<"),
        title=st.none() | texts,
        home_page=st.none() | texts,
        categories=st.lists(texts | st.sampled_from(["a", "b,c", "/d/"]), max_size=4).map(tuple),
    ),
    max_size=8,
    unique_by=lambda row: row.url,
)


@given(rows_of_any_kind)
def test_a_list_read_written_and_read_again_is_the_same(rows: list[OpmlRow]) -> None:
    once = parse_opml(render_opml(rows, "All", MONDAY))
    assert {row.url for row in once} == {row.url for row in rows}
    again = render_opml(once, "All", MONDAY)
    assert set(parse_opml(again)) == set(once)


@given(rows_of_any_kind)
def test_what_is_written_is_well_formed_for_a_strict_reader(rows: list[OpmlRow]) -> None:
    root = etree.fromstring(render_opml(rows, "All\x00\x08", MONDAY))
    assert len(root.findall(".//outline[@xmlUrl]")) == len(rows)


@given(st.binary(max_size=300) | st.text(alphabet='<>outline/ opml="&;x!-[]', max_size=200))
def test_no_bytes_are_too_strange(body: bytes | str) -> None:
    with suppress(BadInput):
        parse_opml(body if isinstance(body, bytes) else body.encode())


def test_many_categories_come_back_though_one_cannot_stand_in_a_list() -> None:
    names = tuple(f"k{n}" for n in range(20))
    row = OpmlRow("https://blog.example/atom", "A blog", categories=(*names, "sea, tides"))
    (again,) = parse_opml(render_opml([row], "Mine", MONDAY))
    assert set(again.categories) == set(row.categories)


def test_a_sound_list_in_an_old_charset_is_taken_word_by_word() -> None:
    """Nothing of it is mended: quotes may stand within single ones."""
    body = (
        '<?xml version="1.0" encoding="ISO-8859-1"?><opml><body>'
        """<outline text='Caf\xe9: a="b"c="d"' xmlUrl='https://a.example/x'/>"""
        """<outline text='say "/> or "?>' xmlUrl='https://a.example/y'/></body></opml>"""
    ).encode("latin-1")
    assert [(row.url, row.title) for row in parse_opml(body)] == [
        ("https://a.example/x", 'Caf\xe9: a="b"c="d"'),
        ("https://a.example/y", 'say "/> or "?>'),
    ]

"""Documents that are not well-formed, and what is made of them."""

import pytest

from headwater.parse import Category, Document, Enclosure, Person, Text, parse

HOME = "https://example.org/feed"


def codes(document: Document) -> set[str]:
    return {problem.code for problem in document.problems}


def titles(document: Document) -> list[str | None]:
    return [entry.title.value if entry.title else None for entry in document.entries]


def item(title: str) -> str:
    return f"<item><title>{title}</title></item>"


def rss(inner: str) -> bytes:
    return f"<rss version='2.0'><channel>{inner}</channel></rss>".encode()


REPAIRED: list[tuple[str, list[str | None], str]] = [
    (item("a & b"), ["a & b"], "entities_repaired"),
    (item("a&b=c"), ["a&b=c"], "entities_repaired"),
    (item("caf&eacute;"), ["caf\u00e9"], "entities_repaired"),
    (item("a&nbsp;b"), ["a\u00a0b"], "entities_repaired"),
    (item("&copy 2024"), ["\u00a9 2024"], "entities_repaired"),
    (item("&hellip;&mdash;&rsquo;"), ["\u2026\u2014\u2019"], "entities_repaired"),
    (item("&nosuchname;"), ["&nosuchname;"], "entities_repaired"),
    (item("it&rsquo s &ndash &hellip"), ["it\u2019 s \u2013 \u2026"], "entities_repaired"),
    (item("R&sum of"), ["R&sum of"], "entities_repaired"),
    (item("x &#xD800; y"), ["x \ufffd y"], "entities_repaired"),
    (item("x &#0; y"), ["x \ufffd y"], "entities_repaired"),
    (item("x &#55357;&#56832; y"), ["x \U0001f600 y"], "entities_repaired"),
    (item("x &#xD83D;&#xDE00; y"), ["x \U0001f600 y"], "entities_repaired"),
    (item("x &#56832;&#55357; y"), ["x \ufffd\ufffd y"], "entities_repaired"),
    (item("a ]]> b"), ["a ]]> b"], "entities_repaired"),
    (item("<![CDATA[a <![CDATA[b]]> c]]>"), ["a <![CDATA[b c]]>"], "entities_repaired"),
    (item("a ]]> b") + "<item><title>x</item>", ["a ]]> b", "x"], "tags_repaired"),
    (item("a < b"), ["a < b"], "tags_repaired"),
    (item("to <a@b.org>"), ["to <a@b.org>"], "tags_repaired"),
    (item("at <https://b.org/c>"), ["at <https://b.org/c>"], "tags_repaired"),
    (item("a<br//>b") + "<item>", ["a<br />b", None], "tags_repaired"),
    (item("a\x0bb\x00c"), ["abc"], "control_characters"),
    (item("dash &#151; &#x96;"), ["dash \u2014 \u2013"], "control_characters"),
    ("<item><title>x</item>" + item("y"), ["x", "y"], "tags_repaired"),
    ("<item><title>x<link>https://e.org/</link></item>" + item("y"), ["x", "y"], "tags_repaired"),
    ("<item><title>x</title>" + item("y"), ["x", "y"], "tags_repaired"),
    ("<image><url>u</url>" + item("y"), ["y"], "tags_repaired"),
    ("<item><title>x</b></title></item>", ["x"], "tags_repaired"),
    ("<item></channel><title>x</title></item>" + item("y"), ["x", "y"], "tags_repaired"),
    ("<item><title>x</item></title></item>" + item("y"), ["x", "y"], "tags_repaired"),
    ("<item><foo:x><title>x</title></item>" + item("y"), ["x", "y"], "tags_repaired"),
    ("<item><p><b><title>x</title></item>" + item("y"), ["x", "y"], "tags_repaired"),
    ("<item<title>x</title></item>" + item("y"), ["x", "y"], "tags_repaired"),
    (item("y") + "<item<title>x</title></item>", ["y", "x"], "tags_repaired"),
    ("<item><title<link>https://e.org/</link></item>" + item("y"), [None, "y"], "tags_repaired"),
    ("<item><title>x</TITLE></item>", ["x"], "tags_repaired"),
    ("<item><title>x</title</item>" + item("y"), ["x", "y"], "tags_repaired"),
    ("<item><title>x</title\n<link>https://e.org/</link></item>", ["x"], "tags_repaired"),
    ("<item><title>x</title><source url=u>s</source></item>", ["x"], "tags_repaired"),
    ("<item><title a='1' a='2'>x</title></item>", ["x"], "not_well_formed"),
    ("<item><title disabled>x</title></item>", ["x"], "tags_repaired"),
    ("<item><title a='<b>'>x</title></item>", ["x"], "tags_repaired"),
    ("<item><title>x</ title></item>" + item("y"), ["x", "y"], "tags_repaired"),
    ("<item><title>x<description>d</description></item>" + item("y"), ["x", "y"], "tags_repaired"),
    ("<item><title><![CDATA[a & b</title></item>" + item("y"), ["a & b", "y"], "tags_repaired"),
    ("<item><title><![CDATA[x]></title></item>" + item("y"), ["x", "y"], "tags_repaired"),
    (
        "<item><title><![CDATA[x]] ></title></item>" + item("<![CDATA[y]>"),
        ["x", "y"],
        "tags_repaired",
    ),
    ("<item><title>x</title><!-- c</item>" + item("y"), ["x", "y"], "tags_repaired"),
    ("<!-->" + item("x") + "<!-- c --!>" + item("y"), ["x", "y"], "tags_repaired"),
    (item("a &lt b &amp c &quot"), ['a < b & c "'], "entities_repaired"),
    (item("m&sup2 & &frac12"), ["m\u00b2 & \u00bd"], "entities_repaired"),
    (item("&#99999999999;&#xFFFFFFFFFF;"), ["\ufffd\ufffd"], "entities_repaired"),
    (item("&#00000000000065;&#x00000000041; &"), ["AA &"], "entities_repaired"),
]


@pytest.mark.parametrize(("channel", "expected", "code"), REPAIRED)
def test_a_broken_document_is_repaired_and_says_so(
    channel: str, expected: list[str | None], code: str
) -> None:
    document = parse(rss(channel))
    assert titles(document) == expected
    assert code in codes(document)
    assert not document.partial


def test_references_inside_cdata_are_left_alone() -> None:
    document = parse(rss("<item><title>&nbsp;</title><description><![CDATA[&nbsp; & <b>]]>"
                         "</description></item>"))  # fmt: skip
    summary = document.entries[0].summary
    assert summary is not None
    assert summary.value == "&nbsp; & <b>"


def test_unescaped_html_keeps_its_words() -> None:
    document = parse(rss("<item><description><p>a<br>b<img src='x.png'></description></item>"),
                     url=HOME)  # fmt: skip
    summary = document.entries[0].summary
    assert summary is not None
    assert summary.value == '<p>a<br />b<img src="https://example.org/x.png" /></p>'


def test_a_bare_ampersand_in_a_link_stays_in_the_link() -> None:
    document = parse(rss("<item><link>https://e.org/?a=1&b=2</link></item>"))
    assert document.entries[0].link == "https://e.org/?a=1&b=2"


def test_a_bracket_in_an_attribute_does_not_end_the_element() -> None:
    enclosure = "<enclosure url='https://e.org/a' type='audio/mpeg' title='a < b'/>"
    document = parse(rss(f'<item>{enclosure}<category domain="c<d">x</category></item>'))
    (entry,) = document.entries
    assert entry.enclosures == (Enclosure("https://e.org/a", "audio/mpeg", title="a < b"),)
    assert entry.categories == (Category("x", "c<d"),)
    assert "tags_repaired" in codes(document)


def test_tags_in_an_attribute_do_not_end_the_element() -> None:
    enclosure = """<enclosure title="a <b>c</b>" url='https://e.org/a' type='audio/mpeg'/>"""
    document = parse(rss(f"<item>{enclosure}<category domain='c<d>'>x</category></item>"))
    (entry,) = document.entries
    assert entry.enclosures == (Enclosure("https://e.org/a", "audio/mpeg", title="a <b>c</b>"),)
    assert entry.categories == (Category("x", "c<d>"),)


def test_a_value_without_quotes_may_end_with_a_slash() -> None:
    body = b"<rss xml:base=https://e.org/a/><channel><item><link>b</link></item></channel></rss>"
    assert parse(body).entries[0].link == "https://e.org/a/b"
    document = parse(rss("<item><description><a href=https://e.org/>x</a></description></item>"))
    assert document.entries[0].summary == Text('<a href="https://e.org/">x</a>', "xhtml")


def test_a_field_that_is_not_closed_ends_where_the_next_begins() -> None:
    fields = {"title": "t", "id": "i", "summary": "s", "updated": "2004-01-01", "rights": "r"}
    for broken in fields:
        inner = "".join(
            f"<{name}>{value}" + (f"</{name}>" if name != broken else "")
            for name, value in fields.items()
        )
        (entry,) = parse(f"<feed><entry>{inner}</entry></feed>".encode()).entries
        assert (entry.title, entry.native_id) == (Text("t"), "i")
        assert (entry.summary, entry.rights) == (Text("s"), "r")
        assert entry.updated is not None
    document = parse(rss("<description>d<language>de<copyright>c<generator>g" + item("x")))
    assert document.feed.subtitle == Text("d", "html")
    assert (document.feed.language, document.feed.rights) == ("de", "c")
    (entry,) = parse(rss("<item><foo><dc:title>t</dc:title></item>")).entries
    assert entry.title == Text("t")
    (entry,) = parse(b"<feed><entry><author><name>J<email>j@e.org</email></entry></feed>").entries
    assert entry.authors == (Person("J", "j@e.org"),)


WRAPPED = [
    ('url="<![CDATA[https://e.org/a?b=1&c=2]]>" length="5"', "https://e.org/a?b=1&c=2"),
    ("url = '<![CDATA[https://e.org/a]]>' length='<![CDATA[5]]>'", "https://e.org/a"),
    ('url="<![CDATA[https://e.org/a]]> " length="5"', "https://e.org/a"),
]


@pytest.mark.parametrize(("attributes", "expected"), WRAPPED)
def test_a_value_wrapped_into_a_section_is_that_value(attributes: str, expected: str) -> None:
    body = rss(f"<item><enclosure {attributes}/><title>x</title></item>" + item("<![CDATA[y]]>"))
    document = parse(body)
    assert document.entries[0].enclosures == (Enclosure(expected, length=5),)
    assert titles(document) == ["x", "y"]
    assert "tags_repaired" in codes(document)


@pytest.mark.parametrize("opened", ["other", "title", "description"])
def test_a_channels_field_ends_one_that_is_not_closed(opened: str) -> None:
    feed = parse(
        rss(
            f"<{opened}>x<managingEditor>me@example.org</managingEditor>"
            f"<{opened}>x<logo>/l.png</logo><{opened}>x<sy:updatePeriod>daily</sy:updatePeriod>"
            f"<{opened}>x<cloud domain='d.org'/><{opened}>x<keywords>k</keywords>"
        ),
        url=HOME,
    ).feed
    assert (feed.authors[0].email, feed.image) == ("me@example.org", "https://example.org/l.png")
    assert feed.cloud is not None
    assert (feed.update_period, feed.cloud.domain) == ("daily", "d.org")
    assert [category.term for category in feed.categories] == ["k"]


def test_a_quote_that_is_missing_does_not_hide_what_follows() -> None:
    document = parse(rss('<item><x a="1/><title>t</title></item>' + item("u")))
    assert titles(document) == ["t", "u"]


def test_undeclared_prefixes_are_known_by_their_usual_meaning() -> None:
    document = parse(rss("<item><dc:creator>J</dc:creator><content:encoded>C</content:encoded>"
                         "<foo:bar>x</foo:bar></item>"))  # fmt: skip
    entry = document.entries[0]
    assert entry.authors[0].name == "J"
    assert entry.contents[0].value == "C"
    assert entry.extensions["foo"]["bar"] == ("x",)


BEFORE = [
    b"\n\n",
    b"\xef\xbb\xbf",
    b"junk ",
    b"[notice] x ",
    b"{x} ",
    b"<br />\n<b>Warning</b>: x on line 3<br />\n",
]


@pytest.mark.parametrize("junk", BEFORE)
def test_what_stands_before_the_document_is_skipped(junk: bytes) -> None:
    document = parse(junk + b"<?xml version='1.0'?>" + rss("<title>T</title>" + item("x")))
    assert titles(document) == ["x"]


def test_what_stands_after_the_document_is_ignored() -> None:
    document = parse(rss(item("x")) + b"<script>alert(1)</script>")
    assert titles(document) == ["x"]
    assert not document.partial


CUTS: list[tuple[bytes, int]] = [
    (b"<rss><channel><item><title>1</title></item><item><title>2</ti", 1),
    (b"<rss><channel><item><title>1</title></item><item><title>2</title>", 1),
    (b"<rss><channel><item><title>1</title></item><item", 1),
    (b"<rss><channel><item><title>1</title></item>", 1),
    (b"<rss><channel><item><title>1</title></item></channel>", 1),
    (b"<rss><channel><item><title>1</title></item><item><d><![CDATA[ abc", 1),
    (b"<rss><channel><item><title>1</title></item><item><title>caf\xc3", 1),
    (b"<rss><channel><title>T</title><item><title>1", 0),
    (b"<rss><channel><title>T", 0),
    (b"<feed><entry><title>1</title></entry><entry><title>2", 1),
    (b"<rss><channel><item><title>1</title></item", 1),
    (b"<rss><channel><item><title>1</title></", 1),
    (b"<feed><entry><title>1</title></entry><entry><title>2</title></entrx", 1),
    (b"<rss><channel><item><title>1</title></item><item><d><![CDATA[<b></b>", 1),
    (b"<rss><channel><item><title>1</title></item><!-- <item>", 1),
]


@pytest.mark.parametrize(("body", "complete"), CUTS)
def test_a_cut_off_document_keeps_its_complete_items(body: bytes, complete: int) -> None:
    document = parse(body)
    assert document.partial
    assert "partial" in codes(document)
    assert titles(document) == ["1"] * complete


@pytest.mark.parametrize("torn", [b"", b"<", b"</", b"</li", b"</link", b"<b", b"<b c='"])
def test_a_torn_tag_is_no_text(torn: bytes) -> None:
    document = parse(b"<rss><channel><link>https://e.org/</link><title>T" + torn)
    assert document.feed.title == Text("T")
    assert parse(b"<rss><channel><link>https://e.org/" + torn).feed.link == "https://e.org/"


def test_a_whole_document_is_not_partial() -> None:
    assert not parse(rss(item("x"))).partial


def test_a_well_formed_document_has_no_problems() -> None:
    assert parse(b"<?xml version='1.0' encoding='utf-8'?>" + rss(item("x"))).problems == ()


def test_text_that_was_encoded_twice_is_decoded_twice() -> None:
    twice = "caf\u00e9".encode().decode("latin-1")
    document = parse(rss(item(twice)))
    assert titles(document) == ["caf\u00e9"]
    assert "encoded_twice" in codes(document)


def test_text_that_would_become_a_forbidden_character_stays_as_it_is() -> None:
    twice, odd = "caf\u00e9".encode().decode("latin-1"), "\uffff".encode().decode("latin-1")
    assert titles(parse(rss(item(twice) + item(odd)))) == ["caf\u00e9", odd]


def test_literal_entities_of_a_doctype_are_read() -> None:
    body = b"<!DOCTYPE rss [<!ENTITY me 'Me &#38; you'>]>" + rss(item("&me;"))
    assert titles(parse(body)) == ["Me & you"]


def test_an_ampersand_that_an_entity_stands_for_is_one() -> None:
    body = b"<!DOCTYPE rss [<!ENTITY et '&#38;#38;'>]>" + rss(item("a &et; b"))
    assert titles(parse(body)) == ["a & b"]


def test_an_external_doctype_is_not_needed() -> None:
    doctype = (
        b'<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" '
        b'"http://my.netscape.com/publish/formats/rss-0.91.dtd">'
    )
    assert titles(parse(doctype + rss(item("&eacute;")))) == ["\u00e9"]


def test_nested_items_do_not_become_entries_of_a_sound_document() -> None:
    document = parse(rss("<item><title>1</title><x><item><title>2</title></item></x></item>"))
    assert titles(document) == ["1"]


DECLARED: list[tuple[str, str, str]] = [
    ("<!ENTITY x 'a &amp; b'>", "&x;", "a & b"),
    ("<!ENTITY x '&lt;b&gt;y&lt;/b&gt;'>", "&x;", "<b>y</b>"),
    ("<!ENTITY x '&#38;lt;'>", "&x;", "<"),
    ("<!ENTITY x '&amp;amp;'>", "&x;", "&amp;"),
    ("<!ENTITY x 'one'><!ENTITY x 'two'>", "&x;", "one"),
    ("<!ENTITY x '<b>y</b>'>", "&x;", "<b>y</b>"),
    ("<!ENTITY a-b 'x'><!ENTITY a.b 'y'><!ENTITY a_b 'z'>", "&a-b; &a.b; &a_b;", "x y z"),
]


@pytest.mark.parametrize(("subset", "given", "title"), DECLARED)
def test_a_short_literal_means_what_xml_says(subset: str, given: str, title: str) -> None:
    document = parse(f"<!DOCTYPE rss [{subset}]>".encode() + rss(item(given)))
    assert titles(document) == [title]
    assert "entities_refused" not in codes(document)


IN_FRONT: list[tuple[bytes, set[str]]] = [
    (b"<b>Warning</b>: x in <b>y.php</b><br />\n<?xml version='1.0'?>", {"junk_before"}),
    (b"oops<?xml version='1.0'?>", {"junk_before"}),
    (b"<!-- <b> --><?xml version='1.0'?>", {"not_well_formed"}),
    (b"<?xml version='1.0'?>\n<?xml version='1.0'?>", {"not_well_formed"}),
    (b"<?xml version='1.0'?><!-- <b> --><?xml-stylesheet href='a'?>", set()),
]


@pytest.mark.parametrize(("before", "expected"), IN_FRONT)
def test_what_stands_before_the_document_is_told(before: bytes, expected: set[str]) -> None:
    document = parse(before + rss(item("x")))
    assert titles(document) == ["x"]
    assert codes(document) == expected


def test_much_before_the_document_costs_little() -> None:
    assert titles(parse(b"<?a <!--" * 50_000 + rss(item("x")))) == ["x"]
    assert titles(parse(b"<!-- --><?a ?>" * 20_000 + b"x" + rss(item("x")))) == ["x"]


LINKS: list[tuple[str, str | None]] = [
    ('<link href="https://e.org/1/><title>x</title>', "https://e.org/1"),
    ("<link href='https://e.org/1 ><title>x</title>", "https://e.org/1"),
    ("<link href=https://e.org/1><title>x</title>", "https://e.org/1"),
    ("<link href><title>x</title>", None),
    ("<foo><link>https://e.org/1</link><title>x</title>", "https://e.org/1"),
    ("<TITLE>x</title><LINK>https://e.org/1</link><description>y</description>", "https://e.org/1"),
    ("<titel>x<link>https://e.org/1</link><title>x</title>", "https://e.org/1"),
]


@pytest.mark.parametrize(("given", "link"), LINKS)
def test_a_torn_tag_does_not_take_the_link_with_it(given: str, link: str | None) -> None:
    (entry,) = parse(rss(f"<item>{given}</item>"), url=HOME).entries
    assert entry.link == link
    assert entry.title is not None
    assert entry.title.value == "x"


def test_a_root_that_lost_its_bracket_is_a_root() -> None:
    document = parse(b'<rss version="2.0"<channel>' + item("x").encode() + b"</channel></rss>")
    assert (document.format, document.version, titles(document)) == ("rss", "2.0", ["x"])
    document = parse(b'<rss version="2.\n<channel>' + item("x").encode() + b"</channel></rss>")
    assert titles(document) == ["x"]

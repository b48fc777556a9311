"""Each entry's own XML: where it stands, and that it says the same alone."""

import pytest

from headwater.parse import Fragment, ParseLimits, parse, parse_fragment

HOME = "https://example.org/feed"

DOCUMENTS: dict[str, bytes] = {
    "rss": b"<rss><channel><title>T</title><item><title>1</title></item>\n<item a='1'>"
    b"<title>2</title></item></channel></rss>",
    "atom": b"<feed xmlns='http://www.w3.org/2005/Atom' xml:base='/b/'><author><name>A</name>"
    b"</author><entry><link href='1'/></entry><entry><link href='2'/></entry></feed>",
    "rdf": b"<r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#' "
    b"xmlns='http://purl.org/rss/1.0/'><channel><items><r:Seq/></items></channel>"
    b"<item><title>1</title></item><item><title>2</title></item></r:RDF>",
    "prefixed": b"<a:feed xmlns:a='http://www.w3.org/2005/Atom'><a:entry><a:id>1</a:id></a:entry>"
    b"<a:entry><a:id>2</a:id></a:entry></a:feed>",
    "in cdata": b"<rss><channel><item><description><![CDATA[<item>no</item>]]></description>"
    b"</item><item><title>2</title></item></channel></rss>",
    "in a comment": b"<rss><channel><!-- <item></item> --><item><title>1</title></item>"
    b"<!-- </item> --><item><title>2</title></item></channel></rss>",
    "after the end": b"<rss><channel><item><title>1</title></item></channel></rss><!-- </item> -->",
    "empty item": b"<rss><channel><item/><item><title>2</title></item></channel></rss>",
    "spaced end": b"<rss><channel><item><title>1</title></item \n></channel></rss>",
    "doctype": b"<!DOCTYPE rss [<!ENTITY e '!'>]><rss><channel><item><title>&e;</title></item>"
    b"<item><title>&e;&e;</title></item></channel></rss>",
    "byte order mark": b"\xef\xbb\xbf<rss><channel><item><title>1</title></item></channel></rss>",
    "latin-1": "<?xml version='1.0' encoding='iso-8859-1'?><rss><channel><title>\u00e9</title>"
    "<item><title>\u00e9</title></item><item><title>\u00e8</title></item></channel></rss>".encode(
        "latin-1"
    ),
    "big5": "<?xml version='1.0' encoding='big5'?><rss><channel><title>\u529f\u84cb</title><item>"
    "<title>\u529f\u84cb</title></item></channel></rss>".encode("big5"),
    "bare ampersands": b"<rss><channel><item><title>a & b</title></item><item><title>&eacute;"
    b"</title></item></channel></rss>",
    "unclosed title": b"<rss><channel><item><title>1</item><item><title>2</title></item></channel>"
    b"</rss>",
    "cut off": b"<rss><channel><item><title>1</title></item><item><title>2</ti",
    "author at the end": b"<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>1</id></entry>"
    b"<entry><id>2</id></entry><author><name>Z</name></author></feed>",
    "undeclared prefix": b"<rss><channel><item><dc:creator>J</dc:creator></item></channel></rss>",
    "crlf": b"<rss>\r\n<channel>\r\n<item>\r\n<title>1</title>\r\n</item>\r\n</channel>\r\n</rss>",
}


LATER = "<rss><channel><item><title>{}</title></item>{}</channel></rss>"


@pytest.mark.parametrize(
    "after",
    [
        "<!-- </item> -->",
        "<!-- </item> <!- -->",
        "<?x </item> ?>",
        "<?x </item> <? ?>",
        "<description><![CDATA[</item> ]]></description>",
        "<description><![CDATA[</item> <![CDATA[ ]]></description>",
        f"<description><![CDATA[<item></item> {'w' * 1001}<![CDATA[ ]]>{' ' * 30}</description>",
    ],
)
@pytest.mark.parametrize(("title", "length"), [("a", 29), ("a &copy; b", 38)])
def test_what_looks_like_an_end_after_the_last_entry_is_none(
    title: str, length: int, after: str
) -> None:
    (entry,) = parse(LATER.format(title, after).encode(), url=HOME).entries
    assert entry.fragment == Fragment(14, length)


@pytest.mark.parametrize("body", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_a_slice_says_the_same_alone(body: bytes) -> None:
    entries = parse(body, url=HOME).entries
    assert entries
    for entry in entries:
        assert entry.fragment is not None
        assert parse_fragment(body, entry.fragment, url=HOME) == entry


@pytest.mark.parametrize("body", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_a_slice_starts_and_ends_with_its_own_tags(body: bytes) -> None:
    entries = parse(body, url=HOME).entries
    assert entries
    for entry in entries:
        assert entry.fragment is not None
        offset, length = entry.fragment
        own = body[offset : offset + length]
        assert own.startswith((b"<item", b"<entry", b"<a:entry"))
        assert own.endswith(b">")


def test_offsets_are_bytes_of_the_body() -> None:
    body = "<rss><channel><title>\u65e5</title><item><title>\u65e5</title></item></channel></rss>"
    fragment = parse(body.encode()).entries[0].fragment
    assert fragment == (32, 31)


def test_no_fragment_where_none_can_be_had() -> None:
    wide = "<rss><channel><item><title>1</title></item></channel></rss>".encode("utf-16")
    assert parse(wide).entries[0].fragment is None
    json = b'{"version": "https://jsonfeed.org/version/1.1", "items": [{"id": "1"}]}'
    assert parse(json).entries[0].fragment is None


def test_entries_of_two_names_have_no_fragments() -> None:
    body = (
        b"<rss xmlns:a='http://www.w3.org/2005/Atom'><channel><item><title>1</title></item>"
        b"<a:entry><a:title>2</a:title></a:entry></channel></rss>"
    )
    assert [entry.fragment for entry in parse(body).entries] == [None, None]


def test_a_foreign_fragment_is_refused() -> None:
    body = DOCUMENTS["rss"]
    fragment = parse(body).entries[0].fragment
    assert fragment is not None
    assert parse_fragment(b"nothing at all", fragment) is None
    assert parse_fragment(body, Fragment(fragment.offset + 1, fragment.length)) is None


@pytest.mark.parametrize(
    "after", ["<!-- </item> -->", "<!-- cached --><!-- </item> -->", "<?x </item>?>", "<!-- a -->"]
)
def test_what_follows_the_document_is_no_part_of_its_last_entry(after: str) -> None:
    own = "<item><title>1</title></item>"
    body = f"<rss><channel>{own}</channel></rss>{after}".encode()
    assert parse(body).entries[0].fragment == (14, len(own))


ODD: dict[str, bytes] = {
    "a quote in a start tag": b"<channel><item '></item>",
    "closed twice": b"<rss><item></item></item>",
    "a torn PI": b"<channel><?<item></item>",
    "odd attributes": b'<rss version=2.0><channel><item a a=1 a="2" b=\'3><title x="<">t</title>'
    b"</item></channel></rss>",
    "torn doctype": b'<!DOCTYPE rss [<!ENTITY a "b" <!-- x --> <rss><channel><item><title>&a;'
    b"</title></item></channel></rss></item></channel></rss>",
    "items in a doctype": b"<!DOCTYPE rss [<!ENTITY a '<item><item>'>]><rss><channel><item>"
    b"<title>1</title></item></channel></rss>",
    "a comment that opens in a doctype": b"<!DOCTYPE rss [<!ENTITY a '<!--'>]><rss><channel><item>"
    b"<title>1</title></item><!-- x --><item><title>2</title></item></channel></rss>",
    "a control character in a name": b"<rss><channel><\x01item><title>1</title></item><![CDATA[<it"
    b"em></item>]]></channel></rss>",
    "a dropped character in a name": b"<rss><channel><\x7fitem><title>1</title></item><![CDATA[<it"
    b"em></item>]]></channel></rss>",
    "a dropped reference in a name": b"<rss><channel><it&#129;em><title>1</title></item><![CDATA["
    b"<item></item>]]></channel></rss>",
    "items before the document": b"<item>& junk</item><rss><channel><item><title>1 & 2</title>"
    b"</item></channel></rss>",
    "void elements with words": b"<rss><channel><item><description><img>a</img></description>"
    b"</item><item><title>b</item></channel></rss>",
    "one entry of another charset": b"<rss><channel><item><title>caf\xc3\xa9</title></item><item>"
    b"<title>caf\xe9 \xe8 \xe8 \xe8</title></item></channel></rss>",
    "latin-1 that could be UTF-8": b"<?xml version='1.0' encoding='iso-8859-1'?><rss><channel>"
    b"<item><title>\xc3\xa9</title></item><item><title>\xe9</title></item></channel></rss>",
    "encoded twice elsewhere": "<rss><channel><item><title>\u00e0\u00a4\u00a4</title></item><item>"
    "<title>\u00c3\u00a9</title></item></channel></rss>".encode(),
    "escapes that look like tags": b"<?xml version='1.0' encoding='iso-2022-jp'?><rss><channel>"
    b"<title>\x1b$B<item\x1b(B</title><item><title>1</title></item></channel></rss>",
    "a reference in a name": b"<!DOCTYPE rss [<!ENTITY x 'tem'>]><rss><channel><i&x;><title>1"
    b"</title></item><![CDATA[<item></item>]]></channel></rss>",
    "one entry of another namespace": b"<feed xmlns='urn:made-up'><entry><id>1</id></entry>"
    b"<entry xmlns=''><id>2</id></entry></feed>",
    "torn declaration": b"<?xml version='1.0' encoding='utf><rss><channel><item><link>http://e.org/&"
    b"</link></item></channel></rss>",
    "the feed's author between entries": b"<feed xmlns='http://www.w3.org/2005/Atom'><entry>"
    b"<id>1</id></entry><author><name>A</name></author><entry><id>2</id></entry></feed>",
    "a rare address in a large document": b"<rss><channel><link>https://example.org/</link><item>"
    b"<description>&lt;q cite='/c'&gt;q&lt;/q&gt;</description></item><item><description>"
    + b"x" * 200_000
    + b"</description></item></channel></rss>",
}


@pytest.mark.parametrize("body", ODD.values(), ids=ODD.keys())
def test_a_fragment_of_a_broken_document_says_the_same_or_is_not_given(body: bytes) -> None:
    for headers in ({}, {"Content-Type": "text/xml; charset=utf-8"}):
        entries = parse(body, url=HOME, headers=headers).entries
        assert entries
        for entry in entries:
            if entry.fragment is not None:
                again = parse_fragment(body, entry.fragment, url=HOME, headers=headers)
                assert again == entry


@pytest.mark.parametrize(
    "name",
    [
        "latin-1 that could be UTF-8",
        "one entry of another charset",
        "the feed's author between entries",
        "a rare address in a large document",
    ],
)
def test_a_fragment_is_read_with_what_holds_for_its_whole_document(name: str) -> None:
    entries = parse(ODD[name], url=HOME).entries
    assert entries
    assert all(entry.fragment is not None for entry in entries)


def test_a_repaired_document_is_not_read_again_without_end() -> None:
    many = b"<rss><channel>" + b"<item><title>x</item>" * 1_000
    entries = parse(many).entries
    given = [entry for entry in entries if entry.fragment is not None]
    assert len(entries) == 1_000
    assert 20 < len(given) < 200
    assert all(entry.fragment for entry in parse(many, limits=ParseLimits(reread=100)).entries)
    assert not any(entry.fragment for entry in parse(many, limits=ParseLimits(reread=0)).entries)

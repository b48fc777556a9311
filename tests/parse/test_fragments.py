"""Each entry's own XML: where it stands, and that it says the same alone."""

import pytest

from headwater.parse import Fragment, parse, parse_fragment

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


@pytest.mark.parametrize("body", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_a_slice_says_the_same_alone(body: bytes) -> None:
    entries = parse(body, url=HOME).entries
    assert entries
    for entry in entries:
        assert entry.fragment is not None
        assert parse_fragment(body, entry.fragment, url=HOME) == entry


@pytest.mark.parametrize("body", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_a_slice_starts_and_ends_with_its_own_tags(body: bytes) -> None:
    for entry in parse(body, url=HOME).entries:
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

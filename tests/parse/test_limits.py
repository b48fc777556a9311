"""What is too much is cut and told."""

import pytest

from headwater.parse import Document, ParseLimits, parse


def rss(inner: str) -> bytes:
    return f"<rss><channel>{inner}</channel></rss>".encode()


def codes(document: Document) -> dict[str, str]:
    return {problem.code: problem.detail for problem in document.problems}


def test_more_items_than_allowed_are_cut() -> None:
    document = parse(rss("<item><title>x</title></item>" * 7), limits=ParseLimits(items=5))
    assert len(document.entries) == 5
    assert codes(document) == {"items_cut": "2 entries over 5 were cut"}


def test_five_thousand_items_are_kept_by_default() -> None:
    document = parse(rss("<item/>" * 5_001))
    assert len(document.entries) == 5_000
    assert "items_cut" in codes(document)


CUTS: list[tuple[str, str, str, int]] = [
    ("<title>{}</title>", "title.value", "title_cut", 1_024),
    ("<guid>{}</guid>", "native_id", "guid_cut", 4_096),
    ("<description>{}</description>", "summary.value", "summary_cut", 1_048_576),
    ("<encoded>{}</encoded>", "content.value", "content_cut", 1_048_576),
]


@pytest.mark.parametrize(("item", "path", "code", "limit"), CUTS)
def test_long_fields_are_cut_to_their_limit(item: str, path: str, code: str, limit: int) -> None:
    for length, is_cut in ((limit, False), (limit + 1, True)):
        document = parse(rss(f"<item>{item.format('x' * length)}</item>"))
        found: object = document.entries[0]
        for name in path.split("."):
            found = getattr(found, name)
        assert found == "x" * limit
        assert (code in codes(document)) is is_cut


def test_a_long_name_of_an_rdf_item_is_cut() -> None:
    rdf = "xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'"
    document = parse(f"<rdf:RDF {rdf}><item rdf:about='{'x' * 5_000}'/></rdf:RDF>".encode())
    assert document.entries[0].native_id == "x" * 4_096
    assert "guid_cut" in codes(document)


def test_a_link_that_is_too_long_is_dropped() -> None:
    link = "https://e.org/" + "x" * 4_096
    document = parse(rss(f"<item><link>{link}</link></item>"))
    assert document.entries[0].link is None
    assert "link_cut" in codes(document)


COUNTS: list[tuple[str, str, str, int]] = [
    ("<category>{}</category>", "categories", "categories_cut", 64),
    ("<enclosure url='https://e.org/{}'/>", "enclosures", "enclosures_cut", 32),
    ("<author>{}</author>", "authors", "people_cut", 64),
    ("<link href='https://e.org/{}'/>", "links", "links_cut", 64),
    ("<encoded>{}</encoded>", "contents", "contents_cut", 16),
]


@pytest.mark.parametrize(("element", "field", "code", "limit"), COUNTS)
def test_long_lists_are_cut_to_their_limit(element: str, field: str, code: str, limit: int) -> None:
    inner = "".join(element.format(number) for number in range(limit + 3))
    document = parse(rss(f"<item>{inner}</item>"))
    assert len(getattr(document.entries[0], field)) == limit
    assert codes(document)[code].endswith("(3×)")


def test_extensions_are_bounded_in_number_and_length() -> None:
    many = "".join(f"<x{number}>v</x{number}>" for number in range(300))
    document = parse(rss(f"<item>{many}</item><item><y>{'z' * 5_000}</y></item>"))
    assert len(document.entries[0].extensions[""]) == 256
    assert document.entries[1].extensions[""]["y"] == ("z" * 4_096,)
    assert {"extensions_cut", "extension_cut"} <= set(codes(document))


def test_a_cut_leaves_whole_characters_and_whole_tags() -> None:
    limits = ParseLimits(content_bytes=20)
    document = parse(
        rss("<item><description>\u65e5\u65e5\u65e5\u65e5\u65e5\u65e5\u65e5\u65e5</description>"
            "</item><item><description>&lt;p&gt;words&lt;a href='https://e.org'&gt;"
            "</description></item>"), limits=limits)  # fmt: skip
    first, second = (entry.summary for entry in document.entries)
    assert first is not None
    assert first.value == "\u65e5" * 6
    assert second is not None
    assert second.value == "<p>words"


def test_markup_deeper_than_the_limit_is_cut() -> None:
    inner = "<b>" * 150 + "deep" + "</b>" * 150
    document = parse(rss(f"<item><description>{inner}</description></item>"))
    summary = document.entries[0].summary
    assert summary is not None
    assert "deep" not in summary.value
    assert summary.value.count("<b>") == 100
    assert "depth_cut" in codes(document)


def test_a_thousand_problems_of_a_kind_are_one() -> None:
    document = parse(rss("<item><link>javascript:x</link></item>" * 1_000))
    assert codes(document) == {"link_dropped": "not a web address: 'javascript:x' (1000×)"}


@pytest.mark.parametrize("size", [9_900_000, 10_100_000, 24_000_000])
def test_a_sound_document_may_be_larger_than_the_xml_library_takes_at_once(size: int) -> None:
    item = b"<item><title>t</title><description>%b</description></item>"
    words = b"&lt;p&gt;hello " * 7_000
    count = size // len(item % words)
    body = b"<rss><channel>" + (item % words) * count + b"</channel></rss>"
    found = parse(body)
    assert found.problems == ()
    assert len(found.entries) == count
    assert found.entries[-1].summary is not None
    assert len(found.entries[-1].summary.value) == len("<p>hello ") * 7_000 - 1


@pytest.mark.parametrize(("limit", "letter"), [(0, "b"), (1, "\u00e9"), (3, "\U0001f600")])
def test_a_summary_of_which_nothing_is_left_says_nothing(limit: int, letter: str) -> None:
    body = f"<rss><channel><item><description>a</description><summary>{letter}</summary></item>"
    limits = ParseLimits(content_bytes=limit)
    (entry,) = parse(f"{body}</channel></rss>".encode(), limits=limits).entries
    assert entry.contents == ()

"""Charsets: declared, lied about, missing, forbidden."""

import codecs

import pytest

from headwater.parse import Text, parse


def feed(title: str, declared: str | None = None) -> str:
    prolog = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    return f"{prolog}<rss><channel><title>{title}</title></channel></rss>"


def title_of(body: bytes, content_type: str | None = None) -> str:
    headers = {"Content-Type": content_type} if content_type else None
    found = parse(body, headers=headers).feed.title
    assert found is not None
    return found.value


DECLARED: list[tuple[str, str, str]] = [
    ("utf-8", "utf-8", "caf\u00e9 \u65e5\u672c\u8a9e"),
    ("UTF8", "utf-8", "caf\u00e9"),
    ("iso-8859-1", "latin-1", "caf\u00e9"),
    ("iso-8859-2", "iso8859_2", "\u0159e\u010d"),
    ("iso-8859-15", "iso8859_15", "\u20ac"),
    ("windows-1250", "cp1250", "\u0159e\u010d"),
    ("windows-1251", "cp1251", "\u041f\u0440\u0438\u0432\u0435\u0442"),
    ("windows-1252", "cp1252", "\u201cquoted\u201d \u20ac"),
    ("windows-1253", "cp1253", "\u0395\u03bb\u03bb\u03ac\u03b4\u03b1"),
    ("windows-1256", "cp1256", "\u0645\u0631\u062d\u0628\u0627"),
    ("koi8-r", "koi8_r", "\u041f\u0440\u0438\u0432\u0435\u0442"),
    ("gb2312", "gb2312", "\u4f60\u597d"),
    ("gbk", "gbk", "\u4f60\u597d\u9555"),
    ("gb18030", "gb18030", "\u4f60\u597d"),
    ("big5", "big5", "\u4f60\u597d\u55ce"),
    ("shift_jis", "shift_jis", "\u3053\u3093\u306b\u3061\u306f \u8868"),
    ("euc-jp", "euc_jp", "\u3053\u3093\u306b\u3061\u306f"),
    ("iso-2022-jp", "iso2022_jp", "\u3053\u3093\u306b\u3061\u306f"),
    ("euc-kr", "euc_kr", "\uc548\ub155"),
    ("macintosh", "mac_roman", "caf\u00e9"),
]


@pytest.mark.parametrize(("label", "codec", "title"), DECLARED)
def test_the_prolog_is_believed(label: str, codec: str, title: str) -> None:
    assert title_of(feed(title, label).encode(codec)) == title


@pytest.mark.parametrize(("label", "codec", "title"), DECLARED)
def test_the_header_is_believed(label: str, codec: str, title: str) -> None:
    assert title_of(feed(title).encode(codec), f"text/xml; charset={label}") == title


LABELS: list[tuple[str, str, str]] = [
    ("win-1251", "cp1251", "\u041f\u0440\u0438\u0432\u0435\u0442"),
    ("windows1251", "cp1251", "\u041f\u0440\u0438\u0432\u0435\u0442"),
    ("KOI8", "koi8_r", "\u041f\u0440\u0438\u0432\u0435\u0442"),
    ("ISO_8859-5:1988", "iso8859_5", "\u041f\u0440\u0438\u0432\u0435\u0442"),
    ("iso88592", "iso8859_2", "\u0159e\u010d"),
    ("latin2", "iso8859_2", "\u0159e\u010d"),
    ("iso-8859-8-i", "iso8859_8", "\u05e9\u05dc\u05d5\u05dd"),
    ("MS_Kanji", "cp932", "\u65e5\u672c"),
    ("EUC_JP", "euc_jp", "\u65e5\u672c"),
    ("iso-2022-jp-2", "iso2022_jp_2", "\u65e5\u672c"),
    ("x-x-big5", "big5", "\u4f60\u597d"),
    ("csBig5", "big5", "\u4f60\u597d"),
    ("gb_2312", "gb2312", "\u4f60\u597d"),
    ("chinese", "gb2312", "\u4f60\u597d"),
    ("euc_kr", "euc_kr", "\uc548\ub155"),
    ("ksc5601", "euc_kr", "\uc548\ub155"),
    ("cp819", "latin-1", "caf\u00e9"),
    # Python's names, and charsets that only the wild still has
    ("1251", "cp1251", "\u041f\u0440\u0438\u0432\u0435\u0442"),
    ("mac_roman", "mac_roman", "caf\u00e9"),
    ("mac-cyrillic", "mac_cyrillic", "\u041f\u0440\u0438\u0432\u0435\u0442"),
    ("x-mac-greek", "mac_greek", "\u0395\u03bb\u03bb"),
    ("8859", "latin-1", "caf\u00e9"),
    ("cp858", "cp858", "caf\u00e9 \u20ac"),
    ("IBM865", "cp865", "caf\u00e9"),
    ("cp737", "cp737", "\u0395\u03bb\u03bb"),
    ("hp-roman8", "hp_roman8", "caf\u00e9"),
    ("eucgb2312-cn", "gb2312", "\u4f60\u597d"),
    ("euc_jis_2004", "euc_jis_2004", "\u65e5\u672c"),
    ("shiftjisx0213", "shift_jisx0213", "\u65e5\u672c"),
    ("iso-2022-jp-3", "iso2022_jp_3", "\u65e5\u672c"),
    ("uhc", "cp949", "\uc548\ub155"),
    ("cp037", "cp037", "caf\u00e9"),
    ("EBCDIC-CP-BE", "cp500", "caf\u00e9 [x]"),
    ("IBM1140", "cp1140", "caf\u00e9 \u20ac"),
    ("cp1026", "cp1026", "caf\u00e9 \u011f"),
    ("IBM01140", "cp1140", "caf\u00e9 \u20ac"),
    ("iso-8859-5-1988", "iso8859_5", "\u041f\u0440\u0438\u0432\u0435\u0442"),
    ("iso_8859_2_1987", "iso8859_2", "\u0159e\u010d"),
]


@pytest.mark.parametrize(("label", "codec", "title"), LABELS)
def test_a_charset_is_known_by_its_other_names(label: str, codec: str, title: str) -> None:
    document = parse(feed(title, label).encode(codec))
    assert document.feed.title is not None
    assert document.feed.title.value == title
    assert document.problems == ()


MARKED: list[tuple[bytes, str]] = [
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (b"", "utf-16-le"),
    (b"", "utf-16-be"),
    (b"", "utf-32-le"),
]


@pytest.mark.parametrize(("mark", "codec"), MARKED)
def test_a_byte_order_mark_beats_every_declaration(mark: bytes, codec: str) -> None:
    body = mark + feed("caf\u00e9 \u65e5", "iso-8859-1").encode(codec)
    assert title_of(body, "text/xml; charset=windows-1251") == "caf\u00e9 \u65e5"


LIES: list[tuple[bytes, str | None, str]] = [
    (feed("caf\u00e9", "iso-8859-1").encode(), None, "caf\u00e9"),
    (feed("caf\u00e9", "us-ascii").encode(), None, "caf\u00e9"),
    (feed("caf\u00e9", "utf-8").encode("latin-1"), None, "caf\u00e9"),
    (feed("caf\u00e9").encode("latin-1"), None, "caf\u00e9"),
    (feed("caf\u00e9", "utf-8").encode(), "text/xml; charset=iso-8859-1", "caf\u00e9"),
    (feed("\u4f60\u597d", "gb2312").encode("gb2312"), "text/xml; charset=utf-8", "\u4f60\u597d"),
    (
        feed("\u4e2d\u6587\u6d4b\u8bd5" * 3, "utf-8").encode(),
        "text/xml; charset=gbk",
        "\u4e2d\u6587\u6d4b\u8bd5" * 3,
    ),
    (feed("\u4e2d\u6587\u6d4b\u8bd5" * 3, "gb2312").encode(), None, "\u4e2d\u6587\u6d4b\u8bd5" * 3),
    (feed("\ud55c\uad6d\uc5b4" * 4, "euc-kr").encode(), None, "\ud55c\uad6d\uc5b4" * 4),
    (feed("\u8054\u901a", "gb2312").encode("gb2312"), None, "\u8054\u901a"),
    (feed("caf\u00e9", "utf-16").encode(), None, "caf\u00e9"),
    (feed("caf\u00e9", "klingon").encode(), None, "caf\u00e9"),
    (feed("\u201cx\u201d").encode("cp1252"), None, "\u201cx\u201d"),
    (
        feed("\u65e5\u672c", "shift_jis").encode("cp932"),
        "text/xml; charset=us-ascii",
        "\u65e5\u672c",
    ),
    (feed("caf\u00e9 \u00fb", "shift_jis").encode("latin-1"), None, "caf\u00e9 \u00fb"),
    (feed("caf\u00e9", "cp037").encode(), "text/xml; charset=cp500", "caf\u00e9"),
    (feed("caf\u00e9").encode("cp500"), "text/xml; charset=cp500", "caf\u00e9"),
    (feed("caf\u00e9", "ebcdic-klingon").encode("cp037"), None, "caf\u00e9"),
    (feed("\u0159", "iso-8859-2").replace('"', "").encode("iso8859_2"), None, "\u0159"),
    (codecs.BOM_UTF16_LE + feed("caf\u00e9").encode(), None, "caf\u00e9"),
    (codecs.BOM_UTF16_BE + feed("\u4f60", "gbk").encode("gbk"), None, "\u4f60"),
    (b"\x00" + feed("caf\u00e9").encode(), None, "caf\u00e9"),
    (b"\x00" + feed("caf\u00e9", "utf-8").encode(), None, "caf\u00e9"),
    (feed("\ud83d\ude00").encode("utf-8", "surrogatepass"), None, "\U0001f600"),
    (feed("\u65e5 \ude00").encode("utf-8", "surrogatepass"), None, "\u65e5 \ufffd"),
]


@pytest.mark.parametrize(("body", "content_type", "title"), LIES)
def test_a_lie_is_found_out(body: bytes, content_type: str | None, title: str) -> None:
    assert title_of(body, content_type) == title


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_space_before_a_wide_document_does_not_hide_it(codec: str) -> None:
    body = ("\n \t" + feed("caf\u00e9 \u65e5")).encode(codec)
    assert title_of(body, f"text/xml; charset={codec}") == "caf\u00e9 \u65e5"


def test_one_bad_byte_does_not_spoil_a_document() -> None:
    body = feed("\u65e5\u672c\u8a9e \u65e5\u672c\u8a9e X", "utf-8").encode().replace(b"X", b"\xff")
    document = parse(body)
    assert document.feed.title is not None
    assert document.feed.title.value == "\u65e5\u672c\u8a9e \u65e5\u672c\u8a9e \ufffd"
    assert document.encoding == "utf-8"
    assert "bad_bytes" in {problem.code for problem in document.problems}


def test_undeclared_bytes_are_read_by_the_language_of_the_feed() -> None:
    hello = "\u041f\u0440\u0438\u0432\u0435\u0442"
    text = f"<rss><channel><language>ru</language><title>{hello}</title></channel></rss>"
    assert title_of(text.encode("cp1251")) == hello


NAMES: list[tuple[bytes, str | None, str]] = [
    (feed("x").encode(), None, "utf-8"),
    (feed("x", "ISO-8859-1").encode(), None, "iso-8859-1"),
    (feed("\u4f60", "gb2312").encode("gb2312"), None, "gb18030"),
    (feed("caf\u00e9", "iso-8859-1").encode(), None, "utf-8"),
    (feed("x", "iso-8859-1").encode(), "application/xml; charset=utf-8", "utf-8"),
    (feed("caf\u00e9", "us-ascii").encode("latin-1"), None, "windows-1252"),
    (feed("x", "us-ascii").encode(), None, "us-ascii"),
    (feed("x", "cp858").encode(), None, "cp858"),
    (feed("x", "ebcdic-cp-us").encode("cp037"), None, "cp037"),
]


@pytest.mark.parametrize(("body", "content_type", "name"), NAMES)
def test_the_charset_used_is_told(body: bytes, content_type: str | None, name: str) -> None:
    headers = {"content-type": content_type} if content_type else {}
    assert parse(body, headers=headers).encoding == name


FORBIDDEN = ["utf-7", "zip", "rot13", "idna", "unicode_escape", "../../x", "punycode", "hex"]


@pytest.mark.parametrize("label", FORBIDDEN)
def test_a_codec_that_is_not_on_the_list_is_never_used(label: str) -> None:
    body = feed("+ADw-script+AD4-", label).encode()
    assert title_of(body, f"text/xml; charset={label}") == "+ADw-script+AD4-"


def test_lines_of_ebcdic_end_with_a_mark_of_its_own() -> None:
    body = feed("a\nb", "cp037").encode("cp037").replace(b"\x25", b"\x15")
    assert title_of(body) == "a\nb"


def test_entries_with_halves_of_characters_have_no_fragments() -> None:
    text = "<rss><channel><item><title>\ud83d\ude00</title></item></channel></rss>"
    (entry,) = parse(text.encode("utf-8", "surrogatepass")).entries
    assert entry.title == Text("\U0001f600")
    assert entry.fragment is None


def test_entries_in_ebcdic_have_no_fragments() -> None:
    text = feed("x", "cp037").replace("</channel>", "<item><title>y</title></item></channel>")
    (entry,) = parse(text.encode("cp037")).entries
    assert entry.fragment is None


OTHER_CLAIMS: list[tuple[bytes, str | None, bool]] = [
    (codecs.BOM_UTF8 + feed("x", "utf-8").encode(), "text/xml; charset=iso-8859-1", True),
    (codecs.BOM_UTF8 + feed("x", "iso-8859-1").encode(), None, True),
    (codecs.BOM_UTF8 + feed("x", "iso-8859-1").encode(), "text/xml; charset=utf-8", False),
    (codecs.BOM_UTF8 + feed("x").encode(), "text/xml", False),
    (codecs.BOM_UTF16_LE + feed("x").encode("utf-16-le"), "text/xml; charset=utf-16", False),
    (codecs.BOM_UTF16_LE + feed("x").encode("utf-16-le"), "text/xml; charset=utf-8", True),
]


@pytest.mark.parametrize(("body", "content_type", "is_told"), OTHER_CLAIMS)
def test_a_claim_that_the_mark_belies_is_told(
    body: bytes, content_type: str | None, is_told: bool
) -> None:
    document = parse(body, headers={"Content-Type": content_type} if content_type else {})
    assert document.feed.title is not None
    told = {problem.code for problem in document.problems}
    assert told == ({"encoding_override"} if is_told else set())

"""Detect the charset of OPML lists and HTML pages.

Feeds are read with more care, in `parse.charset`.
"""

import codecs

_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_WESTERN = "cp1252"
_WIDER_CODECS = {
    "ascii": _WESTERN,
    "iso8859-1": _WESTERN,
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
"""The codecs that browsers use for text under the name of a smaller charset."""
_MANY_BYTES = frozenset({"gb18030", "cp932", "cp949", "big5hkscs", "euc_jp", "iso2022_jp"})
_ONE_BYTE = ("cp", "iso8859", "koi8", "mac", "tis")
_ENOUGH_LETTERS = 8
"""One Chinese character in six is valid UTF-8 by chance. That so many all are is no coincidence."""


def decode_page(body: bytes, label: str | None) -> str:
    """Decode a page; `label` is the charset that it claims.

    Real UTF-8 wins over any claim. A few bytes that do not fit are replaced: they must not spoil
    the rest.
    """
    if body.startswith(_WIDE):
        return body.decode("utf-16", "replace")
    codec, is_marked = codec_of_label(label), body.startswith(codecs.BOM_UTF8)
    body = body.removeprefix(codecs.BOM_UTF8)  # a mark is no letter, whatever stands behind it
    claims = ("utf-8",) if codec is None else ("utf-8", codec)
    for claim in claims:
        text = _decode_strictly(body, claim)
        if text is not None and (claim == codec or is_marked or _is_surely_utf8(text, codec)):
            return text
    text = body.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    if _beyond_ascii(text) - bad > 2 * bad:
        return text
    return body.decode(codec or _WESTERN, "replace")


def codec_of_label(label: str | None) -> str | None:
    """The codec of a charset; None for UTF-8, UTF-16 and unknown charsets."""
    if label is None:
        return None
    try:
        name = codecs.lookup(label.lower().removeprefix("x-")).name
    except LookupError:
        return None
    codec = _WIDER_CODECS.get(name, name)
    return codec if codec in _MANY_BYTES or codec.startswith(_ONE_BYTE) else None


def _decode_strictly(body: bytes, codec: str) -> str | None:
    try:
        return body.decode(codec)
    except UnicodeDecodeError:
        return None


def _is_surely_utf8(text: str, claimed: str | None) -> bool:
    return claimed not in _MANY_BYTES or _beyond_ascii(text) >= _ENOUGH_LETTERS


def _beyond_ascii(text: str) -> int:
    return len(text) - len(text.encode("ascii", "ignore"))

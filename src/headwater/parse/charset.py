"""Find the charset of a document, also when header, BOM and prolog disagree, and decode it."""

import codecs
import re
from collections.abc import Mapping
from typing import NamedTuple

from headwater.parse.charset_labels import (
    EBCDIC,
    OTHER_LABELS,
    RARE_MANY_BYTES,
    RARE_SINGLE_BYTE,
    RARE_STATEFUL,
)
from headwater.parse.limits import ProblemTally

LANGUAGE_CHARSETS: dict[str, str] = {
    "ru": "windows-1251",
    "uk": "windows-1251",
    "bg": "windows-1251",
    "be": "windows-1251",
    "sr": "windows-1251",
    "zh": "gb18030",
    "zh-tw": "big5",
    "zh-hk": "big5",
    "ja": "shift_jis",
    "ko": "cp949",
    "el": "windows-1253",
    "tr": "windows-1254",
    "he": "windows-1255",
    "ar": "windows-1256",
    "fa": "windows-1256",
    "pl": "windows-1250",
    "cs": "windows-1250",
    "sk": "windows-1250",
    "hu": "windows-1250",
    "th": "windows-874",
    "vi": "windows-1258",
}
"""The most likely charset of undeclared bytes, by the language that the feed names. This table may
go when all feeds are UTF-8."""
_PROLOG = re.compile(rb"<\?xml[^>]{0,400}?encoding\s*=\s*[\"']?\s*([A-Za-z0-9._:-]{1,40})[\s\"'?]")
_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_LANGUAGE = re.compile(
    rb"<(?:dc:)?language>\s*([A-Za-z]{2}(?:-[A-Za-z]{2})?)|xml:lang\s*=\s*[\"']([A-Za-z]{2}"
    rb"(?:-[A-Za-z]{2})?)"
)
# The byte of a quote differs from one EBCDIC charset to the next.
_EBCDIC_NAME = re.compile(r"encoding\s*=\s*.\s*([A-Za-z0-9._:-]{1,40})")
_YEAR = re.compile(r"(?<=\d)[:-](?:19|20)\d\d$")
_FEFF = "\ufeff"
_NO_CHANCE = 8
_BOM_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SAMPLE = 4_096
_SINGLE_BYTE = RARE_SINGLE_BYTE | {
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252",
    "iso_8859-1": "cp1252",
    "latin1": "cp1252",
    "latin-1": "cp1252",
    "windows-1252": "cp1252",
    "cp1252": "cp1252",
    "cp-1252": "cp1252",
    "x-ansi": "cp1252",
    "koi8-r": "koi8_r",
    "koi8-u": "koi8_u",
    "koi8-ru": "koi8_u",
    "macintosh": "mac_roman",
    "x-mac-roman": "mac_roman",
    "macroman": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
    "tis-620": "cp874",
    "windows-874": "cp874",
    "ibm866": "cp866",
    "cp866": "cp866",
    "ibm437": "cp437",
    "cp437": "cp437",
    "ibm850": "cp850",
    "cp850": "cp850",
    "ibm852": "cp852",
    "cp852": "cp852",
} | {
    spelling: codec
    for number in range(1250, 1259)
    if number != 1252
    for codec in (f"cp{number}",)
    for spelling in (f"windows-{number}", f"cp{number}", f"cp-{number}", f"x-cp{number}")
} | {
    spelling: f"iso8859_{number}"
    for number in (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16)
    for spelling in (f"iso-8859-{number}", f"iso8859-{number}", f"iso_8859-{number}")
}  # fmt: skip
_MANY_BYTES = RARE_MANY_BYTES | {
    "gb2312": "gb18030",
    "gb_2312-80": "gb18030",
    "x-gbk": "gb18030",
    "gbk": "gb18030",
    "gb18030": "gb18030",
    "cp936": "gb18030",
    "big5": "big5hkscs",
    "big-5": "big5hkscs",
    "big5-hkscs": "big5hkscs",
    "cp950": "cp950",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "sjis": "cp932",
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "cp932": "cp932",
    "euc-jp": "euc_jp",
    "x-euc-jp": "euc_jp",
    "eucjp": "euc_jp",
    "euc-kr": "cp949",
    "euckr": "cp949",
    "ks_c_5601-1987": "cp949",
    "cp949": "cp949",
    "johab": "johab",
}
# ASCII bytes that are not ASCII text: these must be decoded even when all bytes are below 128.
_STATEFUL = RARE_STATEFUL | {
    "iso-2022-jp": "iso2022_jp_2",
    "iso-2022-kr": "iso2022_kr",
    "hz-gb-2312": "hz",
    "hz": "hz",
}
_WIDE = {
    "utf-16": "utf-16",
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
    "utf-32": "utf-32",
    "utf-32le": "utf-32-le",
    "utf-32be": "utf-32-be",
    "iso-10646-ucs-2": "utf-16",
    "ucs-2": "utf-16",
    "iso-10646-ucs-4": "utf-32",
    "ucs-4": "utf-32",
}
_UTF8 = {"utf-8": "utf-8", "utf8": "utf-8", "utf_8": "utf-8", "unicode-1-1-utf-8": "utf-8"}

CODEC_BY_LABEL = _SINGLE_BYTE | _MANY_BYTES | _STATEFUL | _WIDE | _UTF8 | EBCDIC
"""The only codecs ever used, by the label a publisher may write. UTF-7 is not among them."""
_BYTE_ORDER_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32le", 4),
    (b"\x00\x00\xfe\xff", "utf-32be", 4),
    (b"\xef\xbb\xbf", "utf-8", 3),
    (b"\xff\xfe", "utf-16le", 2),
    (b"\xfe\xff", "utf-16be", 2),
    *(
        mark
        for first in (b"<", b"{")
        for mark in (
            (first + b"\x00\x00\x00", "utf-32le", 0),
            (b"\x00\x00\x00" + first, "utf-32be", 0),
            (first + b"\x00", "utf-16le", 0),
            (b"\x00" + first + b"\x00", "utf-16be", 0),
        )
    ),
)
_WIDE_SPACE = re.compile(
    rb"(?:\x00{3}[\t\n\r ])+(?=\x00{3}[<{])|(?:[\t\n\r ]\x00{3})+(?=[<{]\x00{3})"
    rb"|(?:\x00[\t\n\r ])+(?=\x00[<{]\x00)|(?:[\t\n\r ]\x00)+(?=[<{]\x00)"
)
_ASCII = ("us-ascii", "ascii")
_EBCDIC_PROLOG, _EBCDIC_BRACKET = "<?xm".encode("cp037"), "<".encode("cp037")
_USUAL_PROLOGS = (
    b'<?xml version="1.0" encoding="utf-8"',
    b"<?xml version='1.0' encoding='utf-8'",
)
_USUAL_LABELS: tuple[list[str], ...] = (["utf-8"], [])
_USUAL_STARTS = (b"<?", b"<r", b"<f", b"<R", b"<!")


class Utf8Document(NamedTuple):
    """`utf8` is the document for the XML parser.

    `label` is the charset's name, `codec` Python's name of it. While `is_body` holds, `utf8` is
    the body from byte `skipped` on, and nobody has checked yet that it is valid UTF-8.
    """

    utf8: bytes
    label: str
    codec: str
    skipped: int
    is_body: bool


def decode_document(body: bytes, headers: Mapping[str, str], tally: ProblemTally) -> Utf8Document:
    """Decode the document by its BOM, then its header, then its prolog, then by trial."""
    is_marked = body[:2] not in _USUAL_STARTS
    space = _WIDE_SPACE.match(body) if is_marked else None
    start = space.end() if space is not None else 0
    for mark, label, skipped in _BYTE_ORDER_MARKS if is_marked else ():
        if body.startswith(mark, start) and (mark not in _BOM_UTF16 or not _bom_length(body)):
            _note_other_claim(label, body[skipped:], headers, tally)
            if label == "utf-8":
                return Utf8Document(body[3:], label, "utf-8", 3, True)
            return _decode_as(body[skipped:], label, tally)
    labels = _declared(body, headers, tally)
    if labels in _USUAL_LABELS:
        return Utf8Document(body, "utf-8", "ascii" if body.isascii() else "utf-8", 0, True)
    if labels and labels[0] in EBCDIC:
        return _decode_as(body, labels[0], tally)
    stateful = next((label for label in labels if label in _STATEFUL), None)
    if body.isascii() and stateful is None:
        label = next((label for label in labels if label not in _WIDE), "utf-8")
        return Utf8Document(body, label, "ascii", 0, True)
    if (not labels or labels[0] in _UTF8) and stateful is None:
        return Utf8Document(body, "utf-8", "utf-8", 0, True)
    return _decode_by_trial(body[_bom_length(body) :], labels, tally)


def _bom_length(body: bytes) -> int:
    """The length of a byte order mark before narrow characters: wide tags have zero bytes."""
    if body.startswith(codecs.BOM_UTF8):
        return 3
    return 2 if body.startswith(_BOM_UTF16) and b"\x00" not in body[2:_SAMPLE] else 0


def _note_other_claim(
    label: str, body: bytes, headers: Mapping[str, str], tally: ProblemTally
) -> None:
    """Note when the first declared charset of a marked document is not the one of its mark."""
    claims = _declared(body, headers, ProblemTally())
    if (
        claims and CODEC_BY_LABEL[claims[0]][:6] != CODEC_BY_LABEL[label][:6]
    ):  # utf-8, utf-16 or utf-32
        tally.note("encoding_override", f"declared {claims[0]}, read as {label}")


def decode_false_utf8(body: bytes, headers: Mapping[str, str], tally: ProblemTally) -> Utf8Document:
    """Decode a document that claims to be UTF-8 and is not."""
    return _decode_by_trial(
        body[_bom_length(body) :], _declared(body, headers, ProblemTally()), tally
    )


def decode_like(whole: Utf8Document, part: bytes) -> Utf8Document:
    """Decode a part of a document in the charset of the whole, whatever the part looks like."""
    if whole.is_body:
        utf8 = part[whole.skipped :]
    else:
        text = part.decode(whole.codec, "replace").removeprefix(_FEFF)
        utf8 = text.encode("utf-8", "replace")
    return Utf8Document(utf8, whole.label, whole.codec, whole.skipped, whole.is_body)


def header_value(headers: Mapping[str, str], name: str) -> str | None:
    """A header field by its lower-case name, in whatever case its key is."""
    for key, value in headers.items():
        if key.lower() == name:
            return value
    return None


def is_valid_utf8(document: bytes) -> bool:
    try:
        document.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _declared(body: bytes, headers: Mapping[str, str], tally: ProblemTally) -> list[str]:
    """Declared labels that we know, the header's before the prolog's."""
    labels: list[str] = []
    content_type = header_value(headers, "content-type") if headers else None
    in_header = _HEADER.search(content_type[:1024]) if content_type else None
    for label in (in_header[1] if in_header else None, _label_in_prolog(body)):
        if label is None:
            continue
        known_label = _find_label(label.lower())
        if known_label in EBCDIC and not body.startswith(_EBCDIC_BRACKET):
            continue  # some gateways translate the document and forget its label
        if known_label is not None:
            labels.append(known_label)
        else:
            tally.note("encoding_unknown", f"charset {label[:40]!r} is not one we read")
    return labels


def _find_label(label: str) -> str | None:
    """The label of a charset that we read, by that label or another of its names."""
    if label in CODEC_BY_LABEL:
        return label
    label = label.replace("_", "-")
    usual = label if label in CODEC_BY_LABEL else OTHER_LABELS.get(label)
    return usual or (_find_label(_YEAR.sub("", label)) if _YEAR.search(label) else None)


def _label_in_prolog(body: bytes) -> str | None:
    if body.startswith(_EBCDIC_PROLOG):
        name = _EBCDIC_NAME.search(body[:512].decode("cp037"))
        return name[1] if name and _find_label(name[1].lower()) in EBCDIC else "cp037"
    end = body.find(b"?>", 0, 512)
    if end <= 0:
        return None
    if body[:36].lower() in _USUAL_PROLOGS:
        return "utf-8"
    declared = _PROLOG.search(body, 0, end + 2)
    return declared[1].decode("ascii") if declared else None


def _decode_by_trial(body: bytes, labels: list[str], tally: ProblemTally) -> Utf8Document:
    """The first charset that fits the bytes. Valid UTF-8 wins over a single-byte claim.

    It wins over any other claim when there is so much of it that it cannot be chance.
    """
    tried = [label for label in labels if label not in _ASCII]
    if len(tried) < len(labels):
        tried.append("windows-1252")  # a document with other bytes is not ASCII, whatever it claims
    if all(label in _SINGLE_BYTE or label in _UTF8 or label in _WIDE for label in labels):
        tried.insert(0, "utf-8")
    else:
        tried.insert(0 if _is_surely_utf8(body) else len(tried), "utf-8")
    for label in tried:
        if label in _WIDE:
            continue
        try:
            text = body.decode(CODEC_BY_LABEL[label])
        except UnicodeDecodeError:
            continue
        if label not in labels[:1] and labels:
            tally.note("encoding_override", f"declared {labels[0]}, read as {label}")
        return _document_from_text(text, label)
    return _with_replacements(body, labels, tally)


def _is_surely_utf8(body: bytes) -> bool:
    """A Chinese character in GBK is valid UTF-8 one time in six; eight in a row are no chance."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return len(text) - len(text.encode("ascii", "ignore")) >= _NO_CHANCE


def _with_replacements(body: bytes, labels: list[str], tally: ProblemTally) -> Utf8Document:
    text = _join_surrogates(body)
    if text is not None:
        tally.note("bad_bytes", "halves of characters were joined or replaced")
        # No part of such a document may be read alone as if it were UTF-8.
        return _document_from_text(text, "utf-8")._replace(codec="utf-16")
    text = body.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    good = len(text) - len(text.encode("ascii", "ignore")) - bad
    if good > 2 * bad or (labels and labels[0] in _UTF8 and good >= bad):
        tally.note("bad_bytes", "bytes that are not UTF-8 were replaced")
        return _document_from_text(text, "utf-8")
    label = next((label for label in labels if _fits_mostly(body, label)), None)
    label = (
        label or _label_by_language(body) or next((x for x in labels if x in _SINGLE_BYTE), None)
    )
    label = label or "windows-1252"
    if label not in labels[:1]:
        tally.note("encoding_override", f"not valid as declared, read as {label}")
    return _decode_as(body, label, tally)


def _join_surrogates(body: bytes) -> str | None:
    """Decode UTF-8 in which some characters are written in two halves, as in UTF-16."""
    try:
        halves = body.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None
    return halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _fits_mostly(body: bytes, label: str) -> bool:
    """Whether the bytes are in a multi-byte charset, although some of them do not fit."""
    if label not in _MANY_BYTES:
        return False
    text = body.decode(CODEC_BY_LABEL[label], "replace")
    return 8 * text.count("\ufffd") <= len(text) - len(text.encode("ascii", "ignore"))


def _label_by_language(body: bytes) -> str | None:
    match = _LANGUAGE.search(body, 0, 8192)
    if match is None:
        return None
    language = (match[1] or match[2]).decode("ascii").lower()
    return LANGUAGE_CHARSETS.get(language) or LANGUAGE_CHARSETS.get(language[:2])


def _decode_as(body: bytes, label: str, tally: ProblemTally) -> Utf8Document:
    text = body.decode(CODEC_BY_LABEL[label], "replace")
    if "\ufffd" in text:
        tally.note("bad_bytes", f"bytes that are not {label} were replaced")
    return _document_from_text(text, label)


def _document_from_text(text: str, label: str) -> Utf8Document:
    if label in EBCDIC:
        text = text.replace("\x85", "\n")  # how its lines end
    utf8 = text.removeprefix(_FEFF).encode("utf-8", "replace")
    return Utf8Document(
        utf8, "gb18030" if label == "gb2312" else label, CODEC_BY_LABEL[label], 0, False
    )

"""Repair the text of documents that are not well-formed XML."""

import re
from collections.abc import Iterator, Mapping
from html.entities import html5
from typing import NamedTuple

import re2  # type: ignore[import-untyped]  # ships no types
from lxml import etree

from headwater.parse.limits import ProblemTally

_SMALL = 2_048
_MOST_MEMORY = 1 << 18
_SAMPLE = b"<a href='b'>c &#8217; &#1;&#x7;![xml:\xc2\xa0\xc3\xa9</a>" * 64


class ByteSearch:
    """A search for a pattern of bytes: whether and where it occurs."""

    __slots__ = ("_in_large", "_in_small")

    def __init__(self, pattern: bytes) -> None:
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.log_errors = False
        options.max_mem = _MOST_MEMORY
        self._in_large = re2.compile(pattern, options).search
        self._in_small = re.compile(pattern).search
        # RE2 prepares the pattern now, so that no document has to wait for that.
        self._in_large(_SAMPLE)

    def finds(self, document: bytes) -> bool:
        search = self._in_small if len(document) < _SMALL else self._in_large
        return search(document) is not None

    def first(self, document: bytes) -> int:
        """The offset of the first match, or -1."""
        search = self._in_small if len(document) < _SMALL else self._in_large
        match = search(document)
        return -1 if match is None else int(match.start())


MARKUP, CDATA, COMMENT = "markup", "cdata", "comment"
_CDATA, _CDATA_END = b"<![CDATA[", b"]]>"
_COMMENT, _COMMENT_END = b"<!--", b"-->"
_OPEN_ELEMENT = re.compile(rb"<([A-Za-z_][\w:.-]*+)[^<>]*+>[^<]*+\Z")
_TORN_END = re.compile(rb"\]{1,2}\s*>?\s*\Z")
_LONE_COMMENT = re.compile(rb"<!--[^<>]*+>?")
_ROOT_END = re.compile(rb"</(?:rss|feed|rdf:RDF)\s*+>", re.IGNORECASE)

# A value wrapped in a section, as texts are: in a tag a section has no meaning.
_WRAPPED_VALUE = re.compile(rb"""(=\s*+(["']))<!\[CDATA\[([^"'<>]*?)\]\]>(?=\s*+\2)""")
_NEAR = 256


class Section(NamedTuple):
    kind: str
    text: bytes
    is_closed: bool = True


def sections(document: bytes) -> Iterator[Section]:
    """All sections in order and without loss. Plain searches find them at little cost."""
    done = 0
    at = document.find(b"<!")
    while at >= 0:
        kind, ending = _kind_at(document, at)
        if not ending:
            at = document.find(b"<!", at + 2)
            continue
        if at > done:
            yield Section(MARKUP, document[done:at])
        end = document.find(ending, at + 4)
        is_closed = end >= 0
        done = end + 3 if is_closed else len(document)
        yield Section(kind, document[at:done], is_closed)
        at = document.find(b"<!", done)
    if done < len(document):
        yield Section(MARKUP, document[done:])


def _kind_at(document: bytes, at: int) -> tuple[str, bytes]:
    """The kind and the ending of the section here; the ending is empty where no section begins."""
    if document.startswith(_CDATA, at):
        return CDATA, _CDATA_END
    return (COMMENT, _COMMENT_END) if document.startswith(_COMMENT, at) else (MARKUP, b"")


def unwrap_values(document: bytes) -> bytes:
    """Remove the section around values of attributes (`url="<![CDATA[…]]>"`)."""
    return _WRAPPED_VALUE.sub(rb"\1\3", document) if _CDATA in document else document


def close_sections(document: bytes) -> bytes:
    """End an unclosed section where its element ends. An unclosed comment is no comment.

    A document that was cut off before that is left as it is.
    """
    if document.rfind(_CDATA) <= document.rfind(_CDATA_END) and (
        document.rfind(_COMMENT) + len(_COMMENT) <= document.rfind(_COMMENT_END)
    ):
        return document
    at, last = 0, None
    for last in sections(document):
        at += len(last.text)
    if last is None or last.is_closed:
        return document
    at -= len(last.text)
    if last.kind == CDATA:
        return _with_ended_cdata(document, at)
    has_end = _ROOT_END.search(last.text) is not None
    return document[:at] + _LONE_COMMENT.sub(b"", last.text) if has_end else document


def _with_ended_cdata(document: bytes, at: int) -> bytes:
    """End each section from `at` on. None of these has an end of its own."""
    pieces: list[bytes] = []
    done = 0
    while at >= 0:
        element = _OPEN_ELEMENT.search(document, max(0, at - _NEAR), at)
        end = document.find(b"</" + element[1], at) if element is not None else -1
        if end < 0:
            break
        torn = _TORN_END.search(document, max(at, end - 8), end)
        pieces += (document[done : torn.start() if torn else end], _CDATA_END)
        done = end
        at = document.find(_CDATA, end)
    pieces.append(document[done:])
    return b"".join(pieces)


_ILLEGAL = bytes(code for code in range(32) if code not in (9, 10, 13))
# When all bytes are legal, `translate` returns the same object, and to compare costs nothing.
_LEGAL = bytes(32 if code in _ILLEGAL else code for code in range(256))
_NONCHARACTERS = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")
# "#" is rarer than "&". The byte before it is checked afterwards.
_MAYBE_REFERENCE = ByteSearch(rb"#(?:0*1(?:2[7-9]|[345][0-9]);|[xX]0*(?:7[fF]|[89][0-9a-fA-F]);)")
_SUSPECT_REFERENCE = re.compile(rb"&#(?:0*1(?:2[7-9]|[345]\d);|[xX]0*(?:7[fF]|[89][0-9a-fA-F]);)")
_SUSPECT_BYTES = ByteSearch(rb"\xc2[\x80-\x9f]")
_TWICE_ENCODED = ByteSearch(rb"\xc3[\x82\x83]\xc2[\x80-\xbf]")
_C1 = re.compile("[\x7f-\x9f]")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
_REFERENCE = re.compile(r"&#(?:0*(\d{1,7})|[xX]0*([0-9a-fA-F]{1,6}));")
_AMPERSAND = re.compile(
    rb"&(?:#(?:0*(\d{1,9})\d*+|[xX]0*([0-9a-fA-F]{1,8})[0-9a-fA-F]*+);?"
    rb"|([A-Za-z_][A-Za-z0-9_.-]{0,31});|([A-Za-z][A-Za-z0-9]{1,5})(?![\w;=]))?"
)
# A character beyond U+FFFF in two halves, as in UTF-16: no reference may name a half.
_HALVES = re.compile(
    rb"&#(?:0*(5[56]\d{3})|[xX]0*([dD][89abAB][0-9a-fA-F]{2}));"
    rb"&#(?:0*(5[67]\d{3})|[xX]0*([dD][c-fC-F][0-9a-fA-F]{2}));"
)
_XML_NAMES = frozenset((b"amp", b"lt", b"gt", b"quot", b"apos"))
_PREDEFINED = re.compile(r"&(amp|lt|gt|quot|apos);")
# HTML wants a semicolon after these. They are no words, so they can only be references.
_TORN_NAMES = frozenset(
    b"lsquo rsquo sbquo ldquo rdquo bdquo ndash mdash hellip bull trade euro".split()
)
_ESCAPES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;", "'": "&apos;"}
_CP1252: dict[int, str] = {
    code: bytes([code]).decode("cp1252", "replace").replace("\ufffd", "")
    for code in range(0x80, 0xA0)
} | {0x7F: ""}


def has_c1_controls(document: bytes) -> bool:
    """Whether control characters above ASCII hide in a document, plain or as references."""
    return (
        b"\x7f" in document
        or (_has_latin(document) and _SUSPECT_BYTES.finds(document))
        or (_MAYBE_REFERENCE.finds(document) and _SUSPECT_REFERENCE.search(document) is not None)
    )


def replace_c1_controls(document: bytes, tally: ProblemTally) -> tuple[bytes, bool]:
    """Replace C1 control characters by the Windows-1252 characters of the same codes.

    Also returns whether some have no such character and were dropped: that may have changed a tag.
    """
    has_dropped = False

    def replacement(match: re.Match[str]) -> str:
        nonlocal has_dropped
        code = ord(match[0]) if match.re is _C1 else _code(match)
        character = _CP1252.get(code, match[0])
        has_dropped = has_dropped or not character
        return character

    text = _C1.sub(replacement, document.decode("utf-8", "replace"))
    text = _REFERENCE.sub(replacement, text)
    if has_dropped:
        # Without a dropped character, the text on both sides of it may have become a reference.
        text = _REFERENCE.sub(lambda match: replacement(match) or "\ufffd", text)
    tally.note("control_characters", "control characters were read as Windows-1252 or dropped")
    return text.encode("utf-8", "replace"), has_dropped


def without_controls(text: str) -> str:
    """Drop control characters of text that is no part of XML, except tab, newline and return."""
    return _CONTROLS.sub("", text)


def _code(reference: re.Match[str]) -> int:
    return int(reference[1]) if reference[1] else int(reference[2], 16)


def may_be_encoded_twice(document: bytes) -> bool:
    """Whether a tool may have taken UTF-8 for Latin-1 and encoded it again: `Ã©` instead of `é`."""
    return _has_latin(document) and _TWICE_ENCODED.finds(document)


def _has_latin(document: bytes) -> bool:
    """Whether there is a byte that both searches need. Most documents have none and skip them."""
    return not document.isascii() and b"\xc2" in document


def undo_double_encoding(root: etree._Element, lifted: dict[str, str], tally: ProblemTally) -> bool:
    """Correct texts that were encoded twice as a whole. Returns whether there were any."""
    has_changed = False
    for element in root.iter():
        again = _decoded_again(element.text)
        if again is not None:
            element.text = again
            has_changed = True
            tally.note("encoded_twice", "text that was UTF-8 encoded twice")
    for mark, text in lifted.items():
        again = _decoded_again(text)
        if again is not None:
            lifted[mark] = again
            has_changed = True
            tally.note("encoded_twice", "text that was UTF-8 encoded twice")
    return has_changed


def _decoded_again(text: str | None) -> str | None:
    """None for a text that was not encoded twice, or that holds characters XML does not allow."""
    if text is None or text.isascii():
        return None
    try:
        again = text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return None
    return None if _CONTROLS.search(again) is not None else again


def without_illegal(document: bytes, tally: ProblemTally) -> bytes:
    """Drop the characters that XML does not allow at all."""
    clean = document.translate(None, _ILLEGAL) if has_illegal_bytes(document) else document
    if b"\xef" in clean:
        for odd in _NONCHARACTERS:
            clean = clean.replace(odd, b"")
    if len(clean) < len(document):
        tally.note("control_characters", "characters that XML forbids were dropped")
    return clean


def has_illegal_bytes(document: bytes) -> bool:
    return document.translate(_LEGAL) != document


def repair_references(document: bytes, literals: Mapping[str, str], tally: ProblemTally) -> bytes:
    """Escape bare ampersands, and replace HTML's entity names and short literals."""
    repaired = 0

    def repaired_reference(match: re.Match[bytes]) -> bytes:
        nonlocal repaired
        decimal, hexadecimal, name, torn = match.groups()
        if name is not None and name in _XML_NAMES:
            return match[0]
        if decimal or hexadecimal:
            replacement = _character(int(decimal) if decimal else int(hexadecimal, 16))
            repaired += replacement != match[0]
            return replacement
        repaired += 1
        return _replace_named_reference(name or torn, name is not None, literals)

    pieces: list[bytes] = []
    for kind, text, _ in sections(document):
        if kind == MARKUP and b"]]>" in text:  # an end without a section
            repaired += text.count(b"]]>")
            text = text.replace(b"]]>", b"]]&gt;")
        if kind == MARKUP and b"&" in text:
            text, halves = _HALVES.subn(_whole_character, text)
            repaired += halves
            text = _AMPERSAND.sub(repaired_reference, text)
        pieces.append(text)
    if repaired:
        tally.note("entities_repaired", "references that XML does not know", repaired)
    return b"".join(pieces)


def _whole_character(halves: re.Match[bytes]) -> bytes:
    high = int(halves[1]) if halves[1] else int(halves[2], 16)
    low = int(halves[3]) if halves[3] else int(halves[4], 16)
    if not 0xD800 <= high < 0xDC00 <= low < 0xE000:
        return halves[0]
    return b"&#%d;" % (0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))


def _character(code: int) -> bytes:
    if code in _CP1252:
        return _CP1252[code].encode()
    return b"&#%d;" % code if _is_allowed(code) else b"\xef\xbf\xbd"


def _is_allowed(code: int) -> bool:
    if code in (9, 10, 13) or 32 <= code < 0xD800 or 0xE000 <= code <= 0xFFFD:
        return True
    return 0x10000 <= code <= 0x10FFFF


def _replace_named_reference(
    reference: bytes | None, ended: bool, literals: Mapping[str, str]
) -> bytes:
    """Replace an entity by name. Some have lost their semicolon (`&nbsp `, `&copy 2024`)."""
    if reference is None:
        return b"&amp;"
    name = reference.decode("ascii")
    if ended and name in literals:
        return _escaped(literals[name])
    character = html5.get(name + ";") if ended or reference in _TORN_NAMES else html5.get(name)
    if character is not None:
        return _escaped(character)
    return b"&amp;" + reference + (b";" if ended else b"")


def _escaped(text: str) -> bytes:
    # Twice, as XML does: once where an entity is declared, once where it stands.
    text = _REFERENCE.sub(_replace_character_reference, text)
    text = _REFERENCE.sub(_replace_character_reference, _PREDEFINED.sub(_predefined, text))
    text = _CONTROLS.sub(lambda control: _CP1252.get(ord(control[0]), ""), text)
    escaped = "".join(_ESCAPES.get(character, character) for character in text)
    return escaped.encode("utf-8", "replace")


def _predefined(reference: re.Match[str]) -> str:
    """The reference by number, so that its character makes no other reference with later text."""
    return f"&#{ord(html5[reference[1] + ';'])};"


def _replace_character_reference(reference: re.Match[str]) -> str:
    code = _code(reference)
    return chr(code) if _is_allowed(code) else "\ufffd"

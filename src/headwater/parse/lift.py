"""Lift long CDATA sections out before the XML library sees them. Readers put them back.

A CDATA section needs no parsing: Python decodes it many times faster than the library, which looks
at each character. A mark stands in its place. Readers must read each mark as the whole of a text
construct. When a mark is left over (it stood in a comment, or deeper than any reader goes), the
document is read again with its sections in place. So a mark that was read stood where text may
stand, and there the section itself would have been read as just that text.
"""

import re

from headwater.parse.repair_text import ByteSearch, has_illegal_bytes

PLACEHOLDER = "\U0010fffd"
"""The first character of a mark. A document that holds this character is left as it is.

A publisher who writes it as a reference, with a number after it, only moves texts about in a
document of their own.
"""

SHORTEST, LONGEST = 1_000, 4_000_000
_FIRST_BYTE = PLACEHOLDER.encode()[:1]
# Both begin with a byte that is rare in feeds, so that the search runs at memory speed. Only
# sections after a start tag that may be one of ours count: titles and categories do not.
_OPENING = re.compile(
    rb"!\[CDATA\[(?:(?<=ion><!\[CDATA\[)|(?<=ded><!\[CDATA\[)|(?<=ary><!\[CDATA\[)"
    rb"|(?<=ent><!\[CDATA\[)|(?<=[\"'\s]><!\[CDATA\[)|(?<=\s<!\[CDATA\[))"
)
_ANY = ByteSearch(rb"!\[CDATA\[")
_NONCHARACTER = re.compile(rb"\xef\xbf[\xbe\xbf]")
# The elements whose readers look for marks, as their end tags are written nearly always.
READ_WHOLE = (b"</description>", b"</content:encoded>", b"</content>", b"</summary>")
NEAR = 40
_TRIES = 32


Places = list[tuple[int, int]]
"""Start and end of the texts of sections."""


def lifted(document: bytes) -> tuple[bytes, dict[str, str], Places]:
    """The document with marks in the place of long sections, their texts by mark, and the places
    where they stood."""
    places = _long_sections(document)
    if not places or _FIRST_BYTE in document:
        return document, {}, []
    texts: dict[str, str] = {}
    pieces: list[bytes] = []
    done = 0
    for number, (start, end) in enumerate(places):
        text = _text(document[start:end])
        if text is None:
            return document, {}, []
        mark = f"{PLACEHOLDER}{number}"
        texts[mark] = text
        pieces += (document[done : start - 9], mark.encode())
        done = end + 3
    pieces.append(document[done:])
    return b"".join(pieces), texts, places


def _long_sections(document: bytes) -> Places:
    """Find the sections one after the other, as XML reads them."""
    places: Places = []
    first = _ANY.first(document)
    opening = _OPENING.search(document, first) if first >= 0 else None
    while opening is not None:
        start = opening.end()
        end = _closing(document, start)
        if end < 0:
            break
        if SHORTEST < end - start < LONGEST and _is_whole(document, start - 9, end + 3):
            places.append((start, end))
        opening = _OPENING.search(document, end)
    return places


def _closing(document: bytes, at: int) -> int:
    """The end of the section, or -1. To find a single byte is many times as fast as three."""
    for _ in range(_TRIES):
        at = document.find(b"]", at)
        if at < 0 or document.startswith(b"]]>", at):
            return at
        at += 1
    return document.find(b"]]>", at)


def _is_whole(document: bytes, start: int, end: int) -> bool:
    """Whether only white space is between the section and the tags around it."""
    if not document[end : end + NEAR].lstrip().startswith(READ_WHOLE):
        return False
    before = document[max(0, start - NEAR) : start + 1]
    return before.endswith(b"<") and before[:-1].rstrip().endswith(b">")


def _text(section: bytes) -> str | None:
    """The text as the XML library would read it, or None when it would refuse it."""
    if has_illegal_bytes(section):
        return None
    if b"\xef" in section and _NONCHARACTER.search(section) is not None:
        return None
    if b"\r" in section:
        section = section.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        return section.decode("utf-8")
    except UnicodeDecodeError:
        return None

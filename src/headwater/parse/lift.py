"""Long CDATA sections, taken out before the XML library sees them and put in when they are read.

A CDATA section needs no parsing: Python decodes it many times faster than the library, which looks
at each character. A mark stands in its place. Every mark must be read as the whole of a text
construct; when one is left over (it stood in a comment, or deeper than anybody reads), the
document is read again with its sections in place. So a mark that was read stood where text may
stand, and there the section itself would have been read as just that text.
"""

import re

MARK = "\U0010fffd"
"""Begins a mark. A document with this character in it is left as it is.

Whoever writes it as a reference, with a number after it, only moves words about in a document of
their own.
"""

SHORTEST, LONGEST = 1_000, 4_000_000
_FIRST_BYTE = MARK.encode()[:1]
# Both begin with a byte that is rare in feeds, so that the search runs at memory speed. Only what
# follows a start tag that may be one of ours is looked at: titles and categories are not.
_OPENING = re.compile(
    rb"!\[CDATA\[(?:(?<=ion><!\[CDATA\[)|(?<=ded><!\[CDATA\[)|(?<=ary><!\[CDATA\[)"
    rb"|(?<=ent><!\[CDATA\[)|(?<=[\"'\s]><!\[CDATA\[)|(?<=\s<!\[CDATA\[))"
)
_CLOSING = re.compile(rb"\]\]>")
_NONCHARACTER = re.compile(rb"\xef\xbf[\xbe\xbf]")
# The elements whose readers look for marks, as their end tags are written nearly always.
_READ_WHOLE = (b"</description>", b"</content:encoded>", b"</content>", b"</summary>")
_NEAR = 40
_ILLEGAL = tuple(bytes((code,)) for code in range(32) if code not in (9, 10, 13))


def lifted(document: bytes) -> tuple[bytes, dict[str, str]]:
    """The document with marks in the place of long sections, and what they stand for."""
    places = _long_sections(document)
    if not places or _FIRST_BYTE in document:
        return document, {}
    sections = [document[start:end] for start, end in places]
    texts = _texts(sections)
    if texts is None:
        return document, {}
    marks = [f"{MARK}{number}" for number in range(len(places))]
    pieces: list[bytes] = []
    done = 0
    for (start, end), mark in zip(places, marks, strict=True):
        pieces += (document[done : start - 9], mark.encode())
        done = end + 3
    pieces.append(document[done:])
    return b"".join(pieces), dict(zip(marks, texts, strict=True))


def _long_sections(document: bytes) -> list[tuple[int, int]]:
    """Where the text of each long section starts and ends; one after the other, as XML reads."""
    places: list[tuple[int, int]] = []
    opening = _OPENING.search(document)
    while opening is not None:
        start = opening.end()
        closing = _CLOSING.search(document, start)
        if closing is None:
            break
        end = closing.start()
        if SHORTEST < end - start < LONGEST and _is_whole(document, start - 9, end + 3):
            places.append((start, end))
        opening = _OPENING.search(document, end)
    return places


def _is_whole(document: bytes, start: int, end: int) -> bool:
    """Nothing but white space is between the section and the tags around it."""
    if not document[end : end + _NEAR].lstrip().startswith(_READ_WHOLE):
        return False
    before = document[max(0, start - _NEAR) : start + 1]
    return before.endswith(b"<") and before[:-1].rstrip().endswith(b">")


def _texts(sections: list[bytes]) -> list[str] | None:
    """What the XML library would make of them, or None when it would refuse one."""
    together = b"".join(sections)
    if any(byte in together for byte in _ILLEGAL) or _NONCHARACTER.search(together):
        return None
    if b"\r" in together:
        sections = [one.replace(b"\r\n", b"\n").replace(b"\r", b"\n") for one in sections]
    try:
        return [section.decode("utf-8") for section in sections]
    except UnicodeDecodeError:
        return None

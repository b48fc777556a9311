"""Where each entry's own XML stands in the body, so that it can be parsed again alone."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lxml import etree

from headwater.parse.charset_labels import EBCDIC
from headwater.parse.document import Fragment

# In these, bytes that look like tags may be something else.
_OTHER_THAN_ASCII = ("utf-16", "utf-32", "iso2022", "hz", "johab", *EBCDIC.values())
_PATTERNS: dict[bytes, tuple[re.Pattern[bytes], re.Pattern[bytes]]] = {}
_MOST_PATTERNS = 64
_new_tuple = tuple.__new__  # what Fragment(…) does, without a call in between
_NAME = re.compile(rb"<([^\s<>/]+)")


def locate_fragments(
    body: bytes,
    codec: str,
    entries: Sequence[etree._Element],
    holes: Sequence[tuple[int, int]],
    *,
    is_cut: bool,
    is_repaired: bool,
) -> list[Fragment] | None:
    """One fragment per entry element, in order, or None when they cannot be had exactly.

    All entries bear one name, so each has one start tag of that name. When the body holds
    exactly as many, nothing else (a CDATA section, a comment) can hold any, and plain positions
    are exact. Otherwise a scanner that knows CDATA, comments and PIs decides, and its count
    must agree with the tree. `holes` are known to be text and not looked into.
    """
    if not entries or codec.startswith(_OTHER_THAN_ASCII):
        return None
    name = _common_name(entries)
    if name is None:
        return None
    starting, tokens = _patterns(name)
    starts = _starts(body, starting, holes)
    if len(starts) == len(entries) and not is_cut:
        simple = _up_to_next(body, b"</" + name, starts, is_repaired)
        if simple is not None:
            return simple
    found = _scanned(body, tokens, is_cut)
    return found if found is not None and len(found) == len(entries) else None


def _starts(
    body: bytes, starting: re.Pattern[bytes], holes: Sequence[tuple[int, int]]
) -> list[int]:
    found: list[int] = []
    at = 0
    for begin, end in holes:
        found += [match.start() for match in starting.finditer(body, at, begin)]
        at = end
    found += [match.start() for match in starting.finditer(body, at)]
    return found


def _common_name(entries: Sequence[etree._Element]) -> bytes | None:
    """The qualified name of the first, when all have its tag.

    An entry with another prefix needs no look: it makes the counts differ.
    """
    first = entries[0]
    tag = first.tag
    if len({entry.tag for entry in entries}) > 1:
        return None
    local, prefix = str(tag).rpartition("}")[2], first.prefix
    return (f"{prefix}:{local}" if prefix else local).encode("utf-8")


def _patterns(name: bytes) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    found = _PATTERNS.get(name)
    if found is None:
        quoted = re.escape(name)
        found = (
            re.compile(rb"<" + quoted + rb"(?=[\s>/])"),
            re.compile(
                rb"<(?:!\[CDATA\[(?:[^\]]++|\](?!\]>))*+|!--(?:[^-]++|-(?!->))*+"
                rb"|\?(?:[^?]++|\?(?!>))*+"
                rb"|(/?)" + quoted + rb"(?=[\s>/])((?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+)>)",
            ),
        )
        if len(_PATTERNS) < _MOST_PATTERNS:
            _PATTERNS[name] = found
    return found


def _up_to_next(
    body: bytes, ending: bytes, starts: list[int], is_repaired: bool
) -> list[Fragment] | None:
    """Each entry ends with the last end tag before the next entry.

    Exact, because every start is an entry's own (their number says so) and nothing but white
    space may follow until the next; anything else is left to the scanner.
    """
    found: list[Fragment] = []
    find_last, shut = body.rfind, ending + b">"
    size = len(shut)
    for start, limit in pairwise(starts):
        end = find_last(shut, start, limit) + size
        if end < start or not (end == limit or body[end:limit].isspace()):
            return None
        found.append(_new_tuple(Fragment, (start, end - start)))
    start = starts[-1]
    last = find_last(ending, start)
    end = body.find(b">", last) + 1 if last >= 0 else 0
    if body[last + len(ending) : end - 1].strip():
        return None  # the end of something whose name only begins so
    rest = body[end:]
    if not end or not _is_outside(rest) or (is_repaired and b"<!" in rest):
        return None
    found.append(_new_tuple(Fragment, (start, end - start)))
    return found


def _is_outside(rest: bytes) -> bool:
    """Whether this rest of a document surely begins in no comment, CDATA section or PI.

    The last two may hold what opens one, so that their end alone makes it doubtful.
    """
    if b"]]>" in rest or b"?>" in rest:
        return False
    before, mark, _ = rest.partition(b"-->")
    return not mark or b"<!--" in before


def _scanned(body: bytes, tokens: re.Pattern[bytes], is_cut: bool) -> list[Fragment] | None:
    """Outermost elements of the name; only a cut-off document may end within one."""
    found: list[Fragment] = []
    start, depth = -1, 0
    for token in tokens.finditer(body):
        slash, rest = token.groups()
        if slash is None:
            continue
        if slash:
            depth -= 1
            if depth < 0:
                return None
            if depth == 0:
                found.append(Fragment(start, token.end() - start))
        elif rest.endswith(b"/"):
            if depth == 0:
                found.append(Fragment(token.start(), token.end() - token.start()))
        else:
            if depth == 0:
                start = token.start()
            depth += 1
    return found if depth == 0 or is_cut else None


@dataclass(frozen=True, slots=True)
class DocumentParts:
    """A body taken apart: what it is without its entries, and where in that each one stood."""

    body: bytes
    rest: bytes
    places: Mapping[Fragment, int]

    def alone(self, fragment: Fragment) -> bytes | None:
        """The document with all its entries but this one left out; None for another's fragment."""
        at = self.places.get(fragment)
        if at is None:
            return None
        offset, length = fragment
        return self.rest[:at] + self.body[offset : offset + length] + self.rest[at:]


def take_apart(body: bytes, fragment: Fragment) -> DocumentParts | None:
    """By the name of the entry whose fragment it is, or None when it is none."""
    name = _NAME.match(body, max(0, fragment.offset))
    held = _scanned(body, _patterns(name[1])[1], True) if name is not None else None
    if not held:
        return None
    pieces: list[bytes] = []
    places: dict[Fragment, int] = {}
    done = size = 0
    for one in held:
        pieces.append(body[done : one.offset])
        size += one.offset - done
        places[one] = size
        done = one.offset + one.length
    return DocumentParts(body, b"".join((*pieces, body[done:])), places)

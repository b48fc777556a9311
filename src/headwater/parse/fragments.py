"""Fragments: locate the XML of each entry in the body, so that it can be parsed again alone."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lxml import etree

from headwater.parse.charset_labels import EBCDIC
from headwater.parse.document import Fragment

# In these charsets, bytes that look like tags may be other characters.
_OTHER_THAN_ASCII = ("utf-16", "utf-32", "iso2022", "hz", "johab", *EBCDIC.values())
_PATTERNS: dict[bytes, tuple[re.Pattern[bytes], re.Pattern[bytes]]] = {}
_MOST_PATTERNS = 64
_new_tuple = tuple.__new__  # makes a Fragment without the call of Fragment(…)
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
    """One fragment per entry element, in order, or None when they cannot be located exactly.

    All entries have one name, so each has one start tag of that name. When the body holds
    exactly as many, nothing else (a CDATA section, a comment) can hold any, and plain positions
    are exact. Otherwise a scanner that knows CDATA, comments and PIs decides, and its count
    must agree with the tree. `holes` are known to be text and are skipped.
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
    fragments = _scan_outermost(body, tokens, is_cut)
    return fragments if fragments is not None and len(fragments) == len(entries) else None


def _starts(
    body: bytes, starting: re.Pattern[bytes], holes: Sequence[tuple[int, int]]
) -> list[int]:
    starts: list[int] = []
    at = 0
    for begin, end in holes:
        starts += [match.start() for match in starting.finditer(body, at, begin)]
        at = end
    starts += [match.start() for match in starting.finditer(body, at)]
    return starts


def _common_name(entries: Sequence[etree._Element]) -> bytes | None:
    """The qualified name of the first entry, when all have its tag.

    An entry with another prefix needs no check: it makes the counts differ.
    """
    first = entries[0]
    tag = first.tag
    if len({entry.tag for entry in entries}) > 1:
        return None
    local, prefix = str(tag).rpartition("}")[2], first.prefix
    return (f"{prefix}:{local}" if prefix else local).encode("utf-8")


def _patterns(name: bytes) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    patterns = _PATTERNS.get(name)
    if patterns is None:
        quoted = re.escape(name)
        patterns = (
            re.compile(rb"<" + quoted + rb"(?=[\s>/])"),
            re.compile(
                rb"<(?:!\[CDATA\[(?:[^\]]++|\](?!\]>))*+|!--(?:[^-]++|-(?!->))*+"
                rb"|\?(?:[^?]++|\?(?!>))*+"
                rb"|(/?)" + quoted + rb"(?=[\s>/])((?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+)>)",
            ),
        )
        if len(_PATTERNS) < _MOST_PATTERNS:
            _PATTERNS[name] = patterns
    return patterns


def _up_to_next(
    body: bytes, ending: bytes, starts: list[int], is_repaired: bool
) -> list[Fragment] | None:
    """Each entry ends with the last end tag before the next entry.

    That is exact, because each start is an entry's own (their number shows it) and only white
    space may follow until the next. All other cases are left to the scanner.
    """
    fragments: list[Fragment] = []
    find_last, shut = body.rfind, ending + b">"
    size = len(shut)
    for start, limit in pairwise(starts):
        end = find_last(shut, start, limit) + size
        if end < start or not (end == limit or body[end:limit].isspace()):
            return None
        fragments.append(_new_tuple(Fragment, (start, end - start)))
    start = starts[-1]
    last = find_last(ending, start)
    end = body.find(b">", last) + 1 if last >= 0 else 0
    if body[last + len(ending) : end - 1].strip():
        return None  # the end tag of a longer name that begins in the same way
    rest = body[end:]
    if not end or not _is_outside(rest) or (is_repaired and b"<!" in rest):
        return None
    fragments.append(_new_tuple(Fragment, (start, end - start)))
    return fragments


def _is_outside(rest: bytes) -> bool:
    """Whether this rest of a document surely begins outside comments, CDATA sections and PIs.

    The last two may hold an opening of their own kind, so their end alone makes it doubtful.
    """
    if b"]]>" in rest or b"?>" in rest:
        return False
    before, mark, _ = rest.partition(b"-->")
    return not mark or b"<!--" in before


def _scan_outermost(body: bytes, tokens: re.Pattern[bytes], is_cut: bool) -> list[Fragment] | None:
    """The outermost elements of the name. Only a cut-off document may end within one."""
    fragments: list[Fragment] = []
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
                fragments.append(Fragment(start, token.end() - start))
        elif rest.endswith(b"/"):
            if depth == 0:
                fragments.append(Fragment(token.start(), token.end() - token.start()))
        else:
            if depth == 0:
                start = token.start()
            depth += 1
    return fragments if depth == 0 or is_cut else None


@dataclass(frozen=True, slots=True)
class DocumentParts:
    """A body taken apart: `rest` is the body without its entries, and `places` are their offsets in
    it."""

    body: bytes
    rest: bytes
    places: Mapping[Fragment, int]

    def alone(self, fragment: Fragment) -> bytes | None:
        """The document with this entry alone; None for the fragment of another document."""
        at = self.places.get(fragment)
        if at is None:
            return None
        offset, length = fragment
        return self.rest[:at] + self.body[offset : offset + length] + self.rest[at:]


def take_apart(body: bytes, fragment: Fragment) -> DocumentParts | None:
    """Take a body apart by the name of the fragment's element; None when it holds no element."""
    name = _NAME.match(body, max(0, fragment.offset))
    fragments = _scan_outermost(body, _patterns(name[1])[1], True) if name is not None else None
    if not fragments:
        return None
    pieces: list[bytes] = []
    places: dict[Fragment, int] = {}
    done = size = 0
    for entry in fragments:
        pieces.append(body[done : entry.offset])
        size += entry.offset - done
        places[entry] = size
        done = entry.offset + entry.length
    return DocumentParts(body, b"".join((*pieces, body[done:])), places)

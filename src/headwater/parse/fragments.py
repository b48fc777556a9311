"""Where each entry's own XML stands in the body, so that it can be parsed again alone."""

import re
from collections.abc import Sequence

from lxml import etree

from headwater.parse.document import Fragment

_WIDE = ("utf-16", "utf-32")
_PATTERNS: dict[bytes, tuple[re.Pattern[bytes], re.Pattern[bytes]]] = {}
_MOST_PATTERNS = 64
_make = tuple.__new__  # what Fragment(…) does, without a call in between
_NAME = re.compile(rb"<([^\s<>/]+)")


def locate(
    body: bytes, codec: str, entries: Sequence[etree._Element], *, is_cut: bool
) -> list[Fragment] | None:
    """One fragment per entry element, in order, or None when they cannot be had exactly.

    All entries bear one name, so each has one start tag of that name. When the body holds
    exactly as many, nothing else (a CDATA section, a comment) can hold any, and plain positions
    are exact. Otherwise a scanner that knows CDATA, comments and PIs decides, and its count
    must agree with the tree.
    """
    if not entries or codec.startswith(_WIDE):
        return None
    name = _common_name(entries)
    if name is None:
        return None
    starting, tokens = _patterns(name)
    starts = [match.start() for match in starting.finditer(body)]
    if len(starts) == len(entries):
        simple = _up_to_next(body, b"</" + name, starts)
        if simple is not None:
            return simple
    found = _scanned(body, tokens, is_cut)
    return found if found is not None and len(found) == len(entries) else None


def _common_name(entries: Sequence[etree._Element]) -> bytes | None:
    """The qualified name of the first, when all have its tag.

    An entry with another prefix needs no look: it makes the counts differ.
    """
    first = entries[0]
    tag = first.tag
    if any(entry.tag != tag for entry in entries):
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
                rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)"
                rb"|<(/?)" + quoted + rb"(?=[\s>/])((?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+)>",
                re.DOTALL,
            ),
        )
        if len(_PATTERNS) < _MOST_PATTERNS:
            _PATTERNS[name] = found
    return found


def _up_to_next(body: bytes, ending: bytes, starts: list[int]) -> list[Fragment] | None:
    """Each entry ends with the last end tag before the next entry.

    Exact, because every start is an entry's own (their number says so) and nothing but white
    space may follow until the next; anything else is left to the scanner.
    """
    found: list[Fragment] = []
    for start, limit in zip(starts, (*starts[1:], len(body)), strict=True):
        end = body.rfind(ending, start, limit)
        end = body.find(b">", end, limit) + 1 if end >= 0 else 0
        if not end:
            return None
        gap = body[end:limit]
        if (b"<!" in gap) if limit == len(body) else bool(gap.strip()):
            return None
        found.append(_make(Fragment, (start, end - start)))
    return found


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


def alone(body: bytes, fragment: Fragment) -> bytes | None:
    """The document with all its entries but this one left out, or None."""
    slice_ = body[fragment.offset : fragment.offset + fragment.length]
    name = _NAME.match(slice_)
    if name is None:
        return None
    held = _scanned(body, _patterns(name[1])[1], True)
    if not held:
        return None
    last = held[-1]
    return body[: held[0].offset] + slice_ + body[last.offset + last.length :]

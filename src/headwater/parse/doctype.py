"""The DOCTYPE is read by us and never by the XML parser: no entity is ever expanded from it."""

import re
from typing import NamedTuple

from headwater.parse.limits import Tally

LONGEST_LITERAL = 256
MOST_LITERALS = 512

_QUOTED = re.compile(rb"\"[^\"]*\"|'[^']*'|<!--.*?-->|[\[\]>]", re.DOTALL)
_ENTITY = re.compile(
    rb"<!ENTITY\s+(%\s+)?([\w:.-]+)\s+(SYSTEM\b|PUBLIC\b|\"[^\"]*\"|'[^']*')", re.IGNORECASE
)
# What a scan of the whole body would take for an entry, a comment, a CDATA section or a PI.
_MISLEADING = re.compile(rb"<(?!!(?:DOCTYPE|ENTITY|ELEMENT|ATTLIST|NOTATION)\b)", re.IGNORECASE)
_REFERENCE = re.compile(rb"[&%](?!(?:amp|lt|gt|quot|apos);)(#?[\w:.-]+);")


class Prolog(NamedTuple):
    """The document without its DOCTYPE; `literals` are entities that are plain short words.

    `is_misleading` when where it ends is a guess, or when it holds what looks like markup.
    """

    document: bytes
    literals: dict[str, str]
    is_bomb: bool
    is_netscape: bool
    is_misleading: bool = False


def without_doctype(document: bytes, tally: Tally) -> Prolog:
    """Cuts the DOCTYPE out of the prolog, wherever it ends."""
    start = _doctype_at(document)
    if start < 0:
        return Prolog(document, {}, False, False)
    end, subset, is_torn = _doctype_end(document, start)
    declaration = document[start:end]
    literals, is_bomb = _entities(subset)
    if is_bomb:
        tally.note("entities_refused", "the DOCTYPE declares entities that refer to each other")
    elif subset:
        tally.note("doctype_dropped", "the DOCTYPE's internal subset was not used")
    return Prolog(
        document[:start] + document[end:],
        literals,
        is_bomb,
        b"netscape" in declaration.lower(),
        is_torn or _MISLEADING.search(declaration) is not None,
    )


def _doctype_at(document: bytes) -> int:
    """Only where XML allows one: before the root, after white space, comments and PIs."""
    at = 0
    while True:
        at = document.find(b"<", at)
        if at < 0:
            return -1
        if document.startswith(b"<!--", at):
            at = document.find(b"-->", at + 4)
        elif document.startswith(b"<?", at):
            at = document.find(b"?>", at + 2)
        elif document[at : at + 9].upper() == b"<!DOCTYPE":
            return at
        else:
            return -1
        if at < 0:
            return -1


def _doctype_end(document: bytes, start: int) -> tuple[int, bytes, bool]:
    """The end, the internal subset, and whether the end is a guess.

    Quoted `>` and `]` do not end it.
    """
    depth, opened = 0, -1
    for token in _QUOTED.finditer(document, start + 9):
        mark = token[0]
        if mark == b"[":
            depth += 1
            opened = token.end() if opened < 0 else opened
        elif mark == b"]":
            depth -= 1
        elif mark == b">" and depth <= 0:
            subset = document[opened : token.start()] if opened >= 0 else b""
            return token.end(), subset, False
    # Never closed, or an apostrophe in a comment-less subset hid the end: up to the next tag.
    root = re.compile(rb">\s*<(?=[A-Za-z_])").search(document, start)
    end = root.start() + 1 if root else len(document)
    return end, document[opened:end] if opened >= 0 else b"", True


def _entities(subset: bytes) -> tuple[dict[str, str], bool]:
    literals: dict[str, str] = {}
    is_bomb = False
    for match in _ENTITY.finditer(subset):
        parameter, name, value = match.groups()
        if value[:1] not in b"\"'" or not value[:1]:
            continue  # external: never loaded
        text = value[1:-1]
        if _refers_to_entities(text) or len(text) > 16 * LONGEST_LITERAL:
            is_bomb = True
        elif not parameter and len(text) <= LONGEST_LITERAL:
            if len(literals) < MOST_LITERALS:
                # Of several declarations the first one holds.
                literals.setdefault(
                    name.decode("utf-8", "replace"), text.decode("utf-8", "replace")
                )
    return literals, is_bomb


def _refers_to_entities(value: bytes) -> bool:
    return any(not name.startswith(b"#") for name in _REFERENCE.findall(value))

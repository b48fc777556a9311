"""Make an XML tree of a document: at once when it is well-formed, or else after repairs."""

import html.entities
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lxml import etree

from headwater.core.values.safe_xml import hardened_parser
from headwater.parse.balance_tags import Balanced, balance_tags
from headwater.parse.format import root_offset
from headwater.parse.lift import Places
from headwater.parse.limits import ParseLimits, ProblemTally
from headwater.parse.repair_text import (
    MARKUP,
    ByteSearch,
    close_sections,
    repair_references,
    sections,
    unwrap_values,
    without_illegal,
)

# A prolog that hides nothing before the root: it has no angle brackets inside.
_PROLOG = re.compile(rb"\s*(?:<\?xml[^<>]*\?>\s*|<!--[^<>]*-->\s*)*")
# A prolog without junk: comments may hold any text.
_NO_JUNK = re.compile(rb"(?>\s*+(?:<\?(?>.*?\?>)|<!--(?>.*?-->)))*+\s*+", re.DOTALL)
_LATE_DECLARATION = re.compile(rb"(?<!\A)<\?xml\s")
# A declaration that no parser refuses.
_SOUND_DECLARATION = re.compile(
    rb"(?:<\?xml version=([\"'])1\.0\1(?: encoding=([\"'])(?i:utf-8)\2)?\s?\?>\s*)?"
)
_PREDEFINED = re.compile(rb"&(lt|gt|amp|quot|apos);")
_REFERENCE_IN_NAME = re.compile(rb"</?[^\s<>&\"']*+&")

_FED_AT_ONCE = 8_000_000
"""Bytes fed at once. The XML library refuses 10,000,000 and more, even when they are valid."""
_BASE, _LANG, _EITHER = (
    ByteSearch(rb"xml:base"),
    ByteSearch(rb"xml:lang"),
    ByteSearch(rb"xml:(?:base|lang)"),
)


@dataclass(frozen=True, slots=True)
class Tree:
    """`root` is None when no repair made a tree of it.

    `has_base` and `has_lang` say whether it has such attributes anywhere. `lifted` holds the texts
    of its marks. `is_doubtful` when its tags may differ from those of the body. `holes` are the
    places of the lifted texts in the body, as far as they are known.
    """

    root: etree._Element | None
    has_base: bool
    has_lang: bool
    is_cut: bool = False
    is_repaired: bool = False
    is_doubtful: bool = False
    lifted: dict[str, str] = field(default_factory=dict)
    holes: Places = field(default_factory=list)


def tree_of(root: etree._Element | None, markup: bytes, **facts: Any) -> Tree:
    """A Tree with all facts about its markup, so that the markup may be freed."""
    if not _EITHER.finds(markup):
        return Tree(root, False, False, **facts)
    return Tree(root, _BASE.finds(markup), _LANG.finds(markup), **facts)


def parse_strictly(document: bytes) -> etree._Element | None:
    """The tree of a well-formed document, or None."""
    parser = hardened_parser(recover=False, encoding="utf-8")
    try:
        # To feed it gives the same tree 15 % sooner than to read it from memory.
        for at in range(0, max(1, len(document)), _FED_AT_ONCE):
            parser.feed(document[at : at + _FED_AT_ONCE])
        root = parser.close()
    except etree.XMLSyntaxError:
        return None
    # A second check: refuse an internal DTD that was not cut out with the DOCTYPE.
    return None if root.getroottree().docinfo.internalDTD is not None else root


def parse_repaired(
    original: bytes, literals: Mapping[str, str], limits: ParseLimits, tally: ProblemTally
) -> Tree:
    """The tree of a document that is known not to be well-formed. Each repair is noted."""
    legal = without_illegal(original, tally)
    document = _from_root(legal, tally)
    before = legal[: len(legal) - len(document)]
    ended = close_sections(unwrap_values(document))
    if ended != document:
        tally.note("tags_repaired", "a section or comment that was not closed, or in a tag")
    is_doubtful = (
        len(legal) < len(original)
        or ended != document
        or _PROLOG.fullmatch(before) is None
        or _REFERENCE_IN_NAME.search(document) is not None
    )
    referring = repair_references(ended, literals, tally)
    # Try again only when the document has changed.
    is_same = referring == document and len(legal) == len(original)
    if not is_same or _SOUND_DECLARATION.fullmatch(before) is None:
        root = parse_strictly(referring)
        if root is not None:
            return tree_of(root, referring, is_repaired=True, is_doubtful=is_doubtful)
    tally.note("not_well_formed", "the document is not well-formed XML")
    return _balanced_tree(balance_tags(referring, limits.depth, tally), is_doubtful)


def _balanced_tree(fixed: Balanced, is_doubtful: bool) -> Tree:
    """A doubtful tree, unless the document was merely cut off: then its tags are the body's."""
    root = parse_strictly(fixed.document) if fixed.is_cut and fixed.is_verbatim else None
    if root is None:
        is_doubtful = True
        root = _parse_recovering(fixed.document)
    facts = {"is_cut": fixed.is_cut, "is_repaired": True, "is_doubtful": is_doubtful}
    return tree_of(root, fixed.document, **facts)


def _parse_recovering(document: bytes) -> etree._Element | None:
    """The tree that lxml makes of a document with whatever faults are left.

    After an error of XML itself lxml drops references by name, but not references by number.
    """
    parser = hardened_parser(recover=True, encoding="utf-8")
    try:
        root = etree.fromstring(document, parser)
        if _PREDEFINED.search(document) and len(parser.error_log.filter_from_fatals()):
            numbered = b"".join(
                _PREDEFINED.sub(_by_number, text) if kind == MARKUP else text
                for kind, text, _ in sections(document)
            )
            root = etree.fromstring(numbered, hardened_parser(recover=True, encoding="utf-8"))
    except etree.XMLSyntaxError:
        return None
    return root


def _by_number(reference: re.Match[bytes]) -> bytes:
    return b"&#%d;" % html.entities.name2codepoint.get(reference[1].decode(), ord("'"))


def _from_root(document: bytes, tally: ProblemTally) -> bytes:
    """Drop text before the root (junk, a misplaced XML declaration): it is not needed."""
    at = root_offset(document)
    if at <= 0:
        return document
    before = document[:at].strip()
    if _NO_JUNK.fullmatch(before) is None:
        tally.note("junk_before", "text before the document was skipped")
    elif _LATE_DECLARATION.search(before) is not None:
        tally.note("not_well_formed", "the XML declaration is not at the beginning")
    return document[at:]


LONGEST_LITERAL = 256
MOST_LITERALS = 512
_QUOTED = re.compile(rb"\"[^\"]*\"|'[^']*'|<!--.*?-->|[\[\]>]", re.DOTALL)
_ENTITY = re.compile(
    rb"<!ENTITY\s+(%\s+)?([\w:.-]+)\s+(SYSTEM\b|PUBLIC\b|\"[^\"]*\"|'[^']*')", re.IGNORECASE
)
# Markup that a scan of the whole body would take for an entry, a comment, a CDATA section or a PI.
_MISLEADING = re.compile(rb"<(?!!(?:DOCTYPE|ENTITY|ELEMENT|ATTLIST|NOTATION)\b)", re.IGNORECASE)
_REFERENCE = re.compile(rb"[&%](?!(?:amp|lt|gt|quot|apos);)(#?[\w:.-]+);")


class Prolog(NamedTuple):
    """The document without its DOCTYPE. `literals` are entities that are plain short texts.

    `is_misleading` when the end of the DOCTYPE is a guess, or when it holds markup.
    """

    document: bytes
    literals: dict[str, str]
    is_bomb: bool
    is_netscape: bool
    is_misleading: bool = False


def without_doctype(document: bytes, tally: ProblemTally) -> Prolog:
    """Cut the DOCTYPE out of the prolog, wherever it ends."""
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
    """Find a DOCTYPE where XML allows one: before the root, after white space, comments and PIs."""
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
    # It is never closed, or an apostrophe in a subset hid its end: it goes up to the next tag.
    root = re.compile(rb">\s*<(?=[A-Za-z_])").search(document, start)
    end = root.start() + 1 if root else len(document)
    return end, document[opened:end] if opened >= 0 else b"", True


def _entities(subset: bytes) -> tuple[dict[str, str], bool]:
    literals: dict[str, str] = {}
    is_bomb = False
    for match in _ENTITY.finditer(subset):
        parameter, name, value = match.groups()
        if value[:1] not in b"\"'" or not value[:1]:
            continue  # external entities are never loaded
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

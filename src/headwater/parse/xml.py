"""Where a document becomes a tree: at once when it is well-formed, repaired when it is not."""

import html.entities
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from headwater.parse.balance import Balanced, balanced
from headwater.parse.lift import Places
from headwater.parse.limits import ParseLimits, Tally
from headwater.parse.repair import with_sound_references, without_illegal
from headwater.parse.scan import Scan
from headwater.parse.sections import MARKUP, sections, with_ends, without_wrapped_values
from headwater.parse.sniff import root_offset
from headwater.values.xml import hardened_parser

# What may stand before a root without hiding anything: no angle bracket is in any of it.
_PROLOG = re.compile(rb"\s*(?:<\?xml[^<>]*\?>\s*|<!--[^<>]*-->\s*)*")
# The same for people: comments may hold anything, and a declaration only begins a document.
_NO_JUNK = re.compile(rb"(?>\s*+(?:<\?(?>.*?\?>)|<!--(?>.*?-->)))*+\s*+", re.DOTALL)
_LATE_DECLARATION = re.compile(rb"(?<!\A)<\?xml\s")
# A declaration that no parser refuses.
_SOUND_DECLARATION = re.compile(
    rb"(?:<\?xml version=([\"'])1\.0\1(?: encoding=([\"'])(?i:utf-8)\2)?\s?\?>\s*)?"
)
_PREDEFINED = re.compile(rb"&(lt|gt|amp|quot|apos);")
_REFERENCE_IN_NAME = re.compile(rb"</?[^\s<>&\"']*+&")
_FED_AT_ONCE = 8_000_000
"""Bytes. The XML library refuses 10,000,000 and more, however sound they are."""

_BASE, _LANG, _EITHER = Scan(rb"xml:base"), Scan(rb"xml:lang"), Scan(rb"xml:(?:base|lang)")


@dataclass(frozen=True, slots=True)
class Tree:
    """`root` is None when no repair made a tree of it.

    `has_base` and `has_lang` say whether those attributes are anywhere in it; `lifted` is what
    the marks in it stand for. `is_doubtful` when its tags may not be those of the body. `holes`
    are where in the body the texts that were lifted stand, as far as that is known.
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
    """With what is to be known of the document it was made of, which may be let go of then."""
    if not _EITHER.finds(markup):
        return Tree(root, False, False, **facts)
    return Tree(root, _BASE.finds(markup), _LANG.finds(markup), **facts)


def sound_tree(document: bytes) -> etree._Element | None:
    """The tree of a well-formed document, or None."""
    parser = hardened_parser(recover=False, encoding="utf-8")
    try:
        # Fed at once instead of read from memory: the same tree, 15 % sooner.
        for at in range(0, max(1, len(document)), _FED_AT_ONCE):
            parser.feed(document[at : at + _FED_AT_ONCE])
        root = parser.close()
    except etree.XMLSyntaxError:
        return None
    # Belt and braces: whatever slipped past the cutting of the DOCTYPE is refused here.
    return None if root.getroottree().docinfo.internalDTD is not None else root


def repaired_tree(
    given: bytes, literals: Mapping[str, str], limits: ParseLimits, tally: Tally
) -> Tree:
    """The tree of a document that is known not to be well-formed, with each repair told."""
    legal = without_illegal(given, tally)
    document = _from_root(legal, tally)
    before = legal[: len(legal) - len(document)]
    ended = with_ends(without_wrapped_values(document))
    if ended != document:
        tally.note("tags_repaired", "a section or comment that was not closed, or in a tag")
    is_doubtful = (
        len(legal) < len(given)
        or ended != document
        or _PROLOG.fullmatch(before) is None
        or _REFERENCE_IN_NAME.search(document) is not None
    )
    referring = with_sound_references(ended, literals, tally)
    # Without a change there is nothing to try again.
    is_same = referring == document and len(legal) == len(given)
    if not is_same or _SOUND_DECLARATION.fullmatch(before) is None:
        root = sound_tree(referring)
        if root is not None:
            return tree_of(root, referring, is_repaired=True, is_doubtful=is_doubtful)
    tally.note("not_well_formed", "the document is not well-formed XML")
    return _balanced_tree(balanced(referring, limits.depth, tally), is_doubtful)


def _balanced_tree(fixed: Balanced, is_doubtful: bool) -> Tree:
    """In doubt, unless the document was merely cut off: then its tags are those of the body."""
    root = sound_tree(fixed.document) if fixed.is_cut and fixed.is_verbatim else None
    if root is None:
        is_doubtful = True
        root = _recovered(fixed.document)
    facts = {"is_cut": fixed.is_cut, "is_repaired": True, "is_doubtful": is_doubtful}
    return tree_of(root, fixed.document, **facts)


def _recovered(document: bytes) -> etree._Element | None:
    """What lxml makes of a document, whatever is wrong with it still.

    After an error of XML itself it leaves out references by name, though not those by number.
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


def _from_root(document: bytes, tally: Tally) -> bytes:
    """What stands before the root (junk, a misplaced XML declaration) is not needed."""
    at = root_offset(document)
    if at <= 0:
        return document
    before = document[:at].strip()
    if _NO_JUNK.fullmatch(before) is None:
        tally.note("junk_before", "text before the document was skipped")
    elif _LATE_DECLARATION.search(before) is not None:
        tally.note("not_well_formed", "the XML declaration is not at the beginning")
    return document[at:]

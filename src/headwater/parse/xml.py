"""Where a document becomes a tree: at once when it is well-formed, repaired when it is not."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lxml import etree

from headwater.parse.balance import balanced
from headwater.parse.limits import ParseLimits, Tally
from headwater.parse.repair import with_sound_references, without_illegal
from headwater.parse.sniff import root_offset
from headwater.values.xml import hardened_parser

_DECLARATION = re.compile(rb"\s*(?:<\?xml[^<>]*\?>)?\s*")
_REFERENCE_IN_NAME = re.compile(rb"</?[^\s<>&\"']*+&")


@dataclass(frozen=True, slots=True)
class Tree:
    """`root` is None when no repair made a tree of it.

    `markup` is the document the tree was made of; `lifted` is what the marks in it stand for.
    `is_doubtful` when its tags may not be those of the body.
    """

    root: etree._Element | None
    markup: bytes
    is_cut: bool = False
    is_repaired: bool = False
    is_doubtful: bool = False
    lifted: dict[str, str] = field(default_factory=dict)


def sound_tree(document: bytes) -> etree._Element | None:
    """The tree of a well-formed document, or None."""
    parser = hardened_parser(recover=False, encoding="utf-8")
    try:
        # Fed at once instead of read from memory: the same tree, 15 % sooner.
        parser.feed(document)
        root = parser.close()
    except etree.XMLSyntaxError:
        return None
    # Belt and braces: whatever slipped past the cutting of the DOCTYPE is refused here.
    return None if root.getroottree().docinfo.internalDTD is not None else root


def repaired_tree(
    given: bytes, literals: Mapping[str, str], limits: ParseLimits, tally: Tally
) -> Tree:
    """The tree of a document that is not well-formed, with each repair told."""
    legal = without_illegal(given, tally)
    document = _from_root(legal, tally)
    before = legal[: len(legal) - len(document)]
    is_doubtful = (
        len(legal) < len(given)
        or _DECLARATION.fullmatch(before) is None
        or _REFERENCE_IN_NAME.search(document) is not None
    )
    document = with_sound_references(document, literals, tally)
    root = sound_tree(document)
    if root is not None:
        return Tree(root, document, is_repaired=True, is_doubtful=is_doubtful)
    tally.note("not_well_formed", "the document is not well-formed XML")
    fixed = balanced(document, limits.depth, tally)
    try:
        root = etree.fromstring(fixed.document, hardened_parser(recover=True, encoding="utf-8"))
    except etree.XMLSyntaxError:
        root = None
    return Tree(root, fixed.document, fixed.is_cut, True, True)


def _from_root(document: bytes, tally: Tally) -> bytes:
    """What stands before the root (junk, a misplaced XML declaration) is not needed."""
    at = root_offset(document)
    if at <= 0:
        return document
    before = document[:at].strip()
    if before and not before.startswith(b"<"):
        tally.note("junk_before", "text before the document was skipped")
    return document[at:]

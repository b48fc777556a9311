"""Where a document becomes a tree: at once when it is well-formed, repaired when it is not."""

from collections.abc import Mapping
from dataclasses import dataclass

from lxml import etree

from headwater.parse.balance import balanced
from headwater.parse.limits import ParseLimits, Tally
from headwater.parse.repair import with_sound_references, without_illegal
from headwater.parse.sniff import root_offset
from headwater.values.xml import hardened_parser


@dataclass(frozen=True, slots=True)
class Tree:
    """`root` is None when no repair made a tree of it."""

    root: etree._Element | None
    is_cut: bool = False
    is_repaired: bool = False


def sound_tree(document: bytes) -> etree._Element | None:
    """The tree of a well-formed document, or None."""
    try:
        root = etree.fromstring(document, hardened_parser(recover=False, encoding="utf-8"))
    except etree.XMLSyntaxError:
        return None
    # Belt and braces: whatever slipped past the cutting of the DOCTYPE is refused here.
    return None if root.getroottree().docinfo.internalDTD is not None else root


def repaired_tree(
    document: bytes, literals: Mapping[str, str], limits: ParseLimits, tally: Tally
) -> Tree:
    """The tree of a document that is not well-formed, with each repair told."""
    document = without_illegal(document, tally)
    document = _from_root(document, tally)
    document = with_sound_references(document, literals, tally)
    root = sound_tree(document)
    if root is not None:
        return Tree(root, is_repaired=True)
    tally.note("not_well_formed", "the document is not well-formed XML")
    fixed = balanced(document, limits.depth, tally)
    try:
        root = etree.fromstring(fixed.document, hardened_parser(recover=True, encoding="utf-8"))
    except etree.XMLSyntaxError:
        root = None
    return Tree(root, fixed.is_cut, True)


def _from_root(document: bytes, tally: Tally) -> bytes:
    """What stands before the root (junk, a misplaced XML declaration) is not needed."""
    at = root_offset(document)
    if at <= 0:
        return document
    before = document[:at].strip()
    if before and not before.startswith(b"<"):
        tally.note("junk_before", "text before the document was skipped")
    return document[at:]

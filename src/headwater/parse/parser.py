"""Bytes to a document: the order of the work, from sniffing to identity."""

import re
from collections.abc import Mapping
from dataclasses import replace

from lxml import etree

from headwater.parse import feed as feeds_of
from headwater.parse.assembly import named_entries
from headwater.parse.doctype import Prolog, without_doctype
from headwater.parse.document import Document, Entry, Feed, Fragment
from headwater.parse.draft import Context
from headwater.parse.encoding import (
    Decoded,
    decoded,
    header_value,
    is_valid_utf8,
    rescued,
)
from headwater.parse.fragments import alone, locate
from headwater.parse.jsonfeed import parse_json
from headwater.parse.limits import ParseLimits, Tally
from headwater.parse.names import plain_name
from headwater.parse.pause import pause_collector, resume_collector
from headwater.parse.relative import relative_attributes
from headwater.parse.repair import (
    decode_again,
    may_be_encoded_twice,
    needs_scrubbing,
    scrubbed,
)
from headwater.parse.sniff import looks_like, root_offset
from headwater.parse.version import format_of
from headwater.parse.walk import Walk, Walked
from headwater.parse.xml import Tree, repaired_tree, sound_tree
from headwater.values.url import resolve

_DEFAULT_LIMITS = ParseLimits()
_NO_HEADERS: Mapping[str, str] = {}
_INHERITED = re.compile(rb"xml:(?:base|lang)")
_JUNK = b" \t\r\n\x00\x0b\x0c"


def parse(
    body: bytes,
    *,
    url: str | None = None,
    headers: Mapping[str, str] | None = None,
    limits: ParseLimits = _DEFAULT_LIMITS,
) -> Document:
    """What a feed says. Never raises: what is no feed has the format `unknown`.

    `body` is the document after content decoding (gzip, br, …); `url` is where it was found;
    of the `headers` only Content-Type and Content-Location are looked at.
    """
    headers = headers or _NO_HEADERS
    tally = Tally()
    was_on = pause_collector()
    try:
        document = decoded(body, headers, tally)
        if document.utf8.lstrip(_JUNK)[:1] in (b"{", b"["):
            return parse_json(document, url, limits, tally)
        return _xml(body, document, url, headers, limits, tally)
    finally:
        resume_collector(was_on)


def parse_fragment(
    body: bytes,
    fragment: Fragment,
    *,
    url: str | None = None,
    headers: Mapping[str, str] | None = None,
    limits: ParseLimits = _DEFAULT_LIMITS,
) -> Entry | None:
    """One entry parsed again from its own slice, with the rest of its document around it.

    Equal to the entry of the whole document, but for the uid where a guid is ambiguous among
    several entries. None when the fragment is not one of this body's.
    """
    document = alone(body, fragment)
    if document is None:
        return None
    entries = parse(document, url=url, headers=headers, limits=limits).entries
    return replace(entries[0], fragment=fragment) if len(entries) == 1 else None


def _xml(
    body: bytes,
    document: Decoded,
    url: str | None,
    headers: Mapping[str, str],
    limits: ParseLimits,
    tally: Tally,
) -> Document:
    prolog = without_doctype(document.utf8, tally)
    if prolog.is_bomb or root_offset(prolog.document) < 0:
        return _no_feed(document, tally)
    tree, document, prolog = _tree(body, document, prolog, headers, limits, tally)
    root = tree.root
    if root is None or not isinstance(root.tag, str):
        return _no_feed(document, tally)
    kind = format_of(root, prolog.is_netscape)
    if kind is None:
        return _no_feed(document, tally)
    context = _context(root, prolog.document, _base(url, headers), limits, tally)
    context.is_atom = kind[0] == "atom"
    context.unwraps_div = kind == ("atom", "1.0")
    if may_be_encoded_twice(prolog.document):
        decode_again(root, tally)
    walked = Walk(context).over(root, plain_name(root.tag))
    if walked.feed.language is None:
        walked.feed.language = (header_value(headers, "content-language") or "")[:64] or None
    return _assembled(body, document, tree, kind, walked, url, tally)


def _tree(
    body: bytes,
    document: Decoded,
    prolog: Prolog,
    headers: Mapping[str, str],
    limits: ParseLimits,
    tally: Tally,
) -> tuple[Tree, Decoded, Prolog]:
    """Well-formed at once, or repaired; each step only when the one before failed."""
    text = prolog.document.lstrip(_JUNK)
    if needs_scrubbing(text):
        if document.is_body and not is_valid_utf8(text):
            document = rescued(body, headers, tally)
            prolog = without_doctype(document.utf8, Tally())
            text = prolog.document.lstrip(_JUNK)
        text = scrubbed(text, tally)
    root = sound_tree(text)
    if root is not None:
        return Tree(root), document, prolog
    if document.is_body and not is_valid_utf8(text):
        document = rescued(body, headers, tally)
        prolog = without_doctype(document.utf8, Tally())
        text = prolog.document.lstrip(_JUNK)
        root = sound_tree(text)
        if root is not None:
            return Tree(root), document, prolog
    repaired = repaired_tree(text, prolog.literals, limits, tally)
    return repaired, document, prolog


def _base(url: str | None, headers: Mapping[str, str]) -> str | None:
    """The document's own address: where it was found, or where it says it belongs."""
    location = header_value(headers, "content-location")
    found = resolve(url, location) if location else None
    return found if found is not None and found.startswith(("http://", "https://")) else url


def _context(
    root: etree._Element, document: bytes, base: str | None, limits: ParseLimits, tally: Tally
) -> Context:
    context = Context(base, limits, tally)
    if _INHERITED.search(document) is not None:
        context.has_base = b"xml:base" in document
        context.has_lang = b"xml:lang" in document
    context.relative = relative_attributes(document)
    return context


def _assembled(
    body: bytes,
    document: Decoded,
    tree: Tree,
    kind: tuple[str, str],
    walked: Walked,
    url: str | None,
    tally: Tally,
) -> Document:
    feed = feeds_of.finished(walked.feed)
    fragments = locate(body, document.codec, walked.elements, is_cut=tree.is_cut)
    for draft, fragment in zip(walked.entries, fragments or (), strict=False):
        draft.fragment = fragment
    if tree.is_cut:
        tally.note("partial", "the document ended before its root element did")
    entries = named_entries(walked.entries, url)
    format_, version = kind
    return Document(format_, version, document.label, tree.is_cut, tally.problems(), feed, entries)


def _no_feed(document: Decoded, tally: Tally) -> Document:
    tally.note("not_a_feed", looks_like(document.utf8))
    return Document("unknown", "", document.label, False, tally.problems(), Feed(), ())

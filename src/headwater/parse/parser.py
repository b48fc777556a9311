"""Bytes to a document: the order of the work, from sniffing to identity."""

from collections.abc import Mapping
from dataclasses import fields, replace
from operator import attrgetter
from typing import NamedTuple

from headwater.core.values.url import resolve
from headwater.parse import accelerator, feed_elements
from headwater.parse.assembly import named_entries
from headwater.parse.charset import (
    Utf8Document,
    decode_document,
    decode_false_utf8,
    decode_like,
    header_value,
    is_valid_utf8,
)
from headwater.parse.document import Document, Entry, Feed, Fragment
from headwater.parse.draft import Context
from headwater.parse.format import describe_document, format_of, root_offset
from headwater.parse.fragments import locate_fragments, take_apart
from headwater.parse.json_feed import parse_json_feed
from headwater.parse.limits import ParseLimits, ProblemTally
from headwater.parse.namespaces import drop_unknown_namespace, fix_namespaces, plain_name
from headwater.parse.pause_collector import pause_collector, resume_collector
from headwater.parse.relative_links import AttributePatterns, relative_attributes
from headwater.parse.repair_text import (
    has_c1_controls,
    may_be_encoded_twice,
    replace_c1_controls,
    undo_double_encoding,
    without_controls,
)
from headwater.parse.walk import Walk, WalkResult
from headwater.parse.xml_tree import (
    Prolog,
    Tree,
    parse_repaired,
    parse_strictly,
    tree_of,
    without_doctype,
)

_DEFAULT_LIMITS = ParseLimits()
_NO_HEADERS: Mapping[str, str] = {}
_JUNK = b" \t\r\n\x00\x0b\x0c"
_compared_fields_of = attrgetter(
    *(one.name for one in fields(Entry) if one.name not in ("uid", "fragment"))
)
_BYTES_PER_READING, _BYTES_PER_DOCUMENT = 1_000, 8_192
"""What a reading costs beside its bytes, and what a document may cost beside its own, in bytes."""


class _ParseRequest(NamedTuple):
    """A body and all that decides how it is read.

    `relative` is given for an entry that is read alone: what holds for its whole document.
    """

    body: bytes
    url: str | None
    headers: Mapping[str, str]
    limits: ParseLimits
    relative: AttributePatterns | None = None


def parse(
    body: bytes,
    *,
    url: str | None = None,
    headers: Mapping[str, str] | None = None,
    limits: ParseLimits = _DEFAULT_LIMITS,
) -> Document:
    """What a feed says. Never raises: what is no feed has the format `unknown`.

    `body` is the document after content decoding (gzip, br, …); `url` is where it was found;
    of the `headers` only Content-Type, Content-Location and Content-Language are looked at.
    """
    asked = _ParseRequest(body, url, headers or _NO_HEADERS, limits)
    tally = ProblemTally()
    was_on = pause_collector()
    try:
        document = decode_document(body, asked.headers, tally)
        if _is_json(document):
            if document.is_body and not is_valid_utf8(document.utf8):
                document = decode_false_utf8(body, asked.headers, tally)
            found = parse_json_feed(document, url, limits, tally.copy())
            if not _is_other_than_json(found, document):
                return found
        return _parse_xml(asked, document, tally)
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
    headers = headers or _NO_HEADERS
    parts = take_apart(body, fragment)
    alone = parts.alone(fragment) if parts is not None else None
    if alone is None:
        return None
    whole = decode_document(body, headers, ProblemTally())
    if _is_json(whole) and root_offset(whole.utf8) <= 0:
        return None
    prolog = without_doctype(whole.utf8, ProblemTally())
    if whole.is_body and not is_valid_utf8(prolog.document):
        whole = decode_false_utf8(body, headers, ProblemTally())
        prolog = without_doctype(whole.utf8, ProblemTally())
    asked = _ParseRequest(alone, url, headers, limits, relative_attributes(prolog.document))
    found = _parse_alone(asked, decode_like(whole, alone))
    return None if found is None else replace(found, fragment=fragment)


def _is_json(document: Utf8Document) -> bool:
    return document.utf8.lstrip(_JUNK)[:1] in (b"{", b"[")


def _is_other_than_json(found: Document, document: Utf8Document) -> bool:
    """A message in brackets before an XML document begins as JSON does."""
    is_bad = any(problem.code == "bad_json" for problem in found.problems)
    return is_bad and root_offset(document.utf8) > 0


def _parse_alone(asked: _ParseRequest, document: Utf8Document) -> Entry | None:
    """The one entry of a document whose others were left out."""
    was_on = pause_collector()
    try:
        entries = _parse_xml(asked, document, ProblemTally()).entries
    finally:
        resume_collector(was_on)
    return entries[0] if len(entries) == 1 else None


def _parse_xml(asked: _ParseRequest, document: Utf8Document, tally: ProblemTally) -> Document:
    kept = tally.copy()
    found = _read_document(asked, document, tally, lifts=True)
    if found is None:
        found = _read_document(asked, document, kept, lifts=False)
    return found or _no_feed(document, tally)


def _read_document(
    asked: _ParseRequest, document: Utf8Document, tally: ProblemTally, *, lifts: bool
) -> Document | None:
    """None when something that was lifted out of the document was not read."""
    prolog = without_doctype(document.utf8, tally)
    if prolog.is_bomb or root_offset(prolog.document) < 0:
        return _no_feed(document, tally)
    tree, document, prolog = _build_tree(asked, document, prolog, tally, lifts=lifts)
    root = tree.root
    if root is None or not isinstance(root.tag, str):
        return _no_feed(document, tally)
    is_doubtful = fix_namespaces(root) or tree.is_doubtful or prolog.is_misleading
    kind = format_of(root, prolog.is_netscape)
    if kind is None and drop_unknown_namespace(root):
        # An entry that lacks this namespace would not make a feed of its own.
        is_doubtful, kind = True, format_of(root, prolog.is_netscape)
    if kind is None:
        return _no_feed(document, tally)
    context = _context(asked, tree, kind, prolog.document, tally)
    if may_be_encoded_twice(prolog.document):
        is_doubtful = undo_double_encoding(root, tree.lifted, tally) or is_doubtful
    walked = Walk(context).over(root, plain_name(root.tag))
    if context.lifted:
        return None
    if walked.feed.language is None:
        walked.feed.language = context.language
    is_whole = asked.relative is None
    if is_whole:
        _set_fragments(asked, document, tree, walked)
    found = _build_document(asked, document, tree, kind, walked, tally)
    if is_doubtful and is_whole:
        return replace(
            found, entries=_check_fragments(asked, document, found.entries, context.relative)
        )
    return found


def _build_tree(
    asked: _ParseRequest,
    document: Utf8Document,
    prolog: Prolog,
    tally: ProblemTally,
    *,
    lifts: bool,
) -> tuple[Tree, Utf8Document, Prolog]:
    """Well-formed at once, or repaired; each step only when the one before failed."""
    text = prolog.document.lstrip(_JUNK)
    is_odd = has_c1_controls(text)
    if not is_odd:
        before = _length_before(document, prolog, text)
        tree = _well_formed(text, lifts, before)
        if tree is not None:
            return tree, document, prolog
    is_other = document.is_body and not is_valid_utf8(text)
    if is_other:
        document = decode_false_utf8(asked.body, asked.headers, tally)
        prolog = without_doctype(document.utf8, ProblemTally())
        text = prolog.document.lstrip(_JUNK)
        is_odd = has_c1_controls(text)
    has_dropped = False
    if is_odd:
        text, has_dropped = replace_c1_controls(text, tally)
    root = parse_strictly(text) if is_odd or is_other else None
    if root is not None:
        return tree_of(root, text, is_doubtful=has_dropped), document, prolog
    repaired = parse_repaired(text, prolog.literals, asked.limits, tally)
    if has_dropped:
        repaired = replace(repaired, is_doubtful=True)
    return repaired, document, prolog


def _length_before(document: Utf8Document, prolog: Prolog, text: bytes) -> int | None:
    """How many bytes of the body stand before the text; None when it is no piece of the body."""
    if not document.is_body or len(prolog.document) < len(document.utf8):
        return None
    return document.skipped + len(prolog.document) - len(text)


def _well_formed(text: bytes, lifts: bool, before: int | None) -> Tree | None:
    marked, texts, places = accelerator.in_use.lifted(text) if lifts else (text, {}, [])
    root = parse_strictly(marked)
    if root is None and texts:
        marked, texts, places = text, {}, []
        root = parse_strictly(text)
    if root is None:
        return None
    if before:
        places = [(start + before, end + before) for start, end in places]
    return tree_of(root, marked, lifted=texts, holes=places if before is not None else [])


def _base(url: str | None, headers: Mapping[str, str]) -> str | None:
    """The document's own address: where it was found, or where it says it belongs."""
    location = header_value(headers, "content-location")
    found = resolve(url, location) if location else None
    return found if found is not None and found.startswith(("http://", "https://")) else url


def _context(
    asked: _ParseRequest, tree: Tree, kind: tuple[str, str], document: bytes, tally: ProblemTally
) -> Context:
    context = Context(_base(asked.url, asked.headers), asked.limits, tally)
    context.is_atom = kind[0] == "atom"
    context.unwraps_div = kind == ("atom", "1.0")
    context.lifted = tree.lifted
    context.has_base = tree.has_base
    context.has_lang = tree.has_lang
    language = header_value(asked.headers, "content-language") or ""
    context.language = without_controls(language)[:64] or None
    given = asked.relative
    context.relative = relative_attributes(document) if given is None else given
    return context


def _set_fragments(
    asked: _ParseRequest, document: Utf8Document, tree: Tree, walked: WalkResult
) -> None:
    fragments = locate_fragments(
        asked.body,
        document.codec,
        walked.elements,
        tree.holes,
        is_cut=tree.is_cut,
        is_repaired=tree.is_repaired,
    )
    for draft, fragment in zip(walked.entries, fragments or (), strict=False):
        draft.fragment = fragment


def _build_document(
    asked: _ParseRequest,
    document: Utf8Document,
    tree: Tree,
    kind: tuple[str, str],
    walked: WalkResult,
    tally: ProblemTally,
) -> Document:
    feed = feed_elements.finish_feed(walked.feed)
    if tree.is_cut:
        tally.note("partial", "the document ended before its root element did")
    entries = named_entries(walked.entries, asked.url)
    format_, version = kind
    return Document(format_, version, document.label, tree.is_cut, tally.problems(), feed, entries)


def _check_fragments(
    asked: _ParseRequest,
    whole: Utf8Document,
    entries: tuple[Entry, ...],
    relative: AttributePatterns,
) -> tuple[Entry, ...]:
    """Each fragment read again alone, and not given when that makes another entry.

    Where tags had to be repaired, positions in the body and the tree need not mean the same.
    """
    first = next((entry.fragment for entry in entries if entry.fragment is not None), None)
    parts = take_apart(asked.body, first) if first is not None else None
    left = asked.limits.reread * (len(asked.body) + _BYTES_PER_DOCUMENT)
    found: list[Entry] = []
    for entry in entries:
        alone = None
        if parts is not None and entry.fragment is not None:
            left -= _BYTES_PER_READING + len(parts.rest) + entry.fragment.length
            alone = parts.alone(entry.fragment) if left >= 0 else None
        if alone is not None:
            again = _ParseRequest(alone, asked.url, asked.headers, asked.limits, relative)
            alone = alone if _reads_as(entry, again, whole, is_only=len(entries) == 1) else None
        if alone is None and entry.fragment is not None:
            entry = replace(entry, fragment=None)
        found.append(entry)
    return tuple(found)


def _reads_as(entry: Entry, alone: _ParseRequest, whole: Utf8Document, *, is_only: bool) -> bool:
    """But for the uid, which may be another's too, and the fragment, which nobody looked for."""
    document = decode_like(whole, alone.body)
    if is_only and document.utf8 == whole.utf8:
        return True  # it was read so already
    again = _parse_alone(alone, document)
    return again is not None and bool(_compared_fields_of(again) == _compared_fields_of(entry))


def _no_feed(document: Utf8Document, tally: ProblemTally) -> Document:
    tally.note("not_a_feed", describe_document(document.utf8))
    return Document("unknown", "", document.label, False, tally.problems(), Feed(), ())

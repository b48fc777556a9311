"""The parser: turn bytes into a document, step by step from the charset to the uids."""

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
"""The cost of one reading beside its bytes, and the budget of a document beside its size, in bytes.
"""


class _ParseRequest(NamedTuple):
    """A body, and all facts that decide how it is read.

    `relative` is set for an entry that is read alone: the patterns of its whole document.
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
    """Parse a feed. This never raises: a document that is no feed has the format `unknown`.

    `body` is the document after content decoding (gzip, br, …), and `url` is its address. Of the
    `headers` only Content-Type, Content-Location and Content-Language are used.
    """
    request = _ParseRequest(body, url, headers or _NO_HEADERS, limits)
    tally = ProblemTally()
    was_on = pause_collector()
    try:
        document = decode_document(body, request.headers, tally)
        if _is_json(document):
            if document.is_body and not is_valid_utf8(document.utf8):
                document = decode_false_utf8(body, request.headers, tally)
            parsed = parse_json_feed(document, url, limits, tally.copy())
            if not _is_xml_after_all(parsed, document):
                return parsed
        return _parse_xml(request, document, tally)
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
    """Parse one entry again from its own slice, with the rest of its document around it.

    It equals the entry of the whole document, except for the uid where a guid is ambiguous among
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
    request = _ParseRequest(alone, url, headers, limits, relative_attributes(prolog.document))
    entry = _parse_alone(request, decode_like(whole, alone))
    return None if entry is None else replace(entry, fragment=fragment)


def _is_json(document: Utf8Document) -> bool:
    return document.utf8.lstrip(_JUNK)[:1] in (b"{", b"[")


def _is_xml_after_all(parsed: Document, document: Utf8Document) -> bool:
    """A message in brackets before an XML document looks like JSON."""
    is_bad = any(problem.code == "bad_json" for problem in parsed.problems)
    return is_bad and root_offset(document.utf8) > 0


def _parse_alone(request: _ParseRequest, document: Utf8Document) -> Entry | None:
    """The one entry of a document whose others were left out."""
    was_on = pause_collector()
    try:
        entries = _parse_xml(request, document, ProblemTally()).entries
    finally:
        resume_collector(was_on)
    return entries[0] if len(entries) == 1 else None


def _parse_xml(request: _ParseRequest, document: Utf8Document, tally: ProblemTally) -> Document:
    tally_before = tally.copy()
    parsed = _read_document(request, document, tally, lifts=True)
    if parsed is None:
        parsed = _read_document(request, document, tally_before, lifts=False)
    return parsed or _no_feed(document, tally)


def _read_document(
    request: _ParseRequest, document: Utf8Document, tally: ProblemTally, *, lifts: bool
) -> Document | None:
    """None when a text that was lifted out of the document was not read."""
    prolog = without_doctype(document.utf8, tally)
    if prolog.is_bomb or root_offset(prolog.document) < 0:
        return _no_feed(document, tally)
    tree, document, prolog = _build_tree(request, document, prolog, tally, lifts=lifts)
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
    context = _context(request, tree, kind, prolog.document, tally)
    if may_be_encoded_twice(prolog.document):
        is_doubtful = undo_double_encoding(root, tree.lifted, tally) or is_doubtful
    walked = Walk(context).over(root, plain_name(root.tag))
    if context.lifted:
        return None
    if walked.feed.language is None:
        walked.feed.language = context.language
    is_whole = request.relative is None
    if is_whole:
        _set_fragments(request, document, tree, walked)
    parsed = _build_document(request, document, tree, kind, walked, tally)
    if is_doubtful and is_whole:
        return replace(
            parsed, entries=_check_fragments(request, document, parsed.entries, context.relative)
        )
    return parsed


def _build_tree(
    request: _ParseRequest,
    document: Utf8Document,
    prolog: Prolog,
    tally: ProblemTally,
    *,
    lifts: bool,
) -> tuple[Tree, Utf8Document, Prolog]:
    """Build the tree at once when it is well-formed. Each repair is tried only when all before it
    failed."""
    text = prolog.document.lstrip(_JUNK)
    is_odd = has_c1_controls(text)
    if not is_odd:
        before = _length_before(document, prolog, text)
        tree = _well_formed(text, lifts, before)
        if tree is not None:
            return tree, document, prolog
    is_other = document.is_body and not is_valid_utf8(text)
    if is_other:
        document = decode_false_utf8(request.body, request.headers, tally)
        prolog = without_doctype(document.utf8, ProblemTally())
        text = prolog.document.lstrip(_JUNK)
        is_odd = has_c1_controls(text)
    has_dropped = False
    if is_odd:
        text, has_dropped = replace_c1_controls(text, tally)
    root = parse_strictly(text) if is_odd or is_other else None
    if root is not None:
        return tree_of(root, text, is_doubtful=has_dropped), document, prolog
    repaired = parse_repaired(text, prolog.literals, request.limits, tally)
    if has_dropped:
        repaired = replace(repaired, is_doubtful=True)
    return repaired, document, prolog


def _length_before(document: Utf8Document, prolog: Prolog, text: bytes) -> int | None:
    """The number of bytes in the body before the text; None when it is no piece of the body."""
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
    """The document's own address: its Content-Location, or else the address it came from."""
    location = header_value(headers, "content-location")
    base = resolve(url, location) if location else None
    return base if base is not None and base.startswith(("http://", "https://")) else url


def _context(
    request: _ParseRequest, tree: Tree, kind: tuple[str, str], document: bytes, tally: ProblemTally
) -> Context:
    context = Context(_base(request.url, request.headers), request.limits, tally)
    context.is_atom = kind[0] == "atom"
    context.unwraps_div = kind == ("atom", "1.0")
    context.lifted = tree.lifted
    context.has_base = tree.has_base
    context.has_lang = tree.has_lang
    language = header_value(request.headers, "content-language") or ""
    context.language = without_controls(language)[:64] or None
    relative = request.relative
    context.relative = relative_attributes(document) if relative is None else relative
    return context


def _set_fragments(
    request: _ParseRequest, document: Utf8Document, tree: Tree, walked: WalkResult
) -> None:
    fragments = locate_fragments(
        request.body,
        document.codec,
        walked.elements,
        tree.holes,
        is_cut=tree.is_cut,
        is_repaired=tree.is_repaired,
    )
    for draft, fragment in zip(walked.entries, fragments or (), strict=False):
        draft.fragment = fragment


def _build_document(
    request: _ParseRequest,
    document: Utf8Document,
    tree: Tree,
    kind: tuple[str, str],
    walked: WalkResult,
    tally: ProblemTally,
) -> Document:
    feed = feed_elements.finish_feed(walked.feed)
    if tree.is_cut:
        tally.note("partial", "the document ended before its root element did")
    entries = named_entries(walked.entries, request.url)
    format_, version = kind
    return Document(format_, version, document.label, tree.is_cut, tally.problems(), feed, entries)


def _check_fragments(
    request: _ParseRequest,
    whole: Utf8Document,
    entries: tuple[Entry, ...],
    relative: AttributePatterns,
) -> tuple[Entry, ...]:
    """Parse each fragment alone, and drop it when the result is another entry.

    Where tags had to be repaired, positions in the body need not match the tree.
    """
    first = next((entry.fragment for entry in entries if entry.fragment is not None), None)
    parts = take_apart(request.body, first) if first is not None else None
    left = request.limits.reread * (len(request.body) + _BYTES_PER_DOCUMENT)
    checked: list[Entry] = []
    for entry in entries:
        alone = None
        if parts is not None and entry.fragment is not None:
            left -= _BYTES_PER_READING + len(parts.rest) + entry.fragment.length
            alone = parts.alone(entry.fragment) if left >= 0 else None
        if alone is not None:
            again = _ParseRequest(alone, request.url, request.headers, request.limits, relative)
            alone = alone if _reads_as(entry, again, whole, is_only=len(entries) == 1) else None
        if alone is None and entry.fragment is not None:
            entry = replace(entry, fragment=None)
        checked.append(entry)
    return tuple(checked)


def _reads_as(entry: Entry, alone: _ParseRequest, whole: Utf8Document, *, is_only: bool) -> bool:
    """Whether both are equal, apart from the uid, which another entry may have too, and the
    fragment, which is not located here."""
    document = decode_like(whole, alone.body)
    if is_only and document.utf8 == whole.utf8:
        return True  # exactly this was read already
    again = _parse_alone(alone, document)
    return again is not None and bool(_compared_fields_of(again) == _compared_fields_of(entry))


def _no_feed(document: Utf8Document, tally: ProblemTally) -> Document:
    tally.note("not_a_feed", describe_document(document.utf8))
    return Document("unknown", "", document.label, False, tally.problems(), Feed(), ())

"""What must hold for any bytes at all: one execution of the fuzzer."""

import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from time import perf_counter, process_time
from typing import Any

from headwater.parse import (
    Document,
    Entry,
    Fragment,
    ParseLimits,
    accelerator,
    parse,
    parse_fragment,
)
from tests.fuzz.ways import eager, taking

KNOWN_PROBLEMS = frozenset(
    (
        "not_a_feed partial not_well_formed tags_repaired entities_repaired entities_refused"
        " doctype_dropped junk_before control_characters encoded_twice bad_bytes encoding_override"
        " encoding_unknown json_repaired bad_json link_dropped link_cut skip_hours items_cut"
        " title_cut guid_cut summary_cut subtitle_cut content_cut text_cut contents_cut links_cut"
        " people_cut categories_cut category_cut enclosures_cut thumbnails_cut extension_cut"
        " extensions_cut attributes_cut depth_cut"
    ).split()
)
ADDRESSES = (None, "https://example.org/blog/feed.xml", "http://[::1]:8080/?q#f")
HEADERS: tuple[Mapping[str, str], ...] = (
    {},
    {},
    {"Content-Type": "text/xml; charset=iso-8859-1"},
    {"content-type": "application/rss+xml; charset=utf-8", "Content-Language": "de"},
    {"Content-Type": "text/html; charset=gb2312", "Content-Location": "/elsewhere/"},
)
LEAST_SECONDS = 0.1
SECONDS_PER_BYTE = 25e-6
"""CPU for one parse of a hostile document; ordinary ones need a hundredth of it."""

MOST_OUTPUT = 40
"""Characters that may come out for each byte that went in, beside a constant for addresses."""

_ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_LIMITS = ParseLimits()

Parse = Callable[..., Document]
ParseFragment = Callable[..., Entry | None]


class Broken(Exception):
    """A promise that was not kept."""


def examine(
    body: bytes,
    *,
    thorough: bool = True,
    parser: Parse = parse,
    fragment_parser: ParseFragment = parse_fragment,
) -> Document:
    """Parse and check everything that holds for all bytes; an exception is a finding.

    Address and headers are drawn from the bytes themselves, so that a saved document says all.
    """
    options = options_for(body)
    began = perf_counter()
    document = parser(body, **options)
    if perf_counter() - began > LEAST_SECONDS:
        _check_time(body, parser)
    check_bounds(document, len(body))
    if thorough:
        if parser(body, **options) != document:
            raise Broken("parsed twice, two different documents")
        if parser is parse:
            check_both_ways(body, document)
        check_texts(document, len(body))
        check_fragments(body, document, fragment_parser)
    return document


def check_both_ways(body: bytes, document: Document) -> None:
    """What is compiled says what Python says, also with all texts lifted that may be."""
    if accelerator.COMPILED is None:
        return
    for way in (accelerator.PLAIN, eager(accelerator.COMPILED)):
        with taking(way):
            if parse(body, **options_for(body)) != document:
                raise Broken("two ways, two different documents")


def options_for(body: bytes) -> dict[str, Any]:
    draw = zlib.crc32(body)
    return {
        "url": ADDRESSES[draw % len(ADDRESSES)],
        "headers": HEADERS[draw // 7 % len(HEADERS)],
    }


def _check_time(body: bytes, parser: Parse) -> None:
    """Once more, by CPU time: it may be the machine that is slow."""
    began = process_time()
    parser(body, **options_for(body))
    spent, allowed = process_time() - began, LEAST_SECONDS + SECONDS_PER_BYTE * len(body)
    if spent > allowed:
        raise Broken(f"slow: {spent:.3f} s for {len(body)} bytes, {allowed:.3f} s allowed")


def check_bounds(document: Document, size: int) -> None:
    if document.format not in ("rss", "atom", "json", "unknown"):
        raise Broken(f"format {document.format!r}")
    if len(document.entries) > min(_LIMITS.items, size):
        raise Broken(f"{len(document.entries)} entries out of {size} bytes")
    if document.format == "unknown" and document.entries:
        raise Broken("no feed, yet it has entries")
    for problem in document.problems:
        if problem.code not in KNOWN_PROBLEMS:
            raise Broken(f"unknown problem code {problem.code!r}")
    for entry in document.entries:
        if not entry.uid:
            raise Broken("an entry without a uid")
        if entry.link is not None and not entry.link.startswith(("http://", "https://")):
            raise Broken(f"the link {entry.link[:80]!r} is no web address")


def check_texts(document: Document, size: int) -> None:
    """No control characters, no lone surrogates, not more text than the bytes account for."""
    texts: list[str] = []
    _gather(document.feed, texts)
    _gather(document.entries, texts)
    for text in texts:
        if not text.isascii() or not text.isprintable():
            odd = _ODD.search(text)
            if odd is not None:
                raise Broken(f"the character {odd[0]!r} in {text[:80]!r}")
    total = sum(map(len, texts))
    if total > MOST_OUTPUT * size + 200 * len(texts) + 1_000:
        raise Broken(f"{total} characters out of {size} bytes")


def _gather(value: object, texts: list[str]) -> None:
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, tuple):
        for one in value:
            _gather(one, texts)
    elif isinstance(value, Mapping):
        for name, one in value.items():
            texts.append(name)
            _gather(one, texts)
    elif is_dataclass(value):
        for name in _names_of(value.__class__):
            _gather(getattr(value, name), texts)


@cache
def _names_of(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def check_fragments(body: bytes, document: Document, parser: ParseFragment) -> None:
    """The first and the last entry, each parsed again from its own slice, stay what they were."""
    options = options_for(body)
    end = 0
    for entry in document.entries:
        if entry.fragment is not None:
            offset, length = entry.fragment
            if offset < end or length <= 0 or offset + length > len(body):
                raise Broken(f"the fragment {entry.fragment} is out of place")
            end = offset + length
    for entry in {id(one): one for one in (*document.entries[:1], *document.entries[-1:])}.values():
        if entry.fragment is not None:
            again = parser(body, Fragment(*entry.fragment), **options)
            if again is None:
                raise Broken(f"a fragment reads as nothing: {entry.fragment}")
            differing = [
                field.name
                for field in fields(entry)
                if field.name != "uid" and getattr(again, field.name) != getattr(entry, field.name)
            ]
            if differing:
                raise Broken(f"a fragment differs in {' '.join(differing)}: {entry.fragment}")

"""What a document looks like, before anybody parses it."""

import re

_JUNK = b" \t\r\n\x00\x0b\x0c"
_ROOT = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?(rss|feed|rdf|channel|entry)(?=[\s>/])", re.IGNORECASE)
# Nearly all documents begin so; declarations and comments hold no tag that could be the root.
_USUAL_ROOT = re.compile(rb"\s*+(?:<[?!][^<>]*+>\s*+)*+(?=<(?:rss|feed|rdf:RDF)[\s>])")
_START = re.compile(rb"<([A-Za-z_][\w.:-]*)")
_HTML = frozenset((b"html", b"head", b"body", b"script", b"div", b"p", b"table", b"center"))
_SCANNED = 65_536


def first_tag(document: bytes) -> bytes:
    """The lower-case name of the first start tag, outside comments, or nothing."""
    at, end = 0, min(len(document), _SCANNED)
    while True:
        at = document.find(b"<", at, end)
        if at < 0:
            return b""
        if document.startswith(b"<!--", at):
            at = document.find(b"-->", at + 4)
            if at < 0:
                return b""
            continue
        match = _START.match(document, at)
        if match is not None:
            return match[1].lower()
        at += 1


def looks_like(document: bytes) -> str:
    """In a word or two, for people: what was received instead of a feed."""
    start = document[:_SCANNED].lstrip(_JUNK)
    if not start:
        return "empty"
    if start.startswith((b"{", b"[")):
        return "json"
    if start.startswith((b"%PDF-", b"\x1f\x8b", b"PK\x03\x04", b"\x89PNG")):
        return "binary"
    tag = first_tag(document)
    if tag in _HTML or start[:14].lower() == b"<!doctype html":
        return "html page"
    if tag == b"opml":
        return "opml"
    if tag in (b"urlset", b"sitemapindex"):
        return "sitemap"
    if tag:
        return f"xml ({tag.decode('ascii', 'replace')[:40]})"
    sample = start[:1024]
    strange = sum(byte < 9 or 13 < byte < 32 or byte == 255 for byte in sample)
    return "binary" if strange * 10 > len(sample) else "plain text"


def root_offset(document: bytes) -> int:
    """Where the feed's root element starts, or -1: junk may stand before it."""
    usual = _USUAL_ROOT.match(document)
    if usual is not None:
        return usual.end()
    match = _ROOT.search(document)
    if match is None or first_tag(document) == b"html":  # a page may show or script such tags
        return -1
    return match.start()

"""Find the format and version of a feed by its root element, and describe other documents."""

import re

from lxml import etree

from headwater.parse.namespaces import plain_name

_ATOM_1 = "{http://www.w3.org/2005/Atom}"
_ATOM_OLD = {"0.1": "0.1", "0.2": "0.2", "0.3": "0.3"}
_RSS = frozenset(("0.90", "0.91", "0.92", "0.93", "0.94", "1.0", "2.0"))
_IN_CHANNEL = frozenset(("title", "abstract", "item", "items"))
_RSS_11 = "{http://purl.org/net/rss1.1#}"
_RSS_1 = "http://purl.org/rss/1.0/"
_RSS_090 = (
    "http://my.netscape.com/rdf/simple/0.9/",
    "http://channel.netscape.com/rdf/simple/0.9/",
)


def format_of(root: etree._Element, is_netscape: bool) -> tuple[str, str] | None:
    """`("rss", "2.0")` and the like, or None when the root is no feed's."""
    name = plain_name(str(root.tag))
    if name in ("feed", "entry"):
        return "atom", _atom_version(root)
    if name == "rss":
        return "rss", _rss_version(root)
    if name in ("rdf:rdf", "rdf"):
        return _rdf(root)
    if name == "channel" and any(plain_name(str(child.tag)) in _IN_CHANNEL for child in root):
        return "rss", "1.1" if str(root.tag).startswith(_RSS_11) else "2.0"
    return None


def _atom_version(root: etree._Element) -> str:
    if str(root.tag).startswith(_ATOM_1):
        return "1.0"  # this version has no attribute for it
    version = _ATOM_OLD.get((root.get("version") or "").strip())
    if version is not None:
        return version
    return "0.3" if "purl.org/atom" in str(root.tag).lower() else "1.0"


def _rss_version(root: etree._Element) -> str:
    version = (root.get("version") or "").strip()
    if version.startswith("2"):
        return "2.0"
    if version.startswith("0.91"):
        return "0.91"
    return version if version in _RSS else "2.0"


def _rdf(root: etree._Element) -> tuple[str, str] | None:
    """RSS 1.0 and 0.90 are RDF; other RDF is no feed."""
    for child in root:
        tag = str(child.tag)
        if plain_name(tag) in ("channel", "item"):
            uri = tag[1:].partition("}")[0] if tag[0] == "{" else ""
            return "rss", "0.90" if uri in _RSS_090 else "1.0"
    own = root.nsmap.get(None)  # an empty feed has nothing else to tell it by
    if own in _RSS_090:
        return "rss", "0.90"
    return ("rss", "1.0") if own == _RSS_1 else None


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


def describe_document(document: bytes) -> str:
    """Describe for people, in a word or two, what was received instead of a feed."""
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
    """The offset of the feed's root element, or -1. Junk may stand before it."""
    usual = _USUAL_ROOT.match(document)
    if usual is not None:
        return usual.end()
    match = _ROOT.search(document)
    if match is None or first_tag(document) == b"html":  # a page may show or script such tags
        return -1
    return match.start()

"""Which format a root element announces, and in which version."""

from lxml import etree

from headwater.parse.names import plain_name

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
        return "1.0"  # which has no attribute that could say so
    given = _ATOM_OLD.get((root.get("version") or "").strip())
    if given is not None:
        return given
    return "0.3" if "purl.org/atom" in str(root.tag).lower() else "1.0"


def _rss_version(root: etree._Element) -> str:
    given = (root.get("version") or "").strip()
    if given.startswith("2"):
        return "2.0"
    if given.startswith("0.91"):
        return "0.91"
    return given if given in _RSS else "2.0"


def _rdf(root: etree._Element) -> tuple[str, str] | None:
    """RSS 1.0 and 0.90 are RDF; other RDF is no feed."""
    for child in root:
        tag = str(child.tag)
        if plain_name(tag) in ("channel", "item"):
            uri = tag[1:].partition("}")[0] if tag[0] == "{" else ""
            return "rss", "0.90" if uri in _RSS_090 else "1.0"
    own = root.nsmap.get(None)  # all that tells of an empty one
    if own in _RSS_090:
        return "rss", "0.90"
    return ("rss", "1.0") if own == _RSS_1 else None

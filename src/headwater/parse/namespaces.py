"""Namespaces: correct those that publishers made up, before any element is read."""

import re
from functools import lru_cache

from lxml import etree

XML = "{http://www.w3.org/XML/1998/namespace}"
RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"

NAMESPACES: dict[str, str] = {
    "http://backend.userland.com/rss": "",
    "http://backend.userland.com/rss2": "",
    "http://blogs.law.harvard.edu/tech/rss": "",
    "http://cyber.law.harvard.edu/rss": "",
    "http://my.netscape.com/rdf/simple/0.9/": "",
    "http://channel.netscape.com/rdf/simple/0.9/": "",
    "http://my.netscape.com/publish/formats/rss-0.91.dtd": "",
    "http://purl.org/rss/1.0/": "",
    "http://purl.org/rss/1.0": "",
    "http://purl.org/net/rss1.1#": "",
    "http://purl.org/rss/2.0/": "",
    "http://www.rssboard.org/rss-specification": "",
    "http://purl.org/rss/1.0/modules/rss091#": "",
    "http://purl.oclc.org/net/rss_2.0/enc#": "",
    "http://example.com/newformat#": "",
    "http://example.com/necho": "",
    "http://purl.org/echo/": "",
    "uri/of/echo/namespace#": "",
    "http://purl.org/pie/": "",
    "http://purl.org/atom/ns#": "",
    "http://purl.org/atom/ns": "",
    "http://www.w3.org/2005/atom": "",
    "https://www.w3.org/2005/atom": "",
    "http://www.w3.org/2005/atom/": "",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://purl.org/dc/elements/1.1": "dc",
    "http://purl.org/dc/elements/1.0/": "dc",
    "http://purl.org/dc/terms/": "dcterms",
    "http://purl.org/dc/terms": "dcterms",
    "http://purl.org/rss/1.0/modules/content/": "content",
    "http://purl.org/rss/1.0/modules/content": "content",
    "http://purl.org/rss/1.0/modules/syndication/": "sy",
    "http://purl.org/rss/1.0/modules/syndication": "sy",
    "http://purl.org/rss/modules/syndication/": "sy",
    "http://purl.org/rss/1.0/modules/slash/": "slash",
    "http://purl.org/rss/1.0/modules/threading/": "thr",
    "http://purl.org/syndication/thread/1.0": "thr",
    "http://search.yahoo.com/mrss/": "media",
    "http://search.yahoo.com/mrss": "media",
    "http://video.search.yahoo.com/mrss/": "media",
    "http://video.search.yahoo.com/mrss": "media",
    "http://www.rssboard.org/media-rss": "media",
    "http://www.itunes.com/dtds/podcast-1.0.dtd": "itunes",
    "https://www.itunes.com/dtds/podcast-1.0.dtd": "itunes",
    "http://www.itunes.com/dtds/podcast-1.0.dtd/": "itunes",
    "http://example.com/dtds/podcast-1.0.dtd": "itunes",
    "https://podcastindex.org/namespace/1.0": "podcast",
    "http://podcastindex.org/namespace/1.0": "podcast",
    "https://github.com/podcastindex-org/podcast-namespace/blob/main/docs/1.0.md": "podcast",
    "http://www.google.com/schemas/play-podcasts/1.0": "googleplay",
    "http://wellformedweb.org/commentapi/": "wfw",
    "http://rssnamespace.org/feedburner/ext/1.0": "feedburner",
    "http://www.georss.org/georss": "georss",
    "http://www.w3.org/2003/01/geo/wgs84_pos#": "geo",
    "http://www.opengis.net/gml": "gml",
    "http://xmlns.com/foaf/0.1/": "foaf",
    "http://webns.net/mvcb/": "admin",
    "http://web.resource.org/cc/": "cc",
    "http://creativecommons.org/ns#": "cc",
    "http://creativecommons.org/ns#license": "cc",
    "http://backend.userland.com/creativecommonsrssmodule": "creativecommons",
    "http://cyber.law.harvard.edu/rss/creativecommonsrssmodule.html": "creativecommons",
    "http://www.w3.org/1999/xhtml": "xhtml",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
    "http://purl.org/syndication/history/1.0": "fh",
    "http://torznab.com/schemas/2015/feed": "torznab",
    "http://www.newznab.com/dtd/2010/feeds/attributes/": "newznab",
    "https://nyaa.si/xmlns/nyaa": "nyaa",
    "https://mikanani.me/0.1/": "mikan",
    "https://mikanani.me/0.1": "mikan",
    "http://mikanani.me/0.1/": "mikan",
    "https://mikanime.tv/0.1/": "mikan",
    "http://xmlns.ezrss.it/0.1/": "torrent",
    "http://purl.org/rss/1.0/modules/taxonomy/": "taxo",
    "http://prismstandard.org/namespaces/1.2/basic/": "prism",
    "http://www.w3.org/xml/1998/namespace": "xml",
    "http://podlove.org/simple-chapters": "psc",
    "http://app.ft.com/": "ft",
}
"""Prefixes of our handlers by lower-case namespace URI. RSS's and Atom's own prefix is ""."""

_OWN = ("backend.userland.com/rss", "purl.org/atom/ns#draft")
"""How bare URIs of further versions begin."""


def _bare(uri: str) -> str:
    """The common part of a namespace's variants, without http or https, `www.` and a slash at its
    end."""
    bare = uri.strip().lower().removeprefix("http://").removeprefix("https://")
    return bare.removeprefix("www.").rstrip("/#")


_BY_BARE_URI = {_bare(uri): prefix for uri, prefix in NAMESPACES.items()}

PREFIXES: dict[str, str] = {
    prefix: prefix for prefix in NAMESPACES.values() if prefix and prefix != "xml"
} | {"atom": "", "atom10": "", "rss": "", "a": "", "itunes": "itunes", "creativeCommons": "cc"}
"""Well-known prefixes, for documents that forgot to declare them."""

USUAL_URIS: dict[str, str] = {
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "content": "http://purl.org/rss/1.0/modules/content/",
    "sy": "http://purl.org/rss/1.0/modules/syndication/",
    "slash": "http://purl.org/rss/1.0/modules/slash/",
    "thr": "http://purl.org/syndication/thread/1.0",
    "media": "http://search.yahoo.com/mrss/",
    "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "podcast": "https://podcastindex.org/namespace/1.0",
    "wfw": "http://wellformedweb.org/CommentAPI/",
    "georss": "http://www.georss.org/georss",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "gml": "http://www.opengis.net/gml",
}
"""Namespaces of vocabularies that many sites share, as their specifications write them."""
_BY_ANOTHER_NAME = {
    _bare(uri): USUAL_URIS[prefix]
    for uri, prefix in NAMESPACES.items()
    # RSS 1.0's threading is not Atom's vocabulary, although it has the same prefix.
    if prefix in USUAL_URIS and not uri.endswith("/threading/")
}


@lru_cache(maxsize=1024)
def is_known_namespace(uri: str) -> bool:
    bare = _bare(uri)
    return bare in _BY_BARE_URI or bare.startswith(_OWN)


@lru_cache(maxsize=4096)
def plain_name(tag: str) -> str:
    """The name that our handlers use for `{uri}pubDate` or `dc:creator`: `pubdate`, `dc:creator`.

    Names of unknown namespaces become `?`, so that they never pass for RSS's own.
    """
    if tag[0] == "{":
        uri, _, local = tag[1:].partition("}")
        prefix = _BY_BARE_URI.get(_bare(uri))
        if prefix is None and _bare(uri).startswith(_OWN):
            prefix = ""
    else:
        written, colon, local = tag.rpartition(":")
        prefix = PREFIXES.get(written.lower()) if colon else ""
    if prefix is None:
        return "?"
    return f"{prefix}:{local.lower()}" if prefix else local.lower()


@lru_cache(maxsize=1024)
def split_name(tag: str) -> tuple[str, str]:
    """Namespace URI and local name, for extensions.

    A usual vocabulary always gets its own URI, however it was written and even if it was not
    declared, so that readers find it in one place. Other prefixes stay as they are.
    """
    if tag[0] == "{":
        uri, _, local = tag[1:].partition("}")
        return _BY_ANOTHER_NAME.get(_bare(uri), uri), local
    prefix, colon, local = tag.rpartition(":")
    return (USUAL_URIS.get(prefix.lower(), prefix), local) if colon else ("", tag)


_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*").fullmatch
_KNOWN_BY_PREFIX = (
    "dc dcterms content itunes media sy podcast googleplay xhtml cc creativecommons admin"
    " slash thr wfw georss".split()
)
_USUAL: dict[str, str] = {}
for _uri, _prefix in NAMESPACES.items():
    if _prefix in _KNOWN_BY_PREFIX:
        _USUAL.setdefault(_prefix, f"{{{USUAL_URIS.get(_prefix, _uri)}}}")


def fix_namespaces(root: etree._Element) -> bool:
    """Rename elements to known namespaces. Returns whether a channel or item lost an unknown one.

    A usual prefix that the root declares for an unknown address has its usual meaning.
    """
    corrections: dict[str, str] = {}
    for prefix, uri in root.nsmap.items():
        usual = _USUAL.get(prefix.lower()) if prefix else None
        if usual is not None and not is_known_namespace(uri):
            corrections[f"{{{uri}}}"] = usual
    first = root[0].tag if len(root) else None
    is_unknown = isinstance(first, str) and _is_unknown_structure(first)
    if is_unknown:
        corrections[str(first).rpartition("}")[0] + "}"] = ""
    if corrections:
        _rename(root, corrections)
    return is_unknown


def drop_unknown_namespace(root: etree._Element) -> bool:
    """Drop an unknown namespace of a root that has a feed's name. Returns whether it was dropped.

    Publishers make such namespaces up. All elements of the root lose it, as if it were not
    declared.
    """
    uri, brace, local = str(root.tag).rpartition("}")
    name, own = local.lower(), uri + brace
    if not own or name not in ("rss", "feed"):
        return False
    if name == "feed" and all(child.tag != own + "entry" for child in root):
        return False
    _rename(root, {own: ""})
    return True


def _is_unknown_structure(tag: str) -> bool:
    return tag.endswith(("}channel", "}item")) and plain_name(tag) == "?"


def _rename(root: etree._Element, corrections: dict[str, str]) -> None:
    for element in root.iter():
        uri, brace, local = str(element.tag).rpartition("}")
        new = corrections.get(uri + brace) if brace else None
        # A repaired document may hold names that XML forbids.
        if new is not None and _PLAIN_NAME(local) is not None:
            element.tag = new + local


_FEW = 16


def add_usual_attributes(element: etree._Element) -> bool:
    """Give attributes in capitals or with a prefix their usual names too. Returns whether there
    were any.

    Called only where an attribute that is needed is missing.
    """
    has_added = False
    for name in map(str, element.keys()[:_FEW]):
        usual = name.rpartition("}")[2].rpartition(":")[2].lower()
        if usual == name or name.startswith(XML) or not (usual.isascii() and usual.isalpha()):
            continue
        if element.get(usual) is None:
            element.set(usual, element.get(name) or "")
            has_added = True
    return has_added

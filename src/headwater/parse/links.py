"""Read links, ids and comments: resolved, bounded, and only with schemes that may be followed."""

import re
from functools import lru_cache

from lxml import etree

from headwater.parse.document import Enclosure, Link
from headwater.parse.draft import Context, Draft, EntryDraft, FeedDraft
from headwater.parse.extensions import add_value
from headwater.parse.limits import cut_bytes
from headwater.parse.namespaces import RDF, USUAL_URIS, add_usual_attributes
from headwater.parse.relative_links import resolve_url
from headwater.parse.text import text_of

_MEDIA_TYPE = re.compile(r"\s*([A-Za-z0-9][\w.+-]*/[A-Za-z0-9][\w.+*-]*)")
_TORN_AMPERSAND = re.compile(r"&(?:amp|#38|#x26);")
_LINE_BREAK = re.compile(r"[\r\n\t]+ *")
_WHITE_SPACE = re.compile(r"\s")
_PATH = re.compile(r"[^\s:/]+/[^\s:]*").fullmatch
_LARGEST = 2**63
_WEB = ("http://", "https://")
_WEB_OR_PATH = (*_WEB, "/", "./", "../")
# Absolute, with a host, of URL characters only: a URL parser would change or refuse nothing here.
IN_ADDRESS = r"!#-;=?-\[\]-_a-z|~"
_PLAIN = re.compile(rf"https?://[A-Za-z0-9][{IN_ADDRESS}]*").fullmatch
# Some sites write a magnet link where the page belongs. It is no page but a file of the entry.
_MAGNET = re.compile(r"\s*magnet:", re.IGNORECASE).match
PAGES = (None, "text/html", "application/xhtml+xml")
_RESOURCE, _ABOUT = RDF + "resource", RDF + "about"
USUAL_RELATIONS = frozenset(("alternate", "self", "replies", "edit", "related", "hub", "next"))
_USUAL_ATTRIBUTES = frozenset(("href", "rel", "type"))
_THREAD = USUAL_URIS["thr"]
_OWN_RANK = 0
_IANA = "http://www.iana.org/assignments/relation/"


def web_address(address: str, element: etree._Element, context: Context) -> str | None:
    """The absolute http(s) URL of an element, or None (with a problem) when it cannot be one."""
    if _PLAIN(address) and len(address) <= context.limits.link_bytes:
        return address
    return resolved_address(address, context.base_of(element), context)


def resolved_address(address: str, base: str | None, context: Context) -> str | None:
    address = address.strip()
    if not address:
        return None
    if len(address) > context.limits.link_bytes:
        context.tally.note("link_cut", f"longer than {context.limits.link_bytes} bytes, dropped")
        return None
    if "\n" in address or "\t" in address or "\r" in address:
        address = _LINE_BREAK.sub("", address)
    url = resolve_url(base, address)
    if url is None or not url.startswith(_WEB):
        context.tally.note("link_dropped", f"not a web address: {address[:80]!r}")
        return None
    return url


def file_address(address: str, element: etree._Element, context: Context) -> str | None:
    """Like `web_address`, and magnet links too: only enclosures may have those."""
    if _PLAIN(address) and len(address) <= context.limits.link_bytes:
        return address
    return resolved_file(address, context.base_of(element), context)


def resolved_file(address: str, base: str | None, context: Context) -> str | None:
    address = address.strip()
    if address[:7].lower() == "magnet:":
        if len(address) > context.limits.link_bytes:
            context.tally.note("link_cut", "magnet link too long, dropped")
            return None
        return address
    return resolved_address(address, base, context)


@lru_cache(maxsize=256)
def media_type(text: str | None) -> str | None:
    if text is None:
        return None
    match = _MEDIA_TYPE.match(text)
    return match[1].lower()[:128] if match else None


def byte_count(text: str | None) -> int | None:
    """A length that a file can have. Separators of thousands are allowed."""
    if text is None or len(text) > 32:
        return None
    if text.isdecimal() and text.isascii() and len(text) < 19:
        return int(text)
    digits = text.strip().replace(",", "")
    if not digits.isdecimal() or not digits.isascii():
        return None
    length = int(digits)
    return length if length < _LARGEST else None


def read_link(draft: Draft, element: etree._Element, context: Context) -> None:
    """Read RSS's link (text) and Atom's link (attributes), in either format."""
    names = element.keys()
    href = element.get("href") if names else None
    if href is None:
        href = text_of(element)
        if href and not (names and (element.get("rel") or element.get("type"))):
            read_address(draft, href, element, context)
            return
        href = _TORN_AMPERSAND.sub("&", href) or _unusual_address(element)
        if href is None:
            return
    elif not href:
        href = _own_base(element, context)
    rel = element.get("rel")
    if rel not in USUAL_RELATIONS:
        rel = rel.strip().lower().removeprefix(_IANA) if rel else "alternate"
    is_magnet = href[:1] != "h" and _MAGNET(href) is not None
    if (rel == "enclosure" or is_magnet) and isinstance(draft, EntryDraft):
        add_enclosure(draft, _linked_file(element, href, context), context)
        if is_magnet:
            return
    address = web_address(href, element, context)
    if address is not None:
        kind = media_type(element.get("type"))
        new = (
            Link(address, rel, kind)
            if _USUAL_ATTRIBUTES.issuperset(names)
            else _detailed_link(element, address, rel, kind)
        )
        _keep(draft, new, context)
        if rel == "replies" and isinstance(draft, EntryDraft):
            _keep_reply_hints(draft, element, context)


def _keep_reply_hints(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """Keep the number of replies behind a link, and the time of the last one (RFC 4685 §4)."""
    for name in ("count", "updated"):
        value = element.get(f"{{{_THREAD}}}{name}") or element.get(f"thr:{name}")
        if value:
            add_value(draft, _THREAD, f"link@{name}", value.strip(), context)


def _unusual_address(element: etree._Element) -> str | None:
    """An address in the attribute of another element, in capitals, or with a prefix."""
    address = element.get("url") or element.get("uri") or resource_of(element)
    if address is None and add_usual_attributes(element):
        address = element.get("href") or element.get("url")
    return address


def resource_of(element: etree._Element) -> str | None:
    """The target of RDF's `resource` attribute. Its prefix is often not declared."""
    resource: str | None = element.get(_RESOURCE) or element.get("rdf:resource")
    return resource


def _own_base(element: etree._Element, context: Context) -> str:
    """The target of an empty reference, where that is not the feed itself."""
    base = context.base_of(element)
    return base if base is not None and base != context.base else ""


def read_address(draft: Draft, href: str, element: etree._Element, context: Context) -> None:
    """Read a page's address without any attributes, as RSS's link is."""
    if "&" in href:
        href = _TORN_AMPERSAND.sub("&", href)
    if href[0] != "h" and _MAGNET(href) and isinstance(draft, EntryDraft):
        add_enclosure(draft, _linked_file(element, href, context), context)
        return
    page = web_address(href, element, context)
    if page is None:
        return
    if draft.links:
        _keep(draft, Link(page), context, _OWN_RANK)
    else:
        draft.links = (Link(page),)
        draft.link, context.spare.link_rank = page, _OWN_RANK


def _detailed_link(element: etree._Element, href: str, rel: str, kind: str | None) -> Link:
    title, hreflang = element.get("title"), element.get("hreflang")
    return Link(
        href,
        rel,
        kind,
        title[:1024] if title else None,
        byte_count(element.get("length")),
        hreflang[:64] if hreflang else None,
    )


def _keep(draft: Draft, new: Link, context: Context, page_rank: int = 1) -> None:
    links = draft.links
    if len(links) >= context.limits.links:
        context.tally.note("links_cut", f"more than {context.limits.links} links, cut")
        return
    draft.links = (*links, new)
    if new.rel == "alternate":
        # A page beats another kind of document, and among pages the last one named wins. RSS's own
        # link beats Atom's beside it, which may be the feed's or an AMP page's.
        rank = page_rank if new.type in PAGES else 4
        if rank <= context.spare.link_rank:
            draft.link, context.spare.link_rank = new.href, rank


def _linked_file(element: etree._Element, href: str, context: Context) -> Enclosure | None:
    url = file_address(href, element, context)
    if url is None:
        return None
    title = element.get("title")
    return Enclosure(
        url,
        media_type(element.get("type")),
        byte_count(element.get("length")),
        None,
        title[:1024] if title else None,
        None,
    )


def add_enclosure(draft: EntryDraft, enclosure: Enclosure | None, context: Context) -> None:
    """Add an enclosure, or join it with the one of the same URL that is already there."""
    if enclosure is None:
        return
    enclosures = draft.enclosures
    url = enclosure.url
    for position, earlier in enumerate(enclosures):
        if earlier.url == url:
            joined = _join(earlier, enclosure)
            draft.enclosures = (*enclosures[:position], joined, *enclosures[position + 1 :])
            return
    if len(enclosures) >= context.limits.enclosures:
        context.tally.note(
            "enclosures_cut", f"more than {context.limits.enclosures} enclosures, cut"
        )
        return
    draft.enclosures = (*enclosures, enclosure)


def _join(earlier: Enclosure, more: Enclosure) -> Enclosure:
    return Enclosure(
        earlier.url,
        earlier.type or more.type,
        earlier.length if earlier.length is not None else more.length,
        earlier.duration if earlier.duration is not None else more.duration,
        earlier.title or more.title,
        earlier.medium or more.medium,
    )


def read_enclosure(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """Read RSS's enclosure element, and RSS 1.0's, whose attributes may have prefixes."""
    href = element.get("url") or element.get("href") or element.get("uri") or text_of(element)
    if not href:
        add_usual_attributes(element)
        href = element.get("url") or element.get("href") or element.get("resource")
    if href:
        add_enclosure(draft, _linked_file(element, href, context), context)


def read_guid(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """Read RSS's guid. It is a link too, unless its attribute denies that."""
    value = text_of(element)
    if not value:
        return
    keep_native_id(draft, value, context)
    is_path = False
    if element.keys():
        permalink = element.get("isPermaLink")
        if permalink is None:  # often misspelled
            spelled = [name for name in map(str, element.keys()) if name.lower() == "ispermalink"]
            permalink = (element.get(spelled[0]) if spelled else None) or None
        if permalink not in ("true", None) and permalink.strip().lower() != "true":
            draft.id_is_permalink = False
            return
        # The attribute calls it an address, and it may be one.
        is_path = permalink is not None and _PATH(value) is not None
    draft.id_is_permalink = value.startswith(_WEB_OR_PATH) or is_path or _is_web(value)
    if draft.id_is_permalink and context.spare.link_rank > 5:
        link = web_address(value, element, context)
        if link is not None:
            draft.link, context.spare.link_rank = link, 5


def read_id(draft: Draft, element: etree._Element, context: Context) -> None:
    """Read Atom's id. It is opaque, but a page's address serves as a last-resort link."""
    value = text_of(element)
    if value:
        _keep_id(draft, value, context)


def read_about(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """Read the attribute that names an item of RSS 1.0. It means the same as Atom's id."""
    about = element.get(_ABOUT) or element.get("rdf:about") or element.get("about")
    value = (about or "").strip()
    if value:
        _keep_id(draft, value, context)


def read_feed_about(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    """Read the same attribute of RSS 1.0's channel."""
    value = (element.get(_ABOUT) or "").strip()
    if value:
        keep_native_id(draft, value, context)


def _keep_id(draft: Draft, value: str, context: Context) -> None:
    keep_native_id(draft, value, context)
    if context.spare.link_rank > 6 and _is_web(value):
        link = resolved_address(value, None, context)
        if link is not None:
            draft.link, context.spare.link_rank = link, 6


def _is_web(value: str) -> bool:
    """Whether this is a web address. Its scheme may be written in capitals."""
    return value[0] in "hH" and value[:8].lower().startswith(_WEB)


def keep_native_id(draft: Draft, value: str, context: Context) -> None:
    limit = context.limits.guid_bytes
    if len(value) * 4 > limit:
        shorter = cut_bytes(value, limit)
        if len(shorter) < len(value):
            context.tally.note("guid_cut", f"longer than {limit} bytes, cut")
            value = shorter
    draft.native_id = value


def read_comments(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    value = text_of(element)
    # Some publishers write the number of comments here, some the comments themselves.
    if value and not (len(element) or value.isdecimal() or _WHITE_SPACE.search(value)):
        draft.comments = web_address(value, element, context) or draft.comments


def read_license(draft: Draft, element: etree._Element, context: Context) -> None:
    value = resource_of(element) or text_of(element)
    if value:
        address = web_address(value, element, context)
        if address is not None:
            _keep(draft, Link(address, "license"), context)


def read_feed_id(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    """Read a channel's guid, which no channel needs. Its address is a last-resort link too."""
    value = text_of(element)
    if not value:
        return
    if (element.get("isPermaLink") or "true").strip().lower() == "true":
        _keep_id(draft, value, context)
    else:
        keep_native_id(draft, value, context)

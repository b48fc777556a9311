"""Links, ids and comments: resolved, bounded, and only with schemes that may be followed."""

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
# Absolute, with a host, of characters that URLs have: nothing a URL parser would change or refuse.
IN_ADDRESS = r"!#-;=?-\[\]-_a-z|~"
_PLAIN = re.compile(rf"https?://[A-Za-z0-9][{IN_ADDRESS}]*").fullmatch
# No page to read, though some sites write it where the page belongs: it is a file of the entry.
_MAGNET = re.compile(r"\s*magnet:", re.IGNORECASE).match
PAGES = (None, "text/html", "application/xhtml+xml")
_RESOURCE, _ABOUT = RDF + "resource", RDF + "about"
USUAL_RELATIONS = frozenset(("alternate", "self", "replies", "edit", "related", "hub", "next"))
_USUAL_ATTRIBUTES = frozenset(("href", "rel", "type"))
_THREAD = USUAL_URIS["thr"]
_OWN_RANK = 0
_IANA = "http://www.iana.org/assignments/relation/"


def web_address(given: str, element: etree._Element, context: Context) -> str | None:
    """The absolute http(s) URL that an element means, or None (told) for what cannot be one."""
    if _PLAIN(given) and len(given) <= context.limits.link_bytes:
        return given
    return resolved_address(given, context.base_of(element), context)


def resolved_address(given: str, base: str | None, context: Context) -> str | None:
    given = given.strip()
    if not given:
        return None
    if len(given) > context.limits.link_bytes:
        context.tally.note("link_cut", f"longer than {context.limits.link_bytes} bytes, dropped")
        return None
    if "\n" in given or "\t" in given or "\r" in given:
        given = _LINE_BREAK.sub("", given)
    found = resolve_url(base, given)
    if found is None or not found.startswith(_WEB):
        context.tally.note("link_dropped", f"not a web address: {given[:80]!r}")
        return None
    return found


def file_address(given: str, element: etree._Element, context: Context) -> str | None:
    """Like `web_address`, and magnet links too: only enclosures may have those."""
    if _PLAIN(given) and len(given) <= context.limits.link_bytes:
        return given
    return resolved_file(given, context.base_of(element), context)


def resolved_file(given: str, base: str | None, context: Context) -> str | None:
    given = given.strip()
    if given[:7].lower() == "magnet:":
        if len(given) > context.limits.link_bytes:
            context.tally.note("link_cut", "magnet link too long, dropped")
            return None
        return given
    return resolved_address(given, base, context)


@lru_cache(maxsize=256)
def media_type(given: str | None) -> str | None:
    if given is None:
        return None
    match = _MEDIA_TYPE.match(given)
    return match[1].lower()[:128] if match else None


def byte_count(given: str | None) -> int | None:
    """A length that a file can have; separators of thousands are allowed."""
    if given is None or len(given) > 32:
        return None
    if given.isdecimal() and given.isascii() and len(given) < 19:
        return int(given)
    digits = given.strip().replace(",", "")
    if not digits.isdecimal() or not digits.isascii():
        return None
    length = int(digits)
    return length if length < _LARGEST else None


def read_link(draft: Draft, element: etree._Element, context: Context) -> None:
    """RSS's link (text) and Atom's link (attributes), in either format."""
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
        href = _base_given(element, context)
    rel = element.get("rel")
    if rel not in USUAL_RELATIONS:
        rel = rel.strip().lower().removeprefix(_IANA) if rel else "alternate"
    is_magnet = href[:1] != "h" and _MAGNET(href) is not None
    if (rel == "enclosure" or is_magnet) and isinstance(draft, EntryDraft):
        add_enclosure(draft, _linked_file(element, href, context), context)
        if is_magnet:
            return
    found = web_address(href, element, context)
    if found is not None:
        kind = media_type(element.get("type"))
        new = (
            Link(found, rel, kind)
            if _USUAL_ATTRIBUTES.issuperset(names)
            else _detailed_link(element, found, rel, kind)
        )
        _keep(draft, new, context)
        if rel == "replies" and isinstance(draft, EntryDraft):
            _keep_reply_hints(draft, element, context)


def _keep_reply_hints(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """How many replies stand behind a link, and when the last one came (RFC 4685 §4)."""
    for name in ("count", "updated"):
        value = element.get(f"{{{_THREAD}}}{name}") or element.get(f"thr:{name}")
        if value:
            add_value(draft, _THREAD, f"link@{name}", value.strip(), context)


def _unusual_address(element: etree._Element) -> str | None:
    """An address in an attribute that is another element's, in capitals, or with a prefix."""
    found = element.get("url") or element.get("uri") or resource_of(element)
    if found is None and add_usual_attributes(element):
        found = element.get("href") or element.get("url")
    return found


def resource_of(element: etree._Element) -> str | None:
    """RDF's way to point at something; the prefix is often not declared."""
    found: str | None = element.get(_RESOURCE) or element.get("rdf:resource")
    return found


def _base_given(element: etree._Element, context: Context) -> str:
    """What an empty reference means, where that is not the feed itself."""
    base = context.base_of(element)
    return base if base is not None and base != context.base else ""


def read_address(draft: Draft, href: str, element: etree._Element, context: Context) -> None:
    """A page without a word about it, as RSS's link is."""
    if "&" in href:
        href = _TORN_AMPERSAND.sub("&", href)
    if href[0] != "h" and _MAGNET(href) and isinstance(draft, EntryDraft):
        add_enclosure(draft, _linked_file(element, href, context), context)
        return
    found = web_address(href, element, context)
    if found is None:
        return
    if draft.links:
        _keep(draft, Link(found), context, _OWN_RANK)
    else:
        draft.links = (Link(found),)
        draft.link, context.spare.link_rank = found, _OWN_RANK


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
        # A page beats another kind of document; among pages the last one named stands. RSS's own
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


def add_enclosure(draft: EntryDraft, found: Enclosure | None, context: Context) -> None:
    """Joined with an enclosure of the same URL that is already there."""
    if found is None:
        return
    enclosures = draft.enclosures
    url = found.url
    for position, held in enumerate(enclosures):
        if held.url == url:
            joined = _joined(held, found)
            draft.enclosures = (*enclosures[:position], joined, *enclosures[position + 1 :])
            return
    if len(enclosures) >= context.limits.enclosures:
        context.tally.note(
            "enclosures_cut", f"more than {context.limits.enclosures} enclosures, cut"
        )
        return
    draft.enclosures = (*enclosures, found)


def _joined(held: Enclosure, more: Enclosure) -> Enclosure:
    return Enclosure(
        held.url,
        held.type or more.type,
        held.length if held.length is not None else more.length,
        held.duration if held.duration is not None else more.duration,
        held.title or more.title,
        held.medium or more.medium,
    )


def read_enclosure(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """RSS's enclosure element, and RSS 1.0's, whose attributes may have prefixes."""
    href = element.get("url") or element.get("href") or element.get("uri") or text_of(element)
    if not href:
        add_usual_attributes(element)
        href = element.get("url") or element.get("href") or element.get("resource")
    if href:
        add_enclosure(draft, _linked_file(element, href, context), context)


def read_guid(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """RSS's guid: a link too, unless it says that it is none."""
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
        # It is said to be an address, and may be one.
        is_path = permalink is not None and _PATH(value) is not None
    draft.id_is_permalink = value.startswith(_WEB_OR_PATH) or is_path or _is_web(value)
    if draft.id_is_permalink and context.spare.link_rank > 5:
        found = web_address(value, element, context)
        if found is not None:
            draft.link, context.spare.link_rank = found, 5


def read_id(draft: Draft, element: etree._Element, context: Context) -> None:
    """Atom's id: opaque, though a page address serves as a last-resort link."""
    value = text_of(element)
    if value:
        _keep_id(draft, value, context)


def read_about(draft: EntryDraft, element: etree._Element, context: Context) -> None:
    """RSS 1.0 names its items by an attribute; it says what Atom's id says."""
    about = element.get(_ABOUT) or element.get("rdf:about") or element.get("about")
    value = (about or "").strip()
    if value:
        _keep_id(draft, value, context)


def read_feed_about(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    """RSS 1.0's channel has its id there too."""
    value = (element.get(_ABOUT) or "").strip()
    if value:
        keep_native_id(draft, value, context)


def _keep_id(draft: Draft, value: str, context: Context) -> None:
    keep_native_id(draft, value, context)
    if context.spare.link_rank > 6 and _is_web(value):
        found = resolved_address(value, None, context)
        if found is not None:
            draft.link, context.spare.link_rank = found, 6


def _is_web(value: str) -> bool:
    """A scheme may be written in capitals."""
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
    # Some write how many there are, some the comments themselves.
    if value and not (len(element) or value.isdecimal() or _WHITE_SPACE.search(value)):
        draft.comments = web_address(value, element, context) or draft.comments


def read_license(draft: Draft, element: etree._Element, context: Context) -> None:
    value = resource_of(element) or text_of(element)
    if value:
        found = web_address(value, element, context)
        if found is not None:
            _keep(draft, Link(found, "license"), context)


def read_feed_id(draft: FeedDraft, element: etree._Element, context: Context) -> None:
    """A guid, which no channel needs: its address serves as a last-resort link too."""
    value = text_of(element)
    if not value:
        return
    if (element.get("isPermaLink") or "true").strip().lower() == "true":
        _keep_id(draft, value, context)
    else:
        keep_native_id(draft, value, context)

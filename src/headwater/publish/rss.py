"""Render a published feed as RSS 2.0, with Atom's links, whole contents and names of authors."""

from lxml import etree

from headwater.publish.document import (
    GENERATOR,
    ItemEnclosure,
    ItemSource,
    PublishedFeed,
    PublishedItem,
)
from headwater.publish.safe_text import (
    MAGNET,
    OCTETS,
    amount_or_none,
    media_type_or_none,
    name_or_none,
    readable_names,
    rfc822,
    web_url,
    xml_safe_text,
)
from headwater.publish.xml import ATOM, CONTENT, DUBLIN_CORE, child, render_xml, root

MEDIA_TYPE = "application/rss+xml"
_NAMESPACES: dict[str | None, str] = {"atom": ATOM, "content": CONTENT, "dc": DUBLIN_CORE}


def render_rss(document: PublishedFeed) -> bytes:
    """`lastBuildDate` is the newest change, not the time of day: the same items, the same bytes."""
    rss = root("rss", _NAMESPACES, version="2.0")
    channel = child(rss, "channel")
    places = document.places
    title = name_or_none(document.title) or GENERATOR
    child(channel, "title", title)
    child(channel, "link", places.home or places.self_url)
    child(channel, "description", name_or_none(document.description) or title)
    child(channel, "lastBuildDate", rfc822(document.updated))
    child(channel, "generator", GENERATOR)
    for rel, url in (
        ("self", places.self_url),
        ("hub", places.hub),
        ("first", places.first),
        ("previous", places.previous),
        ("next", places.next),
    ):
        if url is not None:
            kind = None if rel == "hub" else MEDIA_TYPE
            child(channel, f"{{{ATOM}}}link", rel=rel, href=url, type=kind)
    for item in document.items:
        _item(channel, item)
    return render_xml(rss)


def _item(channel: etree._Element, item: PublishedItem) -> None:
    element = child(channel, "item")
    if title := xml_safe_text(item.title):
        child(element, "title", title)
    if link := _link(item):
        child(element, "link", link)
    child(element, "guid", item.id, isPermaLink="false")
    child(element, "pubDate", rfc822(item.published or item.updated))
    for person in item.authors:
        if creator := name_or_none(person.name) or name_or_none(person.email):
            child(element, f"{{{DUBLIN_CORE}}}creator", creator)
    for category in readable_names(item.categories):
        child(element, "category", category)
    for enclosure in item.enclosures:
        _enclosure(element, enclosure)
    if item.summary or not title:
        # An item must have a title or a description, even if it is empty.
        child(element, "description", item.summary or "")
    if item.content:
        child(element, f"{{{CONTENT}}}encoded", item.content)
    if item.source is not None:
        _source(element, item.source)


def _link(item: PublishedItem) -> str | None:
    """The item's link, or else a magnet link: download clients look for it here, because RSS has
    no enclosures with magnet links."""
    attached = (web_url(enclosure.url, MAGNET) for enclosure in item.enclosures)
    magnets = (url for url in attached if url and url.startswith(MAGNET))
    return web_url(item.link, MAGNET) or next(magnets, None)


def _enclosure(parent: etree._Element, enclosure: ItemEnclosure) -> None:
    """All three attributes are required: unknown ones get the usual values.

    RSS wants a web address. Any other stands in a link of Atom, which takes all schemes.
    """
    url, length = web_url(enclosure.url, MAGNET), amount_or_none(enclosure.length)
    if url is None:
        return
    kind = media_type_or_none(enclosure.type)
    if web_url(url):
        child(parent, "enclosure", url=url, length=str(length or 0), type=kind or OCTETS)
    else:
        size = None if length is None else str(length)
        child(parent, f"{{{ATOM}}}link", rel="enclosure", href=url, type=kind, length=size)


def _source(parent: etree._Element, source: ItemSource) -> None:
    """RSS wants the address of the feed itself, which is public for some sources only."""
    if url := web_url(source.feed_url):
        child(parent, "source", source.title or "", url=url)

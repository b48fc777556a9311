"""A published feed as RSS 2.0, with Atom's links, whole contents and the names of authors."""

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
    made = child(channel, "item")
    if title := xml_safe_text(item.title):
        child(made, "title", title)
    if link := _link(item):
        child(made, "link", link)
    child(made, "guid", item.id, isPermaLink="false")
    child(made, "pubDate", rfc822(item.published or item.updated))
    for person in item.authors:
        if creator := name_or_none(person.name) or name_or_none(person.email):
            child(made, f"{{{DUBLIN_CORE}}}creator", creator)
    for category in readable_names(item.categories):
        child(made, "category", category)
    for enclosure in item.enclosures:
        _enclosure(made, enclosure)
    if item.summary or not title:
        # An item has a title or a description; an empty one says that there is nothing to say.
        child(made, "description", item.summary or "")
    if item.content:
        child(made, f"{{{CONTENT}}}encoded", item.content)
    if item.source is not None:
        _source(made, item.source)


def _link(item: PublishedItem) -> str | None:
    """A magnet of what leads nowhere else: download clients look for one here, as RSS has no
    enclosures of its kind."""
    attached = (web_url(each.url, MAGNET) for each in item.enclosures)
    magnets = (url for url in attached if url and url.startswith(MAGNET))
    return web_url(item.link, MAGNET) or next(magnets, None)


def _enclosure(made: etree._Element, enclosure: ItemEnclosure) -> None:
    """All three attributes are required; what is not known is said in the usual way.

    The address must be of the web: any other is told by a link of Atom, which takes all.
    """
    url, length = web_url(enclosure.url, MAGNET), amount_or_none(enclosure.length)
    if url is None:
        return
    kind = media_type_or_none(enclosure.type)
    if web_url(url):
        child(made, "enclosure", url=url, length=str(length or 0), type=kind or OCTETS)
    else:
        said = None if length is None else str(length)
        child(made, f"{{{ATOM}}}link", rel="enclosure", href=url, type=kind, length=said)


def _source(made: etree._Element, source: ItemSource) -> None:
    """RSS wants the address of the feed itself, which only some sources let everybody know."""
    if url := web_url(source.feed_url):
        child(made, "source", source.title or "", url=url)

"""Render a published feed as Atom 1.0 (RFC 4287), with the links of a paged feed (RFC 5005)."""

from lxml import etree

from headwater.core.values.instant import rfc3339
from headwater.publish.document import (
    GENERATOR,
    ItemAuthor,
    ItemEnclosure,
    ItemSource,
    PublishedFeed,
    PublishedItem,
)
from headwater.publish.safe_text import (
    MAGNET,
    amount_or_none,
    email_or_none,
    media_type_or_none,
    name_or_none,
    readable_names,
    web_url,
)
from headwater.publish.xml import ATOM, child, render_xml, root

MEDIA_TYPE = "application/atom+xml"


def render_atom(document: PublishedFeed) -> bytes:
    feed = root(_atom("feed"), {None: ATOM})
    child(feed, _atom("id"), document.id)
    child(feed, _atom("title"), name_or_none(document.title) or GENERATOR)
    if name_or_none(document.description):
        child(feed, _atom("subtitle"), document.description)
    child(feed, _atom("updated"), rfc3339(document.updated))
    # Items without an author of their own are allowed only below a feed that has one.
    child(child(feed, _atom("author")), _atom("name"), name_or_none(document.author) or GENERATOR)
    _links(feed, document)
    child(feed, _atom("generator"), GENERATOR)
    for item in document.items:
        _entry(feed, item)
    return render_xml(feed)


def _links(feed: etree._Element, document: PublishedFeed) -> None:
    places = document.places
    _link(feed, "self", places.self_url, MEDIA_TYPE)
    _link(feed, "alternate", places.home, "text/html")
    _link(feed, "hub", places.hub)
    for rel, url in (
        ("first", places.first),
        ("previous", places.previous),
        ("next", places.next),
    ):
        _link(feed, rel, url, MEDIA_TYPE)


def _entry(feed: etree._Element, item: PublishedItem) -> None:
    entry = child(feed, _atom("entry"))
    link = web_url(item.link, MAGNET)
    child(entry, _atom("id"), item.id)
    child(entry, _atom("title"), item.title)
    child(entry, _atom("updated"), rfc3339(item.updated))
    if item.published is not None:
        child(entry, _atom("published"), rfc3339(item.published))
    for person in item.authors:
        _author(entry, person)
    for term in readable_names(item.categories):
        child(entry, _atom("category"), term=term)
    _link(entry, "alternate", link)
    for enclosure in item.enclosures:
        _enclosure(entry, enclosure)
    if item.summary:
        child(entry, _atom("summary"), item.summary, type="html")
    if item.content or not link:
        # An entry without an alternate link must have content, even if it is empty.
        child(entry, _atom("content"), item.content or "", type="html")
    if item.source is not None:
        _source(entry, item.source)


def _author(parent: etree._Element, person: ItemAuthor) -> None:
    name = name_or_none(person.name) or name_or_none(person.email) or name_or_none(person.uri)
    if name is None:
        return
    author = child(parent, _atom("author"))
    child(author, _atom("name"), name)
    if address := email_or_none(person.email):
        child(author, _atom("email"), address)
    if uri := web_url(person.uri):
        child(author, _atom("uri"), uri)


def _source(entry: etree._Element, source: ItemSource) -> None:
    """The source's title is the author of an entry that names no author."""
    element = child(entry, _atom("source"))
    child(element, _atom("id"), source.id)
    child(element, _atom("title"), source.title or "")
    if title := name_or_none(source.title):
        child(child(element, _atom("author")), _atom("name"), title)
    _link(element, "alternate", web_url(source.link))
    _link(element, "self", web_url(source.feed_url))


def _enclosure(entry: etree._Element, enclosure: ItemEnclosure) -> None:
    url = web_url(enclosure.url, MAGNET)
    if url is None:
        return
    length = amount_or_none(enclosure.length)
    child(
        entry,
        _atom("link"),
        rel="enclosure",
        href=url,
        type=media_type_or_none(enclosure.type),
        length=None if length is None else str(length),
        title=name_or_none(enclosure.title),
    )


def _link(parent: etree._Element, rel: str, url: str | None, type: str | None = None) -> None:
    if url is not None:
        child(parent, _atom("link"), rel=rel, href=url, type=type)


def _atom(name: str) -> str:
    return f"{{{ATOM}}}{name}"

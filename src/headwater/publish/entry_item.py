"""Make the item that is published from an entry of the database."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

import orjson

from headwater.core.values.instant import from_micros
from headwater.publish.clean_html import clean_html, html_of_text, text_of_html, without_links_to
from headwater.publish.document import ItemAuthor, ItemEnclosure, ItemSource, PublishedItem, urn
from headwater.publish.safe_text import xml_safe_text


class PublishableEntry(Protocol):
    """The columns of an entry that publishing needs. Lists are JSON text, moments microseconds."""

    public_id: str
    entry_uid: str
    canonical_link: str | None
    title: str | None
    summary: str | None
    content: str | None
    authors: str
    categories: str
    enclosures: str
    details: str
    published: int | None
    updated: int | None
    first_seen: int
    feed_title: str | None
    home_link: str | None
    feed_url: str


def item_of_entry(entry: PublishableEntry, edited: int | None) -> PublishedItem:
    """`edited` is when we last saw the entry change, if ever."""
    details: Mapping[str, Any] = orjson.loads(entry.details)
    changed, own = edited or entry.first_seen, entry.feed_url
    return PublishedItem(
        id=urn(entry.public_id, entry.entry_uid),
        updated=_updated(entry, changed),
        title=_title(entry.title or "", details.get("title_type")),
        link=_elsewhere(entry.canonical_link, own),
        summary=_html(entry.summary, details.get("summary_type", "text"), own),
        content=_html(entry.content, details.get("content_type", "text"), own),
        authors=tuple(_author(person, own) for person in orjson.loads(entry.authors)),
        categories=tuple(orjson.loads(entry.categories)),
        enclosures=tuple(
            _enclosure(attachment)
            for attachment in orjson.loads(entry.enclosures)
            if _elsewhere(attachment["url"], own)
        ),
        published=_not_later(entry.published, entry.first_seen),
        source=ItemSource(
            f"urn:uuid:{entry.public_id}", entry.feed_title, _elsewhere(entry.home_link, own)
        ),
    )


def _updated(entry: PublishableEntry, changed: int) -> datetime:
    """The publisher's date, unless it is in the future or older than an edit we saw."""
    if changed > entry.first_seen or entry.updated is None:
        claimed = changed if changed > entry.first_seen else entry.published
    else:
        claimed = entry.updated
    return _not_later(claimed, changed) or from_micros(changed)


def _not_later(claimed: int | None, seen: int) -> datetime | None:
    """An entry with a date in the future was written when we saw it at the latest."""
    return None if claimed is None else from_micros(min(claimed, seen))


def _title(title: str, kind: str | None) -> str:
    return (
        text_of_html(title) if kind in ("html", "xhtml") else " ".join(xml_safe_text(title).split())
    )


def _html(body: str | None, kind: str, own: str) -> str | None:
    """None for a body of another kind (an image, say): it is no text, and its link leads there."""
    if not body:
        return None
    if kind in ("html", "xhtml"):
        return without_links_to(own, clean_html(body)) or None
    return html_of_text(body) if kind == "text" else None


def _elsewhere(link: str | None, own: str) -> str | None:
    """A link that does not lead to the feed itself, whose address may be a private one."""
    return None if link is None or link.partition("#")[0] == own else link


def _author(person: Mapping[str, str | None], own: str) -> ItemAuthor:
    return ItemAuthor(person.get("name"), person.get("email"), _elsewhere(person.get("uri"), own))


def _enclosure(attachment: Mapping[str, Any]) -> ItemEnclosure:
    return ItemEnclosure(
        attachment["url"],
        attachment.get("type"),
        attachment.get("length"),
        attachment.get("duration"),
        attachment.get("title"),
    )

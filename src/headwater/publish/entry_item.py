"""An entry as it is kept → an item as it is published."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

import orjson

from headwater.core.values.instant import from_micros
from headwater.publish.clean_html import clean_html, html_of_text, text_of_html, without_links_to
from headwater.publish.document import ItemAuthor, ItemEnclosure, ItemSource, PublishedItem, urn
from headwater.publish.safe_text import xml_safe_text


class PublishableEntry(Protocol):
    """What is asked of an entry. Lists are JSON text, moments are microseconds."""

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


def item_of_entry(kept: PublishableEntry, edited: int | None) -> PublishedItem:
    """`edited` is when we last saw it say something else, if ever."""
    details: Mapping[str, Any] = orjson.loads(kept.details)
    changed, own = edited or kept.first_seen, kept.feed_url
    return PublishedItem(
        id=urn(kept.public_id, kept.entry_uid),
        updated=_updated(kept, changed),
        title=_title(kept.title or "", details.get("title_type")),
        link=_elsewhere(kept.canonical_link, own),
        summary=_html(kept.summary, details.get("summary_type", "text"), own),
        content=_html(kept.content, details.get("content_type", "text"), own),
        authors=tuple(_person(said, own) for said in orjson.loads(kept.authors)),
        categories=tuple(orjson.loads(kept.categories)),
        enclosures=tuple(
            _enclosure(said)
            for said in orjson.loads(kept.enclosures)
            if _elsewhere(said["url"], own)
        ),
        published=_not_later(kept.published, kept.first_seen),
        source=ItemSource(
            f"urn:uuid:{kept.public_id}", kept.feed_title, _elsewhere(kept.home_link, own)
        ),
    )


def _updated(kept: PublishableEntry, changed: int) -> datetime:
    """The publisher's own word, unless it is of the future or older than an edit we saw."""
    if changed > kept.first_seen or kept.updated is None:
        said = changed if changed > kept.first_seen else kept.published
    else:
        said = kept.updated
    return _not_later(said, changed) or from_micros(changed)


def _not_later(said: int | None, seen: int) -> datetime | None:
    """What says it comes from the future was written when we saw it at the latest."""
    return None if said is None else from_micros(min(said, seen))


def _title(title: str, kind: str | None) -> str:
    return (
        text_of_html(title) if kind in ("html", "xhtml") else " ".join(xml_safe_text(title).split())
    )


def _html(words: str | None, kind: str, own: str) -> str | None:
    """A content of another kind (an image, say) is not for reading: its link leads there."""
    if not words:
        return None
    if kind in ("html", "xhtml"):
        return without_links_to(own, clean_html(words)) or None
    return html_of_text(words) if kind == "text" else None


def _elsewhere(link: str | None, own: str) -> str | None:
    """A link that does not lead to the feed itself, whose address may be a private one."""
    return None if link is None or link.partition("#")[0] == own else link


def _person(said: Mapping[str, str | None], own: str) -> ItemAuthor:
    return ItemAuthor(said.get("name"), said.get("email"), _elsewhere(said.get("uri"), own))


def _enclosure(said: Mapping[str, Any]) -> ItemEnclosure:
    return ItemEnclosure(
        said["url"], said.get("type"), said.get("length"), said.get("duration"), said.get("title")
    )

"""Build a personal feed: the document of a reader from the newest items of their categories.

All texts are cleaned here, whoever wrote them. No link has a token or a name in it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode

from headwater.core.values.instant import from_micros
from headwater.personal_feeds.item_json import guid_key
from headwater.personal_feeds.ports import FeedReader, KeptItem, NewestItems
from headwater.publish import atom, json_feed, rss
from headwater.publish.clean_html import clean_html
from headwater.publish.document import (
    ItemAuthor,
    ItemEnclosure,
    PublishedFeed,
    PublishedFeedLinks,
    PublishedItem,
    urn,
)
from headwater.publish.safe_text import xml_safe_text

FeedFormat = Literal["rss", "atom", "json"]

MAGNET = "magnet:"
TORRENT = "application/x-bittorrent"


@dataclass(frozen=True, slots=True)
class FeedFormatSpec:
    """A format of feeds: its path, its media type, and the function that writes it."""

    path: str
    media_type: str
    write: Callable[[PublishedFeed], bytes]


FEED_FORMATS: dict[FeedFormat, FeedFormatSpec] = {
    "rss": FeedFormatSpec("/rss", rss.MEDIA_TYPE, rss.render_rss),
    "atom": FeedFormatSpec("/atom", atom.MEDIA_TYPE, atom.render_atom),
    "json": FeedFormatSpec("/feed.json", json_feed.MEDIA_TYPE, json_feed.render_json_feed),
}

CleanFunction = Callable[[KeptItem], PublishedItem]


@dataclass(frozen=True, slots=True)
class PersonalFeedRequest:
    """A request for a personal feed. `limit` None: the usual one. `categories` None: all that the
    reader follows. `base_url` is our own address, without a slash at its end."""

    format: FeedFormat
    limit: int | None = None
    categories: tuple[str, ...] | None = None
    base_url: str = ""


def shown_categories(reader: FeedReader, requested: tuple[str, ...] | None) -> tuple[str, ...]:
    """The requested categories that the reader follows. One that they do not follow looks like one
    that does not exist."""
    if requested is None:
        return reader.categories
    return tuple(name for name in reader.categories if name in set(requested))


def self_url(request: PersonalFeedRequest) -> str:
    """The URL of the document, for somebody who has the token anyway."""
    parameters: list[tuple[str, str | int]] = []
    if request.limit is not None:
        parameters.append(("limit", request.limit))
    parameters += [("category", name) for name in _requested_categories(request)]
    query = urlencode(parameters, errors="replace")
    return f"{request.base_url}{FEED_FORMATS[request.format].path}{f'?{query}' if query else ''}"


def _requested_categories(request: PersonalFeedRequest) -> tuple[str, ...]:
    """The requested names. A feed of no category has the name "", so that it is not the whole
    feed."""
    if request.categories is None:
        return ()
    return request.categories or ("",)


def changed_at(reader: FeedReader, newest: NewestItems) -> int:
    """The last change of anything in the document."""
    moments = (item.changed_at for item in newest.items)
    return max(reader.changed_at, newest.changed_at, *moments)


def build_personal_feed(
    reader: FeedReader,
    newest: NewestItems,
    request: PersonalFeedRequest,
    hub: str | None = None,
    clean: CleanFunction | None = None,
) -> PublishedFeed:
    """Build the document; the same arguments give the same bytes.

    `clean` is `clean_item` with a cache.
    """
    items = [
        _join_categories(request.format, same, clean or clean_item)
        for same in _group_by_guid(newest.items)
    ]
    requested = tuple(sorted(set(_requested_categories(request))))
    return PublishedFeed(
        id=urn("personal", reader.id, *requested),
        title=_title(reader, request.categories),
        updated=from_micros(changed_at(reader, newest)),
        places=PublishedFeedLinks(self_url=self_url(request), hub=hub),
        items=tuple(items),
        description="The newest items of the categories you follow.",
    )


def clean_item(kept: KeptItem) -> PublishedItem:
    """One item, safe to show. A date in the future is replaced by the arrival."""
    published = min(kept.pub_date, kept.arrived_at)
    is_edited = kept.changed_at > kept.arrived_at
    magnet = kept.link if kept.link.lower().startswith(MAGNET) else None
    return PublishedItem(
        id=kept.guid,
        updated=from_micros(kept.changed_at if is_edited else published),
        title=" ".join(xml_safe_text(kept.title).split()),
        link=None if magnet else kept.link,
        summary=clean_html(kept.description) or None,
        content=(clean_html(kept.content) or None) if kept.content else None,
        authors=tuple(ItemAuthor(name) for name in map(_line, kept.authors) if name),
        categories=(kept.category, *kept.tags),
        enclosures=tuple(_enclosures(kept, magnet)),
        published=from_micros(published),
    )


def _enclosures(kept: KeptItem, magnet: str | None) -> Iterable[ItemEnclosure]:
    """The files of an item.

    A magnet link goes with them: it is for download clients, not browsers.
    """
    if magnet and magnet not in {each.url for each in kept.enclosures}:
        yield ItemEnclosure(magnet, TORRENT)
    for attachment in kept.enclosures:
        yield ItemEnclosure(attachment.url, attachment.type, attachment.length)


def _group_by_guid(items: Sequence[KeptItem]) -> list[list[KeptItem]]:
    """Items in their order; one in several categories stands at its first place."""
    groups: dict[str, list[KeptItem]] = {}
    for item in items:
        groups.setdefault(item.guid, []).append(item)
    return list(groups.values())


def _join_categories(
    format: FeedFormat, same: Sequence[KeptItem], clean: CleanFunction
) -> PublishedItem:
    """One item with all its categories and its newest texts. Atom needs an IRI as the id."""
    newest = max(same, key=lambda kept: kept.changed_at)
    item = clean(newest)
    categories = dict.fromkeys((*(kept.category for kept in same), *newest.tags))
    return PublishedItem(
        id=_iri(item.id) if format == "atom" else item.id,
        updated=item.updated,
        title=item.title,
        link=item.link,
        summary=item.summary,
        content=item.content,
        authors=item.authors,
        categories=tuple(filter(None, map(_line, categories))),
        enclosures=item.enclosures,
        published=item.published,
    )


def _iri(guid: str) -> str:
    return f"urn:uuid:{guid}" if len(guid_key(guid)) == 16 else urn("personal item", guid)


def _title(reader: FeedReader, requested: tuple[str, ...] | None) -> str:
    name = _line(reader.name) or "reader"
    return (
        f"{name}: {', '.join(map(_line, requested))}" if requested else f"Personal feed of {name}"
    )


def _line(text: str) -> str:
    return " ".join(xml_safe_text(text).split())

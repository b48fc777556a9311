"""A reader and the newest items of what they follow → the document of their feed.

Everything is cleaned here, whoever wrote it. No link holds a token or a name.
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
    """What a format is called outside, where it is served, and who writes it."""

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
    """What somebody wants to see of their feed. `limit` None: the usual one. `categories` None: all
    that they follow. `base_url` is where we are, without a slash at its end."""

    format: FeedFormat
    limit: int | None = None
    categories: tuple[str, ...] | None = None
    base_url: str = ""


def shown_categories(reader: FeedReader, asked: tuple[str, ...] | None) -> tuple[str, ...]:
    """Of those that were asked for, the reader's own: one that is not looks like one that is not
    there."""
    if asked is None:
        return reader.categories
    return tuple(name for name in reader.categories if name in set(asked))


def self_url(ask: PersonalFeedRequest) -> str:
    """Where the document is, for somebody who has the token anyway."""
    said: list[tuple[str, str | int]] = []
    if ask.limit is not None:
        said.append(("limit", ask.limit))
    said += [("category", name) for name in _asked_categories(ask)]
    query = urlencode(said, errors="replace")
    return f"{ask.base_url}{FEED_FORMATS[ask.format].path}{f'?{query}' if query else ''}"


def _asked_categories(ask: PersonalFeedRequest) -> tuple[str, ...]:
    """By name. A feed of no category has a name that no category has: it is not the whole feed."""
    if ask.categories is None:
        return ()
    return ask.categories or ("",)


def changed_at(reader: FeedReader, shelf: NewestItems) -> int:
    """The last change of what is shown."""
    moments = (item.changed_at for item in shelf.items)
    return max(reader.changed_at, shelf.changed_at, *moments)


def build_personal_feed(
    reader: FeedReader,
    shelf: NewestItems,
    ask: PersonalFeedRequest,
    hub: str | None = None,
    clean: CleanFunction | None = None,
) -> PublishedFeed:
    """The same for the same arguments, byte for byte. `clean` is somebody who remembers what
    `clean_item` said."""
    items = [_joined(ask.format, same, clean or clean_item) for same in _by_guid(shelf.items)]
    asked = tuple(sorted(set(_asked_categories(ask))))
    return PublishedFeed(
        id=urn("personal", reader.id, *asked),
        title=_title(reader, ask.categories),
        updated=from_micros(changed_at(reader, shelf)),
        places=PublishedFeedLinks(self_url=self_url(ask), hub=hub),
        items=tuple(items),
        description="The newest items of the categories you follow.",
    )


def clean_item(kept: KeptItem) -> PublishedItem:
    """One item, safe to show. What says it comes from the future was written when it came."""
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
    """A link that no browser follows is what a download client wants: it goes with the files."""
    if magnet and magnet not in {each.url for each in kept.enclosures}:
        yield ItemEnclosure(magnet, TORRENT)
    for each in kept.enclosures:
        yield ItemEnclosure(each.url, each.type, each.length)


def _by_guid(items: Sequence[KeptItem]) -> list[list[KeptItem]]:
    """In their order; one that is in several categories stands where its first one does."""
    found: dict[str, list[KeptItem]] = {}
    for item in items:
        found.setdefault(item.guid, []).append(item)
    return list(found.values())


def _joined(format: FeedFormat, same: Sequence[KeptItem], make: CleanFunction) -> PublishedItem:
    """One item of all its categories, in the words that are newest. Atom wants an IRI as its id."""
    newest = max(same, key=lambda kept: kept.changed_at)
    item = make(newest)
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


def _title(reader: FeedReader, asked: tuple[str, ...] | None) -> str:
    name = _line(reader.name) or "reader"
    return f"{name}: {', '.join(map(_line, asked))}" if asked else f"Personal feed of {name}"


def _line(text: str) -> str:
    return " ".join(xml_safe_text(text).split())

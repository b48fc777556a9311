"""The document of a published feed: its names, its links, and its items, newest first."""

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class ItemAuthor:
    name: str | None = None
    email: str | None = None
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class ItemEnclosure:
    """An attached file; `duration` is in seconds."""

    url: str
    type: str | None = None
    length: int | None = None
    duration: int | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class ItemSource:
    """The feed an item comes from. `feed_url` only where everybody may know it: the address of a
    private feed is a key."""

    id: str
    title: str | None = None
    link: str | None = None
    feed_url: str | None = None


@dataclass(frozen=True, slots=True)
class PublishedItem:
    """One item. `id` never changes, and no other item has it. `title` is text; `summary` and
    `content` are HTML that `publish.clean_html` has cleaned. `updated` is always known."""

    id: str
    updated: datetime
    title: str = ""
    link: str | None = None
    summary: str | None = None
    content: str | None = None
    authors: tuple[ItemAuthor, ...] = ()
    categories: tuple[str, ...] = ()
    enclosures: tuple[ItemEnclosure, ...] = ()
    published: datetime | None = None
    source: ItemSource | None = None


def urn(*parts: str) -> str:
    """A URN that the same parts always have, and no others: a UUID of our own (version 8)."""
    joined = b"".join(
        len(part).to_bytes(8) + part
        for part in (text.encode("utf-8", "surrogatepass") for text in parts)
    )
    digits = list(sha256(joined).hexdigest()[:32])
    digits[12] = "8"
    digits[16] = "89ab"[int(digits[16], 16) % 4]
    plain = "".join(digits)
    groups = (plain[:8], plain[8:12], plain[12:16], plain[16:20], plain[20:])
    return f"urn:uuid:{'-'.join(groups)}"


GENERATOR = "Headwater"


@dataclass(frozen=True, slots=True)
class PublishedFeedLinks:
    """Addresses of a document and its neighbours. `first` to `next` are pages of one feed; `home`
    is a page for people, and `hub` notifies subscribers of new entries."""

    self_url: str
    first: str | None = None
    previous: str | None = None
    next: str | None = None
    hub: str | None = None
    home: str | None = None


@dataclass(frozen=True, slots=True)
class PublishedFeed:
    """One page of a feed. `id` is the same for all pages, and in every format. `updated` is the
    newest change of the items shown, so that the same items always make the same bytes."""

    id: str
    title: str
    updated: datetime
    places: PublishedFeedLinks
    items: tuple[PublishedItem, ...] = ()
    description: str = ""
    author: str = GENERATOR

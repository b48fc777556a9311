"""A published feed: what it is called, where it is, and its items, newest first."""

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
    """`id` never changes and is nobody else's. `title` is text; `summary` and `content` are HTML
    that `publish.clean_html` has been through. `updated` is always known."""

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
    """The same URN for the same parts, and no other's: a UUID of our own making (version 8)."""
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
    """Where a document and its neighbours are. `first` to `next` are pages of one feed; `home` is a
    page for people, `hub` tells subscribers of news."""

    self_url: str
    first: str | None = None
    previous: str | None = None
    next: str | None = None
    hub: str | None = None
    home: str | None = None


@dataclass(frozen=True, slots=True)
class PublishedFeed:
    """`id` is the same for all pages, and in every format. `updated` is the newest change of what
    is shown, so that the same items always make the same bytes."""

    id: str
    title: str
    updated: datetime
    places: PublishedFeedLinks
    items: tuple[PublishedItem, ...] = ()
    description: str = ""
    author: str = GENERATOR

"""A published item: what every format can say of it, already safe to show."""

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class Person:
    name: str | None = None
    email: str | None = None
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class Enclosure:
    """An attached file; `duration` is in seconds."""

    url: str
    type: str | None = None
    length: int | None = None
    duration: int | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """The feed an item comes from. `feed_url` only where everybody may know it: the address of a
    private feed is a key."""

    id: str
    title: str | None = None
    link: str | None = None
    feed_url: str | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """`id` never changes and is nobody else's. `title` is text; `summary` and `content` are HTML
    that `publish.clean` has been through. `updated` is always known."""

    id: str
    updated: datetime
    title: str = ""
    link: str | None = None
    summary: str | None = None
    content: str | None = None
    authors: tuple[Person, ...] = ()
    categories: tuple[str, ...] = ()
    enclosures: tuple[Enclosure, ...] = ()
    published: datetime | None = None
    source: Source | None = None


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

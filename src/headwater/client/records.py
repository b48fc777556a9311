"""Records that the API returns: feeds and entries, with their persons, enclosures and raw bytes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from headwater.client.errors import Unexpected

JsonObject = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Feed:
    """One feed. Values without a field (schedule, hints, statistics) are in `more`, as served."""

    id: str
    url: str
    type: str
    title: str | None
    home_link: str | None
    state: str
    priority: int
    categories: tuple[str, ...]
    next_visit_at: datetime | None
    last_error: str | None
    moved_to: str | None
    created_at: datetime
    updated_at: datetime
    more: JsonObject

    @classmethod
    def of(cls, said: JsonObject) -> Self:
        named = {
            "id": said["id"],
            "url": said["url"],
            "type": said["type"],
            "title": said["title"],
            "home_link": said["home_link"],
            "state": said["state"],
            "priority": said["priority"],
            "categories": tuple(said["categories"]),
            "next_visit_at": _parse_moment(said["next_visit_at"]),
            "last_error": said["last_error"],
            "moved_to": said["moved_to"],
            "created_at": datetime.fromisoformat(said["created_at"]),
            "updated_at": datetime.fromisoformat(said["updated_at"]),
        }
        return cls(**named, more={name: said[name] for name in said if name not in named})


@dataclass(frozen=True, slots=True)
class Person:
    name: str | None
    email: str | None
    uri: str | None

    @classmethod
    def of(cls, said: JsonObject) -> Self:
        return cls(said["name"], said["email"], said["uri"])


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A file of an entry. `more` has duration, title and medium, where there are any."""

    url: str
    type: str | None
    length: int | None
    more: JsonObject

    @classmethod
    def of(cls, said: JsonObject) -> Self:
        more = {name: said[name] for name in said if name not in ("url", "type", "length")}
        return cls(said["url"], said["type"], said["length"], more)


@dataclass(frozen=True, slots=True)
class RawRef:
    """The place of an entry in the bytes that were served; `Client.raw(fetch_id)` has them."""

    fetch_id: str
    offset: int | None
    length: int | None
    note: str | None

    @classmethod
    def of(cls, said: JsonObject) -> Self:
        return cls(said["fetch_id"], said["offset"], said["length"], said["note"])


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a feed. `uid` is its publisher's name for it; two feeds may use the same."""

    uid: str
    feed_id: str
    link: str | None
    title: str | None
    summary: str | None
    content: str | None
    authors: tuple[Person, ...]
    categories: tuple[str, ...]
    enclosures: tuple[Enclosure, ...]
    published: datetime | None
    updated: datetime | None
    first_seen: datetime
    last_seen: datetime
    seen_count: int
    raw_refs: tuple[RawRef, ...]
    content_hash: str
    version: int
    is_present: bool
    details: JsonObject

    @classmethod
    def of(cls, said: JsonObject) -> Self:
        return cls(
            uid=said["entry_uid"],
            feed_id=said["feed_id"],
            link=said["canonical_link"],
            title=said["title"],
            summary=said["summary"],
            content=said["content"],
            authors=tuple(Person.of(each) for each in said["authors"]),
            categories=tuple(said["categories"]),
            enclosures=tuple(Enclosure.of(each) for each in said["enclosures"]),
            published=_parse_moment(said["published"]),
            updated=_parse_moment(said["updated"]),
            first_seen=datetime.fromisoformat(said["first_seen"]),
            last_seen=datetime.fromisoformat(said["last_seen"]),
            seen_count=said["seen_count"],
            raw_refs=tuple(RawRef.of(each) for each in said["raw_refs"]),
            content_hash=said["content_hash"],
            version=said["version"],
            is_present=said["is_present"],
            details=said["details"],
        )


def _parse_moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def page_records(page: Any, name: str) -> tuple[list[JsonObject], str | None]:
    """The records of one page, and the cursor of the next."""
    try:
        return list(page[name]), page["next_cursor"]
    except (KeyError, TypeError) as trouble:
        raise Unexpected(f"The answer is no page of {name}.") from trouble

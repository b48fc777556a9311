"""Items and lists as JSON: ours as we write them, other tools' as they may come."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson

from headwater.core.values.instant import rfc3339_at, to_micros
from headwater.personal_feeds.item_json import json_of
from headwater.personal_feeds.ports import ItemAttachment, KeptItem

_OURS = ("arrived_at", "expires_at", "changed_at")


@dataclass(frozen=True, slots=True)
class StoredItem:
    """An item as it is stored: the fields that any tool writes, and those that only we write.

    `pub_date` is None when there is none. `moments` is None in an item that is not ours.
    """

    title: str
    description: str
    link: str
    pub_date: int | None
    moments: tuple[int, int, int] | None
    content: str | None
    authors: tuple[str, ...]
    enclosures: tuple[ItemAttachment, ...]
    tags: tuple[str, ...]
    caller_id: str | None


def encode_item(item: KeptItem) -> bytes:
    """First the six fields that other tools know, then ours; empty ones are left out."""
    ours = {
        "arrived_at": _moment(item.arrived_at),
        "expires_at": _moment(item.expires_at),
        "changed_at": _moment(item.changed_at),
        "content": item.content,
        "authors": list(item.authors) or None,
        "enclosures": [_attached_record(each) for each in item.enclosures] or None,
        "tags": list(item.tags) or None,
        "caller_id": item.caller_id,
    }
    return json_of(
        {
            "title": item.title,
            "description": item.description,
            "link": item.link,
            "pub_date": _moment(item.pub_date),
            "guid": item.guid,
            "category": item.category,
        }
        | {name: value for name, value in ours.items() if value is not None}
    ).encode()


def parse_item(written: bytes) -> StoredItem | None:
    """None when it is damaged, or no item."""
    record = parse_json(written)
    if not isinstance(record, dict):
        return None
    three = [record.get(name) for name in ("title", "description", "link")]
    if not all(isinstance(each, str) for each in three):
        return None
    title, description, link = map(str, three)
    moments = [parse_moment(record.get(name)) for name in _OURS]
    arrived, expires, changed = moments
    ours = arrived is not None and expires is not None and changed is not None
    return StoredItem(
        title=title,
        description=description,
        link=link,
        pub_date=parse_moment(record.get("pub_date")),
        moments=(arrived or 0, expires or 0, changed or 0) if ours else None,
        content=_maybe_text(record.get("content")),
        authors=_texts(record.get("authors")),
        enclosures=_attachments(record.get("enclosures")),
        tags=_texts(record.get("tags")),
        caller_id=_maybe_text(record.get("caller_id")),
    )


def build_item(
    category: str,
    guid: str,
    stored: StoredItem,
    *,
    arrived_at: int,
    expires_at: int,
    changed_at: int,
) -> KeptItem:
    return KeptItem(
        category=category,
        guid=guid,
        title=stored.title,
        description=stored.description,
        link=stored.link,
        pub_date=arrived_at if stored.pub_date is None else stored.pub_date,
        arrived_at=arrived_at,
        expires_at=expires_at,
        changed_at=changed_at,
        content=stored.content,
        authors=stored.authors,
        enclosures=stored.enclosures,
        tags=stored.tags,
        caller_id=stored.caller_id,
    )


def arrival_in(guid: str, stored: StoredItem) -> int | None:
    """The arrival of another tool's item: that in its UUIDv7, else its date; None without
    either."""
    try:
        number = UUID(guid)
    except ValueError:
        return stored.pub_date
    return (number.int >> 80) * 1000 if number.version == 7 else stored.pub_date


def parse_categories(written: bytes) -> tuple[str, ...] | None:
    """Each category once, in their order; None when it is no list.

    A value that is no text is left out.
    """
    listed = parse_json(written)
    if not isinstance(listed, list):
        return None
    return tuple(dict.fromkeys(name for name in listed if isinstance(name, str)))


def parse_json(written: bytes) -> Any:
    """The value; None when it is no JSON."""
    try:
        return orjson.loads(written)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(written)  # a lone surrogate, written as an escape
    except (ValueError, RecursionError):
        return None


def parse_moment(value: Any) -> int | None:
    """A moment from JSON; without a zone it is UTC. None when it is none."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return to_micros(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None


def _moment(micros: int) -> str:
    return rfc3339_at(micros)


def _attached_record(attachment: ItemAttachment) -> dict[str, str | int]:
    fields = {"url": attachment.url, "type": attachment.type, "length": attachment.length}
    return {name: value for name, value in fields.items() if value is not None}


def _attachments(listed: Any) -> tuple[ItemAttachment, ...]:
    if not isinstance(listed, list):
        return ()
    attachments = (_attachment(each) for each in listed if isinstance(each, Mapping))
    return tuple(each for each in attachments if each is not None)


def _attachment(record: Mapping[str, Any]) -> ItemAttachment | None:
    url, length = record.get("url"), record.get("length")
    if not isinstance(url, str):
        return None
    is_whole = isinstance(length, int) and not isinstance(length, bool) and length >= 0
    return ItemAttachment(url, _maybe_text(record.get("type")), length if is_whole else None)


def _maybe_text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _texts(listed: Any) -> tuple[str, ...]:
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        return ()
    return tuple(each for each in listed if isinstance(each, str))

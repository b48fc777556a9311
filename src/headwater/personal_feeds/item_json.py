"""An item as JSON, as one row stores it, and its guid as bytes that sort like the text."""

import json
import re
from dataclasses import replace
from typing import Any

import orjson

from headwater.personal_feeds.ports import ItemAttachment, KeptItem

_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_UUID_BYTES = 16
_TEXT, _PADDING = b"t", b"\0"


def guid_key(guid: str) -> bytes:
    """16 bytes for a UUID in its usual form; any other text as it is, after one letter.

    Another tool may have written any text as a guid: it comes back character by character.
    """
    if _UUID.fullmatch(guid):
        return bytes.fromhex(guid.replace("-", ""))
    key = _TEXT + guid.encode("utf-8", "surrogatepass")
    return key + _PADDING if len(key) == _UUID_BYTES else key


def guid_of(key: bytes) -> str:
    if len(key) == _UUID_BYTES:
        plain = key.hex()
        return f"{plain[:8]}-{plain[8:12]}-{plain[12:16]}-{plain[16:20]}-{plain[20:]}"
    return bytes(key)[1:].removesuffix(_PADDING).decode("utf-8", "surrogatepass")


def encode_item(item: KeptItem) -> str:
    """All fields but those with a column of their own."""
    fields = {
        "title": item.title,
        "description": item.description,
        "link": item.link,
        "pub_date": item.pub_date,
        "arrived_at": item.arrived_at,
        "changed_at": item.changed_at,
        "content": item.content,
        "authors": item.authors,
        "enclosures": [[each.url, each.type, each.length] for each in item.enclosures],
        "tags": item.tags,
        "caller_id": item.caller_id,
    }
    return json_of({name: value for name, value in fields.items() if value not in (None, (), [])})


def decode_item(category: str, guid: bytes, expires_at: int, text: str) -> KeptItem:
    fields = read_json(text)
    return KeptItem(
        category=category,
        guid=guid_of(guid),
        title=fields["title"],
        description=fields["description"],
        link=fields["link"],
        pub_date=fields["pub_date"],
        arrived_at=fields["arrived_at"],
        expires_at=expires_at,
        changed_at=fields["changed_at"],
        content=fields.get("content"),
        authors=tuple(fields.get("authors", ())),
        enclosures=tuple(ItemAttachment(*each) for each in fields.get("enclosures", ())),
        tags=tuple(fields.get("tags", ())),
        caller_id=fields.get("caller_id"),
    )


def revised(item: KeptItem, new: KeptItem) -> KeptItem:
    """The item with the texts of the new one, unless they are older; itself when nothing
    changes."""
    if new.changed_at < item.changed_at:
        return item
    candidate = replace(
        new,
        category=item.category,
        guid=item.guid,
        caller_id=item.caller_id,
        arrived_at=item.arrived_at,
        expires_at=item.expires_at,
        changed_at=item.changed_at,
    )
    return item if candidate == item else replace(candidate, changed_at=new.changed_at)


def json_of(value: Any) -> str:
    """JSON text. A lone surrogate has no UTF-8; it is kept as an escape."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, separators=(",", ":"))


def read_json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)

"""An item as one row keeps it: its words as JSON, its guid as bytes that sort like the text."""

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
    """16 bytes for a UUID as UUIDs are written; any other text as it is, behind one letter.

    What another tool wrote may be anything: it comes back letter by letter.
    """
    if _UUID.fullmatch(guid):
        return bytes.fromhex(guid.replace("-", ""))
    return _text_key(guid)


def guid_of(key: bytes) -> str:
    if len(key) == _UUID_BYTES:
        plain = key.hex()
        return f"{plain[:8]}-{plain[8:12]}-{plain[12:16]}-{plain[16:20]}-{plain[20:]}"
    return bytes(key)[1:].removesuffix(_PADDING).decode("utf-8", "surrogatepass")


def _text_key(guid: str) -> bytes:
    key = _TEXT + guid.encode("utf-8", "surrogatepass")
    return key + _PADDING if len(key) == _UUID_BYTES else key


def encode_item(item: KeptItem) -> str:
    """All but what has a column of its own."""
    said = {
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
    return json_of({name: value for name, value in said.items() if value not in (None, (), [])})


def decode_item(category: str, guid: bytes, expires_at: int, text: str) -> KeptItem:
    said = read_json(text)
    return KeptItem(
        category=category,
        guid=guid_of(guid),
        title=said["title"],
        description=said["description"],
        link=said["link"],
        pub_date=said["pub_date"],
        arrived_at=said["arrived_at"],
        expires_at=expires_at,
        changed_at=said["changed_at"],
        content=said.get("content"),
        authors=tuple(said.get("authors", ())),
        enclosures=tuple(ItemAttachment(*each) for each in said.get("enclosures", ())),
        tags=tuple(said.get("tags", ())),
        caller_id=said.get("caller_id"),
    )


def revised(item: KeptItem, new: KeptItem) -> KeptItem:
    """With the words of the new one, unless these are older; itself when nothing changes."""
    if new.changed_at < item.changed_at:
        return item
    words = replace(
        new,
        category=item.category,
        guid=item.guid,
        caller_id=item.caller_id,
        arrived_at=item.arrived_at,
        expires_at=item.expires_at,
        changed_at=item.changed_at,
    )
    return item if words == item else replace(words, changed_at=new.changed_at)


def json_of(value: Any) -> str:
    """Half a character pair has no UTF-8; as an escape it is kept all the same."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, separators=(",", ":"))


def read_json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)

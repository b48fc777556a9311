"""Items in Redis: added and revised atomically, read newest first by the index of each category."""

from collections.abc import Iterable, Sequence
from hashlib import sha1, sha256
from typing import Any

from headwater.core.errors import DatabaseRefused
from headwater.personal_feeds.item_json import revised
from headwater.personal_feeds.ports import AddedItem, KeptItem, NewestItems
from headwater.personal_feeds.redis.connection import RedisArgument, RedisConnection
from headwater.personal_feeds.redis.item_scripts import (
    ADD,
    FIND_ITEMS,
    LIST_CATEGORIES,
    LIST_ITEMS,
    NEWEST,
    REVISE,
)
from headwater.personal_feeds.redis.keys import ForeignItemNote, decode_name, encode_name
from headwater.personal_feeds.redis.other_tools import build_item, encode_item, parse_item

TRIES = 8
"""Tries of a revision when others change the same items meanwhile."""


async def add(connection: RedisConnection, items: Sequence[KeptItem], now: int) -> list[AddedItem]:
    distinct, places = without_repeats(items)
    arguments: list[RedisArgument] = []
    for item in distinct:
        left = max(0, -(-(item.expires_at - now) // 1000))
        arguments += (*_names_of(item), item.expires_at, left, encode_item(item))
    answers = await connection.run(ADD, now, *arguments)
    return [
        AddedItem(
            guid=answers[place][0].decode(),
            category=item.category,
            expires_at=int(float(answers[place][1])),
            is_new=is_first and answers[place][2] == 1,
        )
        for item, (place, is_first) in zip(items, places, strict=True)
    ]


def without_repeats(items: Iterable[KeptItem]) -> tuple[list[KeptItem], list[tuple[int, bool]]]:
    """Each item once; and for each of `items` its place there, and whether it is the first."""
    distinct: list[KeptItem] = []
    places: list[tuple[int, bool]] = []
    known: dict[tuple[str, bool, str], int] = {}
    for item in items:
        names = [(item.category, False, item.guid)]
        if item.caller_id is not None:
            names.append((item.category, True, item.caller_id))
        place = next((known[name] for name in names if name in known), None)
        places.append((len(distinct) if place is None else place, place is None))
        if place is None:
            known |= dict.fromkeys(names, len(distinct))
            distinct.append(item)
    return distinct, places


async def revise(connection: RedisConnection, items: Sequence[KeptItem], now: int) -> int:
    """Read, revise, and write only if nothing changed meanwhile; else try again."""
    for _ in range(TRIES):
        stored = await connection.run(
            FIND_ITEMS, now, *(word for item in items for word in _names_of(item))
        )
        arguments = _changed_values(items, stored)
        if not arguments or await connection.run(REVISE, now, *arguments):
            return sum(answer is not None for answer in stored)
    raise DatabaseRefused("Redis: an item is changed by others all the time.")


def _changed_values(items: Sequence[KeptItem], stored: Sequence[Any]) -> list[RedisArgument]:
    """The arguments of REVISE for items that change. Another tool's item stays as it is."""
    olds: dict[tuple[str, bytes], tuple[KeptItem, bytes]] = {}
    news: dict[tuple[str, bytes], KeptItem] = {}
    for item, answer in zip(items, stored, strict=True):
        old_item = None if answer is None else _item_from_answer(item.category, *answer)
        if answer is None or old_item is None or answer[3] is not None:
            continue
        place = item.category, answer[0]
        olds[place] = old_item, answer[1]
        news[place] = revised(news.get(place, old_item), item)
    arguments: list[RedisArgument] = []
    for (category, guid), new in news.items():
        old, written = olds[category, guid]
        if new != old:
            arguments += (encode_name(category), guid, fingerprint(written), encode_item(new))
    return arguments


async def categories_by_caller(
    connection: RedisConnection, caller_ids: Sequence[str]
) -> dict[str, list[str]]:
    """caller_id → categories of its items, for items that came since this is noted; a set expires
    with the last of them."""
    ids = list(dict.fromkeys(caller_ids))
    answers = await connection.run(LIST_CATEGORIES, *map(_caller_key, ids))
    read = (list(filter(None, map(decode_name, answer))) for answer in answers)
    return {id: categories for id, categories in zip(ids, read, strict=True) if categories}


async def newest(
    connection: RedisConnection, categories: Sequence[str], limit: int, now: int
) -> NewestItems:
    """The newest items, with one query unless an item in the index is gone or damaged."""
    names = list(dict.fromkeys(categories))
    items: list[KeptItem] = []
    guids: set[str] = set()
    before, changed_at, gone_at, is_more = b"", 0, 0, bool(names) and limit > 0
    while is_more and len(guids) < limit:
        changed_text, gone_text, has_more, rows = await connection.run(
            NEWEST, now, limit, before, *map(encode_name, names)
        )
        changed_at, gone_at = int(changed_text), int(gone_text)
        for place, guid, *written in rows:
            item = _item_from_answer(names[place], guid, *written)
            if item is None or item.expires_at <= now:
                continue
            if item.guid not in guids and len(guids) == limit:
                break
            guids.add(item.guid)
            items.append(item)
        is_more = bool(has_more) and bool(rows)
        before = rows[-1][1] if rows else b""
    return NewestItems(
        tuple(items), changed_at if len(guids) == limit else max(changed_at, gone_at)
    )


async def items_after(
    connection: RedisConnection, after: tuple[str, str] | None, limit: int, now: int
) -> list[KeptItem]:
    """Items in the order of the bytes of category and guid."""
    first, start = (
        (encode_name(after[0]), encode_name(after[1])) if after is not None else (b"", b"")
    )
    items: list[KeptItem] = []
    for name in sorted(await connection.ask("HKEYS", "rss:changed")):
        category = decode_name(name)
        if category is None or name < first:
            continue
        guid, is_more = start if name == first else b"", True
        while is_more and len(items) < limit:
            rows = await connection.run(LIST_ITEMS, name, guid, limit - len(items))
            is_more = len(rows) == limit - len(items)
            guid = rows[-1][1] if rows else guid
            read = (_item_from_answer(category, *row[1:]) for row in rows)
            items += (item for item in read if item is not None and item.expires_at > now)
        if len(items) >= limit:
            break
    return items


def fingerprint(written: bytes) -> str:
    """The SHA-1 of a value, as scripts on the server compute it too."""
    return sha1(written, usedforsecurity=False).hexdigest()


def _names_of(item: KeptItem) -> tuple[bytes, bytes, str]:
    caller = "" if item.caller_id is None else _caller_key(item.caller_id)
    return encode_name(item.category), encode_name(item.guid), caller


def _caller_key(caller_id: str) -> str:
    return sha256(encode_name(caller_id)).hexdigest()


def _item_from_answer(
    category: str, guid: bytes, written: bytes | None, ends: bytes | None, mark: bytes | None
) -> KeptItem | None:
    """None for an item that is gone, or is damaged."""
    stored = None if written is None else parse_item(written)
    name = decode_name(guid)
    if stored is None or ends is None or name is None:
        return None
    foreign = None if mark is None else ForeignItemNote.read(mark)
    if foreign is not None:
        arrived_at, changed_at = foreign.arrived_at, foreign.changed_at
    elif mark is None and stored.moments is not None:
        arrived_at, _, changed_at = stored.moments
    else:
        return None
    return build_item(
        category,
        name,
        stored,
        arrived_at=arrived_at,
        expires_at=int(float(ends)),
        changed_at=changed_at,
    )

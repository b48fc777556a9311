"""Items of personal feeds beside the service that is killed, read with nothing of its code.

An item knows which entry it was by its name: `entry:FEED:HASH`, with the first 16 bytes of the
SHA-256 of the entry's uid.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, Protocol, cast

import orjson
from redis.asyncio import Redis

from tests.crash.audit import Broken
from tests.crash.records import Record, Records, tables_of

Store = Literal["database", "redis"]
Name = tuple[str, str]
"""A category, and what the item is called there."""

CATEGORIES: tuple[list[str], ...] = ([], ["news"], ["news", "a:b *"], ["sea: tides"], ["[a-z]"])
LOOKS_EVERY = 0.2


@dataclass(frozen=True, slots=True)
class Kept:
    """`words` is the item's JSON."""

    category: str
    words: Mapping[str, Any]

    @property
    def name(self) -> Name:
        return self.category, str(self.words.get("caller_id"))


class Items(Protocol):
    settings: dict[str, str]

    async def kept(self) -> list[Kept]: ...


class DatabaseItems:
    def __init__(self, database_url: str) -> None:
        self._url = database_url
        self.settings = {"HEADWATER_PERSONAL_STORE": "database"}

    async def kept(self) -> list[Kept]:
        tables = await tables_of(self._url, ("personal_items", "personal_categories"))
        names = {
            bytes(row["category_key"]): row["category"] for row in tables["personal_categories"]
        }
        return [
            Kept(names[bytes(row["category_key"])], orjson.loads(row["item"]))
            for row in tables["personal_items"]
        ]


class RedisItems:
    def __init__(self, url: str) -> None:
        self._url = url
        self.settings = {
            "HEADWATER_PERSONAL_STORE": "redis",
            "HEADWATER_PERSONAL_REDIS_URL": url,
        }

    async def kept(self) -> list[Kept]:
        async with Redis.from_url(self._url) as client:
            keys = [key async for key in client.scan_iter(match="rss:category:*", count=1_000)]
            found = cast(list[bytes | None], await client.mget(keys)) if keys else []
        words = [orjson.loads(each) for each in found if each is not None]
        return [Kept(each["category"], each) for each in words]


def items_in(store: Store, database_url: str, redis_url: str) -> Items:
    return DatabaseItems(database_url) if store == "database" else RedisItems(redis_url)


def broken_items(records: Records, kept: Sequence[Kept]) -> list[Broken]:
    """What must hold at every moment; `records` were read before the items were."""
    (cursor,) = (row["cursor"] for row in records.sinks if row["kind"] == "personal")
    passed = [event for event in records.events if event["seq"] <= cursor]
    return [*_lost(_meant(passed, records.feeds), kept), *_twice(kept)]


def broken_items_after_rest(records: Records, kept: Sequence[Kept]) -> list[Broken]:
    """What must hold besides, when every entry had time to become an item."""
    meant = _meant(records.events, records.feeds)
    broken = [
        *_lost(meant, kept),
        *_twice(kept),
        *_other_words(records.entries, records.feeds, kept),
    ]
    if invented := {each.name for each in kept} - meant:
        broken.append(Broken("I1", f"items that were no entries: {sorted(invented)[:3]}"))
    letters = Counter(each["sink_id"] for each in records.dead_letters)
    return broken + [
        Broken("I1", f"the engine's own sink: {row}")
        for row in records.sinks
        if row["kind"] == "personal" and (letters[row["id"]] or not row["delivered"])
    ]


async def all_there(items: Items, database_url: str, seconds: float) -> bool:
    """Whether every entry has become an item that says the same, within that time."""
    deadline = time.monotonic() + seconds
    while True:
        tables = await tables_of(database_url, ("events", "feeds", "entries"))
        kept, feeds = await items.kept(), tables["feeds"]
        missing = _meant(tables["events"], feeds) - {each.name for each in kept}
        if not missing and not list(_other_words(tables["entries"], feeds, kept)):
            return True
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(LOOKS_EVERY)


def _meant(events: Sequence[Record], feeds: Sequence[Record]) -> set[Name]:
    """One item for each entry and each category of its feed."""
    categories = {feed["feed_id"]: orjson.loads(feed["categories"]) for feed in feeds}
    return {
        (category, f"entry:{event['feed_id']}:{_hash(orjson.loads(event['payload'])['entry_uid'])}")
        for event in events
        if event["type"] == "new_entry"
        for category in categories[event["feed_id"]]
    }


def _lost(meant: set[Name], kept: Sequence[Kept]) -> Iterator[Broken]:
    if lost := meant - {each.name for each in kept}:
        yield Broken("I1", f"entries that are no items: {sorted(lost)[:3]} ({len(lost)})")


def _twice(kept: Sequence[Kept]) -> Iterator[Broken]:
    for name, times in Counter(each.name for each in kept).items():
        if times > 1:
            yield Broken("I1", f"{name} is there {times} times")


def _other_words(
    entries: Sequence[Record], feeds: Sequence[Record], kept: Sequence[Kept]
) -> Iterator[Broken]:
    """An item says what its entry says now."""
    public = {feed["id"]: feed["feed_id"] for feed in feeds}
    said = {
        f"entry:{public[entry['feed_id']]}:{_hash(entry['entry_uid'])}": (
            entry["title"],
            entry["summary"] or "",
        )
        for entry in entries
    }
    for each in kept:
        words = (each.words["title"], each.words["description"])
        if said.get(each.name[1], words) != words:
            yield Broken("I2", f"{each.name} says {words}, its entry {said[each.name[1]]}")


def _hash(uid: str) -> str:
    return sha256(uid.encode()).digest()[:16].hex()

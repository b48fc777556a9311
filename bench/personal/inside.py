"""What is measured without HTTP: a cold build, an item that comes, and the other design's read."""

import random
import time
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import redis.asyncio

from bench.personal.place import Place, opened
from bench.personal.scanning import Scanning
from bench.personal.stock import Stock, crowd_one_category, fill, fresh_items, now
from headwater.auth.tokens import token_hash
from headwater.personal_feeds.ports import PersonalStore, TokenHolder
from headwater.personal_feeds.served_feeds import PersonalFeedRequest, PersonalFeeds
from headwater.wiring.policies import personal_policy
from tests.support.engine_parts import EngineParts

LIMIT = 50
CROWDED = "a crowded category"


@dataclass(slots=True)
class Inside:
    """Milliseconds. Lists have one figure for each round."""

    cold: list[float] = field(default_factory=list)
    cold_wide: list[float] = field(default_factory=list)
    added_crowded: list[float] = field(default_factory=list)
    added_empty: list[float] = field(default_factory=list)
    scanned: list[float] = field(default_factory=list)
    beside_scan: list[float] = field(default_factory=list)

    @property
    def added(self) -> float:
        pairs = zip(self.added_crowded, self.added_empty, strict=True)
        return median(crowded / empty for crowded, empty in pairs)

    @property
    def scan_ratio(self) -> float:
        pairs = zip(self.scanned, self.beside_scan, strict=True)
        return median(theirs / ours for theirs, ours in pairs)


async def inside(place: Place, stock: Stock, *, rounds: int, crowded: int, adds: int) -> Inside:
    async with opened(place) as engine:
        await fill(engine.personal, stock)
        found, luck = Inside(), random.Random(stock.seed)
        if place.redis_url is not None:
            tokens = luck.sample(stock.tokens[1:], rounds)
            await _scanning(place, place.redis_url, engine, tokens, found)
        await crowd_one_category(engine.personal, CROWDED, crowded)
        for number in range(rounds):
            found.cold.append(await _cold(place, engine, luck.sample(stock.tokens[1:], 10)))
            found.cold_wide.append(await _cold(place, engine, [stock.tokens[0]] * 3))
            await _adding(engine.personal, found, number, adds, luck)
        return found


async def _cold(place: Place, engine: EngineParts, tokens: list[str]) -> float:
    """From a token to a document, with nothing remembered: the median of some readers."""
    took = []
    for token in tokens:
        feeds = PersonalFeeds(engine.personal, engine.clock, personal_policy(place.settings))
        holder = await feeds.holder(token)
        assert holder is not None
        took.append(await _built(feeds, holder))
    return median(took)


async def _built(feeds: PersonalFeeds, holder: TokenHolder) -> float:
    began = time.perf_counter()
    built = await feeds.built(
        holder, PersonalFeedRequest("rss", LIMIT, None, "http://127.0.0.1:8470")
    )
    took = (time.perf_counter() - began) * 1000
    assert built.body.count(b"<item>") == LIMIT
    return took


async def _adding(
    store: PersonalStore, found: Inside, number: int, adds: int, luck: random.Random
) -> None:
    """One at a time into both, in turns; who comes first changes each time."""
    empty = f"an empty category {number}"
    took: dict[str, list[float]] = {CROWDED: [], empty: []}
    pairs = zip(fresh_items(CROWDED, adds, luck), fresh_items(empty, adds, luck), strict=True)
    for turn, pair in enumerate(pairs):
        for item in pair if turn % 2 == 0 else reversed(pair):
            began = time.perf_counter()
            (added,) = await store.add([item])
            took[item.category].append((time.perf_counter() - began) * 1000)
            assert added.is_new
    found.added_crowded.append(median(took[CROWDED]))
    found.added_empty.append(median(took[empty]))


async def _scanning(
    place: Place, url: str, engine: EngineParts, tokens: list[str], found: Inside
) -> None:
    """One reader after the other, read by both; before there is anything that nobody follows."""
    client: Any = redis.asyncio.Redis.from_url(url)
    try:
        for token in tokens:
            holder = await engine.personal.holder(token_hash(token), token, now())
            assert holder is not None
            began = time.perf_counter()
            body = await Scanning(client).feed(list(holder.reader.categories), LIMIT)
            found.scanned.append((time.perf_counter() - began) * 1000)
            assert body.count(b"<item>") == LIMIT
            found.beside_scan.append(await _cold(place, engine, [token] * 3))
    finally:
        await client.aclose()

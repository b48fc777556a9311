"""What is in the store before anything is measured: readers, their tokens, and many items."""

import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from headwater.auth.tokens import token_hash
from headwater.core.values.instant import to_micros
from headwater.personal_feeds.ports import FeedReader, KeptItem, PersonalStore, ReaderToken

DAY = 86_400_000_000
BATCH = 1_000
WORDS = (
    "river lake spring delta basin ford mill weir current shore harbour bridge flood meander"
    " tide estuary cascade reservoir source canal"
).split()


@dataclass(frozen=True, slots=True)
class Stock:
    """`wide` follows every category; the others follow `each` of them."""

    items: int = 100_000
    categories: int = 200
    readers: int = 1_000
    each: int = 10
    seed: int = 1

    @property
    def names(self) -> list[str]:
        return [f"category {number}" for number in range(self.categories)]

    @property
    def tokens(self) -> list[str]:
        return [f"hwr_bench-{number:06}-{'x' * 32}" for number in range(self.readers)]


def now() -> int:
    return to_micros(datetime.now(UTC))


async def fill(store: PersonalStore, stock: Stock) -> None:
    luck = random.Random(stock.seed)
    at = now()
    for number, token in enumerate(stock.tokens):
        followed = stock.names if number == 0 else luck.sample(stock.names, stock.each)
        await _reader(store, f"reader {number}", token, followed, at)
    batch: list[KeptItem] = []
    span = timedelta(days=7) // timedelta(microseconds=1)
    for number in range(stock.items):
        arrived = at - span + span * number // stock.items
        category = stock.names[luck.randrange(stock.categories)]
        batch.append(item(category, arrived, luck, number))
        if len(batch) == BATCH:
            await store.add(batch)
            batch = []
    if batch:
        await store.add(batch)


async def crowd_one_category(store: PersonalStore, name: str, items: int) -> None:
    luck, at = random.Random(items), now()
    for start in range(0, items, BATCH):
        some = range(start, min(items, start + BATCH))
        await store.add([item(name, at - DAY + number, luck, number) for number in some])


async def _reader(
    store: PersonalStore, name: str, token: str, categories: list[str], at: int
) -> None:
    reader = FeedReader(str(uuid.uuid4()), name, tuple(categories), at, at)
    await store.add_reader(reader, most=1_000_000)
    made = ReaderToken(str(uuid.uuid4()), reader.id, token[:8], at)
    await store.add_token(made, token_hash(token), most=10)


def item(category: str, arrived: int, luck: random.Random, number: int) -> KeptItem:
    words = " ".join(luck.choices(WORDS, k=30))
    return KeptItem(
        category=category,
        guid=str(uuid7_at(arrived, luck)),
        title=f"{' '.join(luck.choices(WORDS, k=6))} {number}",
        description=f"<p>{words} &amp; <b>{luck.choice(WORDS)}</b></p>",
        link=f"https://example.org/posts/{number}",
        pub_date=arrived,
        arrived_at=arrived,
        expires_at=arrived + 14 * DAY,
        changed_at=arrived,
    )


def uuid7_at(micros: int, luck: random.Random) -> uuid.UUID:
    """RFC 9562: milliseconds, then luck."""
    value = (micros // 1_000) << 80 | luck.getrandbits(80)
    value = value & ~(0xF << 76) | 0x7 << 76
    return uuid.UUID(int=value & ~(0x3 << 62) | 0x2 << 62)


def fresh_items(category: str, count: int, luck: random.Random) -> Iterator[KeptItem]:
    """As they would come now, one after the other."""
    for number in range(count):
        yield item(category, now(), luck, number)

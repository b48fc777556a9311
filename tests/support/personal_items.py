"""Readers, tokens and items for tests, with everything a test does not speak of filled in."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headwater.auth.tokens import token_hash
from headwater.core.values.instant import to_micros
from headwater.personal_feeds.ports import FeedReader, KeptItem, PersonalStore, ReaderToken
from tests.support.clock import START

SECOND = 1_000_000
DAY = 86_400 * SECOND
BEGIN = to_micros(START)
"""When a virtual clock begins."""

ODD_NAMES = ("*", "[a-z]", "a:b", "a*", "..", "ab", "a b", "äöü", "猫:*", "x" * 1_024, "%_", "a\nb")
"""Of categories: nothing in one is a pattern."""


def guid(number: int) -> str:
    """UUIDs of version 7 in the order of their numbers."""
    return f"019b8c00-{number >> 16 & 0xFFFF:04x}-7000-8000-{number:012x}"


def an_item(category: str, number: int, *, days: float = 14.0, **said: Any) -> KeptItem:
    """The `number`-th that came, so many seconds after the beginning, with its words."""
    arrived = said.pop("arrived_at", BEGIN)
    plain = KeptItem(
        category=category,
        guid=guid(number),
        title=f"Title {number}",
        description=f"<p>Words of {number}</p>",
        link=f"https://example.org/{number}",
        pub_date=arrived,
        arrived_at=arrived,
        expires_at=arrived + int(days * DAY),
        changed_at=arrived,
    )
    return replace(plain, **said)


def a_reader(name: str, *categories: str, at: int = BEGIN) -> FeedReader:
    return FeedReader(f"id-of-{name}", name, categories, at, at)


async def with_token(
    store: PersonalStore, reader: FeedReader, token: str, *, until: int | None = None
) -> ReaderToken:
    """The reader made, and a token for them."""
    await store.add_reader(reader, most=1_000)
    return await another_token(store, reader.id, token, until=until)


async def another_token(
    store: PersonalStore, reader_id: str, token: str, *, until: int | None = None, at: int = BEGIN
) -> ReaderToken:
    made = ReaderToken(f"id-of-{token}", reader_id, token[:4], at, until)
    await store.add_token(made, token_hash(token), most=1_000)
    return made


async def guids_in(
    store: PersonalStore, categories: Sequence[str], *, limit: int = 50, now: int = BEGIN
) -> list[str]:
    return [item.guid for item in (await store.newest(categories, limit, now)).items]

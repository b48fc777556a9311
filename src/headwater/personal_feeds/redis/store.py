"""Personal feeds in Redis or Valkey: `ports.PersonalStore` on one server.

Other tools may write the same keys at any time; a request never searches for what they wrote.
"""

from collections.abc import Mapping, Sequence

from headwater.core.errors import DatabaseRefused
from headwater.core.ports import Clock
from headwater.core.values.instant import to_micros
from headwater.personal_feeds.ports import (
    AddedItem,
    FeedReader,
    KeptItem,
    NewestItems,
    PersonalChanges,
    ReaderToken,
    TokenHolder,
)
from headwater.personal_feeds.redis import items, readers
from headwater.personal_feeds.redis.connection import CONNECTIONS, TIMEOUT, RedisConnection
from headwater.personal_feeds.redis.pickup import Pickup, PickupPolicy
from headwater.personal_feeds.redis.readers import PlainTokens
from headwater.personal_feeds.redis.versions import changes_since


async def durability_problem(link: RedisConnection) -> str | None:
    """None when all is well; else what is wrong, in words."""
    found = [await _on_disk(link), await _eviction(link), await _cluster(link)]
    return " ".join(filter(None, found)) or None


async def _on_disk(link: RedisConnection) -> str | None:
    facts = await link.facts("persistence")
    if facts.get("aof_enabled"):
        return None
    try:
        said = await link.ask("CONFIG", "GET", "save")
    except DatabaseRefused:  # a hosted server may keep its settings to itself
        return "It has no append-only file, and does not say whether it writes snapshots."
    if said and said[1]:
        return None
    return (
        "It keeps nothing on disk: neither an append-only file (appendonly yes) nor snapshots"
        " (save) are on, so a restart loses readers, tokens and items."
    )


async def _eviction(link: RedisConnection) -> str | None:
    facts = await link.facts("memory")
    policy = str(facts.get("maxmemory_policy", "noeviction"))
    if not facts.get("maxmemory") or policy == "noeviction":
        return None
    return (
        f"It throws keys away when its memory is full (maxmemory-policy {policy}):"
        " set noeviction, or give it no limit."
    )


async def _cluster(link: RedisConnection) -> str | None:
    facts = await link.facts("cluster")
    if not facts.get("cluster_enabled"):
        return None
    return "It is a Redis Cluster, on which personal feeds do not work: use a single server."


class PersonalRedis:
    """One per process. The server is met when something is asked."""

    storage = "redis"

    def __init__(
        self,
        url: str,
        clock: Clock,
        policy: PickupPolicy | None = None,
        *,
        timeout: float = TIMEOUT,
        connections: int = CONNECTIONS,
    ) -> None:
        self._link = RedisConnection(url, timeout=timeout, connections=connections)
        self._clock = clock
        self._pickup = Pickup(self._link, clock, policy or PickupPolicy())
        self._plain_tokens = PlainTokens(self._link, clock)

    # Readers and tokens

    async def readers(self) -> list[FeedReader]:
        return await readers.list_readers(self._link)

    async def reader(self, reader_id: str) -> FeedReader | None:
        return await readers.find_reader(self._link, reader_id)

    async def reader_named(self, name: str) -> FeedReader | None:
        return await readers.find_reader_by_name(self._link, name)

    async def add_reader(self, reader: FeedReader, *, most: int) -> FeedReader:
        return await readers.add_reader(self._link, reader, most=most, clock=self._now())

    async def change_reader(
        self, reader_id: str, *, name: str | None, categories: Sequence[str] | None, now: int
    ) -> FeedReader | None:
        return await readers.change_reader(
            self._link, reader_id, name=name, categories=categories, now=now, clock=self._now()
        )

    async def remove_reader(self, reader_id: str, now: int) -> bool:
        return await readers.remove_reader(self._link, reader_id, now, self._now())

    async def add_token(self, token: ReaderToken, token_hash: bytes, *, most: int) -> None:
        await readers.add_token(self._link, token, token_hash, most=most, clock=self._now())

    async def tokens(self, reader_id: str) -> list[ReaderToken]:
        return [token for token, _ in await readers.tokens_with_hashes(self._link, reader_id)]

    async def tokens_with_hashes(self, reader_id: str) -> list[tuple[ReaderToken, bytes]]:
        """Also those that another tool left in plain and nobody used yet: only a copy asks."""
        known = await readers.tokens_with_hashes(self._link, reader_id)
        hashes = {token_hash for _, token_hash in known}
        plain = await self._plain_tokens.of(reader_id)
        return known + [each for each in plain if each[1] not in hashes]

    async def end_token(self, token_id: str, *, until: int, revoked: bool, now: int) -> bool:
        return await readers.end_token(
            self._link, token_id, until=until, revoked=revoked, now=now, clock=self._now()
        )

    async def holder(self, token_hash: bytes, plain: str, now: int) -> TokenHolder | None:
        return await readers.find_token_holder(self._link, token_hash, plain, now, self._now())

    async def note_used(self, used: Mapping[str, int]) -> None:
        await readers.note_used(self._link, used)

    # Items

    async def add(self, new: Sequence[KeptItem]) -> list[AddedItem]:
        return await items.add(self._link, new, self._now()) if new else []

    async def revise(self, new: Sequence[KeptItem]) -> int:
        return await items.revise(self._link, new, self._now()) if new else 0

    async def places(self, caller_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        return await items.categories_by_caller(self._link, caller_ids) if caller_ids else {}

    async def newest(self, categories: Sequence[str], limit: int, now: int) -> NewestItems:
        return await items.newest(self._link, categories, limit, now)

    async def changes(self, after: int) -> PersonalChanges:
        return await changes_since(self._link, after, self._now())

    async def items_after(
        self, after: tuple[str, str] | None, limit: int, now: int
    ) -> list[KeptItem]:
        return await items.items_after(self._link, after, limit, now)

    # Care

    async def upkeep(self, now: int) -> None:
        await self._pickup.pass_over(now)

    async def trouble(self) -> str | None:
        return await durability_problem(self._link)

    async def close(self) -> None:
        await self._link.close()

    def _now(self) -> int:
        return to_micros(self._clock.now())


def open_personal_redis(
    url: str, clock: Clock, *, days: float, rest: float, rounds: int
) -> "PersonalRedis":
    """BadSettings when the address is none."""
    return PersonalRedis(url, clock, PickupPolicy(days=days, rest=rest, rounds=rounds))

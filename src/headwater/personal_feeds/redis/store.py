"""Personal feeds in Redis or Valkey: `ports.PersonalStore` on one server.

Other tools may write the same keys at any time; a request never searches for their keys.
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


async def durability_problem(connection: RedisConnection) -> str | None:
    """The problems that would lose data, in words; None when all is well."""
    problems = [
        await _find_disk_problem(connection),
        await _find_eviction_problem(connection),
        await _find_cluster_problem(connection),
    ]
    return " ".join(filter(None, problems)) or None


async def _find_disk_problem(connection: RedisConnection) -> str | None:
    facts = await connection.facts("persistence")
    if facts.get("aof_enabled"):
        return None
    try:
        saves = await connection.ask("CONFIG", "GET", "save")
    except DatabaseRefused:  # a hosted server may keep its settings to itself
        return "It has no append-only file, and does not say whether it writes snapshots."
    if saves and saves[1]:
        return None
    return (
        "It keeps nothing on disk: neither an append-only file (appendonly yes) nor snapshots"
        " (save) are on, so a restart loses readers, tokens and items."
    )


async def _find_eviction_problem(connection: RedisConnection) -> str | None:
    facts = await connection.facts("memory")
    policy = str(facts.get("maxmemory_policy", "noeviction"))
    if not facts.get("maxmemory") or policy == "noeviction":
        return None
    return (
        f"It throws keys away when its memory is full (maxmemory-policy {policy}):"
        " set noeviction, or give it no limit."
    )


async def _find_cluster_problem(connection: RedisConnection) -> str | None:
    facts = await connection.facts("cluster")
    if not facts.get("cluster_enabled"):
        return None
    return "It is a Redis Cluster, on which personal feeds do not work: use a single server."


class PersonalRedis:
    """Personal feeds in Redis; one per process. It connects when it is first used."""

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
        self._connection = RedisConnection(url, timeout=timeout, connections=connections)
        self._clock = clock
        self._pickup = Pickup(self._connection, clock, policy or PickupPolicy())
        self._plain_tokens = PlainTokens(self._connection, clock)

    # Readers and tokens

    async def readers(self) -> list[FeedReader]:
        return await readers.list_readers(self._connection)

    async def reader(self, reader_id: str) -> FeedReader | None:
        return await readers.find_reader(self._connection, reader_id)

    async def reader_named(self, name: str) -> FeedReader | None:
        return await readers.find_reader_by_name(self._connection, name)

    async def add_reader(self, reader: FeedReader, *, most: int) -> FeedReader:
        return await readers.add_reader(self._connection, reader, most=most, clock=self._now())

    async def change_reader(
        self, reader_id: str, *, name: str | None, categories: Sequence[str] | None, now: int
    ) -> FeedReader | None:
        return await readers.change_reader(
            self._connection,
            reader_id,
            name=name,
            categories=categories,
            now=now,
            clock=self._now(),
        )

    async def remove_reader(self, reader_id: str, now: int) -> bool:
        return await readers.remove_reader(self._connection, reader_id, now, self._now())

    async def add_token(self, token: ReaderToken, token_hash: bytes, *, most: int) -> None:
        await readers.add_token(self._connection, token, token_hash, most=most, clock=self._now())

    async def tokens(self, reader_id: str) -> list[ReaderToken]:
        return [token for token, _ in await readers.tokens_with_hashes(self._connection, reader_id)]

    async def tokens_with_hashes(self, reader_id: str) -> list[tuple[ReaderToken, bytes]]:
        """Also tokens that another tool wrote in plain and nobody used yet: only a copy needs
        them."""
        known = await readers.tokens_with_hashes(self._connection, reader_id)
        hashes = {token_hash for _, token_hash in known}
        plain = await self._plain_tokens.of(reader_id)
        return known + [each for each in plain if each[1] not in hashes]

    async def end_token(self, token_id: str, *, until: int, revoked: bool, now: int) -> bool:
        return await readers.end_token(
            self._connection, token_id, until=until, revoked=revoked, now=now, clock=self._now()
        )

    async def holder(self, token_hash: bytes, plain: str, now: int) -> TokenHolder | None:
        return await readers.find_token_holder(
            self._connection, token_hash, plain, now, self._now()
        )

    async def note_used(self, used: Mapping[str, int]) -> None:
        await readers.note_used(self._connection, used)

    # Items

    async def add(self, new: Sequence[KeptItem]) -> list[AddedItem]:
        return await items.add(self._connection, new, self._now()) if new else []

    async def revise(self, new: Sequence[KeptItem]) -> int:
        return await items.revise(self._connection, new, self._now()) if new else 0

    async def places(self, caller_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        return await items.categories_by_caller(self._connection, caller_ids) if caller_ids else {}

    async def newest(self, categories: Sequence[str], limit: int, now: int) -> NewestItems:
        return await items.newest(self._connection, categories, limit, now)

    async def changes(self, after: int) -> PersonalChanges:
        return await changes_since(self._connection, after, self._now())

    async def items_after(
        self, after: tuple[str, str] | None, limit: int, now: int
    ) -> list[KeptItem]:
        return await items.items_after(self._connection, after, limit, now)

    # Care

    async def upkeep(self, now: int) -> None:
        await self._pickup.pass_over(now)

    async def trouble(self) -> str | None:
        return await durability_problem(self._connection)

    async def close(self) -> None:
        await self._connection.close()

    def _now(self) -> int:
        return to_micros(self._clock.now())


def open_personal_redis(
    url: str, clock: Clock, *, days: float, rest: float, rounds: int
) -> "PersonalRedis":
    """BadSettings when the address cannot be used."""
    return PersonalRedis(url, clock, PickupPolicy(days=days, rest=rest, rounds=rounds))

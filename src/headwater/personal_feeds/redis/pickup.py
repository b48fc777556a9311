"""The pickup: one pass deletes what expired, and finds what other tools wrote or changed.

One process at a time does it, and nothing else ever searches the keys. An index that was lost is
built again by it.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from uuid import uuid4
from zlib import crc32

from headwater.core.ports import Clock
from headwater.core.telemetry.log import get_logger
from headwater.core.values.instant import to_micros
from headwater.personal_feeds.redis import pickup_scripts, reader_scripts
from headwater.personal_feeds.redis.connection import RedisArgument, RedisConnection, Script
from headwater.personal_feeds.redis.items import fingerprint
from headwater.personal_feeds.redis.keys import (
    ForeignItemNote,
    encode_name,
    parse_item_key,
    printable_name,
    set_aside_note,
)
from headwater.personal_feeds.redis.other_tools import arrival_in, parse_categories, parse_item
from headwater.personal_feeds.redis.readers import AT_ONCE, reader_ids
from headwater.personal_feeds.redis.versions import forget_old_changes

logger = get_logger("personal")

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND


@dataclass(frozen=True, slots=True)
class PickupPolicy:
    """The policy of passes. An item lives `days`. After a pass no process begins another for `rest`
    seconds.

    After `lock` seconds another process takes over from one that died. `slack` is how many seconds
    the server's clock and ours may differ. One script reads `keys`, `values` or `guids` of them.
    The log has at most `logged` damaged items of one pass. Every pass finds new items; changed and
    removed ones are found in one of `rounds` passes.
    """

    days: float = 14.0
    rest: float = 0.0
    lock: float = 15.0
    slack: float = 5.0
    keys: int = 500
    values: int = 100
    guids: int = 500
    logged: int = 20
    rounds: int = 1
    tokens_kept_days: float = 90.0
    categories_kept_days: float = 60.0


@dataclass(frozen=True, slots=True)
class FoundItem:
    """The place of an item that was found. `mark` is empty for one of ours."""

    category: str
    guid: str
    expires_at: int
    mark: str
    words: str
    is_damaged: bool = False


class LockLost(Exception):
    """Another process took over."""


class Pickup:
    def __init__(self, connection: RedisConnection, clock: Clock, policy: PickupPolicy) -> None:
        self._connection, self._clock, self._policy = connection, clock, policy
        self._owner = str(uuid4())
        self._renewed_at = 0.0

    async def pass_over(self, now: int) -> bool:
        """Do one pass. False: another process does it, or just did."""
        lock_ms = int(self._policy.lock * 1000)
        if not await self._connection.ask("SET", "rss:upkeep", self._owner, "NX", "PX", lock_ms):
            return False
        self._renewed_at = self._clock.monotonic()
        try:
            turn = await self._connection.ask("INCR", "rss:upkeep-turn") % self._policy.rounds
            await self._sweep(now, turn)
            await self._find_items(now, turn)
            await self._find_readers()
            await forget_old_changes(self._connection)
        except LockLost:
            return False
        finally:
            await self._connection.run(
                pickup_scripts.RELEASE, self._owner, int(self._policy.rest * 1000)
            )
        return True

    async def _renew_lock(self) -> None:
        passed = self._clock.monotonic()
        if passed - self._renewed_at < self._policy.lock / 5:
            return
        if not await self._connection.run(
            pickup_scripts.RENEW, self._owner, int(self._policy.lock * 1000)
        ):
            raise LockLost
        self._renewed_at = passed

    async def _sweep(self, now: int, turn: int) -> None:
        """Delete expired items in every pass; those gone before their time, some categories each
        pass."""
        policy, slack = self._policy, int(self._policy.slack * _SECOND)
        forgotten = now - int(policy.categories_kept_days * _DAY)
        for category in await self._connection.ask("HKEYS", "rss:changed"):
            await self._renew_lock()
            is_turn = crc32(category) % policy.rounds == turn
            after: bytes | None = b""
            while after is not None:
                look = (now, category, after, policy.guids, slack, int(is_turn))
                after = await self._connection.run(pickup_scripts.SWEEP, self._now(), *look)
            cursor = b"" if is_turn else b"0"
            while cursor != b"0":
                arguments = (category, cursor or b"0", policy.guids, forgotten)
                cursor = await self._connection.run(
                    pickup_scripts.SWEEP_MARKS, self._now(), *arguments
                )

    async def _find_items(self, now: int, turn: int) -> None:
        damaged = 0
        async for keys in self._search(pickup_scripts.SEARCH_ITEMS, self._policy.rounds, turn):
            for start in range(0, len(keys), self._policy.values):
                items = await self._read(keys[start : start + self._policy.values], now)
                arguments = [argument for item in items for argument in _place_arguments(item)]
                await self._connection.run(pickup_scripts.PLACE_ITEMS, self._now(), now, *arguments)
                damaged = self._log_damaged(items, damaged)
        if damaged > self._policy.logged:
            logger.warning("personal_items_damaged", count=damaged)

    async def _read(self, keys: Sequence[bytes], now: int) -> list[FoundItem]:
        rows = await self._connection.run(pickup_scripts.READ_ITEMS, *keys)
        return [
            item
            for key, (written, left, mark) in zip(keys, rows, strict=True)
            if written is not None
            and (item := found_item_of(key, written, left, mark, now, self._policy))
        ]

    def _log_damaged(self, items: Iterable[FoundItem], damaged: int) -> int:
        """A damaged item is logged once: it is set aside and not read again."""
        for item in items:
            if item.is_damaged:
                damaged += 1
                if damaged <= self._policy.logged:
                    logger.warning("personal_item_damaged", category=item.category, guid=item.guid)
        return damaged

    async def _find_readers(self) -> None:
        async for ids in self._search(reader_scripts.NEW_READERS):
            await self._update_readers(ids)
        before = self._now() - int(self._policy.tokens_kept_days * _DAY)
        known = await reader_ids(self._connection)
        for start in range(0, len(known), AT_ONCE):
            await self._renew_lock()
            page = known[start : start + AT_ONCE]
            await self._update_readers(
                await self._connection.run(reader_scripts.CHANGED_READERS, *page)
            )
            await self._connection.run(reader_scripts.FORGET_TOKENS, before, *page)

    async def _update_readers(self, ids: Iterable[bytes]) -> None:
        for reader_id in ids:
            written = await self._connection.run(
                reader_scripts.UPDATE_READER, self._now(), reader_id
            )
            if written and parse_categories(written) is None:
                logger.warning("personal_categories_damaged", reader=printable_name(reader_id))

    async def _search(self, script: Script, *words: RedisArgument) -> AsyncIterator[list[bytes]]:
        """Search all keys, page by page."""
        cursor = b"0"
        while True:
            await self._renew_lock()
            cursor, keys = await self._connection.run(script, cursor, self._policy.keys, *words)
            if keys:
                yield keys
            if cursor == b"0":
                return

    def _now(self) -> int:
        return to_micros(self._clock.now())


def found_item_of(
    key: bytes, written: bytes, left: int, mark: bytes | None, now: int, policy: PickupPolicy
) -> FoundItem | None:
    """The place of an item by its key. `left` is its TTL in milliseconds; 0 or less: none.

    None when the key has no category that could be followed.
    """
    names = parse_item_key(key)
    if names is None:
        return None
    category, guid = names
    words, value = fingerprint(written), parse_item(written)
    before = None if mark is None else ForeignItemNote.read(mark)
    arrived_at = None
    if value is not None:
        arrived_at = value.moments[0] if value.moments else arrival_in(guid, value)
    if value is None or arrived_at is None:
        return FoundItem(category, guid, 0, set_aside_note(words), words, is_damaged=True)
    arrived_at = before.arrived_at if before else min(arrived_at, now)
    expires_at = value.moments[1] if value.moments else _end(arrived_at, left, now, policy)
    if expires_at <= now:
        return FoundItem(category, guid, 0, set_aside_note(words), words)
    if value.moments:
        return FoundItem(category, guid, expires_at, "", words)
    if before is None:
        new = ForeignItemNote(words, arrived_at, arrived_at)
    else:
        new = before if before.words == words else ForeignItemNote(words, arrived_at, now)
    return FoundItem(category, guid, expires_at, new.written(), words)


def _end(arrived_at: int, left: int, now: int, policy: PickupPolicy) -> int:
    """The usual end for its age, unless its own TTL is clearly earlier."""
    usual = arrived_at + int(policy.days * _DAY)
    own = now + left * 1000
    return own if left > 0 and own + int(policy.slack * _SECOND) < usual else usual


def _place_arguments(item: FoundItem) -> tuple[RedisArgument, ...]:
    return (
        encode_name(item.category),
        encode_name(item.guid),
        item.expires_at,
        item.mark,
        item.words,
    )

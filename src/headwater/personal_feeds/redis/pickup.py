"""One pass over everything: what ended goes, what other tools wrote or changed is found.

One process at a time does it. It is the only one who ever searches the keys; and it is how an index
that was lost comes back.
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
    """`days` is how long an item lives. `rest` is for how many seconds a pass is enough for all.

    `lock` is after how many seconds somebody else may take over from one who died, `slack` how far
    the clocks of the server and ours may differ. `keys`, `values` and `guids` are looked at in one
    go. `told` is how many damaged items of one pass are named in the log. What is new is found in
    every pass; whether words changed, or an item was taken away, is seen in one of `rounds`.
    """

    days: float = 14.0
    rest: float = 0.0
    lock: float = 15.0
    slack: float = 5.0
    keys: int = 500
    values: int = 100
    guids: int = 500
    told: int = 20
    rounds: int = 1
    tokens_kept_days: float = 90.0
    categories_kept_days: float = 60.0


@dataclass(frozen=True, slots=True)
class FoundItem:
    """Where a found item belongs. `mark` is empty for one of ours."""

    category: str
    guid: str
    expires_at: int
    mark: str
    words: str
    is_damaged: bool = False


class LockLost(Exception):
    """Somebody else took over."""


class Pickup:
    def __init__(self, link: RedisConnection, clock: Clock, policy: PickupPolicy) -> None:
        self._link, self._clock, self._policy = link, clock, policy
        self._me = str(uuid4())
        self._renewed_at = 0.0

    async def pass_over(self, now: int) -> bool:
        """Whether we did it: else somebody else does, or just did."""
        lock_ms = int(self._policy.lock * 1000)
        if not await self._link.ask("SET", "rss:upkeep", self._me, "NX", "PX", lock_ms):
            return False
        self._renewed_at = self._clock.monotonic()
        try:
            turn = await self._link.ask("INCR", "rss:upkeep-turn") % self._policy.rounds
            await self._sweep(now, turn)
            await self._find_items(now, turn)
            await self._find_readers()
            await forget_old_changes(self._link)
        except LockLost:
            return False
        finally:
            await self._link.run(pickup_scripts.RELEASE, self._me, int(self._policy.rest * 1000))
        return True

    async def _still_ours(self) -> None:
        passed = self._clock.monotonic()
        if passed - self._renewed_at < self._policy.lock / 5:
            return
        if not await self._link.run(pickup_scripts.RENEW, self._me, int(self._policy.lock * 1000)):
            raise LockLost
        self._renewed_at = passed

    async def _sweep(self, now: int, turn: int) -> None:
        """What expired goes in every pass; what is gone before its time, category by category."""
        policy, slack = self._policy, int(self._policy.slack * _SECOND)
        forgotten = now - int(policy.categories_kept_days * _DAY)
        for category in await self._link.ask("HKEYS", "rss:changed"):
            await self._still_ours()
            is_turn = crc32(category) % policy.rounds == turn
            after: bytes | None = b""
            while after is not None:
                asked = (now, category, after, policy.guids, slack, int(is_turn))
                after = await self._link.run(pickup_scripts.SWEEP, self._now(), *asked)
            cursor = b"" if is_turn else b"0"
            while cursor != b"0":
                looked = (category, cursor or b"0", policy.guids, forgotten)
                cursor = await self._link.run(pickup_scripts.SWEEP_MARKS, self._now(), *looked)

    async def _find_items(self, now: int, turn: int) -> None:
        damaged = 0
        async for keys in self._searched(pickup_scripts.SEARCH_ITEMS, self._policy.rounds, turn):
            for start in range(0, len(keys), self._policy.values):
                placings = await self._looked_at(keys[start : start + self._policy.values], now)
                words = [word for each in placings for word in _place_arguments(each)]
                await self._link.run(pickup_scripts.PLACE_ITEMS, self._now(), now, *words)
                damaged = self._tell(placings, damaged)
        if damaged > self._policy.told:
            logger.warning("personal_items_damaged", count=damaged)

    async def _looked_at(self, keys: Sequence[bytes], now: int) -> list[FoundItem]:
        rows = await self._link.run(pickup_scripts.READ_ITEMS, *keys)
        return [
            placing
            for key, (written, left, mark) in zip(keys, rows, strict=True)
            if written is not None
            and (placing := found_item_of(key, written, left, mark, now, self._policy))
        ]

    def _tell(self, placings: Iterable[FoundItem], damaged: int) -> int:
        """What is set aside is told once: it is not looked at again."""
        for each in placings:
            if each.is_damaged:
                damaged += 1
                if damaged <= self._policy.told:
                    logger.warning("personal_item_damaged", category=each.category, guid=each.guid)
        return damaged

    async def _find_readers(self) -> None:
        async for ids in self._searched(reader_scripts.NEW_READERS):
            await self._notice(ids)
        before = self._now() - int(self._policy.tokens_kept_days * _DAY)
        known = await reader_ids(self._link)
        for start in range(0, len(known), AT_ONCE):
            await self._still_ours()
            some = known[start : start + AT_ONCE]
            await self._notice(await self._link.run(reader_scripts.CHANGED_READERS, *some))
            await self._link.run(reader_scripts.FORGET_TOKENS, before, *some)

    async def _notice(self, ids: Iterable[bytes]) -> None:
        for reader_id in ids:
            written = await self._link.run(reader_scripts.UPDATE_READER, self._now(), reader_id)
            if written and parse_categories(written) is None:
                logger.warning("personal_categories_damaged", reader=printable_name(reader_id))

    async def _searched(self, script: Script, *words: RedisArgument) -> AsyncIterator[list[bytes]]:
        """Page after page of all keys there are."""
        cursor = b"0"
        while True:
            await self._still_ours()
            cursor, found = await self._link.run(script, cursor, self._policy.keys, *words)
            if found:
                yield found
            if cursor == b"0":
                return

    def _now(self) -> int:
        return to_micros(self._clock.now())


def found_item_of(
    key: bytes, written: bytes, left: int, mark: bytes | None, now: int, policy: PickupPolicy
) -> FoundItem | None:
    """What an item's key means. `left` is its TTL in milliseconds; none when it is not above 0.

    None when the key has no name that could be followed.
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
    """With the others of its age, unless its own TTL ends it clearly earlier."""
    usual = arrived_at + int(policy.days * _DAY)
    own = now + left * 1000
    return own if left > 0 and own + int(policy.slack * _SECOND) < usual else usual


def _place_arguments(each: FoundItem) -> tuple[RedisArgument, ...]:
    return (
        encode_name(each.category),
        encode_name(each.guid),
        each.expires_at,
        each.mark,
        each.words,
    )

"""Personal feeds in the database: `ports.PersonalStore` on SQL."""

from collections.abc import Mapping, Sequence
from itertools import islice

from headwater.errors import Refused
from headwater.ports import Clock, Database
from headwater.publish.personal import queries, store
from headwater.publish.personal.readers import queries as reader_queries
from headwater.publish.personal.readers import store as reader_store
from headwater.together import Together, in_halves
from headwater.values.instant import to_micros
from headwater.values.personal import (
    Added,
    FeedReader,
    Holder,
    KeptItem,
    PersonalChanges,
    ReaderToken,
    Shelf,
)

SWEPT_AT_ONCE = 500
ADDED_AT_ONCE = 1_000
"""So many rows in one transaction, lest others wait for it."""

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
CHANGES_KEPT = _DAY
CATEGORIES_KEPT = 60 * _DAY
TOKENS_KEPT = 90 * _DAY
FORGET_EVERY_SECONDS = 3_600.0


class PersonalDatabase:
    """One per process. Items that come at the same time share a commit."""

    storage = "database"

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock
        self._adding = Together(self._add_groups)
        self._forgot_at: float | None = None

    # Readers and tokens

    async def readers(self) -> list[FeedReader]:
        async with self._database.read() as view:
            return await reader_queries.readers(view)

    async def reader(self, reader_id: str) -> FeedReader | None:
        if not _is_kept(reader_id):
            return None
        async with self._database.read() as view:
            return await reader_queries.reader(view, reader_id)

    async def reader_named(self, name: str) -> FeedReader | None:
        if not _is_kept(name):
            return None
        async with self._database.read() as view:
            return await reader_queries.reader_named(view, name)

    async def add_reader(self, reader: FeedReader, *, most: int) -> FeedReader:
        async with self._database.write() as tx:
            return await reader_store.add(tx, reader, most=most)

    async def change_reader(
        self, reader_id: str, *, name: str | None, categories: Sequence[str] | None, now: int
    ) -> FeedReader | None:
        if not _is_kept(reader_id):
            return None
        async with self._database.write() as tx:
            return await reader_store.change(
                tx, reader_id, name=name, categories=categories, now=now
            )

    async def remove_reader(self, reader_id: str, now: int) -> bool:
        if not _is_kept(reader_id):
            return False
        async with self._database.write() as tx:
            return await reader_store.remove(tx, reader_id, now)

    async def add_token(self, token: ReaderToken, token_hash: bytes, *, most: int) -> None:
        async with self._database.write() as tx:
            await reader_store.add_token(tx, token, token_hash, most=most)

    async def tokens(self, reader_id: str) -> list[ReaderToken]:
        return [token for token, _ in await self.tokens_with_hashes(reader_id)]

    async def tokens_with_hashes(self, reader_id: str) -> list[tuple[ReaderToken, bytes]]:
        if not _is_kept(reader_id):
            return []
        async with self._database.read() as view:
            return await reader_queries.tokens(view, reader_id)

    async def end_token(self, token_id: str, *, until: int, revoked: bool, now: int) -> bool:
        if not _is_kept(token_id):
            return False
        async with self._database.write() as tx:
            return await reader_store.end_token(tx, token_id, until=until, revoked=revoked, now=now)

    async def holder(self, token_hash: bytes, plain: str, now: int) -> Holder | None:
        """No other tool writes here: `plain` is of no use."""
        async with self._database.read() as view:
            return await reader_queries.holder(view, token_hash, now)

    async def note_used(self, used: Mapping[str, int]) -> None:
        if used:
            async with self._database.write() as tx:
                await reader_store.note_used(tx, used)

    # Items

    async def add(self, items: Sequence[KeptItem]) -> list[Added]:
        if not items:
            return []
        answer = await self._adding.join(tuple(items))
        if isinstance(answer, Refused):
            raise answer
        return answer

    async def _add_groups(self, groups: list[tuple[KeptItem, ...]]) -> list[list[Added] | Refused]:
        answers: list[list[Added] | Refused] = []
        for some in _lots(groups, ADDED_AT_ONCE):
            added = await in_halves(self._add_together, some, Refused)
            answers.extend(added)
        return answers

    async def _add_together(self, groups: list[tuple[KeptItem, ...]]) -> list[list[Added]]:
        async with self._database.write() as tx:
            items = [item for group in groups for item in group]
            added = iter(await store.add(tx, items, to_micros(self._clock.now())))
        return [list(islice(added, len(group))) for group in groups]

    async def revise(self, items: Sequence[KeptItem]) -> int:
        if not items:
            return 0
        async with self._database.write() as tx:
            return await store.revise(tx, items, to_micros(self._clock.now()))

    async def places(self, caller_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        async with self._database.read() as view:
            return await queries.places(view, caller_ids)

    async def newest(self, categories: Sequence[str], limit: int, now: int) -> Shelf:
        async with self._database.read() as view:
            return await queries.newest(view, categories, limit, now)

    async def changes(self, after: int) -> PersonalChanges:
        async with self._database.read() as view:
            return await queries.changes(view, after)

    async def items_after(
        self, after: tuple[str, str] | None, limit: int, now: int
    ) -> list[KeptItem]:
        async with self._database.read() as view:
            return await queries.items_after(view, after, limit, now)

    # Care

    async def upkeep(self, now: int) -> None:
        """Nobody's writes wait for it when there is nothing to do."""
        async with self._database.read() as view:
            swept = SWEPT_AT_ONCE if await queries.has_expired(view, now) else 0
        while swept == SWEPT_AT_ONCE:
            async with self._database.write() as tx:
                swept = await store.sweep(tx, now, SWEPT_AT_ONCE)
        passed = self._clock.monotonic()
        if self._forgot_at is None or passed - self._forgot_at >= FORGET_EVERY_SECONDS:
            await self._forget(now)
            self._forgot_at = passed

    async def _forget(self, now: int) -> None:
        async with self._database.write() as tx:
            await store.forget(
                tx, changed_before=now - CHANGES_KEPT, categories_before=now - CATEGORIES_KEPT
            )
            await reader_store.forget_tokens(tx, now - TOKENS_KEPT)

    async def trouble(self) -> str | None:
        """The database is looked at by others."""
        return None

    async def close(self) -> None:
        """The database itself belongs to whoever opened it."""
        await self._adding.close()


def _is_kept(text: str) -> bool:
    """False for what no database keeps as text, and so has not kept."""
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def _lots(groups: Sequence[tuple[KeptItem, ...]], most: int) -> list[list[tuple[KeptItem, ...]]]:
    """Groups in their order, as many together as have no more than `most` items."""
    lots: list[list[tuple[KeptItem, ...]]] = []
    size = most
    for group in groups:
        if size + len(group) > most:
            lots.append([])
            size = 0
        lots[-1].append(group)
        size += len(group)
    return lots

"""Personal feeds in the database: `ports.PersonalStore` on SQL."""

from collections.abc import Mapping, Sequence
from itertools import islice

from headwater.core.concurrency import Batcher, split_on_refusal
from headwater.core.errors import DatabaseRefused
from headwater.core.ports import Clock, Database
from headwater.core.values.instant import to_micros
from headwater.personal_feeds import item_rows, reader_rows
from headwater.personal_feeds.ports import (
    AddedItem,
    FeedReader,
    KeptItem,
    NewestItems,
    PersonalChanges,
    ReaderToken,
    TokenHolder,
)

SWEPT_AT_ONCE = 500
ADDED_AT_ONCE = 1_000
"""Rows in one transaction, so that others do not wait long for it."""

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
CHANGES_KEPT = _DAY
CATEGORIES_KEPT = 60 * _DAY
TOKENS_KEPT = 90 * _DAY
FORGET_EVERY_SECONDS = 3_600.0


class PersonalDatabase:
    """Personal feeds in the database; one per process.

    Items that come at the same time share a commit.
    """

    storage = "database"

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock
        self._adding = Batcher(self._add_groups)
        self._forgot_at: float | None = None

    # Readers and tokens

    async def readers(self) -> list[FeedReader]:
        async with self._database.read() as view:
            return await reader_rows.list_readers(view)

    async def reader(self, reader_id: str) -> FeedReader | None:
        if not _is_storable(reader_id):
            return None
        async with self._database.read() as view:
            return await reader_rows.find_reader(view, reader_id)

    async def reader_named(self, name: str) -> FeedReader | None:
        if not _is_storable(name):
            return None
        async with self._database.read() as view:
            return await reader_rows.find_reader_by_name(view, name)

    async def add_reader(self, reader: FeedReader, *, most: int) -> FeedReader:
        async with self._database.write() as tx:
            return await reader_rows.insert_reader(tx, reader, most=most)

    async def change_reader(
        self, reader_id: str, *, name: str | None, categories: Sequence[str] | None, now: int
    ) -> FeedReader | None:
        if not _is_storable(reader_id):
            return None
        async with self._database.write() as tx:
            return await reader_rows.update_reader(
                tx, reader_id, name=name, categories=categories, now=now
            )

    async def remove_reader(self, reader_id: str, now: int) -> bool:
        if not _is_storable(reader_id):
            return False
        async with self._database.write() as tx:
            return await reader_rows.delete_reader(tx, reader_id, now)

    async def add_token(self, token: ReaderToken, token_hash: bytes, *, most: int) -> None:
        async with self._database.write() as tx:
            await reader_rows.insert_token(tx, token, token_hash, most=most)

    async def tokens(self, reader_id: str) -> list[ReaderToken]:
        return [token for token, _ in await self.tokens_with_hashes(reader_id)]

    async def tokens_with_hashes(self, reader_id: str) -> list[tuple[ReaderToken, bytes]]:
        if not _is_storable(reader_id):
            return []
        async with self._database.read() as view:
            return await reader_rows.list_tokens(view, reader_id)

    async def end_token(self, token_id: str, *, until: int, revoked: bool, now: int) -> bool:
        if not _is_storable(token_id):
            return False
        async with self._database.write() as tx:
            return await reader_rows.end_token(tx, token_id, until=until, revoked=revoked, now=now)

    async def holder(self, token_hash: bytes, plain: str, now: int) -> TokenHolder | None:
        """`plain` is not used: no other tool writes tokens here."""
        async with self._database.read() as view:
            return await reader_rows.find_holder(view, token_hash, now)

    async def note_used(self, used: Mapping[str, int]) -> None:
        if used:
            async with self._database.write() as tx:
                await reader_rows.set_last_used(tx, used)

    # Items

    async def add(self, items: Sequence[KeptItem]) -> list[AddedItem]:
        if not items:
            return []
        answer = await self._adding.join(tuple(items))
        if isinstance(answer, DatabaseRefused):
            raise answer
        return answer

    async def _add_groups(
        self, groups: list[tuple[KeptItem, ...]]
    ) -> list[list[AddedItem] | DatabaseRefused]:
        answers: list[list[AddedItem] | DatabaseRefused] = []
        for batch in _split_groups(groups, ADDED_AT_ONCE):
            added = await split_on_refusal(self._add_together, batch, DatabaseRefused)
            answers.extend(added)
        return answers

    async def _add_together(self, groups: list[tuple[KeptItem, ...]]) -> list[list[AddedItem]]:
        async with self._database.write() as tx:
            items = [item for group in groups for item in group]
            added = iter(await item_rows.insert_items(tx, items, to_micros(self._clock.now())))
        return [list(islice(added, len(group))) for group in groups]

    async def revise(self, items: Sequence[KeptItem]) -> int:
        if not items:
            return 0
        async with self._database.write() as tx:
            return await item_rows.update_items(tx, items, to_micros(self._clock.now()))

    async def places(self, caller_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        async with self._database.read() as view:
            return await item_rows.list_categories_by_caller_id(view, caller_ids)

    async def newest(self, categories: Sequence[str], limit: int, now: int) -> NewestItems:
        async with self._database.read() as view:
            return await item_rows.list_newest(view, categories, limit, now)

    async def changes(self, after: int) -> PersonalChanges:
        async with self._database.read() as view:
            return await item_rows.get_changes(view, after)

    async def items_after(
        self, after: tuple[str, str] | None, limit: int, now: int
    ) -> list[KeptItem]:
        async with self._database.read() as view:
            return await item_rows.list_items_after(view, after, limit, now)

    # Care

    async def upkeep(self, now: int) -> None:
        """Take no turn for writing when there is nothing to do."""
        async with self._database.read() as view:
            swept = SWEPT_AT_ONCE if await item_rows.has_expired(view, now) else 0
        while swept == SWEPT_AT_ONCE:
            async with self._database.write() as tx:
                swept = await item_rows.delete_expired(tx, now, SWEPT_AT_ONCE)
        passed = self._clock.monotonic()
        if self._forgot_at is None or passed - self._forgot_at >= FORGET_EVERY_SECONDS:
            await self._forget(now)
            self._forgot_at = passed

    async def _forget(self, now: int) -> None:
        async with self._database.write() as tx:
            await item_rows.delete_old_changes(
                tx, changed_before=now - CHANGES_KEPT, categories_before=now - CATEGORIES_KEPT
            )
            await reader_rows.delete_old_tokens(tx, now - TOKENS_KEPT)

    async def trouble(self) -> str | None:
        """None: others check the database."""
        return None

    async def close(self) -> None:
        """The database itself stays open: it belongs to the one that opened it."""
        await self._adding.close()


def _is_storable(text: str) -> bool:
    """False for a text that no database can store, and so has not stored."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _split_groups(
    groups: Sequence[tuple[KeptItem, ...]], most: int
) -> list[list[tuple[KeptItem, ...]]]:
    """Groups in their order, in batches of at most `most` items where groups allow it."""
    batches: list[list[tuple[KeptItem, ...]]] = []
    size = most
    for group in groups:
        if size + len(group) > most:
            batches.append([])
            size = 0
        batches[-1].append(group)
        size += len(group)
    return batches

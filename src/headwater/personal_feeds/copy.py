"""Copy personal feeds from one store into another: readers, hashes of tokens, items.

A copy may be repeated at any time, also after it was interrupted: nothing is copied twice, and
changes and ends since the last time are copied. Nothing is deleted in either store.
"""

from dataclasses import dataclass, field

from headwater.core.errors import ConflictError
from headwater.core.ports import Clock
from headwater.core.values.instant import to_micros
from headwater.personal_feeds.ports import FeedReader, KeptItem, PersonalStore, ReaderToken

ITEMS_AT_ONCE = 100
_ANY_NUMBER = 2**53
"""Limits are for new readers and tokens; these exist already."""


@dataclass(slots=True)
class CopyResult:
    """Counts of a copy. `refused` has the readers that the other store refused, and why."""

    readers: int = 0
    readers_new: int = 0
    readers_changed: int = 0
    tokens: int = 0
    tokens_new: int = 0
    tokens_ended: int = 0
    items: int = 0
    items_new: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)


async def copy_personal(
    source: PersonalStore, target: PersonalStore, clock: Clock, *, at_once: int = ITEMS_AT_ONCE
) -> CopyResult:
    """Copy all readers, tokens and items. Items that other tools wrote are picked up first."""
    now = to_micros(clock.now())
    for store in (source, target):
        await store.upkeep(now)
    result = CopyResult()
    for reader in await source.readers():
        result.readers += 1
        try:
            await _copy_reader(target, reader, result)
            await _copy_tokens(source, target, reader.id, result)
        except ConflictError as trouble:
            result.refused.append((reader.name, trouble.message))
    after: tuple[str, str] | None = None
    while page := await source.items_after(after, at_once, now):
        await _copy_items(target, page, result)
        after = page[-1].category, page[-1].guid
    return result


async def _copy_reader(target: PersonalStore, reader: FeedReader, result: CopyResult) -> None:
    """A reader that exists in the target is changed, unless it was changed later there."""
    known = await target.reader(reader.id)
    if known is None:
        await target.add_reader(reader, most=_ANY_NUMBER)
        result.readers_new += 1
        return
    is_same = (known.name, known.categories) == (reader.name, reader.categories)
    if is_same or known.changed_at >= reader.changed_at:
        return
    await target.change_reader(
        reader.id, name=reader.name, categories=reader.categories, now=reader.changed_at
    )
    result.readers_changed += 1


async def _copy_tokens(
    source: PersonalStore, target: PersonalStore, reader_id: str, result: CopyResult
) -> None:
    known_tokens = {
        token_hash: token for token, token_hash in await target.tokens_with_hashes(reader_id)
    }
    used: dict[str, int] = {}
    for token, token_hash in await source.tokens_with_hashes(reader_id):
        result.tokens += 1
        known = known_tokens.get(token_hash)
        if known is None:
            await target.add_token(token, token_hash, most=_ANY_NUMBER)
            result.tokens_new += 1
        elif await _end_as(target, known, token):
            result.tokens_ended += 1
        if known is not None and token.last_used_at is not None:
            used[known.id] = token.last_used_at
    await target.note_used(used)


async def _end_as(target: PersonalStore, known: ReaderToken, token: ReaderToken) -> bool:
    """Copy the end of a token; it never becomes later."""
    if token.revoked_at is not None:
        if known.revoked_at is not None:
            return False
        at = token.revoked_at
        return await target.end_token(known.id, until=token.until or at, revoked=True, now=at)
    if token.until is None or (known.until is not None and known.until <= token.until):
        return False
    return await target.end_token(known.id, until=token.until, revoked=False, now=token.created_at)


async def _copy_items(target: PersonalStore, page: list[KeptItem], result: CopyResult) -> None:
    added = await target.add(page)
    result.items += len(page)
    result.items_new += sum(each.is_new for each in added)
    edited = [
        item
        for item, each in zip(page, added, strict=True)
        if not each.is_new and item.changed_at > item.arrived_at
    ]
    await target.revise(edited)

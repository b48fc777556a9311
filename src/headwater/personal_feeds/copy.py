"""Personal feeds copied from one store into another: readers, hashes of tokens, items.

It may be done again at any time, also when it was interrupted: what is there already is not copied
twice, what was changed or ended since is. Nothing is taken away in either store.
"""

from dataclasses import dataclass, field

from headwater.core.errors import ConflictError
from headwater.core.ports import Clock
from headwater.core.values.instant import to_micros
from headwater.personal_feeds.ports import FeedReader, KeptItem, PersonalStore, ReaderToken

ITEMS_AT_ONCE = 100
_ANY_NUMBER = 2**53
"""Bounds are for new readers and tokens; these exist already."""


@dataclass(slots=True)
class CopyResult:
    """How many of each. `refused` names readers who have no place in the other store, and why."""

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
    """First what other tools left in either is found, where other tools may write."""
    now = to_micros(clock.now())
    for store in (source, target):
        await store.upkeep(now)
    copied = CopyResult()
    for reader in await source.readers():
        copied.readers += 1
        try:
            await _copy_reader(target, reader, copied)
            await _copy_tokens(source, target, reader.id, copied)
        except ConflictError as trouble:
            copied.refused.append((reader.name, trouble.message))
    after: tuple[str, str] | None = None
    while page := await source.items_after(after, at_once, now):
        await _copy_items(target, page, copied)
        after = page[-1].category, page[-1].guid
    return copied


async def _copy_reader(target: PersonalStore, reader: FeedReader, copied: CopyResult) -> None:
    """One that is there as well becomes what it is here, unless it was changed later there."""
    there = await target.reader(reader.id)
    if there is None:
        await target.add_reader(reader, most=_ANY_NUMBER)
        copied.readers_new += 1
        return
    is_same = (there.name, there.categories) == (reader.name, reader.categories)
    if is_same or there.changed_at >= reader.changed_at:
        return
    await target.change_reader(
        reader.id, name=reader.name, categories=reader.categories, now=reader.changed_at
    )
    copied.readers_changed += 1


async def _copy_tokens(
    source: PersonalStore, target: PersonalStore, reader_id: str, copied: CopyResult
) -> None:
    there = {token_hash: token for token, token_hash in await target.tokens_with_hashes(reader_id)}
    used: dict[str, int] = {}
    for token, token_hash in await source.tokens_with_hashes(reader_id):
        copied.tokens += 1
        known = there.get(token_hash)
        if known is None:
            await target.add_token(token, token_hash, most=_ANY_NUMBER)
            copied.tokens_new += 1
        elif await _end_as(target, known, token):
            copied.tokens_ended += 1
        if known is not None and token.last_used_at is not None:
            used[known.id] = token.last_used_at
    await target.note_used(used)


async def _end_as(target: PersonalStore, known: ReaderToken, token: ReaderToken) -> bool:
    """An end is copied, never put off."""
    if token.revoked_at is not None:
        if known.revoked_at is not None:
            return False
        at = token.revoked_at
        return await target.end_token(known.id, until=token.until or at, revoked=True, now=at)
    if token.until is None or (known.until is not None and known.until <= token.until):
        return False
    return await target.end_token(known.id, until=token.until, revoked=False, now=token.created_at)


async def _copy_items(target: PersonalStore, page: list[KeptItem], copied: CopyResult) -> None:
    added = await target.add(page)
    copied.items += len(page)
    copied.items_new += sum(each.is_new for each in added)
    edited = [
        item
        for item, each in zip(page, added, strict=True)
        if not each.is_new and item.changed_at > item.arrived_at
    ]
    await target.revise(edited)

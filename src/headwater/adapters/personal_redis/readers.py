"""Readers and their tokens. A token is kept by its hash; other tools' plain ones are upgraded."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any
from uuid import UUID

from headwater.adapters.personal_redis import reader_scripts as scripts
from headwater.adapters.personal_redis.keys import plain_token, shown, utf8
from headwater.adapters.personal_redis.link import Link, Word
from headwater.adapters.personal_redis.words import categories_in
from headwater.errors import Conflict, NotFound, Refused
from headwater.publish.personal.kept import json_of
from headwater.values.personal import FeedReader, Holder, ReaderToken

AT_ONCE = 500
TRIES = 8


async def reader_ids(link: Link) -> list[bytes]:
    found: list[bytes] = await link.ask("HVALS", "rss:readers")
    return found


async def all_readers(link: Link) -> list[FeedReader]:
    """By name."""
    ids = await reader_ids(link)
    found: list[FeedReader] = []
    for start in range(0, len(ids), AT_ONCE):
        rows = await link.run(scripts.READERS, *ids[start : start + AT_ONCE])
        found += (_reader_of(row) for row in rows if row is not None)
    return sorted(found, key=lambda reader: reader.name)


async def reader(link: Link, reader_id: str) -> FeedReader | None:
    (row,) = await link.run(scripts.READERS, utf8(reader_id))
    return None if row is None else _reader_of(row)


async def reader_named(link: Link, name: str) -> FeedReader | None:
    reader_id = await link.ask("HGET", "rss:readers", utf8(name))
    return None if reader_id is None else await reader(link, shown(reader_id))


async def add_reader(link: Link, new: FeedReader, *, most: int, clock: int) -> FeedReader:
    said = await link.run(
        scripts.ADD_READER,
        clock,
        utf8(new.id),
        utf8(new.name),
        new.created_at,
        new.changed_at,
        json_of(list(new.categories)),
        most,
    )
    match said:
        case b"name":
            raise _name_taken(new.name)
        case b"id":
            raise Conflict("There is a reader with this id already.", id=new.id)
        case b"most":
            raise Conflict(f"There are {most} readers already.", most=most)
    return new


async def change_reader(
    link: Link,
    reader_id: str,
    *,
    name: str | None,
    categories: Sequence[str] | None,
    now: int,
    clock: int,
) -> FeedReader | None:
    """What says the same as before is no change."""
    for _ in range(TRIES):
        (row,) = await link.run(scripts.READERS, utf8(reader_id))
        if row is None:
            return None
        old = _reader_of(row)
        followed = old.categories if categories is None else tuple(categories)
        called = old.name if name is None else name
        if (called, followed) == (old.name, old.categories):
            return old
        new = FeedReader(old.id, called, followed, old.created_at, max(now, old.changed_at))
        written: Word = row[4] if followed == old.categories else json_of(list(followed))
        words = (utf8(reader_id), utf8(called), written, new.changed_at, row[1], row[4])
        said = await link.run(scripts.CHANGE_READER, clock, *words)
        if said == b"name":
            raise _name_taken(new.name)
        if said == b"ok":
            return new
    raise Refused("Redis: a reader is changed by others all the time.")


async def remove_reader(link: Link, reader_id: str, now: int, clock: int) -> bool:
    return bool(await link.run(scripts.REMOVE_READER, clock, utf8(reader_id), now))


async def add_token(
    link: Link, token: ReaderToken, token_hash: bytes, *, most: int, clock: int
) -> None:
    said = await link.run(
        scripts.ADD_TOKEN,
        clock,
        token_hash.hex(),
        utf8(token.id),
        utf8(token.reader_id),
        utf8(token.hint),
        token.created_at,
        _maybe(token.until),
        _maybe(token.revoked_at),
        _maybe(token.last_used_at),
        most,
    )
    match said:
        case b"reader":
            raise NotFound("There is no such reader.", what="reader")
        case b"most":
            raise Conflict(f"This reader has {most} open tokens already.", most=most)
        case b"token":
            raise Conflict("There is such a token already.", id=token.id)


async def tokens_with_hashes(link: Link, reader_id: str) -> list[tuple[ReaderToken, bytes]]:
    """Oldest first."""
    rows = await link.run(scripts.TOKENS, utf8(reader_id))
    found = [(_token_of(row), bytes.fromhex(row[0].decode())) for row in rows]
    return sorted(found, key=lambda each: (each[0].created_at, each[0].id))


async def end_token(
    link: Link, token_id: str, *, until: int, revoked: bool, now: int, clock: int
) -> bool:
    words = (utf8(token_id), until, int(revoked), now)
    return bool(await link.run(scripts.END_TOKEN, clock, *words))


async def note_used(link: Link, used: Mapping[str, int]) -> None:
    words = [word for token_id, at in used.items() for word in (utf8(token_id), at)]
    for start in range(0, len(words), 2 * AT_ONCE):
        await link.run(scripts.NOTE_USED, *words[start : start + 2 * AT_ONCE])


async def holder(link: Link, token_hash: bytes, plain: str, now: int, clock: int) -> Holder | None:
    """An upgrade is asked for once: what it leaves is what anybody finds."""
    place = plain_token(plain)
    said = await link.run(scripts.HOLDER, now, token_hash.hex(), place)
    if said == b"upgrade":
        words = (token_hash.hex(), place, token_id_of(token_hash), hint_of(plain))
        if not await link.run(scripts.UPGRADE, clock, *words):
            return None
        said = await link.run(scripts.HOLDER, now, token_hash.hex(), place)
    if not isinstance(said, list):
        return None
    token_id, until, row = said
    return Holder(_reader_of(row), shown(token_id), None if until is None else int(until))


def token_id_of(token_hash: bytes) -> str:
    """The id of a token that another tool made: the same whoever comes to know it first."""
    return str(UUID(bytes=sha256(token_hash).digest()[:16]))


def hint_of(plain: str) -> str:
    """How it begins, and little of it: another tool's token may be short."""
    return plain[: min(6, len(plain) // 4)]


def _reader_of(row: Sequence[Any]) -> FeedReader:
    reader_id, name, created_at, changed_at, followed = row
    return FeedReader(
        id=shown(reader_id),
        name=shown(name),
        categories=categories_in(followed) or (),
        created_at=int(created_at),
        changed_at=int(changed_at),
    )


def _token_of(row: Sequence[Any]) -> ReaderToken:
    _, token_id, reader_id, hint, created_at, until, revoked_at, used = row
    return ReaderToken(
        id=shown(token_id),
        reader_id=shown(reader_id),
        hint=shown(hint),
        created_at=int(created_at),
        until=None if until is None else int(until),
        revoked_at=None if revoked_at is None else int(revoked_at),
        last_used_at=None if used is None else int(used),
    )


def _maybe(moment: int | None) -> Word:
    return "" if moment is None else moment


def _name_taken(name: str) -> Conflict:
    return Conflict("There is a reader of this name already.", name=name)

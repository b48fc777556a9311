"""Readers and tokens as they are written; every change under the next version of personal feeds."""

from collections.abc import Mapping, Sequence

from headwater.errors import Conflict, NotFound
from headwater.ports import Transaction
from headwater.publish.personal.readers import queries
from headwater.publish.personal.readers.queries import categories_text
from headwater.publish.personal.store import next_version, take_turn
from headwater.values.personal import FeedReader, ReaderToken


async def add(tx: Transaction, reader: FeedReader, *, most: int) -> FeedReader:
    await take_turn(tx)
    await _check_name(tx, reader.name)
    if await queries.reader(tx, reader.id) is not None:
        raise Conflict("There is a reader with this id already.", id=reader.id)
    if await _count(tx, "SELECT count(*) AS n FROM readers") >= most:
        raise Conflict(f"There are {most} readers already.", most=most)
    await tx.run(
        "INSERT INTO readers (id, name, categories, created_at, changed_at) VALUES (?, ?, ?, ?, ?)",
        reader.id,
        reader.name,
        categories_text(reader.categories),
        reader.created_at,
        reader.changed_at,
    )
    await _changed(tx, reader.id, reader.changed_at)
    return reader


async def change(
    tx: Transaction,
    reader_id: str,
    *,
    name: str | None,
    categories: Sequence[str] | None,
    now: int,
) -> FeedReader | None:
    """What says the same as before is no change."""
    await take_turn(tx)
    old = await queries.reader(tx, reader_id)
    if old is None:
        return None
    new_name = old.name if name is None else name
    followed = old.categories if categories is None else tuple(categories)
    if (new_name, followed) == (old.name, old.categories):
        return old
    if new_name != old.name:
        await _check_name(tx, new_name)
    new = FeedReader(old.id, new_name, followed, old.created_at, max(now, old.changed_at))
    await tx.run(
        "UPDATE readers SET name = ?, categories = ?, changed_at = ? WHERE id = ?",
        new.name,
        categories_text(new.categories),
        new.changed_at,
        new.id,
    )
    await _changed(tx, new.id, now)
    return new


async def remove(tx: Transaction, reader_id: str, now: int) -> bool:
    await take_turn(tx)
    await tx.run("DELETE FROM reader_tokens WHERE reader_id = ?", reader_id)
    if await tx.run("DELETE FROM readers WHERE id = ?", reader_id) == 0:
        return False
    await _changed(tx, reader_id, now)
    return True


async def add_token(tx: Transaction, token: ReaderToken, token_hash: bytes, *, most: int) -> None:
    await take_turn(tx)
    if await queries.reader(tx, token.reader_id) is None:
        raise NotFound("There is no such reader.", what="reader")
    held = await queries.tokens(tx, token.reader_id)
    if token.is_open(token.created_at):
        if sum(each.is_open(token.created_at) for each, _ in held) >= most:
            raise Conflict(f"This reader has {most} open tokens already.", most=most)
    await _check_token(tx, token, token_hash)
    await tx.run(
        "INSERT INTO reader_tokens"
        " (id, reader_id, token_hash, hint, created_at, until, revoked_at, last_used_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        token.id,
        token.reader_id,
        token_hash,
        token.hint,
        token.created_at,
        token.until,
        token.revoked_at,
        token.last_used_at,
    )
    await _changed(tx, token.reader_id, token.created_at)


async def end_token(tx: Transaction, token_id: str, *, until: int, revoked: bool, now: int) -> bool:
    await take_turn(tx)
    row = await tx.row(
        "UPDATE reader_tokens SET"
        " until = CASE WHEN until IS NULL OR until > ? THEN ? ELSE until END,"
        " revoked_at = CASE WHEN revoked_at IS NULL AND ? THEN ? ELSE revoked_at END"
        " WHERE id = ? RETURNING reader_id",
        until,
        until,
        revoked,
        now,
        token_id,
    )
    if row is None:
        return False
    await _changed(tx, row.reader_id, now)
    return True


async def note_used(tx: Transaction, used: Mapping[str, int]) -> None:
    """It is no change: nothing that anybody is shown comes from it."""
    await take_turn(tx)
    await tx.run_many(
        "UPDATE reader_tokens SET last_used_at = ?"
        " WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)",
        [(at, token_id, at) for token_id, at in sorted(used.items())],
    )


async def forget_tokens(tx: Transaction, before: int) -> int:
    """Those that ended so long ago that nobody asks any more. How many went."""
    return await tx.run(
        "DELETE FROM reader_tokens WHERE until < ? OR revoked_at < ?", before, before
    )


async def _check_name(tx: Transaction, name: str) -> None:
    if await queries.reader_named(tx, name) is not None:
        raise Conflict("There is a reader of this name already.", name=name)


async def _check_token(tx: Transaction, token: ReaderToken, token_hash: bytes) -> None:
    taken = await tx.row(
        "SELECT 1 FROM reader_tokens WHERE id = ? OR token_hash = ?", token.id, token_hash
    )
    if taken is not None:
        raise Conflict("There is such a token already.", id=token.id)


async def _count(tx: Transaction, sql: str) -> int:
    row = await tx.row(sql)
    assert row is not None
    return int(row.n)


async def _changed(tx: Transaction, reader_id: str, at: int) -> None:
    await tx.run(
        "INSERT INTO reader_changes (reader_id, version, at) VALUES (?, ?, ?)"
        " ON CONFLICT (reader_id) DO UPDATE SET version = excluded.version, at = excluded.at",
        reader_id,
        await next_version(tx),
        at,
    )

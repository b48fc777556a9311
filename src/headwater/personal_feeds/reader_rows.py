"""Readers and tokens in the database; every change raises the version of personal feeds."""

from collections.abc import Mapping, Sequence

from headwater.core.errors import ConflictError, NotFound
from headwater.core.ports import Row, Transaction, View
from headwater.personal_feeds.item_json import json_of, read_json
from headwater.personal_feeds.item_rows import increment_version, lock_writers
from headwater.personal_feeds.ports import FeedReader, ReaderToken, TokenHolder

_COLUMNS = "r.id, r.name, r.categories, r.created_at, r.changed_at"
_TOKEN = "id, reader_id, token_hash, hint, created_at, until, revoked_at, last_used_at"  # noqa: S105


async def list_readers(view: View) -> list[FeedReader]:
    """Sorted here: databases do not agree on the order of names."""
    rows = await view.rows(f"SELECT {_COLUMNS} FROM readers r")
    return sorted((reader_of(row) for row in rows), key=lambda reader: reader.name)


async def find_reader(view: View, reader_id: str) -> FeedReader | None:
    row = await view.row(f"SELECT {_COLUMNS} FROM readers r WHERE r.id = ?", reader_id)
    return None if row is None else reader_of(row)


async def find_reader_by_name(view: View, name: str) -> FeedReader | None:
    row = await view.row(f"SELECT {_COLUMNS} FROM readers r WHERE r.name = ?", name)
    return None if row is None else reader_of(row)


async def list_tokens(view: View, reader_id: str) -> list[tuple[ReaderToken, bytes]]:
    rows = await view.rows(
        f"SELECT {_TOKEN} FROM reader_tokens WHERE reader_id = ? ORDER BY created_at, id",
        reader_id,
    )
    return [(token_of(row), bytes(row.token_hash)) for row in rows]


async def find_holder(view: View, token_hash: bytes, now: int) -> TokenHolder | None:
    row = await view.row(
        f"SELECT t.id AS token_id, t.until, {_COLUMNS} FROM reader_tokens t"
        " JOIN readers r ON r.id = t.reader_id WHERE t.token_hash = ? AND t.revoked_at IS NULL"
        " AND (t.until IS NULL OR t.until > ?)",
        token_hash,
        now,
    )
    return None if row is None else TokenHolder(reader_of(row), row.token_id, row.until)


def reader_of(row: Row) -> FeedReader:
    return FeedReader(
        id=row.id,
        name=row.name,
        categories=tuple(read_json(row.categories)),
        created_at=row.created_at,
        changed_at=row.changed_at,
    )


def token_of(row: Row) -> ReaderToken:
    return ReaderToken(
        id=row.id,
        reader_id=row.reader_id,
        hint=row.hint,
        created_at=row.created_at,
        until=row.until,
        revoked_at=row.revoked_at,
        last_used_at=row.last_used_at,
    )


def categories_text(categories: Sequence[str]) -> str:
    return json_of(list(categories))


async def insert_reader(tx: Transaction, reader: FeedReader, *, most: int) -> FeedReader:
    await lock_writers(tx)
    await _check_name(tx, reader.name)
    if await find_reader(tx, reader.id) is not None:
        raise ConflictError("There is a reader with this id already.", id=reader.id)
    count = await tx.row("SELECT count(*) AS n FROM readers")
    assert count is not None
    if count.n >= most:
        raise ConflictError(f"There are {most} readers already.", most=most)
    await tx.run(
        "INSERT INTO readers (id, name, categories, created_at, changed_at) VALUES (?, ?, ?, ?, ?)",
        reader.id,
        reader.name,
        categories_text(reader.categories),
        reader.created_at,
        reader.changed_at,
    )
    await _mark_changed(tx, reader.id, reader.changed_at)
    return reader


async def update_reader(
    tx: Transaction,
    reader_id: str,
    *,
    name: str | None,
    categories: Sequence[str] | None,
    now: int,
) -> FeedReader | None:
    """Change a reader. The same values as before are no change."""
    await lock_writers(tx)
    old = await find_reader(tx, reader_id)
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
    await _mark_changed(tx, new.id, now)
    return new


async def delete_reader(tx: Transaction, reader_id: str, now: int) -> bool:
    await lock_writers(tx)
    await tx.run("DELETE FROM reader_tokens WHERE reader_id = ?", reader_id)
    if await tx.run("DELETE FROM readers WHERE id = ?", reader_id) == 0:
        return False
    await _mark_changed(tx, reader_id, now)
    return True


async def insert_token(
    tx: Transaction, token: ReaderToken, token_hash: bytes, *, most: int
) -> None:
    await lock_writers(tx)
    if await find_reader(tx, token.reader_id) is None:
        raise NotFound("There is no such reader.", what="reader")
    tokens = await list_tokens(tx, token.reader_id)
    if token.is_open(token.created_at):
        if sum(each.is_open(token.created_at) for each, _ in tokens) >= most:
            raise ConflictError(f"This reader has {most} open tokens already.", most=most)
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
    await _mark_changed(tx, token.reader_id, token.created_at)


async def end_token(tx: Transaction, token_id: str, *, until: int, revoked: bool, now: int) -> bool:
    await lock_writers(tx)
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
    await _mark_changed(tx, row.reader_id, now)
    return True


async def set_last_used(tx: Transaction, used: Mapping[str, int]) -> None:
    """Write last uses. The version stays: no document shows them."""
    await lock_writers(tx)
    await tx.run_many(
        "UPDATE reader_tokens SET last_used_at = ?"
        " WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)",
        [(at, token_id, at) for token_id, at in sorted(used.items())],
    )


async def delete_old_tokens(tx: Transaction, before: int) -> int:
    """Delete tokens that ended before that moment, and return how many."""
    return await tx.run(
        "DELETE FROM reader_tokens WHERE until < ? OR revoked_at < ?", before, before
    )


async def _check_name(tx: Transaction, name: str) -> None:
    if await find_reader_by_name(tx, name) is not None:
        raise ConflictError("There is a reader of this name already.", name=name)


async def _check_token(tx: Transaction, token: ReaderToken, token_hash: bytes) -> None:
    taken = await tx.row(
        "SELECT 1 FROM reader_tokens WHERE id = ? OR token_hash = ?", token.id, token_hash
    )
    if taken is not None:
        raise ConflictError("There is such a token already.", id=token.id)


async def _mark_changed(tx: Transaction, reader_id: str, at: int) -> None:
    await tx.run(
        "INSERT INTO reader_changes (reader_id, version, at) VALUES (?, ?, ?)"
        " ON CONFLICT (reader_id) DO UPDATE SET version = excluded.version, at = excluded.at",
        reader_id,
        await increment_version(tx),
        at,
    )

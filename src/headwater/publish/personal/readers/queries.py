"""What may be asked of readers and their tokens."""

from collections.abc import Sequence

from headwater.ports import Reader, Row
from headwater.publish.personal.kept import json_of, read_json
from headwater.values.personal import FeedReader, Holder, ReaderToken

COLUMNS = "r.id, r.name, r.categories, r.created_at, r.changed_at"
_TOKEN = "id, reader_id, token_hash, hint, created_at, until, revoked_at, last_used_at"  # noqa: S105


async def readers(view: Reader) -> list[FeedReader]:
    """Sorted here: databases do not agree on the order of names."""
    rows = await view.rows(f"SELECT {COLUMNS} FROM readers r")
    return sorted((reader_of(row) for row in rows), key=lambda reader: reader.name)


async def reader(view: Reader, reader_id: str) -> FeedReader | None:
    row = await view.row(f"SELECT {COLUMNS} FROM readers r WHERE r.id = ?", reader_id)
    return None if row is None else reader_of(row)


async def reader_named(view: Reader, name: str) -> FeedReader | None:
    row = await view.row(f"SELECT {COLUMNS} FROM readers r WHERE r.name = ?", name)
    return None if row is None else reader_of(row)


async def tokens(view: Reader, reader_id: str) -> list[tuple[ReaderToken, bytes]]:
    rows = await view.rows(
        f"SELECT {_TOKEN} FROM reader_tokens WHERE reader_id = ? ORDER BY created_at, id",
        reader_id,
    )
    return [(token_of(row), bytes(row.token_hash)) for row in rows]


async def holder(view: Reader, token_hash: bytes, now: int) -> Holder | None:
    row = await view.row(
        f"SELECT t.id AS token_id, t.until, {COLUMNS} FROM reader_tokens t"
        " JOIN readers r ON r.id = t.reader_id WHERE t.token_hash = ? AND t.revoked_at IS NULL"
        " AND (t.until IS NULL OR t.until > ?)",
        token_hash,
        now,
    )
    return None if row is None else Holder(reader_of(row), row.token_id, row.until)


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

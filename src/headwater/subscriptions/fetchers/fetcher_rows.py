"""Fetchers in the database: registered ones and the rows of built-in ones."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from headwater.core.errors import ConflictError, NameTaken, NotFound
from headwater.core.ports import Row, SqlValue, Transaction, View, placeholders
from headwater.core.values.ids import FetcherId
from headwater.core.values.instant import from_micros, maybe_moment, to_micros
from headwater.core.values.keep import KEEP
from headwater.subscriptions.fetchers.builtin import BuiltinFetcher
from headwater.subscriptions.fetchers.fetcher import Fetcher, FetcherPatch, Registration

_COLUMNS = (
    "fetcher_id, name, version, description, base_url, priority, is_enabled, config_schema,"
    " wants_news, last_seen_at, created_at, updated_at"
)


@dataclass(frozen=True, slots=True)
class FetcherOwner:
    """The owner of a registered fetcher: its own credential, who registered it, its sealed key."""

    token_id: int | None
    registered_by: str | None
    signing_key: bytes | None


async def upsert_fetcher(
    tx: Transaction,
    registration: Registration,
    *,
    registered_by: str,
    token_id: int | None,
    signing_key: bytes | None,
    now: datetime,
    is_enabled: bool = True,
    may_move: bool = False,
) -> tuple[Fetcher, bool]:
    """A new fetcher and True, or the one of this name, updated, and False.

    A name belongs to the credential that registered it first. None keeps the present token and
    key. The priority counts only for a new one; `may_move`: `base_url` may change.
    """
    columns = _registered_columns(registration, registered_by, now)
    keys: dict[str, SqlValue] = {"token_id": token_id, "signing_key": signing_key}
    row: dict[str, SqlValue] = columns | keys
    row |= {
        "name": registration.name,
        "priority": registration.priority,
        "is_enabled": is_enabled,
        "news_seq": await _get_last_seq(tx),
        "created_at": to_micros(now),
    }
    inserted = await tx.row(
        f"INSERT INTO fetcher_modules ({', '.join(row)}) VALUES ({placeholders(len(row))})"
        f" ON CONFLICT (name) DO NOTHING RETURNING {_COLUMNS}",
        *row.values(),
    )
    if inserted is not None:
        return _fetcher_of(inserted), True
    fetcher_id = await _lock_own_fetcher(tx, registration, registered_by, may_move=may_move)
    new_keys: dict[str, SqlValue] = {name: key for name, key in keys.items() if key is not None}
    return await _update_columns(tx, fetcher_id, columns | new_keys), False


async def _get_last_seq(view: View) -> int:
    """The last event: news begins with the events after a fetcher joined."""
    row = await view.row("SELECT value FROM counters WHERE name = 'events'")
    assert row is not None, "the events counter is missing"
    return int(row.value)


def _registered_columns(
    registration: Registration, registered_by: str, now: datetime
) -> dict[str, SqlValue]:
    """The columns that every registration updates."""
    return {
        "base_url": registration.base_url,
        "registered_by": registered_by,
        "version": registration.version,
        "description": registration.description,
        "config_schema": registration.config_schema,
        "wants_news": registration.wants_news,
        "last_seen_at": to_micros(now),
        "updated_at": to_micros(now),
    }


async def _lock_own_fetcher(
    tx: Transaction, registration: Registration, registered_by: str, *, may_move: bool
) -> FetcherId:
    lock = " FOR UPDATE" if tx.dialect == "postgresql" else ""
    row = await tx.row(
        f"SELECT registered_by, {_COLUMNS} FROM fetcher_modules WHERE name = ?{lock}",
        registration.name,
    )
    assert row is not None, "a conflict without a row"
    fetcher = _fetcher_of(row)
    if fetcher.is_builtin or row.registered_by not in (None, registered_by):
        raise NameTaken("Another fetcher has this name.", name=registration.name)
    if fetcher.base_url != registration.base_url and not may_move:
        raise ConflictError(
            "This fetcher is registered at another base_url. An admin may change it.",
            fetcher_id=fetcher.id,
            name=fetcher.name,
        )
    return fetcher.id


async def list_fetchers(view: View, *, enabled_only: bool = False) -> list[Fetcher]:
    """The oldest first."""
    where = " WHERE is_enabled" if enabled_only else ""
    rows = await view.rows(f"SELECT {_COLUMNS} FROM fetcher_modules{where} ORDER BY fetcher_id")
    return [_fetcher_of(row) for row in rows]


async def get_fetcher(view: View, fetcher_id: int) -> Fetcher:
    row = await view.row(f"SELECT {_COLUMNS} FROM fetcher_modules WHERE fetcher_id = ?", fetcher_id)
    if row is None:
        raise NotFound("There is no such fetcher.", what="fetcher")
    return _fetcher_of(row)


async def find_fetcher_by_token(view: View, token_id: int) -> Fetcher | None:
    """The fetcher whose credential this is."""
    row = await view.row(f"SELECT {_COLUMNS} FROM fetcher_modules WHERE token_id = ?", token_id)
    return None if row is None else _fetcher_of(row)


async def get_owner(view: View, fetcher_id: int) -> FetcherOwner:
    row = await view.row(
        "SELECT token_id, registered_by, signing_key FROM fetcher_modules WHERE fetcher_id = ?",
        fetcher_id,
    )
    if row is None:
        raise NotFound("There is no such fetcher.", what="fetcher")
    return FetcherOwner(row.token_id, row.registered_by, row.signing_key)


async def list_signing_keys(view: View) -> dict[FetcherId, bytes]:
    """The sealed keys of those that have one."""
    rows = await view.rows(
        "SELECT fetcher_id, signing_key FROM fetcher_modules WHERE signing_key IS NOT NULL"
    )
    return {FetcherId(row.fetcher_id): row.signing_key for row in rows}


async def update_fetcher(
    tx: Transaction, fetcher_id: int, patch: FetcherPatch, now: datetime
) -> Fetcher:
    """Change a fetcher; the `base_url` of a built-in one cannot change."""
    fetcher = await get_fetcher(tx, fetcher_id)
    if fetcher.is_builtin and patch.base_url not in (KEEP, fetcher.base_url):
        raise ConflictError("A built-in fetcher is asked in process.", fetcher_id=fetcher.id)
    columns: dict[str, SqlValue] = {
        field.name: value
        for field in fields(patch)
        if (value := getattr(patch, field.name)) is not KEEP
    }
    if not columns:
        return fetcher
    return await _update_columns(tx, fetcher.id, columns | {"updated_at": to_micros(now)})


async def set_last_seen(tx: Transaction, fetcher_id: int, now: datetime) -> None:
    await tx.run(
        "UPDATE fetcher_modules SET last_seen_at = ? WHERE fetcher_id = ?",
        to_micros(now),
        fetcher_id,
    )


async def has_all_builtins(view: View, builtins: Sequence[BuiltinFetcher]) -> bool:
    """Whether `insert_missing_builtins` would have nothing to do."""
    return not await _missing_builtins(view, builtins)


async def insert_missing_builtins(
    tx: Transaction, builtins: Sequence[BuiltinFetcher], now: datetime
) -> None:
    """Insert the rows that are missing.

    A row that is there keeps the values an operator may change.
    """
    for builtin in await _missing_builtins(tx, builtins):
        is_ours = await tx.run(
            "INSERT INTO fetcher_modules (name, version, description, base_url, priority,"
            " is_enabled, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (name) DO UPDATE SET version = excluded.version,"
            " description = excluded.description, updated_at = excluded.updated_at"
            " WHERE fetcher_modules.base_url = excluded.base_url",
            builtin.name,
            builtin.version,
            builtin.description,
            builtin.base_url,
            builtin.priority,
            True,
            to_micros(now),
            to_micros(now),
        )
        if not is_ours:
            raise NameTaken(
                f"A registered fetcher has the name of the built-in fetcher {builtin.name!r}.",
                name=builtin.name,
            )


async def _missing_builtins(view: View, builtins: Sequence[BuiltinFetcher]) -> list[BuiltinFetcher]:
    known = {
        (each.name, each.version, each.description, each.base_url)
        for each in await list_fetchers(view)
    }
    return [
        each
        for each in builtins
        if (each.name, each.version, each.description, each.base_url) not in known
    ]


async def _update_columns(
    tx: Transaction, fetcher_id: FetcherId, columns: dict[str, SqlValue]
) -> Fetcher:
    assignments = ", ".join(f"{name} = ?" for name in columns)
    row = await tx.row(
        f"UPDATE fetcher_modules SET {assignments} WHERE fetcher_id = ? RETURNING {_COLUMNS}",
        *columns.values(),
        fetcher_id,
    )
    assert row is not None, "its row was read in this transaction"
    return _fetcher_of(row)


def _fetcher_of(row: Row) -> Fetcher:
    return Fetcher(
        id=FetcherId(row.fetcher_id),
        name=row.name,
        version=row.version,
        description=row.description,
        base_url=row.base_url,
        priority=row.priority,
        is_enabled=bool(row.is_enabled),
        config_schema=row.config_schema,
        wants_news=bool(row.wants_news),
        last_seen_at=maybe_moment(row.last_seen_at),
        created_at=from_micros(row.created_at),
        updated_at=from_micros(row.updated_at),
    )

"""API tokens in the database: hashes only, never a secret."""

from datetime import datetime

from headwater.auth.tokens import ApiToken, Scope
from headwater.core.errors import NotFound
from headwater.core.ports import Row, Transaction, View
from headwater.core.values.instant import from_micros, maybe_moment, to_micros

_COLUMNS = "id, name, scope, created_at, last_used_at, revoked_at"


async def insert_token(
    tx: Transaction, name: str, scope: Scope, token_hash: bytes, now: datetime
) -> ApiToken:
    row = await tx.row(
        "INSERT INTO api_tokens (name, scope, token_hash, created_at) VALUES (?, ?, ?, ?)"
        f" RETURNING {_COLUMNS}",
        name,
        scope,
        token_hash,
        to_micros(now),
    )
    assert row is not None
    return _token_of(row)


async def list_tokens(view: View) -> list[ApiToken]:
    rows = await view.rows(f"SELECT {_COLUMNS} FROM api_tokens ORDER BY id")
    return [_token_of(row) for row in rows]


async def get_token(view: View, token_id: int) -> ApiToken:
    row = await view.row(f"SELECT {_COLUMNS} FROM api_tokens WHERE id = ?", token_id)
    if row is None:
        raise NotFound("There is no such token.", what="token")
    return _token_of(row)


async def find_valid_token(view: View, token_hash: bytes) -> ApiToken | None:
    """The token of this hash, unless it was revoked."""
    row = await view.row(
        f"SELECT {_COLUMNS} FROM api_tokens WHERE token_hash = ? AND revoked_at IS NULL",
        token_hash,
    )
    return None if row is None else _token_of(row)


async def set_last_used(tx: Transaction, token_id: int, now: datetime) -> None:
    await tx.run("UPDATE api_tokens SET last_used_at = ? WHERE id = ?", to_micros(now), token_id)


async def revoke_token(tx: Transaction, token_id: int, now: datetime) -> ApiToken:
    """Revoke a token; a second time changes nothing."""
    await tx.run(
        "UPDATE api_tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL",
        to_micros(now),
        token_id,
    )
    return await get_token(tx, token_id)


def _token_of(row: Row) -> ApiToken:
    return ApiToken(
        id=row.id,
        name=row.name,
        scope=row.scope,
        created_at=from_micros(row.created_at),
        last_used_at=maybe_moment(row.last_used_at),
        revoked_at=maybe_moment(row.revoked_at),
    )

"""API tokens and idempotency keys in the database: hashes only, never a secret."""

from datetime import datetime, timedelta

from headwater.access.idempotency import (
    Answered,
    Attempt,
    Done,
    Fresh,
    InProgress,
    Mismatch,
    Standing,
)
from headwater.access.tokens import ApiToken, Scope
from headwater.errors import Conflict, NotFound
from headwater.ports import Reader, Row, Transaction
from headwater.values.instant import from_micros, maybe_moment, to_micros

_KEPT = "id, name, scope, created_at, last_used_at, revoked_at"


async def add_token(
    tx: Transaction, name: str, scope: Scope, token_hash: bytes, now: datetime
) -> ApiToken:
    row = await tx.row(
        "INSERT INTO api_tokens (name, scope, token_hash, created_at) VALUES (?, ?, ?, ?)"
        f" RETURNING {_KEPT}",
        name,
        scope,
        token_hash,
        to_micros(now),
    )
    assert row is not None
    return _token_of(row)


async def tokens(view: Reader) -> list[ApiToken]:
    rows = await view.rows(f"SELECT {_KEPT} FROM api_tokens ORDER BY id")
    return [_token_of(row) for row in rows]


async def token(view: Reader, token_id: int) -> ApiToken:
    row = await view.row(f"SELECT {_KEPT} FROM api_tokens WHERE id = ?", token_id)
    if row is None:
        raise NotFound("There is no such token.", what="token")
    return _token_of(row)


async def living_token(view: Reader, token_hash: bytes) -> ApiToken | None:
    """The token of this hash, unless it was revoked."""
    row = await view.row(
        f"SELECT {_KEPT} FROM api_tokens WHERE token_hash = ? AND revoked_at IS NULL",
        token_hash,
    )
    return None if row is None else _token_of(row)


async def note_use(tx: Transaction, token_id: int, now: datetime) -> None:
    await tx.run("UPDATE api_tokens SET last_used_at = ? WHERE id = ?", to_micros(now), token_id)


async def revoke_token(tx: Transaction, token_id: int, now: datetime) -> ApiToken:
    """Revoking twice is revoking once."""
    await tx.run(
        "UPDATE api_tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL",
        to_micros(now),
        token_id,
    )
    return await token(tx, token_id)


async def begin(tx: Transaction, attempt: Attempt, now: datetime, lease: timedelta) -> Standing:
    """Take the key, or learn what became of it. After `lease` an unanswered attempt is dead."""
    moment = to_micros(now)
    taken = await tx.run(
        "INSERT INTO idempotency (key_hash, request_hash, started_at) VALUES (?, ?, ?)"
        " ON CONFLICT (key_hash) DO NOTHING",
        attempt.key_hash,
        attempt.request_hash,
        moment,
    )
    if taken:
        return Fresh()
    lock = " FOR UPDATE" if tx.dialect == "postgresql" else ""
    row = await tx.row(f"SELECT * FROM idempotency WHERE key_hash = ?{lock}", attempt.key_hash)
    if row is None:
        return InProgress(1.0)  # let go in this very moment: the next try will have it
    standing = _standing(row, attempt, now, lease)
    if isinstance(standing, Fresh):
        await tx.run(
            "UPDATE idempotency SET started_at = ? WHERE key_hash = ?", moment, attempt.key_hash
        )
    return standing


async def remember_resource(tx: Transaction, key_hash: bytes, resource: str) -> None:
    """In the transaction of the effect itself: whoever comes second under a key has no effect."""
    touched = await tx.run(
        "UPDATE idempotency SET resource = ? WHERE key_hash = ? AND resource IS NULL",
        resource,
        key_hash,
    )
    if touched != 1:
        raise Conflict("Another request with this Idempotency-Key was faster.")


async def remember_answer(
    tx: Transaction, key_hash: bytes, status: int, body: str, location: str | None
) -> None:
    """The location stands in a line of its own before the body."""
    await tx.run(
        "UPDATE idempotency SET status = ?, body = ? WHERE key_hash = ?",
        status,
        f"{location or ''}\n{body}",
        key_hash,
    )


async def let_go(tx: Transaction, key_hash: bytes) -> None:
    """The attempt failed without effect: the key is free for another try."""
    await tx.run("DELETE FROM idempotency WHERE key_hash = ? AND resource IS NULL", key_hash)


async def forget_keys(tx: Transaction, older_than: datetime) -> int:
    """For housekeeping: keys are kept for a while only (settings.idempotency_hours)."""
    return await tx.run("DELETE FROM idempotency WHERE started_at < ?", to_micros(older_than))


def _standing(row: Row, attempt: Attempt, now: datetime, lease: timedelta) -> Standing:
    if row.request_hash != attempt.request_hash:
        return Mismatch()
    if row.status is not None:
        location, _, body = row.body.partition("\n")
        return Answered(row.status, body, location or None)
    if row.resource is not None:
        return Done(row.resource)
    left = from_micros(row.started_at) + lease - now
    return InProgress(left.total_seconds()) if left > timedelta() else Fresh()


def _token_of(row: Row) -> ApiToken:
    return ApiToken(
        id=row.id,
        name=row.name,
        scope=row.scope,
        created_at=from_micros(row.created_at),
        last_used_at=maybe_moment(row.last_used_at),
        revoked_at=maybe_moment(row.revoked_at),
    )

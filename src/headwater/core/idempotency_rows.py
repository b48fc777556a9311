"""Idempotency keys in the database."""

from datetime import datetime, timedelta

from headwater.core.errors import ConflictError
from headwater.core.idempotency import (
    Answered,
    Attempt,
    DoneBefore,
    Fresh,
    InProgress,
    KeyState,
    Mismatch,
)
from headwater.core.ports import Row, Transaction
from headwater.core.values.instant import from_micros, to_micros


async def claim_key(tx: Transaction, attempt: Attempt, now: datetime, lease: timedelta) -> KeyState:
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
    standing = _key_state_of(row, attempt, now, lease)
    if isinstance(standing, Fresh):
        await tx.run(
            "UPDATE idempotency SET started_at = ? WHERE key_hash = ?", moment, attempt.key_hash
        )
    return standing


async def set_key_resource(tx: Transaction, key_hash: bytes, resource: str) -> None:
    """In the transaction of the effect itself: whoever comes second under a key has no effect."""
    touched = await tx.run(
        "UPDATE idempotency SET resource = ? WHERE key_hash = ? AND resource IS NULL",
        resource,
        key_hash,
    )
    if touched != 1:
        raise ConflictError("Another request with this Idempotency-Key was faster.")


async def mark_key_used(tx: Transaction, key_hash: bytes, resource: str) -> None:
    """For an attempt without an effect that was tied to its key: no other request may use it."""
    await tx.run(
        "UPDATE idempotency SET resource = ? WHERE key_hash = ? AND resource IS NULL",
        resource,
        key_hash,
    )


async def set_key_answer(
    tx: Transaction, key_hash: bytes, status: int, body: str, location: str | None
) -> None:
    """The location stands in a line of its own before the body."""
    await tx.run(
        "UPDATE idempotency SET status = ?, body = ? WHERE key_hash = ?",
        status,
        f"{location or ''}\n{body}",
        key_hash,
    )


async def release_key(tx: Transaction, key_hash: bytes) -> None:
    """The attempt failed without effect: the key is free for another try."""
    await tx.run("DELETE FROM idempotency WHERE key_hash = ? AND resource IS NULL", key_hash)


async def delete_old_keys(tx: Transaction, older_than: datetime) -> int:
    """For housekeeping: keys are kept for a while only (settings.idempotency_hours)."""
    return await tx.run("DELETE FROM idempotency WHERE started_at < ?", to_micros(older_than))


def _key_state_of(row: Row, attempt: Attempt, now: datetime, lease: timedelta) -> KeyState:
    if row.request_hash != attempt.request_hash:
        return Mismatch()
    if row.status is not None:
        location, _, body = row.body.partition("\n")
        return Answered(row.status, body, location or None)
    if row.resource is not None:
        return DoneBefore(row.resource)
    left = from_micros(row.started_at) + lease - now
    return InProgress(left.total_seconds()) if left > timedelta() else Fresh()

"""Rows of idempotency keys."""

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
    """Claim the key, or return its state. An attempt without an answer is dead after `lease`."""
    moment = to_micros(now)
    inserted = await tx.run(
        "INSERT INTO idempotency (key_hash, request_hash, started_at) VALUES (?, ?, ?)"
        " ON CONFLICT (key_hash) DO NOTHING",
        attempt.key_hash,
        attempt.request_hash,
        moment,
    )
    if inserted:
        return Fresh()
    lock = " FOR UPDATE" if tx.dialect == "postgresql" else ""
    row = await tx.row(f"SELECT * FROM idempotency WHERE key_hash = ?{lock}", attempt.key_hash)
    if row is None:
        return InProgress(1.0)  # released at this very moment: the next try will claim it
    state = _key_state_of(row, attempt, now, lease)
    if isinstance(state, Fresh):
        await tx.run(
            "UPDATE idempotency SET started_at = ? WHERE key_hash = ?", moment, attempt.key_hash
        )
    return state


async def set_key_resource(tx: Transaction, key_hash: bytes, resource: str) -> None:
    """Tie the key to its resource, in the transaction of the effect: a second attempt has none."""
    updated = await tx.run(
        "UPDATE idempotency SET resource = ? WHERE key_hash = ? AND resource IS NULL",
        resource,
        key_hash,
    )
    if updated != 1:
        raise ConflictError("Another request with this Idempotency-Key was faster.")


async def mark_key_used(tx: Transaction, key_hash: bytes, resource: str) -> None:
    """Keep the key of an attempt that changed nothing: no other request may use it."""
    await tx.run(
        "UPDATE idempotency SET resource = ? WHERE key_hash = ? AND resource IS NULL",
        resource,
        key_hash,
    )


async def set_key_answer(
    tx: Transaction, key_hash: bytes, status: int, body: str, location: str | None
) -> None:
    """Store the answer. The location stands in a line of its own before the body."""
    await tx.run(
        "UPDATE idempotency SET status = ?, body = ? WHERE key_hash = ?",
        status,
        f"{location or ''}\n{body}",
        key_hash,
    )


async def release_key(tx: Transaction, key_hash: bytes) -> None:
    """Free the key for another try, after an attempt that failed without effect."""
    await tx.run("DELETE FROM idempotency WHERE key_hash = ? AND resource IS NULL", key_hash)


async def delete_old_keys(tx: Transaction, older_than: datetime) -> int:
    """Delete keys that are older than `settings.idempotency_hours`; housekeeping calls it."""
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

"""Receivers of news in the database: a cursor each, and one deliverer at a time over all processes.

A deliverer writes the end of its lease into `news_next_try_at`. That moment is also its proof that
it holds the lease: another deliverer that takes over writes a later one.
"""

from dataclasses import dataclass

from headwater.core.ports import Transaction, View


@dataclass(frozen=True, slots=True)
class Receiver:
    """A fetcher that wants news.

    `signing_key` is sealed; `news_seq` is the last event that it has.
    """

    fetcher_id: int
    name: str
    base_url: str
    signing_key: bytes | None
    news_seq: int
    failures: int


async def start_news(tx: Transaction, fetcher_id: int) -> None:
    """News begins with the events after this moment."""
    await tx.run(
        "UPDATE fetcher_modules SET news_seq = (SELECT value FROM counters WHERE name = 'events'),"
        " news_failures = 0, news_next_try_at = NULL WHERE fetcher_id = ?",
        fetcher_id,
    )


async def list_due_receivers(view: View, now: int, too_far: int) -> list[Receiver]:
    """Receivers without a deliverer now and without a pause under way.

    A moment beyond `too_far` is of a clock that has been set back since, and is not waited for.
    """
    rows = await view.rows(
        "SELECT fetcher_id, name, base_url, signing_key, news_seq, news_failures"
        " FROM fetcher_modules WHERE wants_news AND is_enabled AND base_url NOT LIKE 'inproc:%'"
        " AND (news_next_try_at IS NULL OR news_next_try_at <= ? OR news_next_try_at > ?)"
        " ORDER BY fetcher_id",
        now,
        too_far,
    )
    return [
        Receiver(
            row.fetcher_id,
            row.name,
            row.base_url,
            row.signing_key,
            row.news_seq,
            row.news_failures,
        )
        for row in rows
    ]


async def claim_receiver(
    tx: Transaction, receiver: Receiver, now: int, too_far: int, lease_end: int
) -> bool:
    """False when another deliverer was faster, or the receiver got an event since we looked."""
    touched = await tx.run(
        "UPDATE fetcher_modules SET news_next_try_at = ? WHERE fetcher_id = ? AND news_seq = ?"
        " AND wants_news AND is_enabled"
        " AND (news_next_try_at IS NULL OR news_next_try_at <= ? OR news_next_try_at > ?)",
        lease_end,
        receiver.fetcher_id,
        receiver.news_seq,
        now,
        too_far,
    )
    return touched == 1


async def mark_delivered(
    tx: Transaction, fetcher_id: int, lease_end: int, news_seq: int, until: int | None
) -> bool:
    """The receiver has all up to `news_seq`. `until` keeps the lease for more; None ends it."""
    return await _update_held(
        tx, fetcher_id, lease_end, "news_seq = ?, news_failures = 0", news_seq, until
    )


async def mark_failed(
    tx: Transaction, fetcher_id: int, lease_end: int, failures: int, next_try: int
) -> bool:
    """Pause until `next_try`."""
    return await _update_held(tx, fetcher_id, lease_end, "news_failures = ?", failures, next_try)


async def stop_news(tx: Transaction, fetcher_id: int, lease_end: int) -> bool:
    """The receiver does not want news any more."""
    return await _update_held(tx, fetcher_id, lease_end, "wants_news = ?", False, None)


async def set_news_seq(tx: Transaction, receiver: Receiver, reached: int) -> None:
    """No event up to `reached` was news: the next look begins there."""
    await tx.run(
        "UPDATE fetcher_modules SET news_seq = ? WHERE fetcher_id = ? AND news_seq = ?",
        reached,
        receiver.fetcher_id,
        receiver.news_seq,
    )


async def _update_held(
    tx: Transaction,
    fetcher_id: int,
    lease_end: int,
    assignment: str,
    value: int,
    next_try: int | None,
) -> bool:
    """Write only while the lease is still held."""
    touched = await tx.run(
        f"UPDATE fetcher_modules SET {assignment}, news_next_try_at = ?"
        " WHERE fetcher_id = ? AND news_next_try_at = ?",
        value,
        next_try,
        fetcher_id,
        lease_end,
    )
    return touched == 1

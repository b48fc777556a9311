"""Receivers of news: a cursor each, and one deliverer at a time, across all processes.

Whoever delivers writes the end of its lease into `news_next_try_at`. That moment is also the proof
of being the one who delivers: somebody who takes over writes a later one.
"""

from dataclasses import dataclass

from headwater.core.ports import Transaction, View


@dataclass(frozen=True, slots=True)
class Receiver:
    """A fetcher that wants news. `signing_key` is sealed; `told` is the last number it has."""

    fetcher_id: int
    name: str
    base_url: str
    signing_key: bytes | None
    told: int
    failures: int


async def start_news(tx: Transaction, fetcher_id: int) -> None:
    """News is what comes from now on."""
    await tx.run(
        "UPDATE fetcher_modules SET news_seq = (SELECT value FROM counters WHERE name = 'events'),"
        " news_failures = 0, news_next_try_at = NULL WHERE fetcher_id = ?",
        fetcher_id,
    )


async def list_due_receivers(view: View, now: int, too_far: int) -> list[Receiver]:
    """Those nobody delivers to at this moment and who are not to be left alone for a while.

    A moment beyond `too_far` is of a clock that has been set back since: nobody waits for it.
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
    """False when somebody else was faster, or it has been told something since we looked."""
    touched = await tx.run(
        "UPDATE fetcher_modules SET news_next_try_at = ? WHERE fetcher_id = ? AND news_seq = ?"
        " AND wants_news AND is_enabled"
        " AND (news_next_try_at IS NULL OR news_next_try_at <= ? OR news_next_try_at > ?)",
        lease_end,
        receiver.fetcher_id,
        receiver.told,
        now,
        too_far,
    )
    return touched == 1


async def note_told(
    tx: Transaction, fetcher_id: int, lease_end: int, told: int, until: int | None
) -> bool:
    """It has everything up to `told`. `until` keeps the lease for more; None ends it."""
    return await _settle(tx, fetcher_id, lease_end, "news_seq = ?, news_failures = 0", told, until)


async def note_failure(
    tx: Transaction, fetcher_id: int, lease_end: int, failures: int, next_try: int
) -> bool:
    """Not before `next_try`."""
    return await _settle(tx, fetcher_id, lease_end, "news_failures = ?", failures, next_try)


async def stop_telling(tx: Transaction, fetcher_id: int, lease_end: int) -> bool:
    """It said that it does not want news any more."""
    return await _settle(tx, fetcher_id, lease_end, "wants_news = ?", False, None)


async def note_reached(tx: Transaction, receiver: Receiver, reached: int) -> None:
    """Nothing up to there was news: the next look begins there."""
    await tx.run(
        "UPDATE fetcher_modules SET news_seq = ? WHERE fetcher_id = ? AND news_seq = ?",
        reached,
        receiver.fetcher_id,
        receiver.told,
    )


async def _settle(
    tx: Transaction,
    fetcher_id: int,
    lease_end: int,
    assignment: str,
    value: int,
    next_try: int | None,
) -> bool:
    """Only by whoever holds the lease still."""
    touched = await tx.run(
        f"UPDATE fetcher_modules SET {assignment}, news_next_try_at = ?"
        " WHERE fetcher_id = ? AND news_next_try_at = ?",
        value,
        next_try,
        fetcher_id,
        lease_end,
    )
    return touched == 1

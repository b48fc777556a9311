"""Gaps that were told, written down until they are filled."""

from collections.abc import Iterable
from datetime import datetime

from headwater.collect.slot import Slot
from headwater.ports import Transaction
from headwater.values.instant import to_micros


async def add(tx: Transaction, show_id: int, missing: Iterable[Slot], now: datetime) -> list[Slot]:
    """Those that were not told before."""
    new = []
    for slot in missing:
        row = await tx.row(
            "INSERT INTO gaps (show_id, season, episode, told_at) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (show_id, season, episode) DO NOTHING RETURNING episode",
            show_id,
            slot.season,
            int(slot.number),
            to_micros(now),
        )
        if row is not None:
            new.append(slot)
    return new


async def forget(tx: Transaction, show_id: int, filled: Iterable[Slot]) -> None:
    """Should they be missing once more, that is told once more."""
    gone = [(show_id, slot.season, int(slot.number)) for slot in filled]
    if gone:
        await tx.run_many("DELETE FROM gaps WHERE show_id = ? AND season = ? AND episode = ?", gone)

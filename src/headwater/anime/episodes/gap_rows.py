"""Rows of gaps in the database: the filled slots of a show, and the gaps that were announced."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal

from headwater.anime.downloads.download import STATES_WITH_SLOTS
from headwater.anime.shows.slot import Slot
from headwater.anime.stored_json import decode_slots
from headwater.core.ports import Transaction, View, placeholders
from headwater.core.values.instant import from_micros, to_micros


async def list_filled_slots(view: View, show_id: int) -> list[tuple[Sequence[Slot], datetime]]:
    """Slots that are filled or being filled, and the moment their download was intended."""
    states = sorted(STATES_WITH_SLOTS)
    rows = await view.rows(
        f"SELECT slots, intended_at FROM downloads WHERE show_id = ? AND state IN"
        f" ({placeholders(len(states))}) ORDER BY id",
        show_id,
        *states,
    )
    return [(decode_slots(row.slots), from_micros(row.intended_at)) for row in rows]


async def list_reported_gaps(view: View, show_id: int) -> set[Slot]:
    rows = await view.rows("SELECT season, episode FROM gaps WHERE show_id = ?", show_id)
    return {Slot(row.season, Decimal(row.episode)) for row in rows}


async def insert_gaps(
    tx: Transaction, show_id: int, missing: Iterable[Slot], now: datetime
) -> list[Slot]:
    """Insert gaps, and return those that were not announced before."""
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


async def delete_gaps(tx: Transaction, show_id: int, filled: Iterable[Slot]) -> None:
    """Gaps that come back after this are announced again."""
    gone = [(show_id, slot.season, int(slot.number)) for slot in filled]
    if gone:
        await tx.run_many("DELETE FROM gaps WHERE show_id = ? AND season = ? AND episode = ?", gone)

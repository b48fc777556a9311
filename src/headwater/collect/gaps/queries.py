"""What may be asked of gaps: what has places of a show, and which gaps were told."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from headwater.collect.download import STANDING
from headwater.collect.kept import slots_of
from headwater.collect.slot import Slot
from headwater.ports import Reader, marks
from headwater.values.instant import from_micros


async def standing_since(view: Reader, show_id: int) -> list[tuple[Sequence[Slot], datetime]]:
    """Slots that are filled, or on their way to be, and the moment that was intended."""
    states = sorted(STANDING)
    rows = await view.rows(
        f"SELECT slots, intended_at FROM downloads WHERE show_id = ? AND state IN"
        f" ({marks(len(states))}) ORDER BY id",
        show_id,
        *states,
    )
    return [(slots_of(row.slots), from_micros(row.intended_at)) for row in rows]


async def gaps_told(view: Reader, show_id: int) -> set[Slot]:
    rows = await view.rows("SELECT season, episode FROM gaps WHERE show_id = ?", show_id)
    return {Slot(row.season, Decimal(row.episode)) for row in rows}

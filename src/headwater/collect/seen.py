"""A release that was seen for a show: which episodes it is, when it came out, what became of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from headwater.collect.kept import candidate_of, release_of, slots_of
from headwater.collect.show import Show
from headwater.collect.slot import Placement, Slot, placed
from headwater.ports import Row


@dataclass(frozen=True, slots=True)
class Seen:
    """`moment` is when it came out. `is_pack`: it says nothing of when its episodes did. `failed`:
    its download was given up, or is gone, and why."""

    release_id: int
    title: str
    slots: tuple[Slot, ...]
    moment: datetime
    action: str
    rule: str
    reason: str
    is_pack: bool = False
    is_final: bool = False
    failed: str | None = None


def seen_of(rows: Iterable[Row], show: Show) -> list[Seen]:
    """Those whose place is sure. Pure, and not quick for many: JSON is read here."""
    return [found for row in rows if (found := _seen(row, show)) is not None]


def _seen(row: Row, show: Show) -> Seen | None:
    candidate, release = candidate_of(row.candidate), release_of(row.release)
    place = placed(release, show)
    decided = slots_of(row.slots)
    is_sure = isinstance(place, Placement) and place.is_sure
    slots = decided or (place.slots if isinstance(place, Placement) and is_sure else ())
    if not slots:
        return None
    return Seen(
        release_id=row.id,
        title=candidate.title,
        slots=slots,
        moment=candidate.moment,
        action=row.action,
        rule=row.rule,
        reason=row.reason,
        is_pack=release.batch or release.episode_end is not None,
        is_final=release.final and is_sure,
        failed=_ended(row),
    )


_ENDS = {
    "failed": "Its download was given up",
    "dropped": "Its download was dropped",
    "retiring": "Its download lost its place",
    "retired": "Its download lost its place",
}


def _ended(row: Row) -> str | None:
    if row.state not in _ENDS:
        return None
    said = row.detail or row.error
    return f"{_ENDS[row.state]}: {said}" if said else f"{_ENDS[row.state]}."

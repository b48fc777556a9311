"""Episodes that are missing between others: which they are, and since when."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from headwater.collect.show import Show
from headwater.collect.slot import Slot

MOST = 100
"""No more are told of one show: a number that is far off is a mistake, not a hole."""


@dataclass(frozen=True, slots=True)
class Gap:
    """`since`: from then on a later episode was there, or on its way."""

    slot: Slot
    since: datetime


def gaps_of(
    show: Show, standing: Iterable[tuple[Sequence[Slot], datetime]], *, from_first: bool
) -> list[Gap]:
    """Whole episodes of the season with a later one beside them, in order; the last ones of very
    many. `standing` are slots and the moment they were filled, or their download was begun.

    `from_first`: also those before all that is there, where the season's length is known and the
    numbers are of that season; else it begins with the first that is there.
    """
    if show.is_film:
        return []
    filled: dict[int, datetime] = {}
    for slots, moment in standing:
        for slot in slots:
            if slot.season == show.season and not slot.number % 1:
                number = int(slot.number)
                filled[number] = min(moment, filled.get(number, moment))
    return _between(show, filled, from_first=from_first)[-MOST:]


def _between(show: Show, filled: dict[int, datetime], *, from_first: bool) -> list[Gap]:
    if not filled:
        return []
    last = max(filled)
    is_counted = show.episodes is not None and last <= show.episodes
    first = 1 if from_first and is_counted else min(filled)
    found, since = list[Gap](), filled[last]
    for number in range(last - 1, first - 1, -1):
        if number in filled:
            since = min(since, filled[number])
        else:
            found.append(Gap(Slot(show.season, Decimal(number)), since))
    return found[::-1]

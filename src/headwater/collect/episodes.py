"""The episodes of a season: which are here, on their way or missing, and why they are missing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal

from headwater.collect.plan import Standing
from headwater.collect.seen import Seen
from headwater.collect.show import Show
from headwater.collect.slot import FILM, Slot

MOST = 500
"""No more are told of one show: the newest. A number that is far off is a mistake, not a hole."""

NEVER_SEEN = "No release of it was seen."


@dataclass(frozen=True, slots=True)
class Episode:
    """`title` is that of the release that has its place, or of one that could: then `release_id`
    is there to take it, and `reason` says why it was not taken."""

    slot: Slot
    state: Literal["here", "coming", "missing"]
    came_out: datetime | None
    title: str | None
    release_id: int | None
    reason: str | None


def episodes_of(
    show: Show, standing: Sequence[Standing], seen: Sequence[Seen], titles: dict[str, str]
) -> list[Episode]:
    """In order. Where the season's length is known it begins with the first episode, else with the
    first that was ever seen; it ends with the last one seen. `titles` are of standing releases."""
    filled = _filled(standing)
    offered = _offered(seen)
    slots = sorted({*filled, *_season(show, {*filled, *offered})})
    return [_episode(slot, filled.get(slot), offered.get(slot, []), titles) for slot in slots][
        -MOST:
    ]


def missing(episodes: Iterable[Episode]) -> list[Episode]:
    return [each for each in episodes if each.state == "missing"]


def _filled(standing: Iterable[Standing]) -> dict[Slot, Standing]:
    """What is in the library counts before what is on its way."""
    found: dict[Slot, Standing] = {}
    for each in standing:
        for slot in each.slots:
            if slot not in found or each.is_complete:
                found[slot] = each
    return found


def _offered(seen: Iterable[Seen]) -> dict[Slot, list[Seen]]:
    found: dict[Slot, list[Seen]] = {}
    for each in seen:
        for slot in each.slots:
            found.setdefault(slot, []).append(each)
    return found


def _season(show: Show, known: Iterable[Slot]) -> list[Slot]:
    """Every whole number of the season, up to the last that is known."""
    if show.is_film:
        return [FILM]
    numbers = [
        int(each.number) for each in known if each.season == show.season and each.number >= 1
    ]
    if not numbers:
        return []
    first = 1 if show.episodes is not None and max(numbers) <= show.episodes else min(numbers)
    last = max(numbers)
    return [Slot(show.season, Decimal(n)) for n in range(max(first, last - MOST), last + 1)]


def _episode(
    slot: Slot, holder: Standing | None, offers: Sequence[Seen], titles: dict[str, str]
) -> Episode:
    came_out = min((each.moment for each in offers if not each.is_pack), default=None)
    if holder is not None:
        state: Literal["here", "coming"] = "here" if holder.is_complete else "coming"
        return Episode(slot, state, came_out, titles.get(holder.id), None, None)
    if not offers:
        return Episode(slot, "missing", None, None, None, NEVER_SEEN)
    best = min(offers, key=_nearest)
    reason = best.failed or best.reason
    return Episode(slot, "missing", came_out, best.title, best.release_id, reason)


_LIKELY = ("hold", "fetch", "upgrade", "skip", "removed", "refused")


def _nearest(each: Seen) -> tuple[int, int]:
    """What only waits for a word comes first; of equals the newest."""
    return _LIKELY.index(each.action), -each.release_id

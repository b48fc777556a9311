"""The episodes of a season: which are here, on their way or missing, and why they are missing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal

from headwater.anime.decide.plan import HeldRelease
from headwater.anime.shows.show import Show
from headwater.anime.shows.slot import FILM, Slot, SlotMatch, match_release_to_show
from headwater.anime.stored_json import decode_candidate, decode_release, decode_slots
from headwater.core.ports import Row


@dataclass(frozen=True, slots=True)
class SeenRelease:
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


def seen_releases(rows: Iterable[Row], show: Show) -> list[SeenRelease]:
    """Those whose place is sure. Pure, and not quick for many: JSON is read here."""
    return [found for row in rows if (found := _seen(row, show)) is not None]


def _seen(row: Row, show: Show) -> SeenRelease | None:
    candidate, release = decode_candidate(row.candidate), decode_release(row.release)
    place = match_release_to_show(release, show)
    decided = decode_slots(row.slots)
    is_sure = isinstance(place, SlotMatch) and place.is_sure
    slots = decided or (place.slots if isinstance(place, SlotMatch) and is_sure else ())
    if not slots:
        return None
    return SeenRelease(
        release_id=row.id,
        title=candidate.title,
        slots=slots,
        moment=candidate.moment,
        action=row.action,
        rule=row.rule,
        reason=row.reason,
        is_pack=release.batch or release.episode_end is not None,
        is_final=release.final and is_sure,
        failed=_why_ended(row),
    )


_WHY_ENDED = {
    "failed": "Its download was given up",
    "dropped": "Its download was dropped",
    "retiring": "Its download lost its place",
    "retired": "Its download lost its place",
}


def _why_ended(row: Row) -> str | None:
    if row.state not in _WHY_ENDED:
        return None
    said = row.detail or row.error
    return f"{_WHY_ENDED[row.state]}: {said}" if said else f"{_WHY_ENDED[row.state]}."


MOST_EPISODES_LISTED = 500
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
    show: Show, standing: Sequence[HeldRelease], seen: Sequence[SeenRelease], titles: dict[str, str]
) -> list[Episode]:
    """In order. Where the season's length is known it begins with the first episode, else with the
    first that was ever seen; it ends with the last one seen. `titles` are of standing releases."""
    filled = _holder_by_slot(standing)
    offered = _seen_by_slot(seen)
    slots = sorted({*filled, *_season(show, {*filled, *offered})})
    return [_episode(slot, filled.get(slot), offered.get(slot, []), titles) for slot in slots][
        -MOST_EPISODES_LISTED:
    ]


def missing_episodes(episodes: Iterable[Episode]) -> list[Episode]:
    return [each for each in episodes if each.state == "missing"]


def _holder_by_slot(standing: Iterable[HeldRelease]) -> dict[Slot, HeldRelease]:
    """What is in the library counts before what is on its way."""
    found: dict[Slot, HeldRelease] = {}
    for each in standing:
        for slot in each.slots:
            if slot not in found or each.is_complete:
                found[slot] = each
    return found


def _seen_by_slot(seen: Iterable[SeenRelease]) -> dict[Slot, list[SeenRelease]]:
    found: dict[Slot, list[SeenRelease]] = {}
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
    return [
        Slot(show.season, Decimal(n))
        for n in range(max(first, last - MOST_EPISODES_LISTED), last + 1)
    ]


def _episode(
    slot: Slot, holder: HeldRelease | None, offers: Sequence[SeenRelease], titles: dict[str, str]
) -> Episode:
    came_out = min((each.moment for each in offers if not each.is_pack), default=None)
    if holder is not None:
        state: Literal["here", "coming"] = "here" if holder.is_complete else "coming"
        return Episode(slot, state, came_out, titles.get(holder.id), None, None)
    if not offers:
        return Episode(slot, "missing", None, None, None, NEVER_SEEN)
    best = min(offers, key=_likelihood_key)
    reason = best.failed or best.reason
    return Episode(slot, "missing", came_out, best.title, best.release_id, reason)


_LIKELY = ("hold", "fetch", "upgrade", "skip", "removed", "refused")


def _likelihood_key(each: SeenRelease) -> tuple[int, int]:
    """What only waits for a word comes first; of equals the newest."""
    return _LIKELY.index(each.action), -each.release_id


MOST_GAPS = 100
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
    return _between(show, filled, from_first=from_first)[-MOST_GAPS:]


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

"""The episodes of a season: here, coming or missing, and the reason why one is missing."""

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
    """`moment` is when it came out. `is_pack`: the moment is not that of its episodes. `failed` is
    the reason when its download was given up or is gone."""

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
    """Releases whose slots are sure. Pure, and slow for many rows: it decodes JSON."""
    return [seen for row in rows if (seen := _seen_release(row, show)) is not None]


def _seen_release(row: Row, show: Show) -> SeenRelease | None:
    candidate, release = decode_candidate(row.candidate), decode_release(row.release)
    match = match_release_to_show(release, show)
    decided = decode_slots(row.slots)
    is_sure = isinstance(match, SlotMatch) and match.is_sure
    slots = decided or (match.slots if isinstance(match, SlotMatch) and is_sure else ())
    if not slots:
        return None
    failed = None
    if row.state in _WHY_ENDED:
        detail = row.detail or row.error
        failed = _WHY_ENDED[row.state] + (f": {detail}" if detail else ".")
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
        failed=failed,
    )


_WHY_ENDED = {
    "failed": "Its download was given up",
    "dropped": "Its download was dropped",
    "retiring": "Its download lost its place",
    "retired": "Its download lost its place",
}


MOST_EPISODES_LISTED = 500
"""Only the newest episodes of a show are listed: a number that is far off is a mistake, not a gap.
"""
NEVER_SEEN = "No release of it was seen."


@dataclass(frozen=True, slots=True)
class Episode:
    """`title` is that of the release that fills the slot, or of one that could: then `release_id`
    serves to take it, and `reason` is why it was not taken."""

    slot: Slot
    state: Literal["here", "coming", "missing"]
    came_out: datetime | None
    title: str | None
    release_id: int | None
    reason: str | None


def episodes_of(
    show: Show, held: Sequence[HeldRelease], seen: Sequence[SeenRelease], titles: dict[str, str]
) -> list[Episode]:
    """The episodes in order. Where the season's length is known it begins with the first episode,
    else with the first that was ever seen; it ends with the last one seen. `titles` are those of
    `held` releases."""
    filled = _held_by_slot(held)
    offered: dict[Slot, list[SeenRelease]] = {}
    for release in seen:
        for slot in release.slots:
            offered.setdefault(slot, []).append(release)
    slots = sorted({*filled, *_slots_of_season(show, {*filled, *offered})})
    return [_episode(slot, filled.get(slot), offered.get(slot, []), titles) for slot in slots][
        -MOST_EPISODES_LISTED:
    ]


def missing_episodes(episodes: Iterable[Episode]) -> list[Episode]:
    return [episode for episode in episodes if episode.state == "missing"]


def _held_by_slot(held: Iterable[HeldRelease]) -> dict[Slot, HeldRelease]:
    """A release in the library counts before one that is being downloaded."""
    by_slot: dict[Slot, HeldRelease] = {}
    for release in held:
        for slot in release.slots:
            if slot not in by_slot or release.is_complete:
                by_slot[slot] = release
    return by_slot


def _slots_of_season(show: Show, known_slots: Iterable[Slot]) -> list[Slot]:
    """Every whole number of the season, up to the last known one."""
    if show.is_film:
        return [FILM]
    numbers = [
        int(slot.number) for slot in known_slots if slot.season == show.season and slot.number >= 1
    ]
    if not numbers:
        return []
    first = 1 if show.episodes is not None and max(numbers) <= show.episodes else min(numbers)
    last = max(numbers)
    return [
        Slot(show.season, Decimal(number))
        for number in range(max(first, last - MOST_EPISODES_LISTED), last + 1)
    ]


def _episode(
    slot: Slot, holder: HeldRelease | None, offers: Sequence[SeenRelease], titles: dict[str, str]
) -> Episode:
    came_out = min((release.moment for release in offers if not release.is_pack), default=None)
    if holder is not None:
        state: Literal["here", "coming"] = "here" if holder.is_complete else "coming"
        return Episode(slot, state, came_out, titles.get(holder.id), None, None)
    if not offers:
        return Episode(slot, "missing", None, None, None, NEVER_SEEN)
    # A release that waits for a person comes first; of equals the newest.
    best = min(offers, key=lambda offer: (_LIKELY.index(offer.action), -offer.release_id))
    reason = best.failed or best.reason
    return Episode(slot, "missing", came_out, best.title, best.release_id, reason)


_LIKELY = ("hold", "fetch", "upgrade", "skip", "removed", "refused")

MOST_GAPS = 100
"""Gaps of one show that are announced: a number that is far off is a mistake, not a gap."""


@dataclass(frozen=True, slots=True)
class Gap:
    """An episode that is missing while a later one is here or coming. `since`: the moment from
    which a later one was."""

    slot: Slot
    since: datetime


def gaps_of(
    show: Show, filled_slots: Iterable[tuple[Sequence[Slot], datetime]], *, from_first: bool
) -> list[Gap]:
    """Missing whole episodes of the season with a later one beside them, in order; of very many
    the last. `filled_slots` are slots and the moment they were filled, or their download was begun.

    `from_first`: also episodes before all that are there, where the season's length is known and
    the numbers are of that season; else the gaps begin after the first episode that is there.
    """
    if show.is_film:
        return []
    filled: dict[int, datetime] = {}
    for slots, moment in filled_slots:
        for slot in slots:
            if slot.season == show.season and not slot.number % 1:
                number = int(slot.number)
                filled[number] = min(moment, filled.get(number, moment))
    return _gaps_between(show, filled, from_first=from_first)[-MOST_GAPS:]


def _gaps_between(show: Show, filled: dict[int, datetime], *, from_first: bool) -> list[Gap]:
    if not filled:
        return []
    last = max(filled)
    is_counted = show.episodes is not None and last <= show.episodes
    first = 1 if from_first and is_counted else min(filled)
    gaps, since = list[Gap](), filled[last]
    for number in range(last - 1, first - 1, -1):
        if number in filled:
            since = min(since, filled[number])
        else:
            gaps.append(Gap(Slot(show.season, Decimal(number)), since))
    return gaps[::-1]

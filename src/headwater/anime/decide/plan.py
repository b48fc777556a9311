"""What is to be fetched and what it will replace, given what is held, on its way and offered."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType

from headwater.anime.candidate import Offer
from headwater.anime.decide.rank_releases import OfferVerdict, decide_upgrade, preference_key
from headwater.anime.release import Release
from headwater.anime.shows.preferences import Preferences, resolution_rank
from headwater.anime.shows.show import Show
from headwater.anime.shows.slot import (
    NotOfShow,
    Slot,
    SlotMatch,
    comparable_names,
    comparable_title,
    match_release_to_show,
)

UNSURE = "unsure"

_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class HeldRelease:
    """A release that has slots already: in the library (`is_complete`), or on its way there.

    `id` is the caller's own; `names` are the entry and the hash it is known by. `is_sure`: when it
    was decided, it was known to be what the slots are for, by its title or by a person's word.
    """

    id: str
    release: Release
    slots: tuple[Slot, ...]
    names: tuple[str, ...] = ()
    is_complete: bool = True
    is_sure: bool = True


@dataclass(frozen=True, slots=True)
class Replacement:
    """Slots that a standing release loses once what replaces it is complete and verified, and
    not before. `is_whole`: none is left to it, so it goes altogether."""

    standing: HeldRelease
    slots: tuple[Slot, ...]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class OfferDecision:
    """What is done with an offer. `slots` are those it would fill, or will; `replaces` is there
    when it is wanted and takes slots from others."""

    offer: Offer
    verdict: OfferVerdict
    slots: tuple[Slot, ...] = ()
    replaces: tuple[Replacement, ...] = ()


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """One decision for every offer, in the order they were given."""

    decisions: tuple[OfferDecision, ...]

    @property
    def fetches(self) -> tuple[OfferDecision, ...]:
        return tuple(each for each in self.decisions if each.verdict.is_wanted)

    @property
    def held_back(self) -> tuple[OfferDecision, ...]:
        """What waits for a word from a person."""
        return tuple(each for each in self.decisions if each.verdict.action == "hold")


@dataclass(slots=True)
class _SlotHolders:
    """Who has which slot, while a plan is made: standing releases, and what was just chosen."""

    preferences: Preferences
    replacements_left: int | None
    taken: dict[Slot, list[HeldRelease]] = field(default_factory=lambda: defaultdict(list))
    chosen: dict[Slot, Offer] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def is_empty(self, slot: Slot) -> bool:
        return not self.taken.get(slot) and slot not in self.chosen


def decide_release_plan(
    show: Show,
    offers: Sequence[Offer],
    standing: Iterable[HeldRelease],
    preferences: Preferences,
    *,
    refused: Mapping[str, str] = _NONE,
    replacements_left: int | None = None,
    elsewhere: Set[str] = frozenset(),
    earlier: Set[str] = frozenset(),
) -> ReleasePlan:
    """One release for each episode: the best that is offered, if it is better than all that have
    its place. What is better but arrives while another is on its way is fetched beside it.

    `refused` are entries and hashes that must not come again, with the reason: failed, replaced,
    or declined by a person. `replacements_left` is how many may be replaced; None is no limit.
    `elsewhere` are names of other shows that are collected, in letters: it is theirs if so called.
    `earlier` are those of earlier seasons from the same feed: theirs is what names no season.
    """
    library = _SlotHolders(preferences, replacements_left)
    for each in standing:
        for slot in each.slots:
            library.taken[slot].append(each)
        for name in each.names:
            library.names[name] = _where_it_is(each)
    placements = [
        _of_earlier_season(offer.release, show, earlier)
        or _match_release(offer.release, show, elsewhere)
        for offer in offers
    ]
    order = sorted(
        range(len(offers)), key=lambda n: _planning_key(offers[n], placements[n], preferences)
    )
    decisions: dict[int, OfferDecision] = {}
    for number in order:
        decisions[number] = _decide_offer(offers[number], placements[number], library, refused)
    return ReleasePlan(tuple(decisions[number] for number in range(len(offers))))


def _match_release(release: Release, show: Show, elsewhere: Set[str]) -> SlotMatch | NotOfShow:
    """A name that is near ours may be another show's; one that is known to be, is."""
    found = match_release_to_show(release, show)
    if not isinstance(found, SlotMatch) or found.is_sure or not show.titles:
        return found
    names = set(comparable_names(release))
    if names & elsewhere and not names & set(map(comparable_title, show.titles)):
        said = f"It is called {release.title!r}, as another show that is collected."
        return NotOfShow("other_show", said)
    return found


def _of_earlier_season(release: Release, show: Show, earlier: Set[str]) -> NotOfShow | None:
    """Two seasons of one name would both take what names no season, and the second would be filled
    with the first. The offset says where the numbers of a later season begin."""
    if release.season is not None or release.absolute is not None:
        return None
    if show.episode_offset and (release.episode or 0) + show.episode_offset >= 1:
        return None
    names = set(comparable_names(release))
    ours = names & set(map(comparable_title, show.titles)) or names
    if not ours or not ours <= earlier:
        return None
    said = "It names no season, and an earlier one of the same name is collected from this feed."
    return NotOfShow("other_season", said)


def _where_it_is(each: HeldRelease) -> str:
    return "It is in the library." if each.is_complete else "It is on its way."


def _planning_key(
    offer: Offer, placement: SlotMatch | NotOfShow, preferences: Preferences
) -> tuple[object, ...]:
    """The best first, so that nothing chosen can be outdone by what comes later in the same plan.

    What is sure comes before what is not. Between equals that come together something must choose,
    though it would be no reason to replace: the resolution, then packs, age and seeders.
    """
    sure = isinstance(placement, SlotMatch) and placement.is_sure
    slots = placement.slots if isinstance(placement, SlotMatch) else ()
    candidate = offer.candidate
    return (
        not sure,
        preference_key(offer.release, preferences),
        resolution_rank(offer.release, preferences),
        -len(slots),
        candidate.moment,
        -(candidate.seeders or 0),
        candidate.uid,
    )


def _decide_offer(
    offer: Offer,
    placement: SlotMatch | NotOfShow,
    library: _SlotHolders,
    refused: Mapping[str, str],
) -> OfferDecision:
    if isinstance(placement, NotOfShow):
        return OfferDecision(offer, OfferVerdict("skip", placement.rule, placement.reason))
    for name in offer.names:
        if name in library.names:
            return _skip(offer, placement.slots, "known", library.names[name])
        if name in refused:
            return _skip(offer, placement.slots, "refused", refused[name])
    if not placement.slots:
        return OfferDecision(
            offer, OfferVerdict("hold", "unsure", placement.doubt or "No slot is known.")
        )
    decision = _decide_for_slots(offer, placement, library)
    if decision.verdict.is_wanted:
        _choose(decision, library)
    return decision


def _skip(offer: Offer, slots: tuple[Slot, ...], rule: str, reason: str) -> OfferDecision:
    return OfferDecision(offer, OfferVerdict("skip", rule, reason), slots)


def _choose(decision: OfferDecision, library: _SlotHolders) -> None:
    for slot in decision.slots:
        library.chosen[slot] = decision.offer
    for name in decision.offer.names:
        library.names[name] = "It is offered twice."
    if decision.replaces and library.replacements_left is not None:
        library.replacements_left -= len(decision.replaces)


def _decide_for_slots(offer: Offer, placement: SlotMatch, library: _SlotHolders) -> OfferDecision:
    """A pack takes slots from others only if it is better for all of them; else it fills gaps."""
    slots = placement.slots
    empty = tuple(slot for slot in slots if library.is_empty(slot))
    if len(empty) == len(slots):
        return OfferDecision(offer, _verdict_for_empty_slot(_missing(empty), placement), slots)
    against = _objection(offer, placement, library)
    if against is None:
        return _upgrade(offer, slots, library)
    if empty and against.action == "skip":
        reason = f"{_missing(empty)} The others stay: {against.reason}"
        return OfferDecision(offer, _verdict_for_empty_slot(reason, placement), empty)
    return OfferDecision(offer, against, slots)


def _verdict_for_empty_slot(reason: str, placement: SlotMatch) -> OfferVerdict:
    """What is not sure fills an empty slot, and makes way for what is."""
    if placement.doubt is None:
        return OfferVerdict("fetch", "missing", reason)
    return OfferVerdict("fetch", UNSURE, f"{reason} But: {placement.doubt}")


def _missing(slots: Sequence[Slot]) -> str:
    if len(slots) == 1:
        return f"Nothing is held for {slots[0]}."
    return f"Nothing is held for {len(slots)} episodes, {slots[0]} to {slots[-1]}."


def _objection(offer: Offer, placement: SlotMatch, library: _SlotHolders) -> OfferVerdict | None:
    """Why it may not take all its slots; None when it is better than everything that has them."""
    for slot in placement.slots:
        if slot in library.chosen:
            return _beside_chosen(offer, slot, library)
        for each in library.taken.get(slot, ()):
            if each.release.kind is not offer.release.kind and slot.season == 0:
                return _other_special(offer, each, slot)
            if placement.is_sure and not each.is_sure:
                continue
            verdict = decide_upgrade(each.release, offer.release, library.preferences)
            if not verdict.is_wanted:
                return verdict
    doubt = placement.doubt or next(iter(offer.candidate.doubts), None)
    if doubt is not None:
        return OfferVerdict("hold", "unsure", f"It would be better, but: {doubt}")
    return None


def _beside_chosen(offer: Offer, slot: Slot, library: _SlotHolders) -> OfferVerdict:
    chosen = library.chosen[slot]
    verdict = decide_upgrade(chosen.release, offer.release, library.preferences)
    why = verdict.reason.replace("What is held is better", "That one is better", 1)
    return OfferVerdict("skip", "not_the_best", f"{chosen.title!r} is taken for {slot}. {why}")


def _other_special(offer: Offer, each: HeldRelease, slot: Slot) -> OfferVerdict:
    held, new = each.release.kind or "no kind", offer.release.kind or "no kind"
    return OfferVerdict("hold", "unsure", f"What is held as {slot} is {held}, and this is {new}.")


def _upgrade(offer: Offer, slots: tuple[Slot, ...], library: _SlotHolders) -> OfferDecision:
    losers: dict[str, tuple[HeldRelease, list[Slot]]] = {}
    for slot in slots:
        for each in library.taken.get(slot, ()):
            losers.setdefault(each.id, (each, []))[1].append(slot)
    replaces = tuple(_replacement(each, lost) for each, lost in losers.values())
    left = library.replacements_left
    if left is not None and len(replaces) > left:
        return OfferDecision(
            offer, OfferVerdict("hold", "limit", "Enough was replaced for now."), slots
        )
    return OfferDecision(offer, _why_better(offer, replaces[0].standing, library), slots, replaces)


def _why_better(offer: Offer, held: HeldRelease, library: _SlotHolders) -> OfferVerdict:
    verdict = decide_upgrade(held.release, offer.release, library.preferences)
    if verdict.is_wanted:
        return verdict
    return OfferVerdict("upgrade", "sure", "What is held may be something else, and this is not.")


def _replacement(standing: HeldRelease, lost: Sequence[Slot]) -> Replacement:
    return Replacement(standing, tuple(lost), set(standing.slots) <= set(lost))


def superseded_releases(
    standing: Sequence[HeldRelease], preferences: Preferences
) -> tuple[Replacement, ...]:
    """Who has lost slots to a release that is complete, and may be retired from them now.

    The same answer whenever it is asked, so that it can be asked again after a crash. In each slot
    one complete release stays: the best, and among equals the first given. What is on its way
    loses a slot when it would not be better than the one that is there.
    """
    losses: dict[str, list[Slot]] = defaultdict(list)
    for slot in sorted({slot for each in standing for slot in each.slots}):
        there = [each for each in standing if slot in each.slots]
        winner = _winner([each for each in there if each.is_complete], preferences)
        if winner is None:
            continue
        for each in there:
            if each is not winner and not _may_still_win(each, winner, preferences):
                losses[each.id].append(slot)
    return tuple(_replacement(each, losses[each.id]) for each in standing if each.id in losses)


def _winner(complete: Sequence[HeldRelease], preferences: Preferences) -> HeldRelease | None:
    winner: HeldRelease | None = None
    for each in complete:
        if winner is None or _is_better(winner, each, preferences):
            winner = each
    return winner


def _may_still_win(each: HeldRelease, winner: HeldRelease, preferences: Preferences) -> bool:
    if each.is_complete:
        return False
    return _is_better(winner, each, preferences)


def _is_better(held: HeldRelease, new: HeldRelease, preferences: Preferences) -> bool:
    """What is sure comes before what is not, whoever released it."""
    if held.is_sure != new.is_sure:
        return new.is_sure
    return decide_upgrade(held.release, new.release, preferences).is_wanted

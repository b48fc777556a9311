"""Plan which offers are fetched and which releases they replace."""

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

    `id` is the caller's own; `names` are the entry and the hash that identify it. `is_sure`: when
    it was decided, its title or a person said for certain that it is the one for these slots.
    """

    id: str
    release: Release
    slots: tuple[Slot, ...]
    names: tuple[str, ...] = ()
    is_complete: bool = True
    is_sure: bool = True


@dataclass(frozen=True, slots=True)
class Replacement:
    """Slots that a standing release loses once the new one is complete and verified, and not
    before. `is_whole`: no slot is left to it, so it is removed altogether."""

    standing: HeldRelease
    slots: tuple[Slot, ...]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class OfferDecision:
    """A decision on one offer. `slots` are those it fills, or would fill. `replaces` is there when
    it is wanted and takes slots from others."""

    offer: Offer
    verdict: OfferVerdict
    slots: tuple[Slot, ...] = ()
    replaces: tuple[Replacement, ...] = ()


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """One decision for every offer, in the order of the offers."""

    decisions: tuple[OfferDecision, ...]

    @property
    def fetches(self) -> tuple[OfferDecision, ...]:
        return tuple(each for each in self.decisions if each.verdict.is_wanted)

    @property
    def held_back(self) -> tuple[OfferDecision, ...]:
        """Decisions that wait for a person."""
        return tuple(each for each in self.decisions if each.verdict.action == "hold")


@dataclass(slots=True)
class _SlotHolders:
    """The holders of each slot while a plan is made: standing releases, and offers chosen so far.

    `names` are entries and hashes that cannot be chosen any more, each with the reason.
    """

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
    """Choose one release for each episode: the best offer, if it is better than all that have the
    slot. A better one that arrives while another is on its way is fetched beside it.

    `refused` are entries and hashes that must not come again, with the reason: failed, replaced,
    or declined by a person. `replacements_left` is how many may be replaced; None is no limit.
    `elsewhere` are comparable names of other shows that are collected: a release of such a name is
    theirs. `earlier` are names of earlier seasons that are collected from the same feed: a release
    that names no season is theirs.
    """
    holders = _SlotHolders(preferences, replacements_left)
    for held in standing:
        for slot in held.slots:
            holders.taken[slot].append(held)
        for name in held.names:
            holders.names[name] = (
                "It is in the library." if held.is_complete else "It is on its way."
            )
    matches = [
        _of_earlier_season(offer.release, show, earlier)
        or _match_release(offer.release, show, elsewhere)
        for offer in offers
    ]
    order = sorted(
        range(len(offers)), key=lambda n: _planning_key(offers[n], matches[n], preferences)
    )
    decisions: dict[int, OfferDecision] = {}
    for number in order:
        decisions[number] = _decide_offer(offers[number], matches[number], holders, refused)
    return ReleasePlan(tuple(decisions[number] for number in range(len(offers))))


def _match_release(release: Release, show: Show, elsewhere: Set[str]) -> SlotMatch | NotOfShow:
    """Match a release to the slots of the show. A name that is only similar to ours may be another
    show's; if it is known to be the name of one, the release is that show's."""
    match = match_release_to_show(release, show)
    if not isinstance(match, SlotMatch) or match.is_sure or not show.titles:
        return match
    names = set(comparable_names(release))
    if names & elsewhere and not names & set(map(comparable_title, show.titles)):
        reason = f"It is called {release.title!r}, as another show that is collected."
        return NotOfShow("other_show", reason)
    return match


def _of_earlier_season(release: Release, show: Show, earlier: Set[str]) -> NotOfShow | None:
    """Two seasons of one name would both take a release that names no season, and the second would
    be filled with episodes of the first. The offset says where the numbers of a later season
    begin."""
    if release.season is not None or release.absolute is not None:
        return None
    if show.episode_offset and (release.episode or 0) + show.episode_offset >= 1:
        return None
    names = set(comparable_names(release))
    ours = names & set(map(comparable_title, show.titles)) or names
    if not ours or not ours <= earlier:
        return None
    reason = "It names no season, and an earlier one of the same name is collected from this feed."
    return NotOfShow("other_season", reason)


def _planning_key(
    offer: Offer, match: SlotMatch | NotOfShow, preferences: Preferences
) -> tuple[object, ...]:
    """A sort key that puts the best first, so that no later offer of the same plan is better than
    one that was chosen.

    Sure matches come before unsure ones. Between equals something must choose, though it would be
    no reason to replace a release: the resolution, then packs, age and seeders.
    """
    is_sure = isinstance(match, SlotMatch) and match.is_sure
    slots = match.slots if isinstance(match, SlotMatch) else ()
    candidate = offer.candidate
    return (
        not is_sure,
        preference_key(offer.release, preferences),
        resolution_rank(offer.release, preferences),
        -len(slots),
        candidate.moment,
        -(candidate.seeders or 0),
        candidate.uid,
    )


def _decide_offer(
    offer: Offer,
    match: SlotMatch | NotOfShow,
    holders: _SlotHolders,
    refused: Mapping[str, str],
) -> OfferDecision:
    if isinstance(match, NotOfShow):
        return OfferDecision(offer, OfferVerdict("skip", match.rule, match.reason))
    for name in offer.names:
        if name in holders.names:
            return _skip(offer, match.slots, "known", holders.names[name])
        if name in refused:
            return _skip(offer, match.slots, "refused", refused[name])
    if not match.slots:
        return OfferDecision(
            offer, OfferVerdict("hold", "unsure", match.doubt or "No slot is known.")
        )
    decision = _decide_for_slots(offer, match, holders)
    if decision.verdict.is_wanted:
        _note_chosen(decision, holders)
    return decision


def _skip(offer: Offer, slots: tuple[Slot, ...], rule: str, reason: str) -> OfferDecision:
    return OfferDecision(offer, OfferVerdict("skip", rule, reason), slots)


def _note_chosen(decision: OfferDecision, holders: _SlotHolders) -> None:
    for slot in decision.slots:
        holders.chosen[slot] = decision.offer
    for name in decision.offer.names:
        holders.names[name] = "It is offered twice."
    if decision.replaces and holders.replacements_left is not None:
        holders.replacements_left -= len(decision.replaces)


def _decide_for_slots(offer: Offer, match: SlotMatch, holders: _SlotHolders) -> OfferDecision:
    """A pack takes slots from others only if it is better for all of them; else it fills gaps."""
    slots = match.slots
    empty = tuple(slot for slot in slots if holders.is_empty(slot))
    if len(empty) == len(slots):
        return OfferDecision(offer, _verdict_for_empty_slot(_missing_in_words(empty), match), slots)
    objection = _find_objection(offer, match, holders)
    if objection is None:
        return _decide_replacement(offer, slots, holders)
    if empty and objection.action == "skip":
        reason = f"{_missing_in_words(empty)} The others stay: {objection.reason}"
        return OfferDecision(offer, _verdict_for_empty_slot(reason, match), empty)
    return OfferDecision(offer, objection, slots)


def _verdict_for_empty_slot(reason: str, match: SlotMatch) -> OfferVerdict:
    """An unsure match may fill an empty slot; a sure one replaces it later."""
    if match.doubt is None:
        return OfferVerdict("fetch", "missing", reason)
    return OfferVerdict("fetch", UNSURE, f"{reason} But: {match.doubt}")


def _missing_in_words(slots: Sequence[Slot]) -> str:
    if len(slots) == 1:
        return f"Nothing is held for {slots[0]}."
    return f"Nothing is held for {len(slots)} episodes, {slots[0]} to {slots[-1]}."


def _find_objection(offer: Offer, match: SlotMatch, holders: _SlotHolders) -> OfferVerdict | None:
    """The reason why an offer may not take all its slots; None when it is better than all
    holders."""
    for slot in match.slots:
        if slot in holders.chosen:
            return _beside_chosen(offer, slot, holders)
        for held in holders.taken.get(slot, ()):
            if held.release.kind is not offer.release.kind and slot.season == 0:
                return _other_special(offer, held, slot)
            if match.is_sure and not held.is_sure:
                continue
            verdict = decide_upgrade(held.release, offer.release, holders.preferences)
            if not verdict.is_wanted:
                return verdict
    doubt = match.doubt or next(iter(offer.candidate.doubts), None)
    if doubt is not None:
        return OfferVerdict("hold", "unsure", f"It would be better, but: {doubt}")
    return None


def _beside_chosen(offer: Offer, slot: Slot, holders: _SlotHolders) -> OfferVerdict:
    chosen = holders.chosen[slot]
    verdict = decide_upgrade(chosen.release, offer.release, holders.preferences)
    why = verdict.reason.replace("What is held is better", "That one is better", 1)
    return OfferVerdict("skip", "not_the_best", f"{chosen.title!r} is taken for {slot}. {why}")


def _other_special(offer: Offer, held: HeldRelease, slot: Slot) -> OfferVerdict:
    old, new = held.release.kind or "no kind", offer.release.kind or "no kind"
    return OfferVerdict("hold", "unsure", f"What is held as {slot} is {old}, and this is {new}.")


def _decide_replacement(
    offer: Offer, slots: tuple[Slot, ...], holders: _SlotHolders
) -> OfferDecision:
    losers: dict[str, tuple[HeldRelease, list[Slot]]] = {}
    for slot in slots:
        for held in holders.taken.get(slot, ()):
            losers.setdefault(held.id, (held, []))[1].append(slot)
    replaces = tuple(_replacement(held, lost) for held, lost in losers.values())
    left = holders.replacements_left
    if left is not None and len(replaces) > left:
        return OfferDecision(
            offer, OfferVerdict("hold", "limit", "Enough was replaced for now."), slots
        )
    return OfferDecision(offer, _why_better(offer, replaces[0].standing, holders), slots, replaces)


def _why_better(offer: Offer, held: HeldRelease, holders: _SlotHolders) -> OfferVerdict:
    verdict = decide_upgrade(held.release, offer.release, holders.preferences)
    if verdict.is_wanted:
        return verdict
    return OfferVerdict("upgrade", "sure", "What is held may be something else, and this is not.")


def _replacement(standing: HeldRelease, lost: Sequence[Slot]) -> Replacement:
    return Replacement(standing, tuple(lost), set(standing.slots) <= set(lost))


def superseded_releases(
    standing: Sequence[HeldRelease], preferences: Preferences
) -> tuple[Replacement, ...]:
    """Releases that have lost slots to a complete one, and may be retired from them now.

    The answer is the same whenever it is asked, so that it can be asked again after a crash. In
    each slot one complete release stays: the best, and among equals the first of `standing`. A
    release on its way loses a slot when it would not be better than the one that is there.
    """
    losses: dict[str, list[Slot]] = defaultdict(list)
    for slot in sorted({slot for each in standing for slot in each.slots}):
        rivals = [each for each in standing if slot in each.slots]
        winner = _find_winner([each for each in rivals if each.is_complete], preferences)
        if winner is None:
            continue
        for held in rivals:
            may_win = not held.is_complete and _is_better(winner, held, preferences)
            if held is not winner and not may_win:
                losses[held.id].append(slot)
    return tuple(_replacement(each, losses[each.id]) for each in standing if each.id in losses)


def _find_winner(complete: Sequence[HeldRelease], preferences: Preferences) -> HeldRelease | None:
    winner: HeldRelease | None = None
    for held in complete:
        if winner is None or _is_better(winner, held, preferences):
            winner = held
    return winner


def _is_better(held: HeldRelease, new: HeldRelease, preferences: Preferences) -> bool:
    """A sure match is better than an unsure one, whoever released it."""
    if held.is_sure != new.is_sure:
        return new.is_sure
    return decide_upgrade(held.release, new.release, preferences).is_wanted

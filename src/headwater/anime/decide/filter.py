"""Which offers a tracking looks at: patterns, packs and novelty, each removal with its reason."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime

from headwater.anime.candidate import Offer
from headwater.anime.user_patterns import Pattern, compile_patterns
from headwater.core.values.instant import rfc3339


@dataclass(frozen=True, slots=True)
class PatternLists:
    """`exclude` removes what any of them matches; `include`, where there is one, what none does."""

    include: tuple[Pattern, ...] = ()
    exclude: tuple[Pattern, ...] = ()


def compile_pattern_lists(
    include: Iterable[str], exclude: Iterable[str], whose: str
) -> PatternLists:
    """`whose` are they: for messages, such as `the settings` or `the tracking`."""
    return PatternLists(
        compile_patterns(include, f"the include list of {whose}"),
        compile_patterns(exclude, f"the exclude list of {whose}"),
    )


@dataclass(frozen=True, slots=True)
class Novelty:
    """What is new: not `decided` before, and newer than the watermark `since`.

    Identities decide. The watermark marks where a tracking begins that does not want what came out
    before it; None lets everything in.
    """

    since: datetime | None = None
    decided: Set[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FilterRules:
    """`everywhere` are the patterns of all trackings, `here` those of this one. `packs` come in
    only when a tracking asks for them."""

    everywhere: PatternLists = field(default=PatternLists())
    here: PatternLists = field(default=PatternLists())
    packs: bool = False
    novelty: Novelty = field(default=Novelty())


@dataclass(frozen=True, slots=True)
class RemovedOffer:
    """An offer that a rule took out: the rule's name, and why, for people."""

    offer: Offer
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class FilterResult:
    """All that was offered: what is `kept`, what was `removed`, and `counts` by rule."""

    kept: tuple[Offer, ...]
    removed: tuple[RemovedOffer, ...]
    counts: Mapping[str, int]


def filter_offers(offers: Iterable[Offer], rules: FilterRules) -> FilterResult:
    """Nothing is lost: each offer is kept, or removed by the first rule that speaks against it."""
    kept: list[Offer] = []
    removed: list[RemovedOffer] = []
    for offer in offers:
        found = _removed_by(offer, rules)
        if found is None:
            kept.append(offer)
        else:
            removed.append(found)
    counts = Counter(each.rule for each in removed)
    return FilterResult(tuple(kept), tuple(removed), {rule: counts[rule] for rule in RULE_NAMES})


def _removed_by(offer: Offer, rules: FilterRules) -> RemovedOffer | None:
    for rule, speaks_against in _CHECKS.items():
        reason = speaks_against(offer, rules)
        if reason is not None:
            return RemovedOffer(offer, rule, reason)
    return None


def _excluded_everywhere(offer: Offer, rules: FilterRules) -> str | None:
    return _excluded(offer, rules.everywhere)


def _excluded_here(offer: Offer, rules: FilterRules) -> str | None:
    return _excluded(offer, rules.here)


def _excluded(offer: Offer, patterns: PatternLists) -> str | None:
    for pattern in patterns.exclude:
        piece = pattern.found_in(offer.title)
        if piece is not None:
            return f"{pattern.text!r} matches {piece[:80]!r}."
    return None


def _not_included_everywhere(offer: Offer, rules: FilterRules) -> str | None:
    return _not_included(offer, rules.everywhere)


def _not_included_here(offer: Offer, rules: FilterRules) -> str | None:
    return _not_included(offer, rules.here)


def _not_included(offer: Offer, patterns: PatternLists) -> str | None:
    wanted = patterns.include
    if not wanted or any(pattern.found_in(offer.title) is not None for pattern in wanted):
        return None
    if len(wanted) == 1:
        return f"{wanted[0].text!r} does not match."
    return f"None of {len(wanted)} patterns matches."


def _unwanted_pack(offer: Offer, rules: FilterRules) -> str | None:
    """By what the title says, not by its shape: a date, a size or `Season 2 - 18` is no pack."""
    if rules.packs or not offer.release.batch:
        return None
    return "It is a pack, and this tracking takes single episodes."


def _decided_before(offer: Offer, rules: FilterRules) -> str | None:
    if offer.candidate.uid not in rules.novelty.decided:
        return None
    return "It was looked at before."


def _before_watermark(offer: Offer, rules: FilterRules) -> str | None:
    since = rules.novelty.since
    if since is None or offer.candidate.moment > since:
        return None
    return f"It came out on {rfc3339(offer.candidate.moment)}, not after {rfc3339(since)}."


def _not_fetchable(offer: Offer, rules: FilterRules) -> str | None:
    if offer.candidate.can_be_fetched:
        return None
    return "It has neither a torrent nor a magnet link."


_CHECKS: Mapping[str, Callable[[Offer, FilterRules], str | None]] = {
    "excluded_everywhere": _excluded_everywhere,
    "not_included_everywhere": _not_included_everywhere,
    "excluded_here": _excluded_here,
    "not_included_here": _not_included_here,
    "pack": _unwanted_pack,
    "decided_before": _decided_before,
    "before_watermark": _before_watermark,
    "nothing_to_fetch": _not_fetchable,
}

RULE_NAMES = tuple(_CHECKS)
"""Names of the rules, in the order in which they are asked."""

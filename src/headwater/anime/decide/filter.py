"""Filter offers by patterns, packs and novelty. Each removal has its reason."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime

from headwater.anime.candidate import Offer
from headwater.anime.user_patterns import Pattern, compile_patterns
from headwater.core.values.instant import rfc3339


@dataclass(frozen=True, slots=True)
class PatternLists:
    """An offer is removed if any `exclude` pattern matches it, or if no `include` pattern does
    where there are some."""

    include: tuple[Pattern, ...] = ()
    exclude: tuple[Pattern, ...] = ()


def compile_pattern_lists(
    include: Iterable[str], exclude: Iterable[str], whose: str
) -> PatternLists:
    """`whose` names the owner of the lists in messages, such as `the settings` or `the
    tracking`."""
    return PatternLists(
        compile_patterns(include, f"the include list of {whose}"),
        compile_patterns(exclude, f"the exclude list of {whose}"),
    )


@dataclass(frozen=True, slots=True)
class Novelty:
    """An offer is new if it is not `decided` yet and is newer than the watermark `since`.

    Identities decide. The watermark is where a tracking begins that does not want earlier releases;
    None lets everything in.
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
    """An offer that a rule removed, with the rule's name and the reason for people."""

    offer: Offer
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class FilterResult:
    """Every offer is either `kept` or `removed`; `counts` are removals by rule."""

    kept: tuple[Offer, ...]
    removed: tuple[RemovedOffer, ...]
    counts: Mapping[str, int]


def filter_offers(offers: Iterable[Offer], rules: FilterRules) -> FilterResult:
    """Nothing is lost: each offer is kept, or removed by the first rule that objects to it."""
    kept: list[Offer] = []
    removed: list[RemovedOffer] = []
    for offer in offers:
        removal = _find_removal(offer, rules)
        if removal is None:
            kept.append(offer)
        else:
            removed.append(removal)
    counts = Counter(each.rule for each in removed)
    return FilterResult(tuple(kept), tuple(removed), {rule: counts[rule] for rule in RULE_NAMES})


def _find_removal(offer: Offer, rules: FilterRules) -> RemovedOffer | None:
    for rule, find_objection in _RULES.items():
        reason = find_objection(offer, rules)
        if reason is not None:
            return RemovedOffer(offer, rule, reason)
    return None


def _excluded(offer: Offer, patterns: PatternLists) -> str | None:
    for pattern in patterns.exclude:
        piece = pattern.found_in(offer.title)
        if piece is not None:
            return f"{pattern.text!r} matches {piece[:80]!r}."
    return None


def _not_included(offer: Offer, patterns: PatternLists) -> str | None:
    include = patterns.include
    if not include or any(pattern.found_in(offer.title) is not None for pattern in include):
        return None
    if len(include) == 1:
        return f"{include[0].text!r} does not match."
    return f"None of {len(include)} patterns matches."


def _unwanted_pack(offer: Offer, rules: FilterRules) -> str | None:
    """The title must say that it is a pack: a date, a size or `Season 2 - 18` is none."""
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


_RULES: Mapping[str, Callable[[Offer, FilterRules], str | None]] = {
    "excluded_everywhere": lambda offer, rules: _excluded(offer, rules.everywhere),
    "not_included_everywhere": lambda offer, rules: _not_included(offer, rules.everywhere),
    "excluded_here": lambda offer, rules: _excluded(offer, rules.here),
    "not_included_here": lambda offer, rules: _not_included(offer, rules.here),
    "pack": _unwanted_pack,
    "decided_before": _decided_before,
    "before_watermark": _before_watermark,
    "nothing_to_fetch": _not_fetchable,
}

RULE_NAMES = tuple(_RULES)
"""Names of the rules, in the order in which they are applied."""

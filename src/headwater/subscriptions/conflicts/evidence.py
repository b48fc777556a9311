"""Evidence for a conflict: which fetcher does better on a host, by the visits so far."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import sqrt
from typing import Literal

from headwater.core.ports import View
from headwater.core.values.ids import FetcherId
from headwater.core.values.instant import to_micros
from headwater.statistics.days import day_of
from headwater.statistics.fetcher_counts import FetcherCounts
from headwater.statistics.statistics_rows import list_fetcher_counts
from headwater.subscriptions.conflicts.conflict import Conflict
from headwater.subscriptions.subscription_rows import get_host

CLEAR, STRONG = 1.96, 3.2905
"""Widths of confidence intervals in standard deviations: those of 95 % and of 99.9 %."""

STRONG_LEAD = 0.05
"""A lead in success rate below this is no reason to decide for a person, however certain."""

Confidence = Literal["strong", "clear", "slight"]
"""`strong`: success rates apart at 99.9 %, by five points at least. `clear`: apart at 95 %.
`slight`: alike in success, but new entries were seen sooner (apart at 95 %)."""
Doubt = Literal["too_few_candidates", "too_few_visits", "no_difference"]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The fetcher that does better, how sure that is, and the figures it rests on."""

    fetcher_id: FetcherId
    confidence: Confidence
    why: str
    host: str
    days: int
    min_visits: int
    tallies: tuple[FetcherCounts, ...]

    @property
    def is_strong(self) -> bool:
        """Strong enough to be carried out without a person, where an operator allows that."""
        return self.confidence == "strong"


@dataclass(frozen=True, slots=True)
class NoSuggestion:
    """No suggestion, and why not."""

    doubt: Doubt
    why: str
    host: str
    days: int
    min_visits: int
    tallies: tuple[FetcherCounts, ...]


@dataclass(frozen=True, slots=True)
class EvidencePolicy:
    """How much evidence is needed, and whether strong evidence decides without a person."""

    min_visits: int = 20
    days: int = 30
    auto_resolve: bool = False


@dataclass(frozen=True, slots=True)
class EvidenceTerms:
    """The terms of a comparison: the host, the days that count, and how many visits each one
    needs."""

    host: str
    days: int
    min_visits: int


def suggest_fetcher(
    terms: EvidenceTerms, tallies: Sequence[FetcherCounts]
) -> Suggestion | NoSuggestion:
    """Compare success first. Only between fetchers alike in success does it count who is sooner."""
    shown = tuple(sorted(tallies, key=lambda tally: tally.fetcher_id))
    if len(shown) < 2:
        return _no_suggestion(terms, "too_few_candidates", "Fewer than two candidates work.", shown)
    untried = [tally for tally in shown if tally.judged < terms.min_visits]
    if untried:
        return _no_suggestion(terms, "too_few_visits", _too_few(terms, untried), shown)
    best = max(shown, key=_by_success)
    if _leads(best, shown, CLEAR):
        strong = _leads(best, shown, STRONG) and _lead_of(best, shown) >= STRONG_LEAD
        confidence: Confidence = "strong" if strong else "clear"
        return _suggestion(terms, best, confidence, _successes_in_words(terms, shown), shown)
    alike = [tally for tally in shown if _reaches(tally, best)]
    sooner = _soonest(alike, terms.min_visits)
    if sooner is not None:
        why = f"{_successes_in_words(terms, shown)} {_lateness_in_words(alike)}"
        return _suggestion(terms, sooner, "slight", why, shown)
    why = f"{_successes_in_words(terms, shown)} That is no difference to go by."
    return _no_suggestion(terms, "no_difference", why, shown)


def wilson(successes: int, visits: int, z: float) -> tuple[float, float]:
    """Wilson's score interval for the true rate: right for few visits and near 0 and 1 too."""
    if visits <= 0:
        return 0.0, 1.0
    rate, squared = successes / visits, z * z
    widened = 1 + squared / visits
    middle = (rate + squared / (2 * visits)) / widened
    half = z * sqrt(rate * (1 - rate) / visits + squared / (4 * visits * visits)) / widened
    return max(0.0, middle - half), min(1.0, middle + half)


def mean_delay_interval(tally: FetcherCounts, z: float) -> tuple[float, float]:
    """The confidence interval of the mean delay, by the spread of the delays seen."""
    count = tally.dated_entries
    if count < 2:
        return 0.0, float("inf")
    mean = tally.late_sec / count
    variance = max(0.0, (tally.late_squares - count * mean * mean) / (count - 1))
    half = z * sqrt(variance / count)
    return max(0.0, mean - half), mean + half


def _by_success(tally: FetcherCounts) -> tuple[float, int, int]:
    """The highest rate; of equals the one with more visits, then the oldest."""
    return (tally.success_rate or 0.0, tally.judged, -tally.fetcher_id)


def _leads(best: FetcherCounts, tallies: Sequence[FetcherCounts], z: float) -> bool:
    low, _ = wilson(best.successes, best.judged, z)
    return all(low > wilson(t.successes, t.judged, z)[1] for t in tallies if t is not best)


def _lead_of(best: FetcherCounts, tallies: Sequence[FetcherCounts]) -> float:
    others = [tally.success_rate or 0.0 for tally in tallies if tally is not best]
    return (best.success_rate or 0.0) - max(others)


def _reaches(tally: FetcherCounts, best: FetcherCounts) -> bool:
    """True when it may be as good as the best: their intervals overlap."""
    return (
        wilson(tally.successes, tally.judged, CLEAR)[1]
        >= (wilson(best.successes, best.judged, CLEAR)[0])
    )


def _soonest(alike: Sequence[FetcherCounts], min_entries: int) -> FetcherCounts | None:
    if any(tally.dated_entries < min_entries for tally in alike):
        return None
    best = min(alike, key=lambda tally: (tally.mean_late_sec or 0.0, tally.fetcher_id))
    _, latest = mean_delay_interval(best, CLEAR)
    apart = all(
        latest < mean_delay_interval(other, CLEAR)[0] for other in alike if other is not best
    )
    return best if apart else None


def _suggestion(
    terms: EvidenceTerms,
    best: FetcherCounts,
    confidence: Confidence,
    why: str,
    shown: tuple[FetcherCounts, ...],
) -> Suggestion:
    return Suggestion(
        best.fetcher_id,
        confidence,
        why,
        terms.host,
        terms.days,
        terms.min_visits,
        shown,
    )


def _no_suggestion(
    terms: EvidenceTerms, doubt: Doubt, why: str, shown: tuple[FetcherCounts, ...]
) -> NoSuggestion:
    return NoSuggestion(doubt, why, terms.host, terms.days, terms.min_visits, shown)


def _too_few(terms: EvidenceTerms, untried: Sequence[FetcherCounts]) -> str:
    counts = ", ".join(f"{tally.name} has {tally.judged}" for tally in untried)
    return (
        f"Each candidate needs {terms.min_visits} visits to {terms.host} in the last"
        f" {terms.days} days that say something about it; {counts}."
    )


def _successes_in_words(terms: EvidenceTerms, shown: Sequence[FetcherCounts]) -> str:
    best_first = sorted(shown, key=_by_success, reverse=True)
    counts = ", ".join(f"{t.name} succeeded in {t.successes} of {t.judged}" for t in best_first)
    return f"Visits to {terms.host} in the last {terms.days} days: {counts}."


def _lateness_in_words(alike: Sequence[FetcherCounts]) -> str:
    soonest_first = sorted(alike, key=lambda tally: tally.mean_late_sec or 0.0)
    means = ", ".join(
        f"{t.name} {round(t.mean_late_sec or 0.0)} s (mean of {t.dated_entries})"
        for t in soonest_first
    )
    return f"How long after their publication new entries were seen: {means}."


async def suggestion_for(
    view: View, conflict: Conflict, policy: EvidencePolicy, now: datetime
) -> Suggestion | NoSuggestion:
    """Compare the candidates by their visits to the host of this subscription."""
    host = await get_host(view, conflict.subscription_id)
    first_day = day_of(to_micros(now)) - policy.days + 1
    counts = await list_fetcher_counts(view, host, conflict.candidates, first_day)
    return suggest_fetcher(EvidenceTerms(host, policy.days, policy.min_visits), counts)

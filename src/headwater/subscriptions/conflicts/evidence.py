"""What the visits of several fetchers to one host say about who does it better, if anything."""

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
"""How wide intervals are, in standard deviations: those of 95 % and of 99.9 %."""

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
    """How much is asked of evidence, and whether strong evidence decides without a person."""

    min_visits: int = 20
    days: int = 30
    auto_resolve: bool = False


@dataclass(frozen=True, slots=True)
class EvidenceTerms:
    """Which of these fetchers for this host, judged by so many days, with so many visits each."""

    host: str
    days: int
    min_visits: int


def suggest_fetcher(
    question: EvidenceTerms, tallies: Sequence[FetcherCounts]
) -> Suggestion | NoSuggestion:
    """Success first. Only between fetchers alike in success does it count who is sooner."""
    shown = tuple(sorted(tallies, key=lambda tally: tally.fetcher_id))
    if len(shown) < 2:
        return _no_suggestion(
            question, "too_few_candidates", "Fewer than two candidates work.", shown
        )
    untried = [tally for tally in shown if tally.judged < question.min_visits]
    if untried:
        return _no_suggestion(question, "too_few_visits", _too_few(question, untried), shown)
    best = max(shown, key=_by_success)
    if _leads(best, shown, CLEAR):
        strong = _leads(best, shown, STRONG) and _lead_of(best, shown) >= STRONG_LEAD
        confidence: Confidence = "strong" if strong else "clear"
        return _suggestion(question, best, confidence, _successes_in_words(question, shown), shown)
    alike = [tally for tally in shown if _reaches(tally, best)]
    sooner = _soonest(alike, question.min_visits)
    if sooner is not None:
        why = f"{_successes_in_words(question, shown)} {_lateness_in_words(alike)}"
        return _suggestion(question, sooner, "slight", why, shown)
    why = f"{_successes_in_words(question, shown)} That is no difference to go by."
    return _no_suggestion(question, "no_difference", why, shown)


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
    """Where the true mean lateness is, by the spread of what was seen."""
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


def _leads(best: FetcherCounts, all_of_them: Sequence[FetcherCounts], z: float) -> bool:
    low, _ = wilson(best.successes, best.judged, z)
    return all(low > wilson(t.successes, t.judged, z)[1] for t in all_of_them if t is not best)


def _lead_of(best: FetcherCounts, all_of_them: Sequence[FetcherCounts]) -> float:
    others = [tally.success_rate or 0.0 for tally in all_of_them if tally is not best]
    return (best.success_rate or 0.0) - max(others)


def _reaches(tally: FetcherCounts, best: FetcherCounts) -> bool:
    """It may be as good as the best: their intervals meet."""
    return (
        wilson(tally.successes, tally.judged, CLEAR)[1]
        >= (wilson(best.successes, best.judged, CLEAR)[0])
    )


def _soonest(alike: Sequence[FetcherCounts], least: int) -> FetcherCounts | None:
    if any(tally.dated_entries < least for tally in alike):
        return None
    best = min(alike, key=lambda tally: (tally.mean_late_sec or 0.0, tally.fetcher_id))
    _, latest = mean_delay_interval(best, CLEAR)
    apart = all(
        latest < mean_delay_interval(other, CLEAR)[0] for other in alike if other is not best
    )
    return best if apart else None


def _suggestion(
    question: EvidenceTerms,
    best: FetcherCounts,
    confidence: Confidence,
    why: str,
    shown: tuple[FetcherCounts, ...],
) -> Suggestion:
    return Suggestion(
        best.fetcher_id,
        confidence,
        why,
        question.host,
        question.days,
        question.min_visits,
        shown,
    )


def _no_suggestion(
    question: EvidenceTerms, doubt: Doubt, why: str, shown: tuple[FetcherCounts, ...]
) -> NoSuggestion:
    return NoSuggestion(doubt, why, question.host, question.days, question.min_visits, shown)


def _too_few(question: EvidenceTerms, untried: Sequence[FetcherCounts]) -> str:
    counts = ", ".join(f"{tally.name} has {tally.judged}" for tally in untried)
    return (
        f"Each candidate needs {question.min_visits} visits to {question.host} in the last"
        f" {question.days} days that say something about it; {counts}."
    )


def _successes_in_words(question: EvidenceTerms, shown: Sequence[FetcherCounts]) -> str:
    best_first = sorted(shown, key=_by_success, reverse=True)
    counts = ", ".join(f"{t.name} succeeded in {t.successes} of {t.judged}" for t in best_first)
    return f"Visits to {question.host} in the last {question.days} days: {counts}."


def _lateness_in_words(alike: Sequence[FetcherCounts]) -> str:
    soonest_first = sorted(alike, key=lambda tally: tally.mean_late_sec or 0.0)
    means = ", ".join(
        f"{t.name} {round(t.mean_late_sec or 0.0)} s (mean of {t.dated_entries})"
        for t in soonest_first
    )
    return f"How long after their publication new entries were seen: {means}."


async def suggestion_for(
    view: View, conflict: Conflict, learning: EvidencePolicy, now: datetime
) -> Suggestion | NoSuggestion:
    """What the candidates' visits to the host of this subscription say."""
    host = await get_host(view, conflict.subscription_id)
    first_day = day_of(to_micros(now)) - learning.days + 1
    counts = await list_fetcher_counts(view, host, conflict.candidates, first_day)
    return suggest_fetcher(EvidenceTerms(host, learning.days, learning.min_visits), counts)

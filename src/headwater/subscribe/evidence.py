"""What the visits of several fetchers to one host say about who does it better, if anything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Literal

from headwater.subscribe.fetcher import FetcherId

SAYS_NOTHING = frozenset({"http_404", "http_410", "internal_error", "parser_unavailable"})
"""Failures that are the source's own or ours: whoever had asked would have met them."""

CLEAR, STRONG = 1.96, 3.2905
"""How wide intervals are, in standard deviations: those of 95 % and of 99.9 %."""

STRONG_LEAD = 0.05
"""A lead in success rate below this is no reason to decide for a person, however certain."""

Confidence = Literal["strong", "clear", "slight"]
"""`strong`: success rates apart at 99.9 %, by five points at least. `clear`: apart at 95 %.
`slight`: alike in success, but new entries were seen sooner (apart at 95 %)."""

Doubt = Literal["too_few_candidates", "too_few_visits", "no_difference"]


@dataclass(frozen=True, slots=True)
class Tally:
    """One fetcher's visits to one host.

    `errors` counts failed visits by their code. `dated_entries` are new entries published between
    two successful visits: how late each was seen is known, and `late_sec` is the sum of that,
    `late_squares` the sum of its squares.
    """

    fetcher_id: FetcherId
    name: str
    visits: int = 0
    successes: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)
    new_entries: int = 0
    dated_entries: int = 0
    late_sec: float = 0.0
    late_squares: float = 0.0

    @property
    def failures(self) -> int:
        return self.visits - self.successes

    @property
    def judged(self) -> int:
        """The visits that say something about the fetcher."""
        return self.visits - sum(self.errors.get(code, 0) for code in SAYS_NOTHING)

    @property
    def success_rate(self) -> float | None:
        return self.successes / self.judged if self.judged else None

    @property
    def mean_late_sec(self) -> float | None:
        return self.late_sec / self.dated_entries if self.dated_entries else None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The fetcher that does better, how sure that is, and the figures it rests on."""

    fetcher_id: FetcherId
    confidence: Confidence
    why: str
    host: str
    days: int
    min_visits: int
    tallies: tuple[Tally, ...]

    @property
    def is_strong(self) -> bool:
        """Strong enough to be carried out without a person, where an operator allows that."""
        return self.confidence == "strong"


@dataclass(frozen=True, slots=True)
class Abstains:
    """No suggestion, and why not."""

    doubt: Doubt
    why: str
    host: str
    days: int
    min_visits: int
    tallies: tuple[Tally, ...]


@dataclass(frozen=True, slots=True)
class Learning:
    """How much is asked of evidence, and whether strong evidence decides without a person."""

    min_visits: int = 20
    days: int = 30
    auto_resolve: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """Which of these fetchers for this host, judged by so many days, with so many visits each."""

    host: str
    days: int
    min_visits: int


def advice(question: Question, tallies: Sequence[Tally]) -> Suggestion | Abstains:
    """Success first. Only between fetchers alike in success does it count who is sooner."""
    shown = tuple(sorted(tallies, key=lambda tally: tally.fetcher_id))
    if len(shown) < 2:
        return _abstains(question, "too_few_candidates", "Fewer than two candidates work.", shown)
    untried = [tally for tally in shown if tally.judged < question.min_visits]
    if untried:
        return _abstains(question, "too_few_visits", _too_few(question, untried), shown)
    best = max(shown, key=_by_success)
    if _leads(best, shown, CLEAR):
        strong = _leads(best, shown, STRONG) and _lead_of(best, shown) >= STRONG_LEAD
        confidence: Confidence = "strong" if strong else "clear"
        return _suggests(question, best, confidence, _successes_in_words(question, shown), shown)
    alike = [tally for tally in shown if _reaches(tally, best)]
    sooner = _soonest(alike, question.min_visits)
    if sooner is not None:
        why = f"{_successes_in_words(question, shown)} {_lateness_in_words(alike)}"
        return _suggests(question, sooner, "slight", why, shown)
    why = f"{_successes_in_words(question, shown)} That is no difference to go by."
    return _abstains(question, "no_difference", why, shown)


def wilson(successes: int, visits: int, z: float) -> tuple[float, float]:
    """Wilson's score interval for the true rate: right for few visits and near 0 and 1 too."""
    if visits <= 0:
        return 0.0, 1.0
    rate, squared = successes / visits, z * z
    widened = 1 + squared / visits
    middle = (rate + squared / (2 * visits)) / widened
    half = z * sqrt(rate * (1 - rate) / visits + squared / (4 * visits * visits)) / widened
    return max(0.0, middle - half), min(1.0, middle + half)


def lateness(tally: Tally, z: float) -> tuple[float, float]:
    """Where the true mean lateness is, by the spread of what was seen."""
    count = tally.dated_entries
    if count < 2:
        return 0.0, float("inf")
    mean = tally.late_sec / count
    variance = max(0.0, (tally.late_squares - count * mean * mean) / (count - 1))
    half = z * sqrt(variance / count)
    return max(0.0, mean - half), mean + half


def _by_success(tally: Tally) -> tuple[float, int, int]:
    """The highest rate; of equals the one with more visits, then the oldest."""
    return (tally.success_rate or 0.0, tally.judged, -tally.fetcher_id)


def _leads(best: Tally, all_of_them: Sequence[Tally], z: float) -> bool:
    low, _ = wilson(best.successes, best.judged, z)
    return all(low > wilson(t.successes, t.judged, z)[1] for t in all_of_them if t is not best)


def _lead_of(best: Tally, all_of_them: Sequence[Tally]) -> float:
    others = [tally.success_rate or 0.0 for tally in all_of_them if tally is not best]
    return (best.success_rate or 0.0) - max(others)


def _reaches(tally: Tally, best: Tally) -> bool:
    """It may be as good as the best: their intervals meet."""
    return (
        wilson(tally.successes, tally.judged, CLEAR)[1]
        >= (wilson(best.successes, best.judged, CLEAR)[0])
    )


def _soonest(alike: Sequence[Tally], least: int) -> Tally | None:
    if any(tally.dated_entries < least for tally in alike):
        return None
    best = min(alike, key=lambda tally: (tally.mean_late_sec or 0.0, tally.fetcher_id))
    _, latest = lateness(best, CLEAR)
    apart = all(latest < lateness(other, CLEAR)[0] for other in alike if other is not best)
    return best if apart else None


def _suggests(
    question: Question, best: Tally, confidence: Confidence, why: str, shown: tuple[Tally, ...]
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


def _abstains(question: Question, doubt: Doubt, why: str, shown: tuple[Tally, ...]) -> Abstains:
    return Abstains(doubt, why, question.host, question.days, question.min_visits, shown)


def _too_few(question: Question, untried: Sequence[Tally]) -> str:
    counts = ", ".join(f"{tally.name} has {tally.judged}" for tally in untried)
    return (
        f"Each candidate needs {question.min_visits} visits to {question.host} in the last"
        f" {question.days} days that say something about it; {counts}."
    )


def _successes_in_words(question: Question, shown: Sequence[Tally]) -> str:
    best_first = sorted(shown, key=_by_success, reverse=True)
    counts = ", ".join(f"{t.name} succeeded in {t.successes} of {t.judged}" for t in best_first)
    return f"Visits to {question.host} in the last {question.days} days: {counts}."


def _lateness_in_words(alike: Sequence[Tally]) -> str:
    soonest_first = sorted(alike, key=lambda tally: tally.mean_late_sec or 0.0)
    means = ", ".join(
        f"{t.name} {round(t.mean_late_sec or 0.0)} s (mean of {t.dated_entries})"
        for t in soonest_first
    )
    return f"How long after their publication new entries were seen: {means}."

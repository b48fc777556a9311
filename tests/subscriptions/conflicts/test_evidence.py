"""Who does better, by the figures: named with them, or not named at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.values.ids import FetcherId
from headwater.statistics.fetcher_counts import FetcherCounts
from headwater.subscriptions.conflicts.evidence import (
    EvidenceTerms,
    NoSuggestion,
    Suggestion,
    mean_delay_interval,
    suggest_fetcher,
    wilson,
)

ASKED = EvidenceTerms(host="example.org", days=90, min_visits=20)


def tally(number: int, name: str, successes: int, visits: int, **more: object) -> FetcherCounts:
    return FetcherCounts(FetcherId(number), name, visits, successes, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("successes", "visits", "low", "high"),
    [
        # Published examples of the method.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1.0),
        (0, 0, 0.0, 1.0),
    ],
)
def test_the_interval_is_wilsons(successes: int, visits: int, low: float, high: float) -> None:
    assert list(wilson(successes, visits, 1.96)) == pytest.approx([low, high], abs=5e-5)


def test_the_better_fetcher_is_named_with_its_counts() -> None:
    fast = tally(7, "fast", 98, 100, errors={"timeout": 2})
    flaky = tally(8, "flaky", 60, 100, errors={"timeout": 30, "http_502": 10})
    told = suggest_fetcher(ASKED, [flaky, fast])
    assert isinstance(told, Suggestion)
    assert (told.fetcher_id, told.confidence, told.is_strong) == (7, "strong", True)
    assert told.tallies == (fast, flaky)
    assert told.why == (
        "Visits to example.org in the last 90 days:"
        " fast succeeded in 98 of 100, flaky succeeded in 60 of 100."
    )


def test_a_difference_that_is_only_likely_is_clear_and_not_strong() -> None:
    """90 of 100 is 82.6–94.5 % at 95 %, 75 of 100 is 65.7–82.5 %: apart, but only just."""
    told = suggest_fetcher(ASKED, [tally(7, "a", 90, 100), tally(8, "b", 75, 100)])
    assert isinstance(told, Suggestion)
    assert (told.fetcher_id, told.confidence, told.is_strong) == (7, "clear", False)


def test_a_certain_but_small_lead_is_not_strong() -> None:
    told = suggest_fetcher(ASKED, [tally(7, "a", 98_000, 100_000), tally(8, "b", 99_000, 100_000)])
    assert isinstance(told, Suggestion)
    assert (told.fetcher_id, told.confidence) == (8, "clear")


def test_the_best_must_lead_all_others() -> None:
    told = suggest_fetcher(
        ASKED, [tally(7, "a", 95, 100), tally(8, "b", 93, 100), tally(9, "c", 5, 100)]
    )
    assert isinstance(told, NoSuggestion)
    assert told.doubt == "no_difference"


def test_below_the_number_of_visits_nobody_is_named() -> None:
    told = suggest_fetcher(
        ASKED, [tally(7, "a", 500, 500), tally(8, "b", 0, 19, errors={"timeout": 19})]
    )
    assert isinstance(told, NoSuggestion)
    assert told.doubt == "too_few_visits"
    assert told.why == (
        "Each candidate needs 20 visits to example.org in the last 90 days"
        " that say something about it; b has 19."
    )


def test_at_the_number_of_visits_somebody_is() -> None:
    told = suggest_fetcher(
        ASKED, [tally(7, "a", 500, 500), tally(8, "b", 0, 20, errors={"timeout": 20})]
    )
    assert isinstance(told, Suggestion)
    assert (told.fetcher_id, told.confidence) == (7, "strong")


def test_a_fetcher_that_never_visited_is_not_judged_by_that() -> None:
    told = suggest_fetcher(ASKED, [tally(7, "a", 500, 500), tally(8, "b", 0, 0)])
    assert isinstance(told, NoSuggestion)
    assert told.doubt == "too_few_visits"


def test_equal_evidence_names_nobody() -> None:
    told = suggest_fetcher(ASKED, [tally(7, "a", 95, 100), tally(8, "b", 95, 100)])
    assert isinstance(told, NoSuggestion)
    assert told.doubt == "no_difference"
    assert told.why == (
        "Visits to example.org in the last 90 days: a succeeded in 95 of 100,"
        " b succeeded in 95 of 100. That is no difference to go by."
    )


def test_one_candidate_is_no_choice() -> None:
    told = suggest_fetcher(ASKED, [tally(7, "a", 100, 100)])
    assert isinstance(told, NoSuggestion)
    assert told.doubt == "too_few_candidates"


def test_what_is_not_the_fetchers_fault_is_not_held_against_it() -> None:
    """Fifty visits to a page that is gone: 20 of 20 is left, against 20 of 25."""
    lucky = tally(7, "lucky", 20, 25, errors={"timeout": 5})
    unlucky = tally(8, "unlucky", 20, 70, errors={"http_404": 40, "http_410": 10})
    assert (unlucky.judged, unlucky.success_rate, unlucky.failures) == (20, 1.0, 50)
    told = suggest_fetcher(ASKED, [lucky, unlucky])
    assert isinstance(told, NoSuggestion)
    assert told.doubt == "no_difference"


def seen(number: int, name: str, *lates: float, times: int, successes: int = 50) -> FetcherCounts:
    """Fifty visits; the latenesses come `times` times each."""
    return tally(
        number,
        name,
        successes,
        50,
        dated_entries=len(lates) * times,
        late_sec=sum(lates) * times,
        late_squares=sum(late * late for late in lates) * times,
    )


def test_between_equals_the_sooner_one_is_named() -> None:
    told = suggest_fetcher(
        ASKED, [seen(7, "a", 300, 900, times=15), seen(8, "b", 30, 90, times=15)]
    )
    assert isinstance(told, Suggestion)
    assert (told.fetcher_id, told.confidence, told.is_strong) == (8, "slight", False)
    assert told.why == (
        "Visits to example.org in the last 90 days: a succeeded in 50 of 50,"
        " b succeeded in 50 of 50. How long after their publication new entries were seen:"
        " b 60 s (mean of 30), a 600 s (mean of 30)."
    )


def test_lateness_is_known_as_well_as_its_spread_allows() -> None:
    """Thirty times 30 s or 90 s: a mean of 60, a deviation of 30.51, a half width of 10.92."""
    between = mean_delay_interval(seen(7, "a", 30, 90, times=15), 1.96)
    assert list(between) == pytest.approx([49.08, 70.92], abs=0.01)


def test_a_little_sooner_is_no_difference() -> None:
    told = suggest_fetcher(
        ASKED, [seen(7, "a", 300, 900, times=15), seen(8, "b", 290, 890, times=15)]
    )
    assert isinstance(told, NoSuggestion)
    assert told.doubt == "no_difference"


def test_few_dated_entries_say_nothing() -> None:
    told = suggest_fetcher(ASKED, [seen(7, "a", 300, 900, times=15), seen(8, "b", 3, 9, times=9)])
    assert isinstance(told, NoSuggestion)
    assert told.doubt == "no_difference"


def test_being_soon_does_not_make_up_for_failing() -> None:
    """Among the two that are alike the sooner one; the third, which fails, is not among them."""
    told = suggest_fetcher(
        ASKED,
        [
            seen(7, "a", 300, 900, times=15),
            seen(8, "b", 30, 90, times=15),
            seen(9, "c", 1, 2, times=15, successes=10),
        ],
    )
    assert isinstance(told, Suggestion)
    assert (told.fetcher_id, told.confidence) == (8, "slight")


COUNTS = st.integers(0, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(COUNTS, st.floats(0.5, 5))
def test_the_interval_holds_the_rate_and_stays_a_rate(counts: tuple[int, int], z: float) -> None:
    successes, visits = counts
    low, high = wilson(successes, visits, z)
    assert 0 <= low <= high <= 1
    assert visits == 0 or low - 1e-12 <= successes / visits <= high + 1e-12


@given(st.lists(COUNTS, min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_the_candidates_does_not_matter(
    counts: list[tuple[int, int]], luck: object
) -> None:
    tallies = [tally(n, f"f{n}", *each) for n, each in enumerate(counts, 1)]
    turned = list(tallies)
    luck.shuffle(turned)  # type: ignore[attr-defined]
    assert suggest_fetcher(ASKED, tallies) == suggest_fetcher(ASKED, turned)


@given(st.lists(COUNTS, min_size=2, max_size=5))
def test_whoever_is_suggested_has_the_highest_rate(counts: list[tuple[int, int]]) -> None:
    tallies = [tally(n, f"f{n}", *each) for n, each in enumerate(counts, 1)]
    told = suggest_fetcher(ASKED, tallies)
    if isinstance(told, Suggestion):
        assert all(each.judged >= 20 for each in tallies)
        chosen = next(each for each in tallies if each.fetcher_id == told.fetcher_id)
        assert all((chosen.success_rate or 0) >= (each.success_rate or 0) for each in tallies)

"""The rhythm of posts, whatever dates publishers write."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.feeds.schedule.rhythm import adapt_interval, gap_or_silence, newest_times, usual_gap

NOW = 1_772_445_600.0


def test_the_newest_gap_weighs_most() -> None:
    """Gaps 100, 200, 400: 100 → 0.3 × 200 + 0.7 × 100 = 130 → 0.3 × 400 + 0.7 × 130 = 211."""
    assert usual_gap([0, 100, 300, 700], alpha=0.3) == 211.0


def test_one_post_has_no_rhythm() -> None:
    assert usual_gap([5], alpha=0.3) is None
    assert usual_gap([], alpha=0.3) is None


def test_posts_of_the_same_second_are_one_moment() -> None:
    assert newest_times((), [NOW, NOW, NOW + 0.4 - 0.4, NOW - 60], NOW) == (
        1_772_445_540,
        1_772_445_600,
    )


def test_posts_from_the_future_and_absurd_dates_are_left_out() -> None:
    strange = [NOW + 1, 1e300, float("nan"), float("inf"), float("-inf"), -5.0, NOW - 1]
    assert newest_times((), strange, NOW) == (1_772_445_599,)


def test_only_the_last_twenty_moments_are_kept_whatever_their_order() -> None:
    backwards = [float(second) for second in range(1_000_001_000, 1_000_000_000, -1)]
    assert newest_times((1_000_002_000, 1_000_002_001), backwards, NOW) == (
        *range(1_000_000_983, 1_000_001_001),
        1_000_002_000,
        1_000_002_001,
    )


def test_a_date_from_before_there_were_feeds_is_no_publication() -> None:
    """1970 is what a clock says that nobody set: it would make fifty years of every rhythm."""
    assert newest_times((0,), [1.0, NOW - 60, NOW], NOW) == (1_772_445_540, 1_772_445_600)


def test_without_a_rhythm_the_interval_is_only_clamped() -> None:
    policy = SchedulePolicy()
    assert adapt_interval(10.0, None, policy) == 300.0
    assert adapt_interval(1e9, float("nan"), policy) == 86_400.0


def test_a_monthly_blog_is_drawn_to_the_longest_interval() -> None:
    assert adapt_interval(1_000.0, 30 * 86_400.0, SchedulePolicy()) == (86_400 + 1_000) / 2


@given(st.lists(st.integers(0, 10**11), max_size=30))
def test_the_usual_gap_lies_between_the_smallest_and_the_largest(moments: list[int]) -> None:
    kept = newest_times((), moments, 1e12)
    gap = usual_gap(kept, alpha=0.3)
    gaps = [later - earlier for earlier, later in pairwise(kept)]
    if gap is None:
        assert len(kept) < 2
    else:
        assert min(gaps) * 0.999999 <= gap <= max(gaps) * 1.000001


def test_a_silence_longer_than_two_gaps_counts_as_the_gap() -> None:
    moments = (1_000, 1_300)
    assert gap_or_silence(300.0, moments, now=1_900.0) == 300.0
    assert gap_or_silence(300.0, moments, now=1_901.0) == 601.0
    assert gap_or_silence(None, moments, now=10**9) is None
    assert gap_or_silence(300.0, (), now=10**9) == 300.0

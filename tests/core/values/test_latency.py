"""Buckets of time: where a fetch falls, and what can be said about all of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.values.latency import BOUNDS_MS, LONGER, bucket_of, quantile_ms, slower_than

MILLISECONDS = st.floats(0, 60_000, allow_nan=False)


@pytest.mark.parametrize(
    ("took", "bucket"),
    [(0.0, 5), (5.0, 5), (5.01, 10), (4_999.9, 5_000), (5_000.0, 5_000), (5_000.1, 7_500)],
)
def test_a_bound_is_inside_its_bucket(took: float, bucket: int) -> None:
    assert bucket_of(took) == bucket


def test_what_is_longer_than_all_bounds_has_a_bucket_too() -> None:
    assert bucket_of(30_000.0) == 30_000
    assert bucket_of(30_000.1) == LONGER


def test_five_seconds_is_a_bound_so_the_promise_can_be_checked() -> None:
    assert 5_000 in BOUNDS_MS
    assert list(BOUNDS_MS) == sorted(set(BOUNDS_MS))


def test_a_quantile_is_found_inside_its_bucket() -> None:
    assert quantile_ms({100: 100}, 0.5) == 75.0
    assert quantile_ms({5: 98, 1_000: 2}, 0.99) == 875.0
    assert quantile_ms({5: 1, 5_000: 99}, 0.99) == pytest.approx(4_989.9, abs=0.1)


def test_nothing_has_no_quantile() -> None:
    assert quantile_ms({}, 0.99) is None
    assert quantile_ms({100: 0}, 0.99) is None


def test_beyond_the_last_bound_only_that_bound_is_known() -> None:
    assert quantile_ms({5: 1, LONGER: 99}, 0.99) == 30_000.0


def test_only_what_is_longer_for_certain_is_called_slower() -> None:
    counts = {4_000: 10, 5_000: 5, 7_500: 3, LONGER: 2}
    assert slower_than(counts, 5_000) == 5
    assert slower_than(counts, 4_500) == 5
    assert slower_than(counts, 4_000) == 10
    assert slower_than({}, 1) == 0


@given(st.lists(MILLISECONDS, min_size=1, max_size=200))
def test_the_estimate_is_in_the_same_bucket_as_the_real_value(times: list[float]) -> None:
    counts: dict[int, int] = {}
    for took in times:
        counts[bucket_of(took)] = counts.get(bucket_of(took), 0) + 1
    found = quantile_ms(counts, 0.99)
    real = sorted(times)[-(len(times) // 100) - 1]
    assert found is not None
    if bucket_of(real) == LONGER:
        assert found == 30_000.0
    else:
        assert bucket_of(found - 1e-6) == bucket_of(real)


@given(st.dictionaries(st.sampled_from([*BOUNDS_MS, LONGER]), st.integers(1, 50), min_size=1))
def test_keeping_the_promise_and_the_share_of_slow_ones_agree(counts: dict[int, int]) -> None:
    """Five seconds is a bound: the estimate is within it exactly when 99 of 100 are."""
    found = quantile_ms(counts, 0.99)
    assert found is not None
    slow = slower_than(counts, 5_000)
    assert (found <= 5_000) == (slow <= sum(counts.values()) * (1 - 0.99) + 1e-9)

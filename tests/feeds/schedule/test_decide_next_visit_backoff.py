"""Pauses after failures."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.feeds.schedule.decide_next_visit import pause_after, rest_asked_for
from headwater.feeds.schedule.policy import SchedulePolicy


@pytest.mark.parametrize(
    ("failures", "pause"), [(1, 1_800.0), (2, 3_600.0), (9, 3_600.0), (10, 86_400.0)]
)
def test_the_nth_failure_in_a_row_pauses(failures: int, pause: float) -> None:
    assert pause_after(failures, 900.0, SchedulePolicy()) == pause


def test_an_open_circuit_is_not_shorter_than_the_backoff_before_it() -> None:
    hasty = SchedulePolicy(max_interval=600.0)
    assert [pause_after(n, 300.0, hasty) for n in (9, 10)] == [3_600.0, 3_600.0]


def test_a_great_number_of_failures_stays_a_number() -> None:
    patient = SchedulePolicy(error_budget=1_000_000, backoff_base=100.0)
    assert pause_after(999_999, 900.0, patient) == 3_600.0


@given(
    st.integers(1, 3_000),
    st.floats(300, 86_400),
    st.builds(SchedulePolicy, max_interval=st.floats(300, 86_400), backoff_base=st.floats(1, 10)),
)
def test_one_more_failure_never_shortens_the_pause(
    failures: int, interval: float, policy: SchedulePolicy
) -> None:
    earlier, later = (pause_after(n, interval, policy) for n in (failures, failures + 1))
    assert interval <= earlier <= later


def test_a_rest_is_never_below_the_shortest_interval_even_when_the_cap_is() -> None:
    assert rest_asked_for(500.0, SchedulePolicy(min_interval=300.0, retry_after_cap=100.0)) == 300.0


def test_a_rest_that_is_no_number_is_the_shortest_interval() -> None:
    assert rest_asked_for(math.nan, SchedulePolicy()) == 300.0
    assert rest_asked_for(math.inf, SchedulePolicy()) == 86_400.0

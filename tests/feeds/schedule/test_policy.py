"""The numbers behind every schedule."""

from typing import Any

import pytest

from headwater.core.errors import BadInput
from headwater.feeds.schedule.policy import SchedulePolicy


def test_the_first_defaults_are_these_for_ever() -> None:
    """Stored decisions name them by number; a change needs a new number."""
    assert SchedulePolicy.from_json({"defaults": 1}) == SchedulePolicy(
        min_interval=300,
        max_interval=86_400,
        up_factor=1.25,
        down_factor=0.75,
        ewma_alpha=0.3,
        blend_lambda=0.5,
        jitter_ratio=0.15,
        backoff_base=2.0,
        backoff_cap=3_600,
        initial_interval=900,
        error_budget=10,
        retry_after_cap=86_400,
        quiet_limit_days=7,
    )


@pytest.mark.parametrize(
    "numbers",
    [
        {"min_interval": 0},
        {"min_interval": float("nan")},
        {"max_interval": float("inf")},
        {"min_interval": 600, "max_interval": 500},
        {"jitter_ratio": 1},
        {"up_factor": 0.5},
        {"error_budget": 0},
        {"quiet_limit_days": 8},
    ],
)
def test_numbers_that_no_schedule_could_keep_are_refused(numbers: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        SchedulePolicy(**numbers)


def test_clamps_that_contradict_are_told_by_the_names_that_people_write() -> None:
    with pytest.raises(BadInput) as told:
        SchedulePolicy(min_interval=9_999_999)
    said = "min_interval_sec (9999999) is above max_interval_sec (86400)."
    assert (told.value.message, told.value.facts) == (said, {"field": "min_interval_sec"})


def test_one_clamp_of_a_feed_pulls_the_other_along() -> None:
    slow = SchedulePolicy().overridden(min_interval=200_000)
    fast = SchedulePolicy().overridden(max_interval=60)
    assert (slow.min_interval, slow.max_interval) == (200_000, 200_000)
    assert (fast.min_interval, fast.max_interval) == (60, 60)
    assert SchedulePolicy().overridden() == SchedulePolicy()


def test_only_what_differs_is_stored() -> None:
    policy = SchedulePolicy(min_interval=60)
    assert policy.as_json == {"defaults": 1, "min_interval": 60}
    assert SchedulePolicy.from_json(policy.as_json) == policy

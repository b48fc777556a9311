"""What a group says for its members, and what they say for themselves."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import ConflictError
from headwater.subscriptions.groups.group import (
    DEFAULT_FETCH_SETTINGS,
    NO_GROUP_VALUES,
    FetchSettings,
    Group,
    GroupValues,
    check_not_full,
    settings_after_change,
)
from tests.support.clock import START

HOURLY = GroupValues(fetch_interval_minutes=60, priority=80, categories=("news",), config='{"a":1}')
AS_HOURLY = FetchSettings(3_600.0, 80, ("news",), '{"a":1}')

shared = st.builds(
    GroupValues,
    st.none() | st.integers(1, 3),
    st.none() | st.integers(48, 52),
    st.none() | st.sampled_from([(), ("a",), ("b",)]),
    st.none() | st.sampled_from(["{}", '{"a":1}']),
)


def test_a_member_without_values_of_its_own_takes_the_groups() -> None:
    assert settings_after_change(DEFAULT_FETCH_SETTINGS, NO_GROUP_VALUES, HOURLY) == AS_HOURLY


def test_a_members_own_values_stay() -> None:
    own = FetchSettings(1_800.0, 10, ("mine",), '{"b":2}')
    assert settings_after_change(own, NO_GROUP_VALUES, HOURLY) == own


def test_each_value_is_looked_at_alone() -> None:
    mixed = FetchSettings(None, 10, (), None)
    assert settings_after_change(mixed, NO_GROUP_VALUES, HOURLY) == replace(AS_HOURLY, priority=10)


def test_what_came_from_the_group_changes_with_the_group() -> None:
    daily = GroupValues(fetch_interval_minutes=1_440, priority=20)
    assert settings_after_change(AS_HOURLY, HOURLY, daily) == FetchSettings(86_400.0, 20, (), None)


def test_whoever_leaves_is_as_before() -> None:
    assert settings_after_change(AS_HOURLY, HOURLY, NO_GROUP_VALUES) == DEFAULT_FETCH_SETTINGS


def test_a_cadence_that_is_no_whole_minute_is_somebodys_own() -> None:
    odd = FetchSettings(interval_sec=90.0)
    assert (
        settings_after_change(odd, HOURLY, GroupValues(fetch_interval_minutes=5)).interval_sec
        == 90.0
    )


@given(held=shared, before=shared, after=shared)
def test_hearing_it_twice_is_hearing_it_once(
    held: GroupValues, before: GroupValues, after: GroupValues
) -> None:
    """A crash may come between the telling and the note that it was told."""
    ways = settings_after_change(DEFAULT_FETCH_SETTINGS, NO_GROUP_VALUES, held)
    once = settings_after_change(ways, before, after)
    assert settings_after_change(once, before, after) == once


@given(said=shared)
def test_what_is_said_comes_back_from_json(said: GroupValues) -> None:
    assert GroupValues.from_json(said.as_json()) == said


def test_a_full_group_takes_nobody_more() -> None:
    full = Group(1, "g", None, NO_GROUP_VALUES, None, False, 3, START, START)
    check_not_full(full, joining=0, most=3)
    with pytest.raises(ConflictError, match="at most 3"):
        check_not_full(full, most=3)

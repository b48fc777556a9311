"""What a group says for its members, and what they say for themselves."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import Conflict
from headwater.subscribe.group import (
    NOTHING_SHARED,
    USUAL_WAYS,
    Group,
    Shared,
    Ways,
    following,
    refuse_full,
)
from tests.clock import START

HOURLY = Shared(fetch_interval_minutes=60, priority=80, categories=("news",), config='{"a":1}')
AS_HOURLY = Ways(3_600.0, 80, ("news",), '{"a":1}')

shared = st.builds(
    Shared,
    st.none() | st.integers(1, 3),
    st.none() | st.integers(48, 52),
    st.none() | st.sampled_from([(), ("a",), ("b",)]),
    st.none() | st.sampled_from(["{}", '{"a":1}']),
)


def test_a_member_without_values_of_its_own_takes_the_groups() -> None:
    assert following(USUAL_WAYS, NOTHING_SHARED, HOURLY) == AS_HOURLY


def test_a_members_own_values_stay() -> None:
    own = Ways(1_800.0, 10, ("mine",), '{"b":2}')
    assert following(own, NOTHING_SHARED, HOURLY) == own


def test_each_value_is_looked_at_alone() -> None:
    mixed = Ways(None, 10, (), None)
    assert following(mixed, NOTHING_SHARED, HOURLY) == replace(AS_HOURLY, priority=10)


def test_what_came_from_the_group_changes_with_the_group() -> None:
    daily = Shared(fetch_interval_minutes=1_440, priority=20)
    assert following(AS_HOURLY, HOURLY, daily) == Ways(86_400.0, 20, (), None)


def test_whoever_leaves_is_as_before() -> None:
    assert following(AS_HOURLY, HOURLY, NOTHING_SHARED) == USUAL_WAYS


def test_a_cadence_that_is_no_whole_minute_is_somebodys_own() -> None:
    odd = Ways(interval_sec=90.0)
    assert following(odd, HOURLY, Shared(fetch_interval_minutes=5)).interval_sec == 90.0


@given(held=shared, before=shared, after=shared)
def test_hearing_it_twice_is_hearing_it_once(held: Shared, before: Shared, after: Shared) -> None:
    """A crash may come between the telling and the note that it was told."""
    ways = following(USUAL_WAYS, NOTHING_SHARED, held)
    once = following(ways, before, after)
    assert following(once, before, after) == once


@given(said=shared)
def test_what_is_said_comes_back_from_json(said: Shared) -> None:
    assert Shared.from_json(said.as_json()) == said


def test_a_full_group_takes_nobody_more() -> None:
    full = Group(1, "g", None, NOTHING_SHARED, None, False, 3, START, START)
    refuse_full(full, joining=0, most=3)
    with pytest.raises(Conflict, match="at most 3"):
        refuse_full(full, most=3)

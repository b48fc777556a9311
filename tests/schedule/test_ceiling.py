"""A feed that somebody waits for: no adaptive interval is longer than its ceiling."""

from datetime import UTC, datetime
from typing import Any

import pytest

from headwater.schedule.decision import decide, replay
from headwater.schedule.hints import Hints
from headwater.schedule.policy import Policy
from headwater.schedule.state import (
    NotModified,
    ReadDocument,
    SaidGone,
    State,
    ToldToWait,
    Trouble,
    Visited,
)

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
HALF_AN_HOUR = 1_800.0
USUAL = Policy()


def wait(visited: Visited, luck: float = 0.0, policy: Policy = USUAL, **said: Any) -> float:
    said = {"interval": 40_000.0, "ceiling": HALF_AN_HOUR} | said
    decision = decide(State(**said), visited, policy, NOW, luck)
    assert decision.next is not None
    assert replay(decision.inputs) == decision
    return (decision.next - NOW).total_seconds()


@pytest.mark.parametrize("visited", [NotModified(), ReadDocument(0), ReadDocument(3)])
def test_after_a_success_it_is_visited_within_its_ceiling(visited: Visited) -> None:
    assert wait(visited) == HALF_AN_HOUR
    assert wait(visited, ceiling=None) > 20_000


@pytest.mark.parametrize("luck", [-1.0, 1.0])
def test_luck_never_leads_beyond_it(luck: float) -> None:
    assert 0 < HALF_AN_HOUR - wait(NotModified(), luck) <= 0.15 * HALF_AN_HOUR


def test_the_reason_says_so() -> None:
    given = State(40_000.0, ceiling=HALF_AN_HOUR)
    decision = decide(given, NotModified(), Policy(), NOW, 0.0)
    assert decision.reason == (
        "in 30 min: not modified (× 1.25), no longer as releases are collected from it"
    )
    assert decision.state.interval == HALF_AN_HOUR


def test_a_short_interval_stays_short() -> None:
    assert wait(NotModified(), interval=400.0) == 500.0


def test_what_the_publisher_asks_for_counts_more() -> None:
    assert wait(NotModified(), hints=Hints(ttl_minutes=120)) == 7_200
    assert wait(NotModified(), 1.0, hints=Hints(ttl_minutes=120)) > 7_200


def test_errors_and_requests_to_rest_count_more() -> None:
    assert wait(Trouble("timeout"), failures=5) == 3_600
    assert wait(Trouble("timeout"), failures=20) == 86_400
    assert wait(ToldToWait(50_000)) == 50_000
    assert wait(SaidGone()) == 86_400


def test_a_persons_own_words_count_more() -> None:
    assert wait(NotModified(), asked_interval=6_000.0) == 6_000
    assert wait(NotModified(), push_only=True) == 86_400
    slow = Policy().overridden(min_interval=3_600)
    assert wait(NotModified(), policy=slow) == 3_600
    fast = Policy().overridden(max_interval=600)
    assert wait(NotModified(), policy=fast) == 600


@pytest.mark.parametrize("nonsense", [0.0, -5.0, float("nan")])
def test_a_ceiling_that_is_none_does_not_count(nonsense: float) -> None:
    assert wait(NotModified(), ceiling=nonsense) == wait(NotModified(), ceiling=None)

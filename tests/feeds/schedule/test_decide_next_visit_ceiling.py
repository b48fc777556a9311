"""A feed that somebody waits for: no adaptive interval is longer than its ceiling."""

from datetime import UTC, datetime
from typing import Any

import pytest

from headwater.feeds.overrides import NO_OVERRIDES, Overrides
from headwater.feeds.schedule.decide_next_visit import decide_next_visit, replay_decision
from headwater.feeds.schedule.hints import Hints
from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.feeds.schedule.state import (
    NotModified,
    ReadDocument,
    SaidGone,
    ScheduleState,
    ToldToWait,
    Trouble,
    VisitOutcome,
)

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
HALF_AN_HOUR = 1_800.0
USUAL = SchedulePolicy()
RELEASES = Overrides(ceiling_sec=HALF_AN_HOUR)


def wait(
    visited: VisitOutcome, luck: float = 0.0, policy: SchedulePolicy = USUAL, **said: Any
) -> float:
    state = ScheduleState(40_000.0, overrides=RELEASES)
    decision = decide_next_visit(state._replace(**said), visited, policy, NOW, luck)
    assert decision.next is not None
    assert replay_decision(decision.inputs) == decision
    return (decision.next - NOW).total_seconds()


@pytest.mark.parametrize("visited", [NotModified(), ReadDocument(0), ReadDocument(3)])
def test_after_a_success_it_is_visited_within_its_ceiling(visited: VisitOutcome) -> None:
    assert wait(visited) == HALF_AN_HOUR
    assert wait(visited, overrides=NO_OVERRIDES) > 20_000


@pytest.mark.parametrize("luck", [-1.0, 1.0])
def test_luck_never_leads_beyond_it(luck: float) -> None:
    assert 0 < HALF_AN_HOUR - wait(NotModified(), luck) <= 0.15 * HALF_AN_HOUR


def test_the_reason_says_so() -> None:
    given = ScheduleState(40_000.0, overrides=RELEASES)
    decision = decide_next_visit(given, NotModified(), SchedulePolicy(), NOW, 0.0)
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
    assert wait(NotModified(), overrides=RELEASES._replace(interval_sec=6_000.0)) == 6_000
    assert wait(NotModified(), overrides=RELEASES._replace(push_only=True)) == 86_400
    slow = SchedulePolicy().overridden(min_interval=3_600)
    assert wait(NotModified(), policy=slow) == 3_600
    fast = SchedulePolicy().overridden(max_interval=600)
    assert wait(NotModified(), policy=fast) == 600


@pytest.mark.parametrize("nonsense", [0.0, -5.0, float("nan")])
def test_a_ceiling_that_is_none_does_not_count(nonsense: float) -> None:
    nothing = wait(NotModified(), overrides=NO_OVERRIDES)
    assert wait(NotModified(), overrides=Overrides(ceiling_sec=nonsense)) == nothing

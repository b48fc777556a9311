"""When the next visit is after a user changed a feed's limits."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from headwater.core.errors import BadInput
from headwater.core.values.ids import FeedId, FeedPk
from headwater.feeds.feed import Feed, FeedSchedule, FeedStats, FeedValidators
from headwater.feeds.overrides import Overrides
from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.feeds.schedule.replan import earliest_visit, replan_visit

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

FEED = Feed(
    pk=FeedPk(1),
    id=FeedId("f"),
    url="https://a.example/",
    original_url="https://a.example/",
    type="rss",
    publisher_title=None,
    home_link=None,
    state="active",
    priority=50,
    categories=(),
    overrides=Overrides(),
    validators=FeedValidators(None, None),
    hints={},
    schedule=FeedSchedule(900, NOON + 15 * MINUTE, NOON, "r", None, claimed=False),
    stats=FeedStats(NOON, NOON, 0, None, 0, "fetched", 200, None, 1, NOON),
    moved_to=None,
    created_at=NOON,
    updated_at=NOON,
)


def next_of(feed: Feed, now: datetime = NOON) -> datetime:
    return replan_visit(feed, SchedulePolicy(), now, before=feed.overrides).next_visit_at


def with_overrides(**overrides: float | bool) -> Feed:
    return replace(FEED, overrides=Overrides().changed(overrides))


def test_a_higher_minimum_moves_the_visit_back() -> None:
    assert next_of(with_overrides(min_interval_sec=3600)) == NOON + 60 * MINUTE


def test_a_cadence_of_ones_own_counts_from_the_last_fetch() -> None:
    assert next_of(with_overrides(interval_sec=600)) == NOON + 10 * MINUTE


def test_a_moment_already_past_is_now() -> None:
    later = NOON + 12 * MINUTE
    assert next_of(with_overrides(interval_sec=600), later) == later


def test_a_cadence_below_the_minimum_is_the_minimum() -> None:
    assert next_of(with_overrides(interval_sec=60)) == NOON + 5 * MINUTE


def test_push_only_leaves_the_slow_safety_check() -> None:
    assert next_of(with_overrides(push_only=True)) == NOON + timedelta(days=1)


@pytest.mark.parametrize("order", [{"push_only": True}, {"interval_sec": 86_400.0}])
def test_a_cadence_that_is_taken_back_leaves_nothing_behind(order: dict[str, float | bool]) -> None:
    """A day's interval was the order's, not the feed's: it starts again as a new feed, 15 min;
    one that posts every hour is drawn half-way towards that."""
    ordered = replace(FEED, schedule=replace(FEED.schedule, interval_sec=86_400))
    before = Overrides().changed(order)
    plan = replan_visit(ordered, SchedulePolicy(), NOON, before=before)
    assert (plan.interval_sec, plan.next_visit_at) == (900, NOON + 15 * MINUTE)
    hourly = replace(ordered, stats=replace(FEED.stats, ewma_sec=3_600))
    assert replan_visit(hourly, SchedulePolicy(), NOON, before=before).interval_sec == 2_250
    bounded = replace(ordered, overrides=Overrides(min_interval_sec=7_200))
    assert replan_visit(bounded, SchedulePolicy(), NOON, before=before).interval_sec == 7_200


def test_a_changed_bound_alone_keeps_what_was_learnt() -> None:
    learnt = replace(FEED, schedule=replace(FEED.schedule, interval_sec=40_000))
    before = Overrides(max_interval_sec=50_000)
    assert replan_visit(learnt, SchedulePolicy(), NOON, before=before).interval_sec == 40_000


def test_the_publishers_ttl_still_holds_it_back() -> None:
    feed = replace(with_overrides(interval_sec=300), hints={"ttl_minutes": 120})
    assert next_of(feed) == NOON + 120 * MINUTE


def test_quiet_hours_still_count() -> None:
    feed = replace(with_overrides(interval_sec=3600), hints={"skip_hours": [13, 14]})
    assert next_of(feed) == NOON + timedelta(hours=3)


def test_quiet_hours_count_when_the_moment_is_past_already() -> None:
    """Changed at one o'clock to every ten minutes: not now, the publisher sleeps until three."""
    feed = replace(with_overrides(interval_sec=600), hints={"skip_hours": [13, 14]})
    assert next_of(feed, NOON + timedelta(hours=1)) == NOON + timedelta(hours=3)


def test_a_fetch_by_a_clock_that_was_ahead_puts_nothing_off() -> None:
    ahead = NOON + timedelta(days=3650)
    feed = replace(
        with_overrides(interval_sec=600),
        stats=replace(FEED.stats, last_fetch_at=ahead),
        schedule=replace(FEED.schedule, last_decision_at=ahead, retry_after_sec=600),
    )
    gap = timedelta(seconds=60)
    assert earliest_visit(feed, gap, NOON) == NOON + 10 * MINUTE
    well = replace(feed, schedule=FEED.schedule)
    assert earliest_visit(well, gap, NOON) == NOON + MINUTE
    assert next_of(well) == NOON + 10 * MINUTE


def test_errors_and_retry_after_are_not_shortened() -> None:
    planned = NOON + timedelta(hours=5)
    asked = with_overrides(interval_sec=300)
    waiting = replace(
        asked, schedule=replace(FEED.schedule, next_visit_at=planned, retry_after_sec=18_000)
    )
    assert next_of(waiting) == planned
    failing = replace(
        asked,
        schedule=replace(FEED.schedule, next_visit_at=planned),
        stats=replace(FEED.stats, failures=3),
    )
    assert next_of(failing) == planned


def test_before_the_first_visit_nothing_is_put_off() -> None:
    unvisited = replace(
        with_overrides(min_interval_sec=7200),
        stats=replace(FEED.stats, last_fetch_at=None),
        schedule=replace(FEED.schedule, next_visit_at=NOON),
    )
    assert next_of(unvisited) == NOON


def test_contradicting_clamps_are_refused() -> None:
    with pytest.raises(BadInput):
        Overrides(min_interval_sec=7200, max_interval_sec=60).policy_from(SchedulePolicy())
    one_limit = Overrides(min_interval_sec=100_000).policy_from(SchedulePolicy())
    assert one_limit.max_interval == 100_000


def test_the_earliest_visit_waits_for_the_gap_and_for_the_host() -> None:
    gap = timedelta(seconds=60)
    assert earliest_visit(FEED, gap, NOON + 10 * MINUTE) == NOON + 10 * MINUTE
    assert earliest_visit(FEED, gap, NOON) == NOON + MINUTE
    resting = replace(FEED, schedule=replace(FEED.schedule, retry_after_sec=600))
    assert earliest_visit(resting, gap, NOON) == NOON + 10 * MINUTE

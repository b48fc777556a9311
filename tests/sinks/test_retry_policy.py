"""How long a sink is waited for, when an event is set aside, when the sink is given up."""

import pytest

from headwater.sinks.ports import DeliveryResult
from headwater.sinks.retry_policy import (
    AfterFailure,
    SinkPolicy,
    decide_after_failure,
    next_batch_size,
    shortened,
)
from headwater.sinks.sink import Failing

POLICY = SinkPolicy()
DOWN = DeliveryResult(0, "connect_error", "nobody listens")
REFUSED = DeliveryResult(0, "http_422", "no thanks", about="event")
NOW = 1_000_000_000_000_000
DAY = 86_400_000_000


def judged(
    before: Failing,
    receipt: DeliveryResult = DOWN,
    *,
    max_attempts: int | None = 36,
    now: int = NOW,
    luck: float = 0.0,
) -> AfterFailure:
    return decide_after_failure(
        before, receipt, max_attempts=max_attempts, now=now, luck=luck, policy=POLICY
    )


def test_the_pause_doubles_up_to_an_hour() -> None:
    pauses, failing = [], Failing()
    for _ in range(12):
        found = judged(failing)
        pauses.append(found.pause)
        failing = found.failing
    assert pauses == [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600]
    assert failing == Failing(12, 12, NOW, "connect_error", "nobody listens")


@pytest.mark.parametrize(("luck", "pause"), [(-1.0, 16.0), (0.0, 20.0), (0.5, 22.0), (1.0, 24.0)])
def test_luck_spreads_the_pause_by_a_fifth(luck: float, pause: float) -> None:
    assert judged(Failing(2, 2, NOW), luck=luck).pause == pytest.approx(pause)


@pytest.mark.parametrize(
    ("asked", "pause"), [(None, 5.0), (0.0, 5.0), (3.0, 5.0), (90.0, 90.0), (1e9, 86_400.0)]
)
def test_a_sink_is_left_alone_as_long_as_it_asked_within_a_day(
    asked: float | None, pause: float
) -> None:
    busy = DeliveryResult(0, "http_503", retry_after=asked)
    assert judged(Failing(), busy).pause == pause
    unwanted = DeliveryResult(0, "http_422", about="event", retry_after=asked)
    assert judged(Failing(), unwanted).pause == pause


def test_an_event_that_is_refused_three_times_dies_and_the_next_one_follows_at_once() -> None:
    first = judged(Failing(), REFUSED)
    assert first == AfterFailure(Failing(1, 0, None, "http_422", "no thanks"), 5.0)
    second = judged(first.failing, REFUSED)
    assert second == AfterFailure(Failing(2, 0, None, "http_422", "no thanks"), 10.0)
    third = judged(second.failing, REFUSED)
    assert third == AfterFailure(Failing(0, 0, None, "http_422", "no thanks"), 0.0, dies=True)


def test_a_sink_that_allows_fewer_tries_is_not_asked_more_often_about_what_it_refuses() -> None:
    assert judged(Failing(), REFUSED, max_attempts=1).dies
    assert not judged(Failing(), REFUSED, max_attempts=2).dies
    assert judged(Failing(1), REFUSED, max_attempts=2).dies
    assert judged(Failing(2), REFUSED, max_attempts=None).dies


def test_a_sink_that_refuses_works() -> None:
    """What it suffered before is over."""
    found = judged(Failing(1, 1, NOW - 4 * DAY), REFUSED)
    assert (found.failing.failures, found.failing.since, found.stopped) == (0, None, None)


def test_an_event_dies_after_its_last_attempt_and_the_sink_is_left_alone_still() -> None:
    since = NOW - DAY
    assert not judged(Failing(34, 34, since)).dies
    found = judged(Failing(35, 35, since))
    assert (found.dies, found.pause, found.stopped) == (True, 3_600, None)
    assert found.failing == Failing(0, 36, since, "connect_error", "nobody listens")


def test_without_a_last_attempt_an_event_waits_for_its_sink() -> None:
    found = judged(Failing(1_000, 1_000, NOW - DAY), max_attempts=None)
    assert (found.dies, found.stopped, found.failing.attempts) == (False, None, 1_001)


def test_a_sink_that_fails_for_five_days_is_stopped_and_keeps_its_event() -> None:
    almost = judged(Failing(35, 150, NOW - 5 * DAY + 1))
    assert (almost.stopped, almost.dies) == (None, True)
    found = judged(Failing(35, 150, NOW - 5 * DAY))
    assert (found.stopped, found.dies) == ("failing_too_long", False)
    assert found.failing.attempts == 36


@pytest.mark.parametrize("about", ["sink", "event"])
def test_a_sink_that_is_gone_is_stopped_at_once(about: str) -> None:
    gone = DeliveryResult(0, "http_410", about="event" if about == "event" else "sink", gone=True)
    found = judged(Failing(), gone)
    assert (found.stopped, found.dies) == ("gone", False)


@pytest.mark.parametrize(
    ("stride", "count", "seconds", "following"),
    [
        (20, 20, 0.0, 80),  # too fast to be measured: four times as much, not more
        (200, 200, 0.01, 500),  # never more than a page
        (500, 500, 0.5, 500),
        (500, 500, 5.0, 50),  # ten times too slow: a tenth
        (500, 1, 10.0, 1),
        (1, 1, 0.1, 4),
        (1, 1, 60.0, 1),
    ],
)
def test_a_sink_gets_what_it_takes_in_half_a_second(
    stride: int, count: int, seconds: float, following: int
) -> None:
    assert next_batch_size(stride, count, seconds, 500) == following


def test_a_detail_is_kept_short_and_fit_for_any_database() -> None:
    assert shortened("x" * 600) == "x" * 500
    assert shortened("a\x00b\ud800") == "a\ufffdb?"

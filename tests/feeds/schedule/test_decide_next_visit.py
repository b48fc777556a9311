"""When a feed is visited next, told as stories and as promises about any input."""

import json
import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.feeds.overrides import Overrides
from headwater.feeds.schedule.decide_next_visit import (
    Decision,
    decide_next_visit,
    first_state,
    replay_decision,
)
from headwater.feeds.schedule.hints import Hints, hints_of
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

MONDAY_TEN = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0
BLINK = 1e-6
"""datetime counts whole microseconds."""
USUAL = SchedulePolicy()


def decided(state: ScheduleState, visited: VisitOutcome, luck: float = 0.0) -> Decision:
    return decide_next_visit(state, visited, USUAL, MONDAY_TEN, luck)


def seconds_away(decision: Decision, now: datetime = MONDAY_TEN) -> float:
    assert decision.next is not None
    return (decision.next - now).total_seconds()


def test_a_story_of_visits_to_a_feed_without_dates() -> None:
    """Nothing, nothing, news, rest, trouble twice, and well again: the waits a publisher sees."""
    state, now, seen = first_state(USUAL), MONDAY_TEN, []
    for visited in (
        NotModified(),
        ReadDocument(new_entries=0),
        ReadDocument(new_entries=3),
        ToldToWait(retry_after=7_200),
        Trouble("timeout"),
        ToldToWait(),
        NotModified(),
    ):
        decision = decide_next_visit(state, visited, USUAL, now, 0.0)
        assert decision.next is not None
        seen.append((seconds_away(decision, now), decision.code, decision.state.failures))
        state, now = decision.state, decision.next
    assert seen == [
        (1_125.0, "not-modified", 0),
        (1_406.25, "no-new-entries", 0),
        (1_054.6875, "new-entries", 0),
        (7_200.0, "retry-after", 0),
        (1_800.0, "error-backoff", 1),
        (3_600.0, "error-backoff", 2),
        (1_318.359375, "not-modified", 0),
    ]


def test_the_rhythm_of_the_posts_draws_the_interval_toward_itself() -> None:
    """900 × 0.75 = 675; the posts come hourly: half of 3600 plus half of 675."""
    hourly = tuple(MONDAY_TEN.timestamp() - hour * HOUR for hour in range(5))
    decision = decided(first_state(USUAL), ReadDocument(5, published=hourly))
    assert decision.interval == 2_137.5
    assert decision.state.ewma == 3_600.0
    assert decision.reason == "in 36 min: 5 new entries (× 0.75), posts about every 1 h"


def test_a_failure_does_not_use_the_rhythm_and_does_not_change_the_interval() -> None:
    state = ScheduleState(interval=1_000.0, ewma=60_000.0)
    decision = decided(state, Trouble("dns_error"))
    assert (seconds_away(decision), decision.interval) == (1_800.0, 1_000.0)
    assert decision.state == ScheduleState(interval=1_000.0, ewma=60_000.0, failures=1)
    assert decision.reason == "in 30 min: failed (dns_error), 1st failure in a row"


def test_a_304_keeps_the_publishers_ttl() -> None:
    first = decided(first_state(USUAL), ReadDocument(3, hints_of(ttl_minutes=60)))
    second = decided(first.state, NotModified())
    assert seconds_away(first) == HOUR
    assert seconds_away(second) == 1.25 * HOUR
    assert second.state.hints.ttl_minutes == 60
    assert first.reason == (
        "in 1 h: 3 new entries (× 0.75); the publisher's ttl of 1 h holds it back"
    )


def test_a_failure_keeps_the_publishers_ttl_too() -> None:
    state = ScheduleState(interval=900.0, hints=Hints(ttl_minutes=360))
    decision = decided(state, Trouble("timeout"))
    assert seconds_away(decision) == 6 * HOUR
    assert decision.reason == (
        "in 6 h: failed (timeout), 1st failure in a row; the publisher's ttl of 6 h holds it back"
    )


def test_a_new_document_without_ttl_forgets_it() -> None:
    state = ScheduleState(interval=900.0, hints=Hints(ttl_minutes=360))
    assert decided(state, ReadDocument(1, hints=Hints())).state.hints == Hints()


def test_a_document_known_by_its_hash_says_nothing_anew() -> None:
    state = ScheduleState(interval=900.0, hints=Hints(ttl_minutes=360))
    assert decided(state, ReadDocument(0)).state.hints == Hints(ttl_minutes=360)


def test_freshness_is_kept_by_a_304_that_says_none() -> None:
    two_hours = decided(first_state(USUAL), NotModified(fresh_for=7_200.0))
    silent = decided(two_hours.state, NotModified())
    none_left = decided(silent.state, NotModified(fresh_for=0.0))
    assert two_hours.reason.endswith("the answer stays fresh for 2 h")
    assert silent.state.hints.fresh_for == 7_200.0
    assert none_left.state.hints.fresh_for == 0.0


@pytest.mark.parametrize("hints", [Hints(), None], ids=["a new document", "the same document"])
def test_freshness_is_dropped_by_a_whole_answer_that_says_none(hints: Hints | None) -> None:
    two_hours = decided(first_state(USUAL), ReadDocument(1, hints=Hints(), fresh_for=7_200.0))
    silent = decided(two_hours.state, ReadDocument(0, hints=hints))
    assert two_hours.state.hints.fresh_for == 7_200.0
    assert silent.state.hints.fresh_for is None


@pytest.mark.parametrize(
    ("hints", "least"),
    [
        (Hints(ttl_minutes=90), 90 * MINUTE),
        (hints_of(update_period="daily", update_frequency=4), 6 * HOUR),
        (Hints(fresh_for=5_000.0), 5_000.0),
        (Hints(ttl_minutes=90, fresh_for=9_000.0), 9_000.0),
        (Hints(ttl_minutes=10**9), DAY),
        (Hints(fresh_for=1e12), DAY),
    ],
)
@pytest.mark.parametrize("luck", [-1.0, -0.4, 0.0, 1.0])
def test_luck_never_comes_before_a_publishers_floor(
    hints: Hints, least: float, luck: float
) -> None:
    decision = decided(ScheduleState(interval=900.0, hints=hints), NotModified(), luck)
    assert least <= seconds_away(decision) <= min(least * 1.15, DAY) + BLINK


def test_luck_spreads_an_ordinary_visit_both_ways() -> None:
    state = ScheduleState(interval=800.0)
    waits = [seconds_away(decided(state, NotModified(), luck)) for luck in (-1.0, 0.0, 1.0)]
    assert waits == [850.0, 1_000.0, 1_150.0]


def test_luck_never_comes_before_the_shortest_nor_after_the_longest_interval() -> None:
    """It is turned round instead, so that feeds at a limit are spread as well."""
    shortest, longest = ScheduleState(interval=300.0), ScheduleState(interval=DAY)
    news, nothing = ReadDocument(1), NotModified()
    assert [seconds_away(decided(shortest, news, luck)) for luck in (-1.0, 1.0)] == [345.0] * 2
    assert [seconds_away(decided(longest, nothing, luck)) for luck in (-1.0, 1.0)] == [73_440.0] * 2


def test_the_pauses_of_failures_in_a_row() -> None:
    """30 min, then 1 h, and from the tenth one try a day, until one succeeds."""
    state, pauses, codes, reason = first_state(USUAL), [], [], ""
    for _ in range(12):
        decision = decided(state, Trouble("connect_error"))
        state, reason = decision.state, decision.reason
        pauses.append(seconds_away(decision))
        codes.append(decision.code)
    assert pauses == [1_800.0] + [3_600.0] * 8 + [86_400.0] * 3
    assert codes == ["error-backoff"] * 9 + ["circuit-open"] * 3
    assert reason == (
        "in 1 day: failed (connect_error), 12th failure in a row; "
        "one try every 1 day until one succeeds"
    )
    well = decided(state, NotModified())
    assert (seconds_away(well), well.state.failures) == (1_125.0, 0)


def test_a_failure_never_makes_a_slow_feed_faster() -> None:
    assert seconds_away(decided(ScheduleState(interval=40_000.0), Trouble("timeout"))) == 40_000.0


def test_luck_only_lengthens_a_pause() -> None:
    state = ScheduleState(interval=900.0)
    pauses = [seconds_away(decided(state, Trouble("timeout"), luck)) for luck in (-1.0, 0.5)]
    assert pauses == [2_070.0, 1_935.0]


@pytest.mark.parametrize(
    ("asked_for", "kept"),
    [
        (7_200.0, 7_200.0),
        (301.0, 301.0),
        (300.0, 300.0),
        (1e9, DAY),
        (float("inf"), DAY),
    ],
)
@pytest.mark.parametrize("luck", [-1.0, 0.0, 1.0])
def test_retry_after_is_kept_to_the_second(asked_for: float, kept: float, luck: float) -> None:
    state = ScheduleState(interval=4_000.0, failures=3, hints=Hints(ttl_minutes=600))
    decision = decided(state, ToldToWait(asked_for), luck)
    assert seconds_away(decision) == kept
    assert decision.state == state


def test_retry_after_says_when_it_was_bounded() -> None:
    state = first_state(USUAL)
    assert decided(state, ToldToWait(600)).reason == "in 10 min: asked to come back after 10 min"
    for asked_for in (1e9, 86_400):  # whoever asks for years is cut to a day before
        assert decided(state, ToldToWait(asked_for)).reason == (
            "in 1 day: asked to stay away for 1 day or longer, kept to that"
        )


@pytest.mark.parametrize("asked_for", [299.0, 1.0, 0.0, -1.0, float("nan")])
def test_a_rest_shorter_than_any_interval_is_a_failure_like_others(asked_for: float) -> None:
    """Who comes every ten hours does not come every five minutes because of a 429."""
    state = ScheduleState(interval=4_000.0, failures=3, hints=Hints(ttl_minutes=600))
    decision = decided(state, ToldToWait(asked_for))
    assert (seconds_away(decision), decision.code) == (10 * HOUR, "error-backoff")
    assert decision.state == state._replace(failures=4)


@pytest.mark.parametrize(
    ("asked_for", "wait"), [(7_200.0, 7_200.0), (60.0, 1_800.0), (1e9, DAY), (0.0, 1_800.0)]
)
def test_a_failure_that_says_how_long_is_not_asked_sooner(asked_for: float, wait: float) -> None:
    """The first failure alone: 900 × 2."""
    decision = decided(first_state(USUAL), Trouble("http_403", asked_for), luck=-1.0)
    assert seconds_away(decision) == pytest.approx(min(wait * 1.15, DAY))
    assert (decision.code, decision.state.failures) == ("error-backoff", 1)


def test_a_failure_that_says_how_long_is_told_so() -> None:
    assert decided(first_state(USUAL), Trouble("http_403", 7_200.0)).reason == (
        "in 2 h: failed (http_403), 1st failure in a row; asked to come back after 2 h"
    )


def test_a_rest_too_short_is_told_as_it_was_said() -> None:
    """The second failure: 900 × 2²."""
    decision = decided(ScheduleState(interval=900.0, failures=1), ToldToWait(30))
    assert decision.reason == (
        "in 1 h: asked to slow down (Retry-After of 30 s), 2nd failure in a row"
    )


def test_gone_is_believed_the_second_time() -> None:
    once = decided(first_state(USUAL), SaidGone(), luck=-1.0)
    again = decided(once.state, SaidGone())
    assert (seconds_away(once), once.code) == (DAY, "gone-unconfirmed")
    assert (again.next, again.code) == (None, "gone")
    assert again.reason == "no more visits: said 410 Gone again"


def test_a_feed_that_comes_back_is_not_half_gone() -> None:
    once = decided(first_state(USUAL), SaidGone())
    for answer in (NotModified(), ReadDocument(new_entries=0)):
        back = decided(once.state, answer)
        assert (back.state.gone, back.state.failures) == (0, 0)
        assert decided(back.state, SaidGone()).code == "gone-unconfirmed"


def test_luck_does_not_lengthen_the_longest_quiet() -> None:
    """Half a week is asked for, one day is granted, and luck adds nothing to that."""
    policy = SchedulePolicy(quiet_limit_days=1.0)
    quiet = Hints(skip_days=("Mon", "Tue", "Wed"))
    decision = decide_next_visit(
        ScheduleState(interval=900.0, hints=quiet), NotModified(), policy, MONDAY_TEN, 1.0
    )
    assert seconds_away(decision) == 900 * 1.25 * 1.15 + DAY


def test_trouble_between_two_410s_does_not_hide_them() -> None:
    once = decided(first_state(USUAL), SaidGone())
    trouble = decided(once.state, Trouble("timeout"))
    assert decided(trouble.state, SaidGone()).code == "gone"


def test_the_cadence_a_user_asked_for_replaces_the_adaptive_one() -> None:
    state = ScheduleState(interval=DAY, ewma=90_000.0, overrides=Overrides(interval_sec=1_800.0))
    decision = decided(state, NotModified())
    assert (seconds_away(decision), decision.interval) == (1_800.0, 1_800.0)
    assert decision.reason == "in 30 min: not modified; asked for every 30 min"


def test_hints_backoff_rest_and_clamps_win_over_the_asked_cadence() -> None:
    asked = ScheduleState(DAY, hints=Hints(ttl_minutes=20), overrides=Overrides(interval_sec=600.0))
    too_fast = ScheduleState(interval=DAY, overrides=Overrides(interval_sec=1.0))
    assert seconds_away(decided(asked, NotModified())) == 1_200.0
    assert seconds_away(decided(asked, Trouble("timeout"))) == 1_800.0
    assert seconds_away(decided(asked, ToldToWait(5_000))) == 5_000.0
    assert seconds_away(decided(too_fast, NotModified())) == 300.0


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (60.0, "in 5 min: not modified; asked for every 1 min, sooner than the shortest"),
        (7 * DAY, "in 1 day: not modified; asked for every 7 days, later than the longest"),
    ],
)
def test_a_cadence_that_is_not_kept_says_why(asked: float, said: str) -> None:
    state = ScheduleState(interval=900.0, overrides=Overrides(interval_sec=asked))
    decision = decided(state, NotModified())
    assert decision.reason == f"{said} interval allowed"


def test_a_feed_that_pushes_is_only_checked_daily() -> None:
    state = ScheduleState(interval=900.0, overrides=Overrides(push_only=True, interval_sec=600.0))
    decision = decided(state, ReadDocument(4))
    assert seconds_away(decision) == DAY
    assert decision.reason == (
        "in 1 day: 4 new entries; news is pushed, this is only a safety check"
    )


def test_a_feeds_own_clamps_hold() -> None:
    policy = USUAL.overridden(min_interval=1_000, max_interval=2_000)
    fast = decide_next_visit(
        ScheduleState(interval=900.0), ReadDocument(1), policy, MONDAY_TEN, -1.0
    )
    slow = decide_next_visit(ScheduleState(interval=DAY), NotModified(), policy, MONDAY_TEN, 1.0)
    assert 1_000 <= seconds_away(fast) <= 1_150
    assert 1_700 <= seconds_away(slow) <= 2_000


def test_quiet_hours_move_a_visit_to_their_end() -> None:
    """11:15 is quiet; 12 and 13 too; 14:00 is open. Luck spreads over the hour's first minutes."""
    quiet = Hints(skip_hours=(11, 12, 13))
    state = ScheduleState(interval=3_600.0, hints=quiet)
    decision = decided(state, NotModified())
    lucky = decided(state, NotModified(), luck=-1.0)
    assert decision.next == datetime(2026, 3, 2, 14, 0, tzinfo=UTC)
    assert lucky.next == datetime(2026, 3, 2, 14, 9, tzinfo=UTC)
    assert decision.reason == (
        "in 4 h: not modified (× 1.25); moved out of the publisher's quiet hours"
    )


def test_quiet_days_may_push_a_visit_past_the_longest_interval() -> None:
    quiet = Hints(skip_days=("Tue", "Wed", "Thu"))
    decision = decided(ScheduleState(interval=DAY, hints=quiet), NotModified())
    assert decision.next == datetime(2026, 3, 6, 0, 0, tzinfo=UTC)


# Promises about any input ---------------------------------------------------------------------

numbers = st.floats() | st.sampled_from([0.0, -1.0, 1e12, 1e308, float("nan"), float("inf")])
durations = st.none() | numbers
all_hints = st.builds(
    hints_of,
    ttl_minutes=durations,
    skip_hours=st.lists(st.integers(-5, 99), max_size=30),
    skip_days=st.lists(st.sampled_from(["Monday", "tue", "WEDNESDAY", "Thu", "Fri", "Funday"])),
    update_period=st.none() | st.sampled_from(["hourly", "daily", "yearly", "never", ""]),
    update_frequency=durations,
) | st.builds(Hints, ttl_minutes=st.none() | st.integers(), fresh_for=durations)
published = st.lists(numbers | st.integers(1_770_000_000, 1_790_000_000), max_size=40).map(tuple)
all_visits = st.one_of(
    st.builds(ReadDocument, st.integers(0, 10**6), st.none() | all_hints, published, durations),
    st.builds(NotModified, durations),
    st.builds(ToldToWait, durations),
    st.builds(Trouble, st.sampled_from(["timeout", "parse_error"])),
    st.just(SaidGone()),
)
states = st.builds(
    ScheduleState,
    interval=numbers,
    failures=st.integers(-1, 5_000),
    gone=st.integers(0, 1),
    ewma=durations,
    hints=all_hints,
    recent_published=st.lists(st.integers(), max_size=30).map(tuple),
    # Only the settings that a decision obeys: it stores no others.
    overrides=st.builds(
        lambda interval, pushed, ceiling: Overrides(
            interval_sec=interval, push_only=pushed, ceiling_sec=ceiling
        ),
        durations,
        st.booleans(),
        durations,
    ),
)
policies = st.builds(
    SchedulePolicy,
    min_interval=st.floats(1, 900),
    max_interval=st.floats(900, DAY),
    jitter_ratio=st.floats(0, 0.9),
    backoff_base=st.floats(1, 100),
    error_budget=st.integers(1, 10_000),
    blend_lambda=st.floats(0, 1),
    quiet_limit_days=st.floats(0, 7),
)
moments = st.datetimes(datetime(1990, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))
lucks = st.floats(-1, 1) | st.sampled_from([float("nan"), 7.0])


@given(states, all_visits, policies, moments, lucks)
def test_every_decision_keeps_its_bounds(
    state: ScheduleState, visited: VisitOutcome, policy: SchedulePolicy, now: datetime, luck: float
) -> None:
    decision = decide_next_visit(state, visited, policy, now, luck)
    assert policy.min_interval <= decision.interval <= policy.max_interval
    if decision.next is None:
        assert decision.code == "gone"
        return
    wait = seconds_away(decision, now)
    longest = max(policy.max_interval, policy.backoff_cap * 1.9, policy.retry_after_cap)
    assert policy.min_interval - BLINK <= wait
    assert wait <= longest + 7 * DAY + HOUR
    assert decision.next - now <= timedelta(days=8, hours=1)


@given(states, all_visits, policies, moments, lucks)
def test_every_success_keeps_every_floor(
    state: ScheduleState, visited: VisitOutcome, policy: SchedulePolicy, now: datetime, luck: float
) -> None:
    if not isinstance(visited, ReadDocument | NotModified):
        return
    decision = decide_next_visit(state, visited, policy, now, luck)
    hints = decision.state.hints
    wait = seconds_away(decision, now)
    for floor in ((hints.ttl_minutes or 0) * 60, hints.update_seconds or 0, hints.fresh_for or 0):
        assert wait >= min(floor, policy.max_interval) - BLINK


@given(states, st.sampled_from([Trouble("timeout"), ToldToWait()]), policies, moments, lucks)
def test_no_failure_shortens_an_interval(
    state: ScheduleState, visited: VisitOutcome, policy: SchedulePolicy, now: datetime, luck: float
) -> None:
    decision = decide_next_visit(state, visited, policy, now, luck)
    assert seconds_away(decision, now) >= decision.interval - BLINK
    assert math.isfinite(decision.state.interval)


@given(states, all_visits, policies, moments, lucks)
def test_every_decision_replays_from_its_stored_inputs(
    state: ScheduleState, visited: VisitOutcome, policy: SchedulePolicy, now: datetime, luck: float
) -> None:
    decision = decide_next_visit(state, visited, policy, now, luck)
    stored = json.dumps(decision.inputs, allow_nan=False)
    assert replay_decision(json.loads(stored)) == decision


@given(states, all_visits, policies, moments, lucks)
def test_what_is_remembered_survives_storage(
    state: ScheduleState, visited: VisitOutcome, policy: SchedulePolicy, now: datetime, luck: float
) -> None:
    remembered = decide_next_visit(state, visited, policy, now, luck).state
    stored = json.dumps(remembered.as_json(), allow_nan=False)
    assert ScheduleState.from_json(json.loads(stored)) == remembered

"""Windows in which a publisher wants no visits."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from headwater.feeds.schedule.hints import WEEKDAYS, Hints, end_of_quiet

WEEK = timedelta(days=7)
MONDAY = datetime(2026, 3, 2, 10, 59, 59, tzinfo=UTC)


def test_an_open_moment_stays_as_it_is() -> None:
    assert end_of_quiet(MONDAY, Hints(skip_hours=(11,)), WEEK) == MONDAY


def test_rules_that_forbid_everything_are_ignored() -> None:
    always = Hints(skip_hours=tuple(range(24)), skip_days=WEEKDAYS)
    assert end_of_quiet(MONDAY, always, WEEK) == MONDAY


def test_a_rule_against_all_hours_does_not_void_the_one_against_days() -> None:
    hints = Hints(skip_hours=tuple(range(24)), skip_days=("Mon",))
    assert end_of_quiet(MONDAY, hints, WEEK) == datetime(2026, 3, 3, tzinfo=UTC)


def test_one_open_hour_a_week_is_found() -> None:
    """Only Mondays from 10 to 11 are open, and that hour has just passed."""
    hours = tuple(hour for hour in range(24) if hour != 10)
    hints = Hints(skip_hours=hours, skip_days=WEEKDAYS[1:])
    passed = datetime(2026, 3, 2, 11, 0, tzinfo=UTC)
    assert end_of_quiet(passed, hints, WEEK) == datetime(2026, 3, 9, 10, 0, tzinfo=UTC)


def test_hours_are_counted_in_utc() -> None:
    noon_in_tokyo = datetime(2026, 3, 2, 12, 0, tzinfo=timezone(timedelta(hours=9)))
    three = Hints(skip_hours=(3,))
    assert end_of_quiet(noon_in_tokyo, three, WEEK) == datetime(2026, 3, 2, 4, 0, tzinfo=UTC)


def test_a_visit_is_pushed_no_further_than_the_limit() -> None:
    hints = Hints(skip_days=("Mon", "Tue", "Wed"))
    two_days = timedelta(days=2)
    assert end_of_quiet(MONDAY, hints, two_days) == MONDAY + two_days


@given(
    st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
    st.sets(st.integers(0, 23)).map(lambda hours: tuple(sorted(hours))),
    st.sets(st.sampled_from(WEEKDAYS)).map(tuple),
)
def test_the_next_open_hour_is_open_and_less_than_a_week_away(
    moment: datetime, hours: tuple[int, ...], days: tuple[str, ...]
) -> None:
    opening = end_of_quiet(moment, Hints(skip_hours=hours, skip_days=days), WEEK)
    assert moment <= opening < moment + WEEK
    assert opening.hour not in hours or len(hours) == 24
    assert WEEKDAYS[opening.weekday()] not in days or len(days) == 7

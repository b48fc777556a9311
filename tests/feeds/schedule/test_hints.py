"""Publishers' hints: the nonsense stays outside."""

import pytest

from headwater.feeds.schedule.hints import (
    Hints,
    after_not_modified,
    after_whole_answer,
    floors,
    hints_of,
)

NAN = float("nan")


@pytest.mark.parametrize(
    ("written", "kept"),
    [(60, 60), (0, None), (-1, None), (NAN, None), (None, None), (0.5, 1), (1e12, 527_040)],
)
def test_a_ttl_is_a_positive_number_of_minutes(written: float | None, kept: int | None) -> None:
    assert hints_of(ttl_minutes=written).ttl_minutes == kept


def test_hours_are_those_of_the_day_and_24_is_midnight() -> None:
    assert hints_of(skip_hours=[5, 24, 3, 99, -1, 5]).skip_hours == (0, 3, 5)


def test_days_are_known_by_any_usual_spelling() -> None:
    spelled = ["Saturday", " sun ", "MON", "Funday", "Sa", "", "Mondays"]
    assert hints_of(skip_days=spelled).skip_days == ("Mon", "Sat", "Sun")


@pytest.mark.parametrize(
    ("period", "frequency", "seconds"),
    [
        ("hourly", 2, 1_800.0),
        ("hourly", None, 3_600.0),
        (" Daily ", 1, 86_400.0),
        ("weekly", 7, 86_400.0),
        (None, 4, 21_600.0),
        (None, None, None),
        ("never", 1, None),
        ("hourly", 0, 3_600.0),
        ("hourly", -3, 3_600.0),
        ("hourly", NAN, 3_600.0),
    ],
)
def test_an_update_period_and_its_frequency_become_seconds(
    period: str | None, frequency: float | None, seconds: float | None
) -> None:
    hints = hints_of(update_period=period, update_frequency=frequency)
    assert hints.update_seconds == seconds


def test_no_floor_is_above_the_longest_interval() -> None:
    hints = Hints(ttl_minutes=10_000, update_seconds=100.0, fresh_for=0.0)
    assert floors(hints, 86_400.0) == {"ttl": 86_400.0, "update-period": 100.0}


def test_a_freshness_below_zero_means_none_and_nan_says_nothing() -> None:
    known = Hints(fresh_for=60.0)
    assert after_not_modified(known, -5.0).fresh_for == 0.0
    assert after_not_modified(known, NAN).fresh_for == 60.0
    assert after_not_modified(known, 1e300).fresh_for == 366 * 86_400.0
    assert after_whole_answer(known, None, NAN).fresh_for is None


def test_hints_survive_storage() -> None:
    hints = Hints(60, (1, 2), ("Sat",), 3_600.0, 120.0)
    assert Hints.from_json(hints.as_json()) == hints
    assert Hints().as_json() == {}

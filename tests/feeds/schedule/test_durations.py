"""Durations as people say them."""

import pytest

from headwater.feeds.schedule.durations import format_count, format_duration, ordinal


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (45.4, "45 s"),
        (59.7, "1 min"),
        (61, "1 min"),
        (1_125, "19 min"),
        (9_000, "2 h 30 min"),
        (86_400, "1 day"),
        (86_460, "1 day"),
        (273_600, "3 days 4 h"),
    ],
)
def test_a_duration_has_two_units_at_most(seconds: float, said: str) -> None:
    assert format_duration(seconds) == said


def test_ordinals() -> None:
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 112)] == [
        "1st",
        "2nd",
        "3rd",
        "4th",
        "11th",
        "12th",
        "13th",
        "21st",
        "112th",
    ]


def test_one_is_counted_as_one() -> None:
    assert (format_count(1, "entry", "entries"), format_count(2, "entry", "entries")) == (
        "1 entry",
        "2 entries",
    )

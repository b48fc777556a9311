"""Moments as people type and read them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from headwater.entrypoints.cli.moments import from_now, moment, on_the_clock
from headwater.errors import BadInput

TOKYO = timezone(timedelta(hours=9))
NOW = datetime(2026, 3, 15, 8, 30, tzinfo=TOKYO)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("2h", datetime(2026, 3, 14, 21, 30, tzinfo=UTC)),
        ("3d", datetime(2026, 3, 11, 23, 30, tzinfo=UTC)),
        ("1w", datetime(2026, 3, 7, 23, 30, tzinfo=UTC)),
        ("90 min", datetime(2026, 3, 14, 22, 0, tzinfo=UTC)),
        ("45s", datetime(2026, 3, 14, 23, 29, 15, tzinfo=UTC)),
        ("now", datetime(2026, 3, 14, 23, 30, tzinfo=UTC)),
        ("today", datetime(2026, 3, 14, 15, 0, tzinfo=UTC)),
        ("Yesterday", datetime(2026, 3, 13, 15, 0, tzinfo=UTC)),
        ("2026-03-01", datetime(2026, 2, 28, 15, 0, tzinfo=UTC)),
        ("2026-03-01T12:00:00Z", datetime(2026, 3, 1, 12, 0, tzinfo=UTC)),
        ("2026-03-01T12:00:00+09:00", datetime(2026, 3, 1, 3, 0, tzinfo=UTC)),
        ("2026-03-01 12:00", datetime(2026, 3, 1, 3, 0, tzinfo=UTC)),
    ],
)
def test_a_moment_is_understood_in_the_readers_time_zone(said: str, meant: datetime) -> None:
    assert moment(said, NOW) == meant


@pytest.mark.parametrize("said", ["", "soon", "h", "-2h", "2026-13-01", "9999999d"])
def test_what_is_no_moment_is_refused_with_examples(said: str) -> None:
    with pytest.raises(BadInput, match="Say 2h, 3d, today"):
        moment(said, NOW)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "never"),
        ("2026-03-14T23:45:00Z", "in 15 min"),
        ("2026-03-14T21:30:00Z", "2 h ago"),
        ("2026-03-14T23:30:00Z", "now"),
    ],
)
def test_distance_is_said_in_words(text: str | None, words: str) -> None:
    assert from_now(text, NOW) == words


def test_a_moment_is_shown_in_the_readers_time_zone() -> None:
    assert on_the_clock("2026-03-14T23:45:00Z", NOW) == "2026-03-15 08:45"
    assert on_the_clock(None, NOW) == "–"

"""Moments as people type and read them."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest

from headwater.core.errors import BadInput
from headwater.entrypoints.cli.times import LocalZone, local_time, parse_moment, relative_time

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
    assert parse_moment(said, NOW) == meant


@pytest.mark.parametrize("said", ["", "soon", "h", "-2h", "2026-13-01", "9999999d"])
def test_what_is_no_moment_is_refused_with_examples(said: str) -> None:
    with pytest.raises(BadInput, match="Say 2h, 3d, today"):
        parse_moment(said, NOW)


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
    assert relative_time(text, NOW) == words


def test_a_moment_is_shown_in_the_readers_time_zone() -> None:
    assert local_time("2026-03-14T23:45:00Z", NOW) == "2026-03-15 08:45"
    assert local_time(None, NOW) == "–"


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalZone]:
    """This machine stands in Berlin: +02:00 in summer, +01:00 in winter."""
    with monkeypatch.context() as there:
        there.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield LocalZone()
    time.tzset()


def test_a_summers_day_has_summer_time_in_winter_too(berlin: LocalZone) -> None:
    winter = datetime(2026, 11, 16, 14, 0, tzinfo=berlin)
    assert parse_moment("2026-07-01T12:00", winter) == datetime(2026, 7, 1, 10, 0, tzinfo=UTC)
    assert parse_moment("2026-12-01T12:00", winter) == datetime(2026, 12, 1, 11, 0, tzinfo=UTC)
    assert local_time("2026-07-01T10:00:00Z", winter) == "2026-07-01 12:00"
    assert local_time("2026-12-01T11:00:00Z", winter) == "2026-12-01 12:00"


def test_the_day_the_clocks_go_back_begins_at_its_own_midnight(berlin: LocalZone) -> None:
    noon = datetime(2026, 10, 25, 12, 0, tzinfo=berlin)
    assert parse_moment("today", noon) == datetime(2026, 10, 24, 22, 0, tzinfo=UTC)
    assert parse_moment("24h", noon) == datetime(2026, 10, 24, 11, 0, tzinfo=UTC)
    assert local_time("2026-10-25T01:30:00Z", noon) == "2026-10-25 02:30"


@pytest.mark.parametrize("hours", [-8, 9])
def test_the_first_and_the_last_day_are_shown_and_refused_without_a_crash(hours: int) -> None:
    now = datetime(2026, 3, 15, 8, 30, tzinfo=timezone(timedelta(hours=hours)))
    for text in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"):
        assert local_time(text, now)[4] == "-"
    beyond = "0001-01-01" if hours > 0 else "9999-12-31T23:59:59"
    with pytest.raises(BadInput, match="is not a time"):
        parse_moment(beyond, now)

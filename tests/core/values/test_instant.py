"""Moments as microseconds and in words."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from headwater.core.values.instant import from_micros, rfc3339, rfc3339_at, to_micros

FIRST = to_micros(datetime.min.replace(tzinfo=UTC))
LAST = to_micros(datetime.max.replace(tzinfo=UTC))


def test_microseconds_in_words() -> None:
    assert rfc3339_at(0) == "1970-01-01T00:00:00Z"
    assert rfc3339_at(1_767_614_400_000_005) == "2026-01-05T12:00:00.000005Z"
    assert rfc3339_at(FIRST) == "0001-01-01T00:00:00Z"


@given(st.integers(FIRST, LAST))
def test_microseconds_are_told_as_their_moment_is(micros: int) -> None:
    assert rfc3339_at(micros) == rfc3339(from_micros(micros))

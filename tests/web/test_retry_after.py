"""How long a host asks for rest, however it says so."""

from datetime import UTC, datetime

import pytest

from headwater.web.retry_after import parse_http_date, parse_retry_after

NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 120 ", 120.0),
        ("1.5", 1.5),
        ("Sun, 15 Nov 2026 10:02:00 GMT", 120.0),
        ("Sunday, 15-Nov-26 10:02:00 GMT", 120.0),
        ("Sun Nov 15 10:02:00 2026", 120.0),
        ("-1", None),
        ("0", None),
        ("1000000000", 86_400.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400.0),
        ("9" * 5000, 86_400.0),
        ("Sun, 15 Nov 2020 10:02:00 GMT", None),
        ("NaN", None),
        ("inf", None),
        ("1e9", None),
        ("soon", None),
        ("", None),
        ("٣٠", None),
        (None, None),
    ],
)
def test_both_forms_are_read_and_clamped(value: str | None, seconds: float | None) -> None:
    assert parse_retry_after(value, NOW) == seconds


def test_the_cap_is_a_parameter() -> None:
    assert parse_retry_after("120", NOW, cap=60.0) == 60.0


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)),
        ("Sunday, 06-Nov-94 08:49:37 GMT", datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)),
        ("Sun Nov  6 08:49:37 1994", datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)),
        ("sun, 06 nov 1994 08:49:60 gmt", datetime(1994, 11, 6, 8, 49, 59, tzinfo=UTC)),
        ("Sun, 31 Feb 1994 08:49:37 GMT", None),
        ("Sun, 06 Foo 1994 08:49:37 GMT", None),
        ("Sun, 06 Nov 0000 08:49:37 GMT", None),
        ("So, 06 Nov 1994 08:49:37 GMT", None),
        ("Sun, 06 Nov 1994 25:49:37 GMT", None),
        ("Sun, " + " " * 5000, None),
    ],
)
def test_http_dates(text: str, moment: datetime | None) -> None:
    assert parse_http_date(text) == moment

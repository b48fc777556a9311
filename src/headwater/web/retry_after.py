"""Parse Retry-After: how long a host asks us to wait before the next request."""

import re
from datetime import UTC, datetime

_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
_DAY, _MONTH = r"(?P<day>\d\d?)", "(?P<month>[a-z]{3})"
_YEAR, _SHORT_YEAR = r"(?P<year>\d{4})", r"(?P<year>\d\d)"
_CLOCK = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
_FORMS = (
    re.compile(rf"[a-z]{{3}}, {_DAY} {_MONTH} {_YEAR} {_CLOCK} \S+", re.ASCII),
    re.compile(rf"[a-z]{{6,9}}, {_DAY}-{_MONTH}-{_SHORT_YEAR} {_CLOCK} \S+", re.ASCII),
    re.compile(rf"[a-z]{{3}} {_MONTH} +{_DAY} {_CLOCK} {_YEAR}", re.ASCII),
)
_LONGEST = 64


def parse_http_date(text: str) -> datetime | None:
    """The moment, always in UTC as HTTP asks; None for any other text."""
    if len(text) > _LONGEST:
        return None
    lowered = text.strip().lower()
    for form in _FORMS:
        if match := form.fullmatch(lowered):
            return _moment_of(match)
    return None


def _moment_of(match: re.Match[str]) -> datetime | None:
    year = int(match["year"])
    if len(match["year"]) == 2:
        year += 2000 if year < 70 else 1900
    try:
        return datetime(
            year,
            _MONTHS.get(match["month"], 0),
            int(match["day"]),
            int(match["hour"]),
            int(match["minute"]),
            min(int(match["second"]), 59),  # a leap second is a second like any other
            tzinfo=UTC,
        )
    except ValueError:
        return None


DAY = 86_400.0
_SECONDS = re.compile(r"[+-]?\d{1,20}(?:\.\d{0,20})?", re.ASCII)
_ENDLESS = re.compile(r"\d{21,}", re.ASCII)


def parse_retry_after(value: str | None, now: datetime, cap: float = DAY) -> float | None:
    """Seconds up to `cap` from either form of Retry-After; None when the value is not usable.

    A moment that is past, or zero seconds, asks for no wait: it counts as no Retry-After.
    """
    if value is None:
        return None
    text = value.strip()
    if _SECONDS.fullmatch(text):
        return _clamped(float(text), cap)
    if _ENDLESS.fullmatch(text):
        return cap
    moment = parse_http_date(text)
    return None if moment is None else _clamped((moment - now).total_seconds(), cap)


def _clamped(seconds: float, cap: float) -> float | None:
    return min(seconds, cap) if seconds > 0 else None

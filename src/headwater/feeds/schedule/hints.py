"""Hints of a publisher about how often to come: cleaned once, stored between visits."""

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

LONGEST = 366 * 86_400.0
"""No hint counts for more than a year, so that no absurd number travels any further."""
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_PERIODS = {
    "hourly": 3_600.0,
    "daily": 86_400.0,
    "weekly": 7 * 86_400.0,
    "monthly": 30 * 86_400.0,
    "yearly": 365 * 86_400.0,
}


class Hints(NamedTuple):
    """All but `fresh_for` come from the document; `fresh_for` is max-age or Expires in seconds."""

    ttl_minutes: int | None = None
    skip_hours: tuple[int, ...] = ()
    skip_days: tuple[str, ...] = ()
    update_seconds: float | None = None
    fresh_for: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Only the hints that are there."""
        fields: dict[str, Any] = {}
        if self.ttl_minutes is not None:
            fields["ttl_minutes"] = self.ttl_minutes
        if self.skip_hours:
            fields["skip_hours"] = self.skip_hours
        if self.skip_days:
            fields["skip_days"] = self.skip_days
        if self.update_seconds is not None:
            fields["update_seconds"] = self.update_seconds
        if self.fresh_for is not None:
            fields["fresh_for"] = self.fresh_for
        return fields

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Hints":
        return cls(
            fields.get("ttl_minutes"),
            tuple(fields.get("skip_hours") or ()),
            tuple(fields.get("skip_days") or ()),
            fields.get("update_seconds"),
            fields.get("fresh_for"),
        )


def hints_of(
    ttl_minutes: float | None = None,
    skip_hours: Iterable[int] = (),
    skip_days: Iterable[str] = (),
    update_period: str | None = None,
    update_frequency: float | None = None,
) -> Hints:
    """The hints of a document as the publisher wrote them, without absurd values."""
    ttl = _positive(ttl_minutes, LONGEST / 60)
    return Hints(
        ttl_minutes=None if ttl is None else math.ceil(ttl),
        skip_hours=_hours(skip_hours),
        skip_days=_days(skip_days),
        update_seconds=_update_seconds(update_period, update_frequency),
    )


def after_whole_answer(known: Hints, document: Hints | None, fresh_for: float | None) -> Hints:
    """A new document replaces the hints of the old one; a whole answer replaces the freshness."""
    best = known if document is None else document
    return best._replace(fresh_for=_freshness(fresh_for))


def after_not_modified(known: Hints, fresh_for: float | None) -> Hints:
    """A 304 updates the freshness of the last whole answer; without one it stays as it was."""
    seconds = _freshness(fresh_for)
    if seconds is None or seconds == known.fresh_for:
        return known
    return known._replace(fresh_for=seconds)


def floors(hints: Hints, longest: float) -> dict[str, float]:
    """By the name of each hint, the seconds before which the publisher does not want us back."""
    named = {}
    if hints.ttl_minutes is not None and hints.ttl_minutes > 0:
        named["ttl"] = min(hints.ttl_minutes * 60.0, longest)
    if hints.update_seconds is not None and hints.update_seconds > 0:
        named["update-period"] = min(hints.update_seconds, longest)
    if hints.fresh_for is not None and hints.fresh_for > 0:
        named["fresh-for"] = min(hints.fresh_for, longest)
    return named


def _freshness(seconds: float | None) -> float | None:
    """None when it is missing or not a number; below zero means stale at once."""
    if seconds is None or math.isnan(seconds):
        return None
    return min(max(seconds, 0.0), LONGEST)


def _positive(number: float | None, most: float) -> float | None:
    """None when it is missing, not a number, or not above zero."""
    if number is None or not number > 0:
        return None
    return min(number, most)


def _hours(values: Iterable[int]) -> tuple[int, ...]:
    """Hours 0..23. RSS 0.91 counted 1..24, so 24 is midnight."""
    return tuple(sorted({hour % 24 for hour in values if 0 <= hour <= 24}))


def _days(values: Iterable[str]) -> tuple[str, ...]:
    """`Saturday`, `sat` and ` SAT ` are one day; `Funday` is none."""
    short = {text.strip()[:3].capitalize() for text in values if _is_weekday(text)}
    return tuple(day for day in WEEKDAYS if day in short)


def _is_weekday(text: str) -> bool:
    name = text.strip().lower()
    return len(name) >= 3 and any(full.startswith(name) for full in _FULL_NAMES)


_FULL_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def _update_seconds(period: str | None, frequency: float | None) -> float | None:
    """`sy:updatePeriod` / `sy:updateFrequency`; the module's defaults are daily and 1."""
    times = _positive(frequency, 1e9)
    if period is None and times is None:
        return None
    seconds = _PERIODS.get((period or "daily").strip().lower())
    return None if seconds is None else seconds / (times or 1.0)


_HOUR = timedelta(hours=1)


def end_of_quiet(moment: datetime, hints: Hints, limit: timedelta) -> datetime:
    """The first open hour's start, the moment itself when it is open, at most `limit` later.

    A rule that forbids all hours, or all days, is ignored: with both left standing there is an
    open hour at least once a week, so the search ends within eight days.
    """
    hours = hints.skip_hours if len(hints.skip_hours) < 24 else ()
    days = hints.skip_days if len(hints.skip_days) < 7 else ()
    if not hours and not days:
        return moment
    open_hour = moment.astimezone(UTC)
    for _ in range(8 * 24):
        if open_hour.hour not in hours and WEEKDAYS[open_hour.weekday()] not in days:
            break
        open_hour = open_hour.replace(minute=0, second=0, microsecond=0) + _HOUR
    return min(open_hour, moment + limit)

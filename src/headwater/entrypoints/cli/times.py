"""Moments as people type and read them: `2h`, `today`, `2026-03-01`; `in 5 min`, `3 days ago`."""

import re
from datetime import UTC, datetime, timedelta, tzinfo

from headwater.core.errors import BadInput
from headwater.core.values.instant import rfc3339
from headwater.feeds.schedule.durations import format_duration

_LONG = re.compile(r"(\d{1,5})\s*(s|m|min|h|d|w)")
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}


class LocalZone(tzinfo):
    """The time zone of this machine, with its offset at each moment: summer time comes and goes."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        return None if moment is None else moment.replace(tzinfo=None).astimezone().utcoffset()

    def dst(self, _: datetime | None) -> timedelta | None:
        return None

    def tzname(self, moment: datetime | None) -> str | None:
        return None if moment is None else moment.replace(tzinfo=None).astimezone().tzname()

    def fromutc(self, moment: datetime) -> datetime:
        local = moment.replace(tzinfo=UTC).astimezone()
        first = local.replace(tzinfo=self)
        return first if first.utcoffset() == local.utcoffset() else first.replace(fold=1)


def local_now() -> datetime:
    """Now, in the local time zone."""
    return datetime.now(LocalZone())


def parse_moment(text: str, now: datetime) -> datetime:
    """Parse a moment. `now` carries the local time zone: `today` begins at its midnight."""
    try:
        return _moment(text, now)
    except (
        OverflowError,
        ValueError,
    ) as trouble:  # before the first day of the calendar, or after the last
        raise _no_moment(text.strip()) from trouble


def parse_start(text: str) -> int | str:
    """Parse `beginning`, the number of an event, or a time as people write it."""
    if text == "beginning":
        return text
    if text.isascii() and text.isdigit():
        return int(text)
    return rfc3339(parse_moment(text, local_now()))


def _moment(text: str, now: datetime) -> datetime:
    word = text.strip().lower()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if word == "now":
        return now.astimezone(UTC)
    if word in {"today", "yesterday"}:
        return (midnight - timedelta(days=word == "yesterday")).astimezone(UTC)
    if (seconds_ago := parse_duration(word)) is not None:
        return now.astimezone(UTC) - timedelta(seconds=seconds_ago)
    return _parse_iso(text.strip(), now).astimezone(UTC)


def parse_duration(text: str) -> int | None:
    """Parse `90s`, `15m`, `2h`, `3d`, `1w` into seconds; None for anything else."""
    match = _LONG.fullmatch(text.strip().lower())
    return int(match[1]) * _SECONDS[match[2]] if match else None


def _parse_iso(text: str, now: datetime) -> datetime:
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as trouble:
        raise _no_moment(text) from trouble
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=now.tzinfo)


def _no_moment(text: str) -> BadInput:
    return BadInput(
        f"{text!r} is not a time. Say 2h, 3d, today, yesterday, 2026-03-01"
        " or 2026-03-01T12:00:00Z.",
        given=text,
    )


def relative_time(text: str | None, now: datetime) -> str:
    """Format a moment as `in 15 min`, `2 h ago`, `now`; `never` for None."""
    if not text:
        return "never"
    seconds = (datetime.fromisoformat(text) - now).total_seconds()
    if abs(seconds) < 1:
        return "now"
    return f"in {format_duration(seconds)}" if seconds > 0 else f"{format_duration(-seconds)} ago"


def local_time(text: str | None, now: datetime) -> str:
    """Format a moment in the local time zone, to the minute.

    The last evening of the year 9999 (some publishers mean "never") has no next morning in eastern
    time zones: such a moment is shown in the zone that it came in.
    """
    if not text:
        return "–"
    moment = datetime.fromisoformat(text)
    try:
        local = moment.astimezone(now.tzinfo)
    except (OverflowError, ValueError):
        local = moment
    return local.replace(tzinfo=None).isoformat(" ", "minutes")

"""A publisher's date, in whatever shape, to an aware UTC moment, or None."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from headwater.parse.instants import EARLIEST_YEAR, full_year, moment, zone_minutes
from headwater.parse.months import ENGLISH_MONTHS, ISO_MONTHS
from headwater.parse.odd_dates import loose_date
from headwater.parse.zones import ZONES

LONGEST = 128

_RFC822 = re.compile(
    r"(?:[A-Za-z]{3,9}\s*[.,]?,?\s*)?(\d{1,2})[ \t-]+"
    r"(?![Mm]arras)([A-Za-z]{3})[a-z]*\.?,?[ \t-]+(\d{2,4})"
    r"(?:[T, \t]+(\d{1,2})(?::(\d\d?)(?::(\d\d?)(?:[.,]\d+)?)?|(?=\s+(?:[A-Z]{2,4}|[+-]\d{4})\Z))"
    r"\s*(\S*)\s*(?:\(.*\))?)?"
)
_ISO = re.compile(
    r"(\d{4})(?:-(\d\d?)(?:-(\d\d?))?)?(?:(?:\s*[Tt]\s*|\s+)(\d\d?)"
    r"(?::(\d\d?)(?::(\d\d?)(?:[.,](\d*))?)?|(?=(?:[Zz]|[+-]\d\d:?\d\d)?\Z))\s*([^\s()]*))?"
)
_ORDINAL = re.compile(r"(\d{4}|\d\d)-?(\d{3})(?:[Tt](\d\d.*))?")
_COMPACT = re.compile(
    r"(\d{4}|\d\d)(\d\d)(\d\d)(?:[T ]?(\d\d):?(\d\d)(?::?(\d\d)(?:\.\d+)?)?\s*((?!\d)\S*))?"
)
_SHORT_YEAR = re.compile(r"-?(\d\d)-(\d\d)-(\d\d)(?:T?(\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(\S*))?")
_MONTH_ONLY = re.compile(r"(\d{4}|-\d\d)-?(\d\d)")
_ZONED_DAY = re.compile(r"(\d{4}-\d\d-\d\d)([+-](?:0\d|1[0-4]):?[0-5][05])")
_EPOCH = re.compile(r"\d{10}|\d{13}")


def _offsets() -> dict[str, timedelta]:
    """How far east of UTC, by the ending of nearly all dates; without a zone it is UTC."""
    found = {name: timedelta() for name in ("", "Z", "GMT", "UTC", "UT")}
    for minutes in range(0, 14 * 60 + 1, 15):
        hour, minute, east = minutes // 60, minutes % 60, timedelta(minutes=minutes)
        for written in (f"{hour:02}{minute:02}", f"{hour:02}:{minute:02}"):
            found["+" + written], found["-" + written] = east, -east
        if not minute:
            found[f"+{hour:02}"], found[f"-{hour:02}"] = east, -east
    for name in ("EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT", "CET", "CEST"):
        found[name] = timedelta(minutes=ZONES[name.lower()])
    return found


EAST = _offsets()
_from_iso = datetime.fromisoformat


def parsed_date(text: str) -> datetime | None:
    """The moment a text names, in UTC; a text without a zone counts as UTC.

    The two shapes that nearly all feeds write are read by position, "2004-01-05T10:00:00+01:00"
    and "Mon, 05 Jan 2004 10:00:00 +0100": the C parser beats any regex of ours.
    """
    try:
        if text[4] == "-" and len(text) > 18:
            found, east = _from_iso(text[:19] + "Z"), EAST[text[19:]]
        elif len(text) == 10:
            found, east = _from_iso(text + "T00:00:00Z"), EAST["Z"]
        elif text[25] == " " and text[3] == ",":
            _, day, month, year, clock, zone = text.split(" ")
            found, east = _from_iso(f"{year}{ISO_MONTHS[month]}{day}T{clock}Z"), EAST[zone]
        else:
            return _unusual(text.strip())
        if found.year > 1900:
            return found - east if east else found
    except (ValueError, LookupError, OverflowError):
        pass  # it is written in another way after all
    return _unusual(text.strip())


@lru_cache(maxsize=256)
def _unusual(text: str) -> datetime | None:
    """Every other shape, and years that need a second look."""
    if not text or len(text) > LONGEST:
        return None
    text = text.replace("\u2212", "-")  # the minus sign that ISO 8601 names first
    if text[:4].isdecimal() and text[4:5] in ("-", "W"):
        return _iso(text)
    match = _RFC822.fullmatch(text)
    if match is not None:
        named = _rfc822(match)
        if named is not None:
            return named
    is_compact = (text[0] in "-0123456789" and " " not in text) or text[:8].isdecimal()
    return _compact(text) if is_compact else loose_date(text)


def _iso(text: str) -> datetime | None:
    day = _ZONED_DAY.fullmatch(text)  # whose zone Python takes for a time
    if day is not None:
        text = f"{day[1]}T00:00{day[2]}"
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return _iso_slowly(text)
    return _in_utc(found)


def _in_utc(found: datetime) -> datetime | None:
    if found.year < EARLIEST_YEAR:
        return None
    if found.tzinfo is UTC:
        return found
    if found.tzinfo is None:
        return found.replace(tzinfo=UTC)
    try:
        return found.astimezone(UTC)
    except OverflowError:
        return None


def _iso_slowly(text: str) -> datetime | None:
    match = _ISO.fullmatch(text)
    if match is None:
        ordinal = _ORDINAL.fullmatch(text)
        return _day_of_year(ordinal) if ordinal else loose_date(text)
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    micro = int(((fraction or "") + "000000")[:6])
    if _names_half(zone):
        return loose_date(text)
    clock = (int(hour or 0), int(minute or 0), int(second or 0), micro)
    return moment(int(year), int(month or 1), int(day or 1), clock, zone_minutes(zone or ""))


def _rfc822(match: re.Match[str]) -> datetime | None:
    day, name, year, hour, minute, second, zone = match.groups()
    month = ENGLISH_MONTHS.get(name) or ENGLISH_MONTHS.get(name.lower())
    if month is None or _names_half(zone):
        return loose_date(match[0])
    clock = (int(hour or 0), int(minute or 0), int(second or 0), 0)
    return moment(full_year(year), month, int(day), clock, zone_minutes(zone or ""))


def _names_half(zone: str | None) -> bool:
    """Whether what stands after the clock is the half of the day instead of a zone."""
    return zone is not None and zone.lower().replace(".", "") in ("am", "pm")


def _day_of_year(ordinal: re.Match[str]) -> datetime | None:
    year, day, clock = ordinal.groups()
    first = moment(full_year(year), 1, 1, (0, 0, 0, 0), 0)
    if first is None or not 1 <= int(day) <= 366:
        return None
    try:
        found = first + timedelta(days=int(day) - 1)
    except OverflowError:
        return None
    if found.year != first.year:
        return None
    return _iso(f"{found:%Y-%m-%d}T{clock}") if clock else found


def _compact(text: str) -> datetime | None:
    """Digits without separators: 20031231, 031231, 2003335, 200312, seconds since 1970."""
    if _EPOCH.fullmatch(text):
        seconds = int(text[:10])
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    if len(text) == 4 and text.isdecimal():
        return moment(int(text), 1, 1, (0, 0, 0, 0), 0)
    match = _COMPACT.fullmatch(text) or _SHORT_YEAR.fullmatch(text)
    if match is not None:
        year, month, day, hour, minute, second, zone = match.groups()
        clock = (int(hour or 0), int(minute or 0), int(second or 0), 0)
        found = moment(full_year(year), int(month), int(day), clock, zone_minutes(zone or ""))
        if found is not None:
            return found
    ordinal = _ORDINAL.fullmatch(text)
    if ordinal is not None:
        return _day_of_year(ordinal)
    month_only = _MONTH_ONLY.fullmatch(text)
    if month_only is not None:
        year = full_year(month_only[1].removeprefix("-"))
        return moment(year, int(month_only[2]), 1, (0, 0, 0, 0), 0)
    return loose_date(text)

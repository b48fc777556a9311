"""Dates in the shapes that no standard names: other languages, other orders, other marks."""

import re
from datetime import datetime

from headwater.parse.instants import full_year, moment, zone_minutes
from headwater.parse.months import MONTHS
from headwater.parse.zones import ZONES

KOREAN_ZONE = 9 * 60  # both Korean blog hosts that write such dates mean local time

_CLOCK = re.compile(
    r"(?<![\d])(\d{1,2})\s*(?:[:時时시点點]|h(?=\d))\s*(\d{1,2})\s*(?:[:分분m]\s*(\d{1,2})[秒초]?)?"
    r"(?:[.,]\d+)?[分분秒초]?"
)
_AFTERNOON = re.compile(r"p\.?m\b\.?|오후|下午|午後|晚上|μ\.?μ\b\.?|د\.م", re.IGNORECASE)
_MORNING = re.compile(r"\ba\.?m\b\.?|오전|上午|午前|凌晨|早上|π\.?μ\b\.?", re.IGNORECASE)
_CJK = re.compile(r"(?<!\d)(\d{4}|\d\d)\s*[年년]\s*(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일号號]?")
_YEAR_FIRST = re.compile(r"(?<!\d)(\d{4})[/.\s-]+(\d{1,2})[/.\s-]+(\d{1,2})(?!\d)")
_SLASHED = re.compile(r"(?<!\d)(\d{1,2})/(\d{1,2})/(\d{4}|\d\d)(?!\d)")
_DOTTED = re.compile(r"(?<!\d)(\d{1,2})\s*[.-]\s*(\d{1,2})\s*[.-]\s*(\d{4}|\d\d)(?!\d)")
_OFFSET = re.compile(r"(?:GMT|UTC)?\s*([+-]\d\d:?\d\d|[+-]\d{1,2})(?!\d)")
_WORD = re.compile(r"[^\W\d_]+(?:\.[^\W\d_]+)*\.?")
_NUMBER = re.compile(r"\d+")


def loose_date(text: str) -> datetime | None:
    """The moment behind a free-form date of bounded length, or None."""
    clock, rest = _clock(text)
    zone, rest = _zone(rest)
    if zone is None:
        return None
    parts = _numbers_only(rest) or _with_month_name(rest)
    if parts is None:
        return None
    if zone == 0 and any(mark in text for mark in "년월오"):
        zone = KOREAN_ZONE
    return moment(*parts, clock, zone)


def _clock(text: str) -> tuple[tuple[int, int, int, int], str]:
    match = _CLOCK.search(text)
    if match is None:
        return (0, 0, 0, 0), text
    hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
    if _AFTERNOON.search(text):
        hour += 12 if hour < 12 else 0
    elif hour == 12 and _MORNING.search(text):
        hour = 0
    return (hour, minute, second, 0), text[: match.start()] + " \x00" + text[match.end() :]


def _zone(text: str) -> tuple[int | None, str]:
    """The zone stands after the clock (marked by NUL), as an offset or as a name."""
    before, mark, after = text.partition("\x00")
    if not mark:
        return 0, text
    match = _OFFSET.search(after)
    if match is not None:
        return zone_minutes(match[1]), before + after[: match.start()] + after[match.end() :]
    for word in _WORD.finditer(after):
        minutes = ZONES.get(word[0].lower())
        if minutes is not None and word[0].lower() not in MONTHS:
            return minutes, before + after[: word.start()] + after[word.end() :]
    return 0, before + after


def _numbers_only(text: str) -> tuple[int, int, int] | None:
    match = _CJK.search(text) or _YEAR_FIRST.search(text)
    if match is not None:
        return full_year(match[1]), int(match[2]), int(match[3])
    match = _SLASHED.search(text)
    if match is not None:
        first, second = int(match[1]), int(match[2])
        # American order, unless the number cannot be a month.
        month, day = (first, second) if first <= 12 else (second, first)
        return full_year(match[3]), month, day
    match = _DOTTED.search(text)
    if match is not None:
        return full_year(match[3]), int(match[2]), int(match[1])
    return None


def _with_month_name(text: str) -> tuple[int, int, int] | None:
    month = None
    for word in _WORD.finditer(text):
        month = _month_number(word[0].casefold())
        if month is not None:
            break
    if month is None:
        return None
    numbers = _NUMBER.findall(text)
    years = [digits for digits in numbers if len(digits) == 4]
    days = [digits for digits in numbers if len(digits) <= 2]
    if years and days:
        return int(years[0]), month, int(days[0])
    if len(days) >= 2 and not years:
        return full_year(days[1]), month, int(days[0])
    return (int(years[0]), month, 1) if years else None


def _month_number(word: str) -> int | None:
    found = MONTHS.get(word) or MONTHS.get(word.rstrip("."))
    if found is None and len(word) > 3:
        found = MONTHS.get(word[:3]) if word[:3].isascii() else MONTHS.get(word[:4])
    return found

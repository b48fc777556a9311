"""Dates in the shapes that no standard names: other languages, other orders, other marks."""

import re
from datetime import datetime

from headwater.parse.instants import full_year, moment, zone_minutes
from headwater.parse.months import CROATIAN_DAYS, CROATIAN_MONTHS, MONTHS
from headwater.parse.zones import ZONES

BUDDHIST_ERA, _NO_YEAR_OF_OURS = 543, 2400
KOREAN_ZONE = 9 * 60  # both Korean blog hosts that write such dates mean local time

_CLOCK = re.compile(
    r"(?<![\d])(\d{1,2})\s*(?:[:時时시点點]|h(?=\d))\s*(\d{1,2})\s*(?:[:分분m]\s*(\d{1,2})[秒초]?)?"
    r"(?:[.,]\d+)?[分분秒초]?"
)
_AFTERNOON = re.compile(r"p\.?\s?m\b\.?|오후|下午|午後|晚上|μ\.?μ\b\.?|د\.م", re.IGNORECASE)
_MORNING = re.compile(
    r"(?<![^\W\d])a\.?\s?m\b\.?|오전|上午|午前|凌晨|早上|π\.?μ\b\.?", re.IGNORECASE
)
# Words too short or too usual to mean that elsewhere.
_THEN_AFTERNOON = re.compile(
    r"\s*(?:ös\b|e\.h\.|du\.|odp\.|pop\.|popiet|ip\.|ch\b|ptg\b|pasdites|пп\b|сл\.\s?об"
    r"|по подне|попладне|م\b|بعدازظهر|אחה|หลังเที่ยง)",
    re.IGNORECASE,
)
_THEN_MORNING = re.compile(
    r"\s*(?:öö\b|f\.h\.|de\.|dop\.|priešpiet|ap\.|pg\b|дп\b|пр\.\s?об|ص\b|לפנה|ก่อนเที่ยง)",
    re.IGNORECASE,
)
_ASIDE = r"(?:[(（][^()（）]{1,20}[)）]\s*)?"
"""The same year in another calendar: `2024年（令和6年）5月1日`."""
_CJK = re.compile(
    rf"(?<!\d)(?P<year>\d{{4}}|\d\d)\s*[年년]\s*{_ASIDE}(?P<month>\d{{1,2}})\s*[月월]\s*(?P<day>\d{{1,2}})\s*[日일号號]?"
)
# Years of a Japanese reign or of the Republic of China, and the year before the first of each.
_ERAS = {
    "明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018,
    "民國": 1911, "民国": 1911,
}  # fmt: skip
_ERA = re.compile(
    rf"({'|'.join(_ERAS)})\s*(\d{{1,3}}|元)\s*年\s*{_ASIDE}(\d{{1,2}})\s*月\s*(\d{{1,2}})\s*日?"
)
_YEAR_FIRST = re.compile(
    r"(?<!\d)(?P<year>\d{4})(?:\s*([/.-])\s*|\s+)(?P<month>\d{1,2})(?:\s*\2\s*|\s+)(?P<day>\d{1,2})(?!\d)"
)
_SLASHED = re.compile(r"(?<!\d)(\d{1,2})/(\d{1,2})/(\d{4}|\d\d)(?!\d)")
_DOTTED = re.compile(r"(?<!\d)(\d{1,2})\s*[.-]\s*(\d{1,2})\s*[.-]\s*(\d{4}|\d\d)(?!\d)")
_OFFSET = re.compile(r"(?:GMT|UTC)?\s*(?<!\d)([+-]\d{1,2}(?::?\d\d)?)(?!\d)")
# Months that languages count instead of naming: Chinese, Japanese, Korean, Vietnamese.
_COUNTED = re.compile(r"(?<!\d)(\d{1,2})\s*[月월]|\b(?:tháng|thg)\s*(\d{1,2})", re.IGNORECASE)
_COUNTED_DAY = re.compile(r"\bth(?:ứ)?\.?\s*[2-7]\b", re.IGNORECASE)
_LETTERS = r"(?:[^\W\d_]|[\u0900-\u0963\u0e01-\u0e4e])++"  # with Hindi's and Thai's vowel signs
_WORD = re.compile(rf"{_LETTERS}(?:\.{_LETTERS})*\.?")
_THAI = re.compile(r"[\u0e01-\u0e4e]")
_NUMBER = re.compile(r"\d+")
_FULL_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")


def loose_date(text: str) -> datetime | None:
    """The moment behind a free-form date of bounded length, or None."""
    clock, rest = _clock(text)
    usual_zone = KOREAN_ZONE if any(mark in text for mark in "년월오") else 0
    zone, rest = _zone(rest, usual_zone)
    if zone is None:
        return None
    parts = _numbers_only(rest) or _with_counted_month(rest) or _with_month_name(rest)
    return moment(*parts, clock, zone) if parts is not None else None


def _clock(text: str) -> tuple[tuple[int, int, int, int], str]:
    match = _CLOCK.search(text)
    if match is None:
        return (0, 0, 0, 0), text
    hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
    if _AFTERNOON.search(text) or _THEN_AFTERNOON.match(text, match.end()):
        hour += 12 if hour < 12 else 0
    elif hour == 12 and (_MORNING.search(text) or _THEN_MORNING.match(text, match.end())):
        hour = 0
    return (hour, minute, second, 0), text[: match.start()] + " \x00" + text[match.end() :]


def _zone(text: str, usual: int) -> tuple[int | None, str]:
    """The zone stands after the clock (marked by NUL), as an offset or as a name."""
    before, mark, after = text.partition("\x00")
    if not mark:
        return usual, text
    match = _OFFSET.search(after)
    if match is not None:
        return zone_minutes(match[1]), before + after[: match.start()] + after[match.end() :]
    for word in _WORD.finditer(after):
        minutes = ZONES.get(word[0].lower())
        if minutes is not None and word[0].lower() not in MONTHS:
            return minutes, before + after[: word.start()] + after[word.end() :]
    return usual, before + after


def _numbers_only(text: str) -> tuple[int, int, int] | None:
    match = _ERA.search(text)
    if match is not None:
        year = 1 if match[2] == "元" else int(match[2])
        return _ERAS[match[1]] + year, int(match[3]), int(match[4])
    match = _CJK.search(text) or _YEAR_FIRST.search(text)
    if match is not None:
        return full_year(match["year"]), int(match["month"]), int(match["day"])
    match = _SLASHED.search(text)
    if match is not None:
        first, second = int(match[1]), int(match[2])
        # American order, unless the number cannot be a month.
        month, day = (first, second) if first <= 12 else (second, first)
        return full_year(match[3]), month, day
    match = _DOTTED.search(text)
    if match is not None and int(match[2]) <= 12:  # else it may be a clock with odd marks
        return full_year(match[3]), int(match[2]), int(match[1])
    return None


def _with_counted_month(text: str) -> tuple[int, int, int] | None:
    match = _COUNTED.search(text)
    if match is None or _FULL_YEAR.search(text) is None:
        return None
    rest = text[: match.start()] + " " + text[match.end() :]
    return _in_month(int(match[1] or match[2]), _COUNTED_DAY.sub(" ", rest))


def _with_month_name(text: str) -> tuple[int, int, int] | None:
    """The last name before the last number counts: "mar" is a Tuesday too, and stands before it."""
    words = [(word.end(), word[0].casefold()) for word in _WORD.finditer(text)]
    is_croatian = any(word.rstrip(".") in CROATIAN_DAYS for _, word in words)
    first = CROATIAN_MONTHS if is_croatian else {}
    named = [
        (end, month)
        for end, word in words
        if (month := first.get(word.rstrip(".")) or _month_number(word)) is not None
    ]
    if not named:
        return None
    last_number = max((number.start() for number in _NUMBER.finditer(text)), default=0)
    before = [month for end, month in named if end <= last_number]
    return _in_month(before[-1] if before else named[0][1], text)


def _in_month(month: int, text: str) -> tuple[int, int, int] | None:
    numbers = _NUMBER.findall(text)
    years = [digits for digits in numbers if len(digits) == 4]
    days = [digits for digits in numbers if len(digits) <= 2]
    if years and int(years[0]) > _NO_YEAR_OF_OURS and _THAI.search(text):
        years = [str(int(years[0]) - BUDDHIST_ERA)]
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

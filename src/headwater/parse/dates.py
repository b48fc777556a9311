"""Parse dates of publishers, in whatever shape, to aware UTC moments."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from headwater.parse.month_names import (
    CROATIAN_DAYS,
    CROATIAN_MONTHS,
    ENGLISH_MONTHS,
    ISO_MONTHS,
    MONTHS,
)

_HOURS: dict[str, float] = {
    "ut": 0, "utc": 0, "gmt": 0, "z": 0, "wet": 0, "west": 1, "bst": 1, "ist": 5.5,
    "adt": -3, "ast": -4, "at": -4, "edt": -4, "est": -5, "et": -5, "cdt": -5, "cst": -6,
    "ct": -6, "mdt": -6, "mst": -7, "mt": -7, "pdt": -7, "pst": -8, "pt": -8,
    "akdt": -8, "akst": -9, "hadt": -9, "hast": -10, "hst": -10, "hdt": -9,
    "ndt": -2.5, "nst": -3.5, "brt": -3, "brst": -2, "art": -3, "clt": -4, "clst": -3,
    "met": 1, "mest": 2, "cet": 1, "cest": 2, "mez": 1, "mesz": 2, "eet": 2, "eest": 3,
    "msk": 3, "msd": 4, "trt": 3, "gst": 4, "pkt": 5, "npt": 5.75, "bdt": 6, "ict": 7, "wib": 7,
    "wita": 8, "wit": 9, "hkt": 8, "sgt": 8, "myt": 8, "pht": 8, "awst": 8, "jst": 9, "kst": 9,
    "acst": 9.5, "acdt": 10.5, "aest": 10, "aedt": 11, "nzst": 12, "nzdt": 13, "sast": 2,
    "cat": 2, "eat": 3, "wat": 1,
    "a": -1, "n": 1, "m": -12, "y": 12,
}  # fmt: skip

ZONES: dict[str, int] = {name: int(hours * 60) for name, hours in _HOURS.items()}
"""Lower-case zone name to minutes. A name that is not here counts as UTC, as peers do."""
EARLIEST_YEAR = 1000  # 0001-01-01 is what some platforms write for "no date"
_ZONE_OFFSET = re.compile(r"(?:gmt|utc|etc/gmt)?([+-])(\d\d?)(?::?(\d\d))?(?!\d)")


def utc_moment(
    year: int, month: int, day: int, clock: tuple[int, int, int, int], offset: int | None
) -> datetime | None:
    """A UTC moment from its parts, or None when these make no plausible moment."""
    if offset is None or year < EARLIEST_YEAR:
        return None
    hour, minute, second, micro = clock
    try:
        if hour == 24 and not minute and not second:
            moment = datetime(year, month, day, tzinfo=UTC) + timedelta(days=1)
        else:
            moment = datetime(year, month, day, hour, minute, second, micro, UTC)
        return moment - timedelta(minutes=offset) if offset else moment
    except (ValueError, OverflowError):
        return None


@lru_cache(maxsize=256)
def zone_minutes(zone: str) -> int | None:
    """Minutes east of UTC. None for an offset that no place on Earth has. Unknown names are UTC."""
    if not zone or zone == "Z" or zone == "GMT" or zone == "+0000":
        return 0
    zone = zone.lower()
    match = _ZONE_OFFSET.match(zone)
    if match is None:
        return ZONES.get(zone.removeprefix("etc/").strip("()."), 0)
    minutes = int(match[2]) * 60 + int(match[3] or 0)
    if minutes >= 24 * 60 or int(match[3] or 0) >= 60:
        return None
    return -minutes if match[1] == "-" else minutes


def full_year(digits: str) -> int:
    """Two digits are read as 1970–2069, three (RFC 2822 §4.3) as years since 1900."""
    year = int(digits)
    if len(digits) > 2:
        return year + 1900 if 100 <= year <= 999 and len(digits) == 3 else year
    return year + (2000 if year < 70 else 1900)


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
# These words are too short or too common to mean the half of the day in another place.
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
"""The same year in another calendar, in brackets: `2024年（令和6年）5月1日`."""
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
# Chinese, Japanese, Korean and Vietnamese number the months instead of naming them.
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
    return utc_moment(*parts, clock, zone) if parts is not None else None


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
    """The last name before the last number counts: "mar" may be a Tuesday too, and comes first."""
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
    number = MONTHS.get(word) or MONTHS.get(word.rstrip("."))
    if number is None and len(word) > 3:
        number = MONTHS.get(word[:3]) if word[:3].isascii() else MONTHS.get(word[:4])
    return number


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
    """Offsets east of UTC, by the ending of nearly all dates. No zone is UTC."""
    offsets = {name: timedelta() for name in ("", "Z", "GMT", "UTC", "UT")}
    for minutes in range(0, 14 * 60 + 1, 15):
        hour, minute, east = minutes // 60, minutes % 60, timedelta(minutes=minutes)
        for written in (f"{hour:02}{minute:02}", f"{hour:02}:{minute:02}"):
            offsets["+" + written], offsets["-" + written] = east, -east
        if not minute:
            offsets[f"+{hour:02}"], offsets[f"-{hour:02}"] = east, -east
    for name in ("EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT", "CET", "CEST"):
        offsets[name] = timedelta(minutes=ZONES[name.lower()])
    return offsets


OFFSET_BY_ZONE = _offsets()
_from_iso = datetime.fromisoformat


def parse_date(text: str) -> datetime | None:
    """The moment a text names, in UTC; a text without a zone counts as UTC.

    The two shapes that nearly all feeds write are read by position, "2004-01-05T10:00:00+01:00"
    and "Mon, 05 Jan 2004 10:00:00 +0100": the C parser is faster than any regex.
    """
    try:
        if text[4] == "-" and len(text) > 18:
            moment, east = _from_iso(text[:19] + "Z"), OFFSET_BY_ZONE[text[19:]]
        elif len(text) == 10:
            moment, east = _from_iso(text + "T00:00:00Z"), OFFSET_BY_ZONE["Z"]
        elif text[25] == " " and text[3] == ",":
            _, day, month, year, clock, zone = text.split(" ")
            moment, east = (
                _from_iso(f"{year}{ISO_MONTHS[month]}{day}T{clock}Z"),
                OFFSET_BY_ZONE[zone],
            )
        else:
            return _parse_unusual(text.strip())
        if moment.year > 1900:
            return moment - east if east else moment
    except (ValueError, LookupError, OverflowError):
        pass  # the date is written in another way after all
    return _parse_unusual(text.strip())


@lru_cache(maxsize=256)
def _parse_unusual(text: str) -> datetime | None:
    """Parse all other shapes, and years that need a second look."""
    if not text or len(text) > LONGEST:
        return None
    text = text.replace("\u2212", "-")  # the minus sign that ISO 8601 names first
    if text[:4].isdecimal() and text[4:5] in ("-", "W"):
        return _iso(text)
    match = _RFC822.fullmatch(text)
    if match is not None:
        moment = _rfc822(match)
        if moment is not None:
            return moment
    is_compact = (text[0] in "-0123456789" and " " not in text) or text[:8].isdecimal()
    return _compact(text) if is_compact else loose_date(text)


def _iso(text: str) -> datetime | None:
    day = _ZONED_DAY.fullmatch(text)  # Python would take its zone for a time
    if day is not None:
        text = f"{day[1]}T00:00{day[2]}"
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return _iso_slowly(text)
    return _in_utc(moment)


def _in_utc(moment: datetime) -> datetime | None:
    if moment.year < EARLIEST_YEAR:
        return None
    if moment.tzinfo is UTC:
        return moment
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        return None


def _iso_slowly(text: str) -> datetime | None:
    match = _ISO.fullmatch(text)
    if match is None:
        ordinal = _ORDINAL.fullmatch(text)
        return _day_of_year(ordinal) if ordinal else loose_date(text)
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    micro = int(((fraction or "") + "000000")[:6])
    if _is_half_of_day(zone):
        return loose_date(text)
    clock = (int(hour or 0), int(minute or 0), int(second or 0), micro)
    return utc_moment(int(year), int(month or 1), int(day or 1), clock, zone_minutes(zone or ""))


def _rfc822(match: re.Match[str]) -> datetime | None:
    day, name, year, hour, minute, second, zone = match.groups()
    month = ENGLISH_MONTHS.get(name) or ENGLISH_MONTHS.get(name.lower())
    if month is None or _is_half_of_day(zone):
        return loose_date(match[0])
    clock = (int(hour or 0), int(minute or 0), int(second or 0), 0)
    return utc_moment(full_year(year), month, int(day), clock, zone_minutes(zone or ""))


def _is_half_of_day(zone: str | None) -> bool:
    """Whether the text after the clock is a half of the day instead of a zone."""
    return zone is not None and zone.lower().replace(".", "") in ("am", "pm")


def _day_of_year(ordinal: re.Match[str]) -> datetime | None:
    year, day, clock = ordinal.groups()
    first = utc_moment(full_year(year), 1, 1, (0, 0, 0, 0), 0)
    if first is None or not 1 <= int(day) <= 366:
        return None
    try:
        moment = first + timedelta(days=int(day) - 1)
    except OverflowError:
        return None
    if moment.year != first.year:
        return None
    return _iso(f"{moment:%Y-%m-%d}T{clock}") if clock else moment


def _compact(text: str) -> datetime | None:
    """Parse digits without separators: 20031231, 031231, 2003335, 200312, seconds since 1970."""
    if _EPOCH.fullmatch(text):
        seconds = int(text[:10])
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    if len(text) == 4 and text.isdecimal():
        return utc_moment(int(text), 1, 1, (0, 0, 0, 0), 0)
    match = _COMPACT.fullmatch(text) or _SHORT_YEAR.fullmatch(text)
    if match is not None:
        year, month, day, hour, minute, second, zone = match.groups()
        clock = (int(hour or 0), int(minute or 0), int(second or 0), 0)
        moment = utc_moment(full_year(year), int(month), int(day), clock, zone_minutes(zone or ""))
        if moment is not None:
            return moment
    ordinal = _ORDINAL.fullmatch(text)
    if ordinal is not None:
        return _day_of_year(ordinal)
    month_only = _MONTH_ONLY.fullmatch(text)
    if month_only is not None:
        year = full_year(month_only[1].removeprefix("-"))
        return utc_moment(year, int(month_only[2]), 1, (0, 0, 0, 0), 0)
    return loose_date(text)

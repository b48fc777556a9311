"""The calendar of a show: the dates of its episodes, past and expected, and an iCalendar file."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import pairwise
from statistics import median
from typing import Literal
from unicodedata import category

from headwater.anime.episodes.episodes import SeenRelease
from headwater.anime.shows.show import TrackedShow
from headwater.anime.shows.slot import Slot

JAPAN_TIME = timezone(timedelta(hours=9))
"""Weekdays are in the time of Japan, where nearly all of these shows air."""
LATEST_GAPS = 6
LONGEST_GAP = timedelta(days=35)

MISSED_INTERVALS = 3
"""After so many intervals without an episode, no further ones are expected."""
_WEEK = timedelta(days=7)
_EARLY = timedelta(days=4)
_MOST = 60


@dataclass(frozen=True, slots=True)
class Airing:
    """An episode in the calendar. `moment` is None where only the day is known. `late`: expected
    before now, and not seen."""

    show_id: int
    title: str
    slot: Slot
    state: Literal["came", "expected", "late"]
    day: date
    moment: datetime | None
    known_since: datetime


def airings_of(
    show: TrackedShow,
    seen: Iterable[SeenRelease],
    now: datetime,
    *,
    back: timedelta,
    ahead: timedelta,
) -> list[Airing]:
    """Episodes that came within `back`, and those expected within `ahead`, in order."""
    if show.show.is_film:
        return []
    seen = list(seen)
    released = _first_released(show, seen)
    airings = [
        Airing(show.id, show.show.title, _slot(show, number), "came", _day(at), at, at)
        for number, at in sorted(released.items())
        if at > now - back
    ]
    is_over = any(
        release.is_final for release in seen if _last(released) in _numbers(show, release)
    )
    return airings if is_over else airings + _expected_airings(show, released, now, ahead)


def _first_released(show: TrackedShow, seen: Iterable[SeenRelease]) -> dict[int, datetime]:
    """Whole episodes of the season and the moment each was first released. Packs do not
    count: they do not show when their episodes came out."""
    released: dict[int, datetime] = {}
    for release in seen:
        for number in () if release.is_pack else _numbers(show, release):
            released[number] = min(release.moment, released.get(number, release.moment))
    return released


def _numbers(show: TrackedShow, release: SeenRelease) -> list[int]:
    return [
        int(slot.number)
        for slot in release.slots
        if slot.season == show.show.season and not slot.number % 1
    ]


def _last(released: Mapping[int, datetime]) -> int:
    return max(released, default=0)


def _expected_airings(
    show: TrackedShow, released: Mapping[int, datetime], now: datetime, ahead: timedelta
) -> list[Airing]:
    last, end = _last(released), show.show.episodes
    known_since = released.get(last, show.created_at)
    airings: list[Airing] = []
    for number, (day, moment) in enumerate(_expected_dates(show, released, now), start=last + 1):
        is_late = (moment or _start_of(day + timedelta(days=1))) <= now
        if _start_of(day) > now + ahead or (end is not None and number > end):
            break
        state: Literal["expected", "late"] = "late" if is_late else "expected"
        slot = _slot(show, number)
        if not is_late or not airings:  # of several late episodes only the first is waited for
            title = show.show.title
            airings.append(Airing(show.id, title, slot, state, day, moment, known_since))
    return airings


def _expected_dates(
    show: TrackedShow, released: Mapping[int, datetime], now: datetime
) -> list[tuple[date, datetime | None]]:
    """Days, and moments where they are known, of the episodes after the last one."""
    if show.air_weekday is not None:
        return _weekly(show.air_weekday, released, now)
    gap = _usual_gap(released)
    if gap is None:
        return []
    last = released[_last(released)]
    if now - last > (MISSED_INTERVALS + 1) * gap:
        return []
    moments = [last + gap * step for step in range(1, _MOST + 1)]
    return [(_day(moment), moment) for moment in moments]


def _weekly(
    weekday: int, released: Mapping[int, datetime], now: datetime
) -> list[tuple[date, datetime | None]]:
    """An episode that comes out a little early belongs to the weekday that follows."""
    last = released.get(_last(released))
    if last is not None and now - last > (MISSED_INTERVALS + 1) * _WEEK:
        return []
    start = _day(now) if last is None else _day(last) + _EARLY
    first = start + timedelta(days=(weekday - start.weekday()) % 7)
    return [(first + _WEEK * step, None) for step in range(_MOST)]


def _usual_gap(released: Mapping[int, datetime]) -> timedelta | None:
    """The usual gap in whole days, from the last few episodes that followed each other. It needs
    two gaps at least."""
    ordered = sorted(released.items())
    gaps = [
        later - earlier
        for (one, earlier), (other, later) in pairwise(ordered)
        if other == one + 1 and timedelta(hours=12) <= later - earlier
    ][-LATEST_GAPS:]
    if len(gaps) < 2:
        return None
    usual = median(gap / timedelta(days=1) for gap in gaps)
    days = timedelta(days=max(1, round(usual)))
    return days if days <= LONGEST_GAP else None


def _slot(show: TrackedShow, number: int) -> Slot:
    return Slot(show.show.season, Decimal(number))


def _day(moment: datetime) -> date:
    return moment.astimezone(JAPAN_TIME).date()


def _start_of(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=JAPAN_TIME)


MEDIA_TYPE = "text/calendar; charset=utf-8"

LONGEST_LINE = 75
"""Bytes of a line, without its end."""
_STATUS = {"came": "CONFIRMED", "expected": "TENTATIVE", "late": "TENTATIVE"}
_DESCRIPTIONS = {
    "came": "It came out.",
    "expected": "Expected.",
    "late": "Expected, and not seen yet.",
}
_ESCAPES = str.maketrans({"\\": "\\\\", ";": "\\;", ",": "\\,", "\n": "\\n"})


def render_ics(airings: Iterable[Airing], name: str) -> bytes:
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Headwater//Releases//EN",
        "CALSCALE:GREGORIAN",
        "METHOD:PUBLISH",
        f"X-WR-CALNAME:{_text(name)}",
        "REFRESH-INTERVAL;VALUE=DURATION:PT1H",
        "X-PUBLISHED-TTL:PT1H",
    ]
    for airing in airings:
        lines += _event(airing)
    lines.append("END:VCALENDAR")
    return b"".join(_fold_line(line) + b"\r\n" for line in lines)


def _event(airing: Airing) -> list[str]:
    slot, following = airing.slot, airing.day + timedelta(days=1)
    if airing.moment is not None:
        times = [f"DTSTART:{_moment(airing.moment)}", "DURATION:PT30M"]
    else:
        times = [
            f"DTSTART;VALUE=DATE:{airing.day:%Y%m%d}",
            f"DTEND;VALUE=DATE:{following:%Y%m%d}",
        ]
    return [
        "BEGIN:VEVENT",
        f"UID:show-{airing.show_id}-{str(slot).lower()}@headwater",
        f"DTSTAMP:{_moment(airing.known_since)}",
        *times,
        f"SUMMARY:{_text(f'{airing.title} {slot}')}",
        f"DESCRIPTION:{_DESCRIPTIONS[airing.state]}",
        f"STATUS:{_STATUS[airing.state]}",
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
    ]


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def _text(text: str) -> str:
    """A control in a title could end the line, and begin a line of the title's own."""
    safe = "".join(
        " " if category(letter) in ("Cc", "Zl", "Zp", "Cs") else letter for letter in text
    )
    return safe.translate(_ESCAPES)


def _fold_line(line: str) -> bytes:
    """A long line goes on in the next one, after a space; no character is cut in two."""
    folded, room = [b""], LONGEST_LINE
    for letter in line:
        encoded = letter.encode()
        if len(folded[-1]) + len(encoded) > room:
            folded.append(b"")
            room = LONGEST_LINE - 1
        folded[-1] += encoded
    return b"\r\n ".join(folded)

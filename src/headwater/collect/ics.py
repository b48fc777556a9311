"""A calendar as iCalendar (RFC 5545): the same airings give the same bytes."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from unicodedata import category

from headwater.collect.calendar import Airing

MEDIA_TYPE = "text/calendar; charset=utf-8"
LONGEST_LINE = 75
"""In bytes, without the line's end."""

_STATUS = {"came": "CONFIRMED", "expected": "TENTATIVE", "late": "TENTATIVE"}
_SAID = {"came": "It came out.", "expected": "Expected.", "late": "Expected, and not seen yet."}
_ESCAPES = str.maketrans({"\\": "\\\\", ";": "\\;", ",": "\\,", "\n": "\\n"})


def calendar_ics(airings: Iterable[Airing], name: str) -> bytes:
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
    return b"".join(_folded(line) + b"\r\n" for line in lines)


def _event(airing: Airing) -> list[str]:
    slot = airing.slot
    return [
        "BEGIN:VEVENT",
        f"UID:show-{airing.show_id}-{str(slot).lower()}@headwater",
        f"DTSTAMP:{_moment(airing.known_since)}",
        *_when(airing),
        f"SUMMARY:{_text(f'{airing.title} {slot}')}",
        f"DESCRIPTION:{_SAID[airing.state]}",
        f"STATUS:{_STATUS[airing.state]}",
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
    ]


def _when(airing: Airing) -> list[str]:
    if airing.moment is not None:
        return [f"DTSTART:{_moment(airing.moment)}", "DURATION:PT30M"]
    following = airing.day + timedelta(days=1)
    return [
        f"DTSTART;VALUE=DATE:{airing.day:%Y%m%d}",
        f"DTEND;VALUE=DATE:{following:%Y%m%d}",
    ]


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def _text(text: str) -> str:
    """Controls would end the line, and begin one of the title's own."""
    seen = "".join(
        " " if category(letter) in ("Cc", "Zl", "Zp", "Cs") else letter for letter in text
    )
    return seen.translate(_ESCAPES)


def _folded(line: str) -> bytes:
    """Long lines go on in the next one, after a space; no character is torn."""
    folded, room = [b""], LONGEST_LINE
    for letter in line:
        bytes_of = letter.encode()
        if len(folded[-1]) + len(bytes_of) > room:
            folded.append(b"")
            room = LONGEST_LINE - 1
        folded[-1] += bytes_of
    return b"\r\n ".join(folded)

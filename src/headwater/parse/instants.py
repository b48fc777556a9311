"""A UTC moment from the parts of a date."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from headwater.parse.zones import ZONES

EARLIEST_YEAR = 1000  # 0001-01-01 is what some platforms write for "no date"

_OFFSET = re.compile(r"(?:gmt|utc|etc/gmt)?([+-])(\d\d?)(?::?(\d\d))?(?!\d)")


def moment(
    year: int, month: int, day: int, clock: tuple[int, int, int, int], offset: int | None
) -> datetime | None:
    """A UTC moment from its parts, or None when they make none that is plausible."""
    if offset is None or year < EARLIEST_YEAR:
        return None
    hour, minute, second, micro = clock
    try:
        if hour == 24 and not minute and not second:
            found = datetime(year, month, day, tzinfo=UTC) + timedelta(days=1)
        else:
            found = datetime(year, month, day, hour, minute, second, micro, UTC)
        return found - timedelta(minutes=offset) if offset else found
    except (ValueError, OverflowError):
        return None


@lru_cache(maxsize=256)
def zone_minutes(zone: str) -> int | None:
    """Minutes east of UTC; None for an offset no place on Earth has; unknown names are UTC."""
    if not zone or zone == "Z" or zone == "GMT" or zone == "+0000":
        return 0
    zone = zone.lower()
    match = _OFFSET.match(zone)
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

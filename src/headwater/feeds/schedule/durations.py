"""Format durations and counts so that a person understands them at once."""

from functools import lru_cache

_UNITS = ((86_400, "day"), (3_600, "h"), (60, "min"), (1, "s"))


def format_duration(seconds: float) -> str:
    """`45 s`, `19 min`, `2 h 30 min`, `1 day`, `3 days 4 h`: two units at most."""
    return _two_units(round(seconds) if seconds < 60 else round(seconds / 60) * 60)


@lru_cache(maxsize=4096)
def _two_units(left: int) -> str:
    parts: list[str] = []
    for size, unit in _UNITS:
        count, rest = divmod(left, size)
        if count and len(parts) < 2:
            parts.append(f"{count} {unit}{'s' if unit == 'day' and count > 1 else ''}")
            left = rest
        elif parts:
            break
    return " ".join(parts) or "0 s"


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `3rd`, `4th`, `11th`, `21st`."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def format_count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"

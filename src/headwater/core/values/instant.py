"""Instants: aware UTC datetimes in code, 64-bit microseconds in the database, RFC 3339 outside."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = EPOCH.replace(tzinfo=None)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    """Exact, while float timestamps would lose the last digits."""
    return (moment - EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


def maybe_micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def maybe_moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def rfc3339_at(micros: int) -> str:
    """The same as `rfc3339(from_micros(micros))`, in a third of the time."""
    seconds, fraction = divmod(micros, 1_000_000)
    text = _to_the_second(seconds)
    return f"{text}.{fraction:06}Z" if fraction else f"{text}Z"


@lru_cache(maxsize=4096)
def _to_the_second(seconds: int) -> str:
    return (_NAIVE_EPOCH + timedelta(0, seconds)).isoformat()


def rfc3339(moment: datetime) -> str:
    """UTC with `Z`; a fraction of a second only when there is one."""
    in_utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return f"{in_utc.isoformat()[:-6]}Z"

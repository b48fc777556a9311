"""How long a host asks us to rest."""

import re
from datetime import datetime

from headwater.fetch.http_date import http_date

DAY = 86_400.0

_SECONDS = re.compile(r"[+-]?\d{1,20}(?:\.\d{0,20})?", re.ASCII)
_ENDLESS = re.compile(r"\d{21,}", re.ASCII)


def retry_after(value: str | None, now: datetime, cap: float = DAY) -> float | None:
    """Seconds up to `cap` from either form of Retry-After; None when it says nothing usable.

    A moment that is past, or no time at all, is no rest: it says as little as no Retry-After.
    """
    if value is None:
        return None
    text = value.strip()
    if _SECONDS.fullmatch(text):
        return _clamped(float(text), cap)
    if _ENDLESS.fullmatch(text):
        return cap
    moment = http_date(text)
    return None if moment is None else _clamped((moment - now).total_seconds(), cap)


def _clamped(seconds: float, cap: float) -> float | None:
    return min(seconds, cap) if seconds > 0 else None

"""Whether a caller has an answer already: by its tag, else by its time, as RFC 9110 says."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from functools import lru_cache

from headwater.entrypoints.api.etags import is_known
from headwater.values.instant import to_micros

UNSETTLED = timedelta(minutes=2)
"""A change may be committed this long after the moment it gives itself."""

_SECOND = 1_000_000
_UNSETTLED_MICROS = UNSETTLED // timedelta(microseconds=1)


def last_modified(changed: int, now: int) -> str:
    """The newest change, told a little too early while it is new. Moments are microseconds.

    Until then something of an earlier moment, or of the same second, may still be committed:
    whoever asks by time alone must get it.
    """
    settled = changed + _UNSETTLED_MICROS <= now
    return _http_date((changed if settled else max(0, changed - _UNSETTLED_MICROS)) // _SECOND)


def has_it(tags: str | None, since: str | None, tag: str, changed: int) -> bool:
    """By tag when one is given; the time counts only without one (RFC 9110, 13.2.2)."""
    if tags is not None:
        return is_known(tag.removeprefix("W/"), tags)
    moment = _moment(since)
    return moment is not None and changed // _SECOND * _SECOND <= to_micros(moment)


def is_later(told: str, since: str | None) -> bool:
    """Whether what we tell as the last change lies after the moment a caller asked about.

    Programs on libcurl throw a new document away when it does not, whatever its tag says: then the
    document is better sent without a time (CURLOPT_TIMECONDITION).
    """
    asked, moment = _moment(since), _moment(told)
    return asked is None or moment is None or asked < moment


@lru_cache(maxsize=4_096)
def _http_date(second: int) -> str:
    return format_datetime(datetime.fromtimestamp(second, UTC), usegmt=True)


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # numbers of any length stand in such a date
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

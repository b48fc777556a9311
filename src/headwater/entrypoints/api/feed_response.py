"""Answers that are feeds: their links, their ETag and Last-Modified, and when a 304 is enough."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from functools import lru_cache
from urllib.parse import quote, urlencode, urlsplit

from starlette.requests import Request

from headwater.core.values.instant import to_micros
from headwater.entrypoints.api.middleware import etag_matches
from headwater.settings import Settings

COMMIT_DELAY = timedelta(minutes=2)
"""A change may be committed this long after the moment it gives itself."""
_SECOND = 1_000_000
_COMMIT_DELAY_MICROS = COMMIT_DELAY // timedelta(microseconds=1)


def last_modified(changed: int, now: int) -> str:
    """The newest change, told a little too early while it is new. Moments are microseconds.

    Until then something of an earlier moment, or of the same second, may still be committed:
    whoever asks by time alone must get it.
    """
    settled = changed + _COMMIT_DELAY_MICROS <= now
    return _format_http_date(
        (changed if settled else max(0, changed - _COMMIT_DELAY_MICROS)) // _SECOND
    )


def is_not_modified(tags: str | None, since: str | None, tag: str, changed: int) -> bool:
    """By tag when one is given; the time counts only without one (RFC 9110, 13.2.2)."""
    if tags is not None:
        return etag_matches(tag.removeprefix("W/"), tags)
    moment = _parse_http_date(since)
    return moment is not None and changed // _SECOND * _SECOND <= to_micros(moment)


def is_later_than_asked(told: str, since: str | None) -> bool:
    """Whether what we tell as the last change lies after the moment a caller asked about.

    Programs on libcurl throw a new document away when it does not, whatever its tag says: then the
    document is better sent without a time (CURLOPT_TIMECONDITION).
    """
    asked, moment = _parse_http_date(since), _parse_http_date(told)
    return asked is None or moment is None or asked < moment


@lru_cache(maxsize=4_096)
def _format_http_date(second: int) -> str:
    return format_datetime(datetime.fromtimestamp(second, UTC), usegmt=True)


def _parse_http_date(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # numbers of any length stand in such a date
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class FeedAddress:
    """One route, its path encoded; of a query only what is known here goes into a link."""

    base: str
    path: str
    limit: int | None = None

    def url(self, cursor: str | None = None) -> str:
        asked = {"cursor": cursor, "limit": self.limit}
        query = urlencode({name: value for name, value in asked.items() if value is not None})
        return f"{self.base}{self.path}{f'?{query}' if query else ''}"


def base_url_of(request: Request, settings: Settings) -> str:
    """What the operator set; else the host that was asked, which is known to be ours by now."""
    return base_url_from(request.url.scheme, request.headers["host"], settings.public_base_url)


@lru_cache(maxsize=256)
def base_url_from(scheme: str, host: str, public: str | None) -> str:
    """The same for whoever has no request object."""
    if public:
        parts = urlsplit(public)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
    parts = urlsplit(f"//{host}")
    name = (parts.hostname or "").rstrip(".")
    shown = f"[{name}]" if ":" in name else name
    port = f":{parts.port}" if parts.port else ""
    return f"{scheme}://{shown}{port}"


def link_header(links: Mapping[str, str | None]) -> str:
    """RFC 8288. A URL that could end its own brackets is encoded there."""
    return ", ".join(
        f'<{quote(url, safe=_IN_A_URL)}>; rel="{rel}"' for rel, url in links.items() if url
    )


_IN_A_URL = "!#$%&'()*+,/:;=?@[]~"

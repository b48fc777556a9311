"""Responses that are feeds: their links, their ETag and Last-Modified, and whether a 304 is due."""

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
"""A change may be committed this long after its own moment."""
_SECOND = 1_000_000
_COMMIT_DELAY_MICROS = COMMIT_DELAY // timedelta(microseconds=1)


def last_modified(changed: int, now: int) -> str:
    """The time of the newest change; a little earlier while it is new. Moments are microseconds.

    While it is new, a change with an earlier moment, or one of the same second, may still be
    committed. A caller that asks by time alone must get that change.
    """
    settled = changed + _COMMIT_DELAY_MICROS <= now
    return _format_http_date(
        (changed if settled else max(0, changed - _COMMIT_DELAY_MICROS)) // _SECOND
    )


def is_not_modified(tags: str | None, since: str | None, tag: str, changed: int) -> bool:
    """Compare tags if the caller sent any. Time counts only without them (RFC 9110, 13.2.2)."""
    if tags is not None:
        return etag_matches(tag.removeprefix("W/"), tags)
    moment = _parse_http_date(since)
    return moment is not None and changed // _SECOND * _SECOND <= to_micros(moment)


def is_later_than_asked(last_modified: str, since: str | None) -> bool:
    """Whether our Last-Modified lies after the moment of a caller's If-Modified-Since.

    Programs on libcurl throw a new document away when it does not, whatever its tag is: then the
    document is better sent without a time (CURLOPT_TIMECONDITION).
    """
    asked, changed = _parse_http_date(since), _parse_http_date(last_modified)
    return asked is None or changed is None or asked < changed


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
    """The address of a feed, its path encoded. Of the query only `cursor` and `limit` are kept."""

    base: str
    path: str
    limit: int | None = None

    def url(self, cursor: str | None = None) -> str:
        parameters = {"cursor": cursor, "limit": self.limit}
        query = urlencode({name: value for name, value in parameters.items() if value is not None})
        return f"{self.base}{self.path}{f'?{query}' if query else ''}"


def base_url_of(request: Request, settings: Settings) -> str:
    """The operator's base URL, else the host of the request, which middleware found to be ours."""
    return base_url_from(request.url.scheme, request.headers["host"], settings.public_base_url)


@lru_cache(maxsize=256)
def base_url_from(scheme: str, host: str, public: str | None) -> str:
    """The same without a request object."""
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

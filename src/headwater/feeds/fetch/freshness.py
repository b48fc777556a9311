"""Freshness: how long a publisher calls an answer fresh, a hint for the next visit."""

import re
from collections.abc import Mapping
from functools import lru_cache

from headwater.core.values.response import Headers, header
from headwater.web.retry_after import parse_http_date

LONGEST = 366 * 86_400.0

_NO_DIRECTIVES: Mapping[str, str] = {}
_DIRECTIVE = re.compile(r'([a-z-]+)\s*(?:=\s*"?([^",]*)"?)?')


def fresh_for(headers: Headers) -> float | None:
    """Seconds from max-age, else from Expires minus Date; None without a usable hint.

    s-maxage is for shared caches and no-store for all caches, so neither is a rhythm of the feed.
    """
    control = _directives(headers)
    if "no-store" in control or "no-cache" in control:
        return None
    if "max-age" in control:
        return _seconds(control["max-age"])
    return _until_expiry(headers)


def _directives(headers: Headers) -> Mapping[str, str]:
    """The first value of each directive, over all Cache-Control fields."""
    fields = [value for name, value in headers if name.lower() == "cache-control"]
    if not fields:
        return _NO_DIRECTIVES
    return _directives_of(",".join(fields))


@lru_cache(maxsize=256)
def _directives_of(text: str) -> Mapping[str, str]:
    """Cached: most publishers send the same few directives every time."""
    directives: dict[str, str] = {}
    for directive in text.lower().split(","):
        if parsed := _DIRECTIVE.fullmatch(directive.strip()):
            directives.setdefault(parsed[1], (parsed[2] or "").strip())
    return directives


def _seconds(text: str) -> float | None:
    if not (text.isascii() and text.isdigit()):
        return None
    return min(float(text[:20]), LONGEST)


def _until_expiry(headers: Headers) -> float | None:
    """Both moments are by the publisher's clock, so that a wrong clock does no harm."""
    expires, date = header(headers, "expires"), header(headers, "date")
    if expires is None or date is None:
        return None
    until, since = parse_http_date(expires), parse_http_date(date)
    if until is None or since is None:
        return None
    return min(max((until - since).total_seconds(), 0.0), LONGEST)

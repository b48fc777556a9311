"""Redact headers for the record: all fields stay, secrets in them are replaced."""

import re
from functools import lru_cache

from headwater.core.values.response import Headers
from headwater.core.values.url import REDACTED, redacted

_SECRET = re.compile(
    r"(?:proxy-)?authorization|(?:proxy-)?authentication-info|(?:set-)?cookie2?"
    r"|.*(?:api-?key|token|secret|password|passwd|signature|credential|session-?id).*"
    r"|x-auth.*|x-amz-.*security.*"
)
_URLS = frozenset({"location", "content-location", "referer", "refresh", "link"})


def redacted_headers(headers: Headers) -> Headers:
    """The same fields in the same order, secret values replaced, secrets in URLs too."""
    return tuple(
        field if _is_harmless(field[0]) else (field[0], _redacted_value(*field))
        for field in headers
    )


def hide_credential_headers(headers: Headers, secret: Headers) -> Headers:
    """The same headers, with every field hidden that came from credentials, whatever its name."""
    if not secret:
        return headers
    names = {name.lower() for name, _ in secret}
    return tuple(
        (name, REDACTED) if name.lower() in names else (name, value) for name, value in headers
    )


@lru_cache(maxsize=1024)
def _is_harmless(name: str) -> bool:
    """Cached by name, because it is asked for every header of every answer."""
    return name.lower() not in _URLS and _SECRET.fullmatch(name.lower()) is None


def _redacted_value(name: str, value: str) -> str:
    return redacted(value) if name.lower() in _URLS else REDACTED

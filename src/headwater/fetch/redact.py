"""Headers fit for the record: everything that was said, except the secrets."""

import re

from headwater.values.response import Headers
from headwater.values.url import REDACTED, redacted

_SECRET = re.compile(
    r"(?:proxy-)?authorization|(?:proxy-)?authentication-info|(?:set-)?cookie2?"
    r"|.*(?:api-?key|token|secret|password|passwd|signature|credential|session-?id).*"
    r"|x-auth.*|x-amz-.*security.*"
)
_URLS = frozenset({"location", "content-location", "referer", "refresh", "link"})


def redacted_headers(headers: Headers) -> Headers:
    """The same fields in the same order, secret values replaced, secrets in URLs too."""
    return tuple((name, _shown(name.lower(), value)) for name, value in headers)


def _shown(name: str, value: str) -> str:
    if _SECRET.fullmatch(name):
        return REDACTED
    return redacted(value) if name in _URLS else value

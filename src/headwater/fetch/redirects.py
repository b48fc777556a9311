"""Where a redirect leads, read by the same rules as a URL that a person typed."""

import re
from dataclasses import dataclass

from headwater.errors import BadUrl
from headwater.values.response import Headers, header
from headwater.values.url import checked_source, resolve

FOLLOWED = frozenset({301, 302, 303, 307, 308})
PERMANENT = frozenset({301, 308})

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class BadRedirect:
    """Why a redirect cannot be followed."""

    detail: str


def redirect_target(current: str, response_headers: Headers) -> str | BadRedirect:
    """The absolute URL of the next hop."""
    location = header(response_headers, "location")
    if not location:
        return BadRedirect("the redirect has no Location")
    try:
        given = _as_text(location)
        return checked_source(_absolute(current, given))
    except BadUrl as trouble:
        return BadRedirect(f"the Location cannot be followed: {trouble.message}")


def _absolute(current: str, given: str) -> str:
    """Only a reference is resolved; an absolute URL is judged as it was given."""
    if _CONTROL.search(given):
        raise BadUrl("it has a control character in it.")
    resolved = resolve(current, given)
    if resolved is None:
        raise BadUrl("it is not a URL.")
    return resolved


def _as_text(location: str) -> str:
    """Header bytes are read as Latin-1; many servers mean UTF-8."""
    try:
        return location.encode("latin-1").decode("utf-8")
    except (UnicodeEncodeError, UnicodeDecodeError):
        return location

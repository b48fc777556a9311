"""Redirects: the URL that one leads to, and when a permanent one is believed."""

import re
from dataclasses import dataclass

from headwater.core.errors import BadUrl
from headwater.core.values.response import Headers, header
from headwater.core.values.url import check_source_url, resolve
from headwater.feeds.schedule.due import UNMOVED, ObservedMove

FOLLOWED = frozenset({301, 302, 303, 307, 308})
PERMANENT = frozenset({301, 308})
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class BadRedirect:
    """A redirect that cannot be followed; `detail` says why."""

    detail: str


def redirect_target(current: str, response_headers: Headers) -> str | BadRedirect:
    """The absolute URL of the next hop."""
    location = header(response_headers, "location")
    if not location:
        return BadRedirect("the redirect has no Location")
    try:
        reference = _as_text(location)
        return check_source_url(_absolute(current, reference))
    except BadUrl as error:
        return BadRedirect(f"the Location cannot be followed: {error.message}")


def _absolute(current: str, reference: str) -> str:
    """Resolve a relative reference; an absolute URL is checked as it was sent."""
    if _CONTROL.search(reference):
        raise BadUrl("it has a control character in it.")
    resolved = resolve(current, reference)
    if resolved is None:
        raise BadUrl("it is not a URL.")
    return resolved


def _as_text(location: str) -> str:
    """Header bytes are read as Latin-1, but many servers send UTF-8."""
    try:
        return location.encode("latin-1").decode("utf-8")
    except (UnicodeEncodeError, UnicodeDecodeError):
        return location


_HOUR_MICROS = 3_600_000_000


def observe_move(move: ObservedMove, target: str | None, now: int) -> ObservedMove:
    """The observed move after one more good answer; an answer without a redirect resets it."""
    if target is None:
        return UNMOVED
    if target != move.to or move.since is None:
        return ObservedMove(target, 1, now)
    # A move that began in the future was seen by a clock that has been corrected since.
    return ObservedMove(target, move.count + 1, min(move.since, now))


def is_move_believed(move: ObservedMove, now: int, *, after_count: int, after_hours: float) -> bool:
    """A move needs several answers over some hours: one hijacked answer must not steal a feed."""
    if move.to is None or move.since is None:
        return False
    return move.count >= after_count and now - move.since >= after_hours * _HOUR_MICROS

"""Redirects: where one leads, and when a permanent one is believed."""

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
    """Why a redirect cannot be followed."""

    detail: str


def redirect_target(current: str, response_headers: Headers) -> str | BadRedirect:
    """The absolute URL of the next hop."""
    location = header(response_headers, "location")
    if not location:
        return BadRedirect("the redirect has no Location")
    try:
        given = _as_text(location)
        return check_source_url(_absolute(current, given))
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


_HOUR_MICROS = 3_600_000_000


def observe_move(move: ObservedMove, target: str | None, now: int) -> ObservedMove:
    """What we have seen of a move after one more good answer; no redirect forgets it."""
    if target is None:
        return UNMOVED
    if target != move.to or move.since is None:
        return ObservedMove(target, 1, now)
    # What began in the future was seen by a clock that has been put right since.
    return ObservedMove(target, move.count + 1, min(move.since, now))


def is_move_believed(move: ObservedMove, now: int, *, after_count: int, after_hours: float) -> bool:
    """One hijacked answer must not steal a feed."""
    if move.to is None or move.since is None:
        return False
    return move.count >= after_count and now - move.since >= after_hours * _HOUR_MICROS

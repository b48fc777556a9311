"""How long after their publication new entries were seen, where that can be known."""

from collections.abc import Sequence
from typing import NamedTuple

from headwater.feeds.entries.entry import NormalisedEntry

_MICROS = 1_000_000


class Lateness(NamedTuple):
    """Sums over some entries: how many, their lateness in seconds, and its squares."""

    entries: int = 0
    seconds: float = 0.0
    squares: float = 0.0


UNKNOWN = Lateness()


def lateness(new: Sequence[NormalisedEntry], looked_before: int | None, now: int) -> Lateness:
    """Of entries published since the last successful look, and not in the future.

    A date before that look is not the moment of publication: the entry was not there then. A first
    document shows what was there before us, and says nothing.
    """
    if looked_before is None or not new:
        return UNKNOWN
    late = [
        (now - entry.published) / _MICROS
        for entry in new
        if entry.published is not None and looked_before <= entry.published <= now
    ]
    return Lateness(len(late), sum(late), sum(seconds * seconds for seconds in late))

"""Lateness: how long after their publication new entries were seen, where that is known."""

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


def lateness(new: Sequence[NormalisedEntry], document_seen_at: int | None, now: int) -> Lateness:
    """The lateness of entries published since the last successful visit, and not in the future.

    A date before that visit is not the moment of publication: the entry was not there then. A first
    document shows entries that were there before us, and says nothing about lateness.
    """
    if document_seen_at is None or not new:
        return UNKNOWN
    late = [
        (now - entry.published) / _MICROS
        for entry in new
        if entry.published is not None and document_seen_at <= entry.published <= now
    ]
    return Lateness(len(late), sum(late), sum(seconds * seconds for seconds in late))

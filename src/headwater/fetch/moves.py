"""Permanent redirects: written down at once, believed only when they prove stable."""

from headwater.schedule.due import UNMOVED, Move

_HOUR_MICROS = 3_600_000_000


def observed(move: Move, target: str | None, now: int) -> Move:
    """What we have seen of a move after one more good answer; no redirect forgets it."""
    if target is None:
        return UNMOVED
    if target != move.to or move.since is None:
        return Move(target, 1, now)
    # What began in the future was seen by a clock that has been put right since.
    return Move(target, move.count + 1, min(move.since, now))


def is_believed(move: Move, now: int, *, after_count: int, after_hours: float) -> bool:
    """One hijacked answer must not steal a feed."""
    if move.to is None or move.since is None:
        return False
    return move.count >= after_count and now - move.since >= after_hours * _HOUR_MICROS

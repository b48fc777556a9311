"""The rhythm of a feed: how often it posts, and how its interval follows that."""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from headwater.feeds.schedule.policy import SchedulePolicy

REMEMBERED = 20
"""Publication times kept per feed."""

EARLIEST = 788_918_400
"""1995, before the first feed."""


def newest_times(known: Iterable[float], published: Iterable[float], now: float) -> tuple[int, ...]:
    """The last twenty different moments, oldest first.

    Moments in the future do not count yet, and moments before there were feeds (from a clock that
    stood at zero) say nothing about a feed.
    """
    if not published and isinstance(known, tuple) and are_in_order(known, now):
        return known
    moments = {
        int(moment)
        for source in (known, published)
        for moment in source
        if EARLIEST <= moment <= now
    }
    return tuple(sorted(moments)[-REMEMBERED:])


def are_in_order(known: tuple[float, ...], now: float) -> bool:
    """Whether the moments are as we stored them, so that there is nothing to sort."""
    before = EARLIEST - 1
    for moment in known:
        if type(moment) is not int or moment <= before:
            return False
        before = moment
    return before <= now and len(known) <= REMEMBERED


def usual_gap(moments: Sequence[int], alpha: float) -> float | None:
    """The EWMA of the gaps between sorted moments, the newest weighing most; None without a gap."""
    gaps = [float(later - earlier) for earlier, later in pairwise(moments)]
    if not gaps:
        return None
    average = gaps[0]
    for gap in gaps[1:]:
        average = alpha * gap + (1 - alpha) * average
    return average


def gap_or_silence(ewma: float | None, moments: Sequence[int], now: float) -> float | None:
    """The usual gap, or the present silence once it has lasted more than twice as long.

    Gaps between posts do not include the time since the last one: without this, a feed that posted
    every five minutes and then died would be requested every seven minutes for ever.
    """
    if ewma is None or not moments:
        return ewma
    silence = now - moments[-1]
    return silence if silence > 2 * ewma else ewma


def adapt_interval(interval: float, ewma: float | None, policy: SchedulePolicy) -> float:
    """The interval, drawn toward the feed's usual gap, inside the clamps."""
    if ewma is None or not math.isfinite(ewma):
        return policy.clamped(interval)
    target = policy.clamped(ewma)
    blend = policy.blend_lambda
    return policy.clamped(blend * target + (1 - blend) * interval)


def interval_from_rhythm(ewma: float | None, policy: SchedulePolicy) -> float:
    """The interval of a feed when only its rhythm is known."""
    return adapt_interval(policy.initial_interval, ewma, policy)

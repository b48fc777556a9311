"""How long fetches take, as counts in buckets: cheap to add up, exact at the buckets' bounds."""

from bisect import bisect_left
from collections.abc import Mapping
from itertools import pairwise

BOUNDS_MS = (
    5, 10, 25, 50, 100, 250, 500, 750, 1_000, 1_500, 2_000, 2_500, 3_000, 4_000, 5_000, 7_500,
    10_000, 15_000, 20_000, 30_000,
)  # fmt: skip
"""Upper bounds, themselves inside. Five seconds is one of them: what is promised can be checked."""

LONGER = -1
"""The bucket of everything beyond the last bound."""

SMALL_BYTES = 1024 * 1024
"""What is promised about time is promised for documents up to this size."""


def bucket_of(milliseconds: float) -> int:
    place = bisect_left(BOUNDS_MS, milliseconds)
    return BOUNDS_MS[place] if place < len(BOUNDS_MS) else LONGER


def slower_than(counts: Mapping[int, int], milliseconds: float) -> int:
    """How many took longer for certain: their whole bucket lies beyond."""
    lowest = {bound: lower for lower, bound in pairwise((0, *BOUNDS_MS, LONGER))}
    return sum(many for bucket, many in counts.items() if lowest[bucket] >= milliseconds)


def quantile_ms(counts: Mapping[int, int], share: float) -> float | None:
    """Estimated inside the bucket where that share is reached; None without any fetch.

    Beyond the last bound nothing is known but that bound.
    """
    wanted, below, lower = share * sum(counts.values()), 0, 0
    if not wanted:
        return None
    for bound in BOUNDS_MS:
        here = counts.get(bound, 0)
        if here and below + here >= wanted:
            return lower + (bound - lower) * (wanted - below) / here
        below, lower = below + here, bound
    return float(BOUNDS_MS[-1])

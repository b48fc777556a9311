"""Latency of fetches as counts in buckets: cheap to add up, exact at the bounds."""

from bisect import bisect_left
from collections.abc import Mapping
from itertools import pairwise

BOUNDS_MS = (
    5, 10, 25, 50, 100, 250, 500, 750, 1_000, 1_500, 2_000, 2_500, 3_000, 4_000, 5_000, 7_500,
    10_000, 15_000, 20_000, 30_000,
)  # fmt: skip
"""Upper bounds, themselves inside. Five seconds is one of them, as our promise names it."""

LONGER = -1
"""The bucket of everything beyond the last bound."""

SMALL_BYTES = 1024 * 1024
"""The promise about time holds for documents up to this size."""


def bucket_of(milliseconds: float) -> int:
    index = bisect_left(BOUNDS_MS, milliseconds)
    return BOUNDS_MS[index] if index < len(BOUNDS_MS) else LONGER


def slower_than(counts: Mapping[int, int], milliseconds: float) -> int:
    """Count the fetches that certainly took longer: their whole bucket lies beyond."""
    lowest = {bound: lower for lower, bound in pairwise((0, *BOUNDS_MS, LONGER))}
    return sum(count for bucket, count in counts.items() if lowest[bucket] >= milliseconds)


def quantile_ms(counts: Mapping[int, int], share: float) -> float | None:
    """Estimate the time that this share of fetches keeps to; None without any fetch.

    It lies inside the bucket where the share is reached. Beyond the last bound only that bound is
    known.
    """
    target, below, lower = share * sum(counts.values()), 0, 0
    if not target:
        return None
    for bound in BOUNDS_MS:
        here = counts.get(bound, 0)
        if here and below + here >= target:
            return lower + (bound - lower) * (target - below) / here
        below, lower = below + here, bound
    return float(BOUNDS_MS[-1])

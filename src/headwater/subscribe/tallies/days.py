"""Finished visits become sums by day: what happened, how often, and when last."""

from collections.abc import Iterable
from typing import Any, NamedTuple

DAY_MICROS = 86_400_000_000

OLDER = 0
"""The day under which everything stands that is older than the days kept."""


class Visited(NamedTuple):
    """One finished visit, as far as it is counted. `error` is empty when it succeeded."""

    subscription_id: int | None
    fetcher_id: int | None
    host: str
    finished_at: int
    error: str
    unchanged: bool
    new_entries: int
    updated_entries: int
    bytes_in: int
    latency_ms: float
    dated_entries: int
    late_sec: float
    late_squares: float

    @property
    def day(self) -> int:
        return day_of(self.finished_at)


class SubscriptionDay(NamedTuple):
    """What one day brought for one subscription, of visits that ended alike."""

    subscription_id: int
    day: int
    error: str
    visits: int
    unchanged: int
    new_entries: int
    updated_entries: int
    bytes_in: int
    latency_ms: float
    dated_entries: int
    late_sec: float
    last_at: int


class FetcherDay(NamedTuple):
    """What one fetcher's visits to one host brought on one day, of those that ended alike."""

    host: str
    fetcher_id: int
    day: int
    error: str
    visits: int
    new_entries: int
    dated_entries: int
    late_sec: float
    late_squares: float
    last_at: int


def day_of(micros: int) -> int:
    """Whole days since 1970, UTC."""
    return micros // DAY_MICROS


def by_subscription(visits: Iterable[Visited]) -> list[SubscriptionDay]:
    """In the order of their keys, so that two who write them never wait for each other."""
    sums: dict[tuple[Any, ...], list[Any]] = {}
    for visit in visits:
        if visit.subscription_id is not None:
            _add(
                sums,
                (visit.subscription_id, visit.day, visit.error),
                1, int(visit.unchanged), visit.new_entries, visit.updated_entries,
                visit.bytes_in, visit.latency_ms, visit.dated_entries, visit.late_sec,
                last_at=visit.finished_at,
            )  # fmt: skip
    return [SubscriptionDay(*key, *sums[key]) for key in sorted(sums)]


def by_fetcher(visits: Iterable[Visited]) -> list[FetcherDay]:
    """As above. Visits of before anybody was named as their fetcher are nobody's."""
    sums: dict[tuple[Any, ...], list[Any]] = {}
    for visit in visits:
        if visit.fetcher_id is not None:
            _add(
                sums,
                (visit.host, visit.fetcher_id, visit.day, visit.error),
                1, visit.new_entries, visit.dated_entries, visit.late_sec, visit.late_squares,
                last_at=visit.finished_at,
            )  # fmt: skip
    return [FetcherDay(*key, *sums[key]) for key in sorted(sums)]


def older(days: Iterable[SubscriptionDay]) -> list[SubscriptionDay]:
    """Days that are not kept one by one any more, together as one that stands for them all."""
    sums: dict[tuple[Any, ...], list[Any]] = {}
    for day in days:
        _add(sums, (day.subscription_id, OLDER, day.error), *day[3:-1], last_at=day.last_at)
    return [SubscriptionDay(*key, *sums[key]) for key in sorted(sums)]


def _add(
    sums: dict[tuple[Any, ...], list[Any]], key: tuple[Any, ...], *numbers: Any, last_at: int
) -> None:
    before = sums.get(key)
    if before is None:
        sums[key] = [*numbers, last_at]
        return
    for place, number in enumerate(numbers):
        before[place] += number
    before[-1] = max(before[-1], last_at)

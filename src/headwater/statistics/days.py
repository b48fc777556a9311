"""Days: sum up finished visits by day, subscription, fetcher and latency."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from headwater.core.values.latency import SMALL_BYTES, bucket_of

DAY_MICROS = 86_400_000_000

OLDER = 0
"""The number of the day that stands for all days older than those kept."""


class CountedVisit(NamedTuple):
    """One finished visit, as far as it is counted. `error` is empty when it succeeded.

    `brought`: it brought a document, or a 304; then its latency is counted. `saved_bytes` are the
    bytes that a 304 spared us, `decoded_bytes` the size of the unpacked document, None when
    nothing was unpacked.
    """

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
    retry: bool = False
    saved_bytes: int = 0
    decoded_bytes: int | None = None
    brought: bool = False

    @property
    def day(self) -> int:
        return day_of(self.finished_at)

    @property
    def encoded_bytes(self) -> int:
        """Bytes over the wire of a document that was unpacked."""
        return 0 if self.decoded_bytes is None else self.bytes_in


class SubscriptionDay(NamedTuple):
    """Sums of one subscription's visits on one day that ended with the same error. It is empty for
    visits that succeeded."""

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
    retries: int
    saved_bytes: int
    decoded_bytes: int
    encoded_bytes: int
    last_at: int


class FetcherDay(NamedTuple):
    """Sums of one fetcher's visits to one host on one day that ended with the same error."""

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


class LatencyDay(NamedTuple):
    """How many fetches of one day fell into one bucket of latency; `small` are those of a megabyte
    at most."""

    day: int
    bucket: int
    fetches: int
    small: int


class DayTotal(NamedTuple):
    """Sums of all visits on one day."""

    day: int
    visits: int
    failures: int
    unchanged: int
    retries: int
    new_entries: int
    updated_entries: int
    bytes_in: int
    saved_bytes: int
    decoded_bytes: int
    encoded_bytes: int


def day_of(micros: int) -> int:
    """Whole days since 1970, UTC."""
    return micros // DAY_MICROS


def by_subscription(visits: Iterable[CountedVisit]) -> list[SubscriptionDay]:
    """Sums in the order of their keys, so that two writers never wait for each other."""
    sums: dict[tuple[Any, ...], list[Any]] = {}
    for visit in visits:
        if visit.subscription_id is not None:
            _add(
                sums,
                (visit.subscription_id, visit.day, visit.error),
                1, int(visit.unchanged), visit.new_entries, visit.updated_entries,
                visit.bytes_in, visit.latency_ms, visit.dated_entries, visit.late_sec,
                int(visit.retry), visit.saved_bytes, visit.decoded_bytes or 0, visit.encoded_bytes,
                last_at=visit.finished_at,
            )  # fmt: skip
    return [SubscriptionDay(*key, *sums[key]) for key in sorted(sums)]


def by_fetcher(visits: Iterable[CountedVisit]) -> list[FetcherDay]:
    """Sums in the order of their keys. Older visits have no fetcher and are left out."""
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


def by_latency(visits: Iterable[CountedVisit]) -> list[LatencyDay]:
    """Count only visits that brought something: how long a failure took says little."""
    sums: dict[tuple[Any, ...], list[Any]] = {}
    for visit in visits:
        if visit.brought:
            small = int(visit.bytes_in <= SMALL_BYTES)
            _add(sums, (visit.day, bucket_of(visit.latency_ms)), 1, small, last_at=0)
    return [LatencyDay(*key, *sums[key][:-1]) for key in sorted(sums)]


def by_day(visits: Iterable[CountedVisit]) -> list[DayTotal]:
    """Sum up all visits, of every fetcher, also those of feeds without a subscription."""
    sums: dict[tuple[Any, ...], list[Any]] = {}
    for visit in visits:
        _add(
            sums,
            (visit.day,),
            1, int(bool(visit.error)), int(visit.unchanged), int(visit.retry), visit.new_entries,
            visit.updated_entries, visit.bytes_in, visit.saved_bytes, visit.decoded_bytes or 0,
            visit.encoded_bytes,
            last_at=0,
        )  # fmt: skip
    return [DayTotal(*key, *sums[key][:-1]) for key in sorted(sums)]


def older(days: Iterable[SubscriptionDay]) -> list[SubscriptionDay]:
    """Merge days that are not kept one by one any more into the one that stands for them all."""
    sums: dict[tuple[Any, ...], list[Any]] = {}
    for day in days:
        _add(sums, (day.subscription_id, OLDER, day.error), *day[3:-1], last_at=day.last_at)
    return [SubscriptionDay(*key, *sums[key]) for key in sorted(sums)]


def _add(
    sums: dict[tuple[Any, ...], list[Any]], key: tuple[Any, ...], *numbers: Any, last_at: int
) -> None:
    totals = sums.get(key)
    if totals is None:
        sums[key] = [*numbers, last_at]
        return
    for place, number in enumerate(numbers):
        totals[place] += number
    totals[-1] = max(totals[-1], last_at)

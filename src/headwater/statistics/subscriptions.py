"""Statistics of subscriptions: counts and rates of their visits in a window of days."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from headwater.core.errors import BadInput
from headwater.core.values.ids import FeedId, FetcherId
from headwater.core.values.instant import from_micros, to_micros
from headwater.statistics.days import OLDER, SubscriptionDay, day_of

USUAL_WINDOW = "7d"

_DAYS = re.compile(r"([1-9][0-9]{0,4})d", re.ASCII)
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class Window:
    """A number of whole days in UTC, today among them. None: everything ever counted."""

    days: int | None

    def first_day(self, now: datetime) -> int:
        return OLDER if self.days is None else day_of(to_micros(now)) - self.days + 1

    def since(self, now: datetime) -> date | None:
        return None if self.days is None else date_of(self.first_day(now))


def parse_window(text: str, days_kept: int) -> Window:
    """Parse `7d` or `all`. Single days are kept for `days_kept`; older ones are in `all` only."""
    return Window(None) if text == "all" else _parse_days(text, days_kept, ", or all")


def parse_days_window(text: str, days_kept: int) -> Window:
    """Parse `7d`, where `all` would have no meaning."""
    return _parse_days(text, days_kept, "")


def _parse_days(text: str, days_kept: int, also: str) -> Window:
    match = _DAYS.fullmatch(text)
    if match is None or int(match[1]) > days_kept:
        raise BadInput(
            f"window must be a number of days from 1d to {days_kept}d{also}.", field="window"
        )
    return Window(int(match[1]))


def date_of(day: int) -> date:
    return date.fromordinal(_EPOCH + day)


@dataclass(frozen=True, slots=True)
class FailureCount:
    """One kind of failure: how many visits met it, and when last."""

    error: str
    visits: int
    last_at: datetime


@dataclass(frozen=True, slots=True)
class StatisticsDay:
    """Counts of one day. `on` is None for all days older than those kept."""

    on: date | None
    visits: int
    failures: int
    new_entries: int
    bytes_in: int
    unchanged: int = 0
    retries: int = 0
    updated_entries: int = 0
    saved_bytes: int = 0
    mean_latency_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of finished visits. `errors`: the most frequent first; `days`: the newest first.

    `saved_bytes` are the bytes that 304s spared us. `decoded_bytes` is the size of documents that
    were unpacked, and `encoded_bytes` their size over the wire.
    """

    visits: int
    failures: int
    unchanged: int
    new_entries: int
    updated_entries: int
    bytes_in: int
    mean_latency_ms: float | None
    dated_entries: int
    mean_late_sec: float | None
    errors: tuple[FailureCount, ...]
    days: tuple[StatisticsDay, ...]
    retries: int = 0
    saved_bytes: int = 0
    decoded_bytes: int = 0
    encoded_bytes: int = 0

    @property
    def successes(self) -> int:
        return self.visits - self.failures

    @property
    def success_rate(self) -> float | None:
        return self.successes / self.visits if self.visits else None

    @property
    def not_modified_rate(self) -> float | None:
        return self.unchanged / self.visits if self.visits else None

    @property
    def compression_ratio(self) -> float | None:
        """How many times smaller unpacked documents were over the wire."""
        return self.decoded_bytes / self.encoded_bytes if self.encoded_bytes else None

    @property
    def new_entries_per_visit(self) -> float | None:
        return self.new_entries / self.visits if self.visits else None

    @property
    def last_error(self) -> FailureCount | None:
        return max(self.errors, key=lambda kind: kind.last_at, default=None)


@dataclass(frozen=True, slots=True)
class WorstSubscription:
    """A subscription whose visits fail. `in_a_row` counts failures since its last success."""

    subscription_id: int
    feed_id: FeedId
    source_url: str
    name: str | None
    fetcher_id: FetcherId
    fetcher_name: str
    visits: int
    failures: int
    in_a_row: int
    last_error: str | None
    last_success_at: datetime | None
    next_visit_at: datetime | None

    @property
    def failure_rate(self) -> float:
        return self.failures / self.visits


def statistics_of(days: Sequence[SubscriptionDay]) -> Statistics:
    """Sum up all days, by kind of failure and by day."""
    visits = sum(day.visits for day in days)
    dated = sum(day.dated_entries for day in days)
    return Statistics(
        visits=visits,
        failures=_failures(days),
        unchanged=sum(day.unchanged for day in days),
        new_entries=sum(day.new_entries for day in days),
        updated_entries=sum(day.updated_entries for day in days),
        bytes_in=sum(day.bytes_in for day in days),
        mean_latency_ms=sum(day.latency_ms for day in days) / visits if visits else None,
        dated_entries=dated,
        mean_late_sec=sum(day.late_sec for day in days) / dated if dated else None,
        errors=_failure_counts(days),
        days=_by_day(days),
        retries=sum(day.retries for day in days),
        saved_bytes=sum(day.saved_bytes for day in days),
        decoded_bytes=sum(day.decoded_bytes for day in days),
        encoded_bytes=sum(day.encoded_bytes for day in days),
    )


def _failures(days: Iterable[SubscriptionDay]) -> int:
    return sum(day.visits for day in days if day.error)


def _failure_counts(days: Sequence[SubscriptionDay]) -> tuple[FailureCount, ...]:
    by_error: dict[str, list[SubscriptionDay]] = {}
    for day in days:
        if day.error:
            by_error.setdefault(day.error, []).append(day)
    counts = [
        FailureCount(
            error,
            sum(day.visits for day in failed),
            from_micros(max(day.last_at for day in failed)),
        )
        for error, failed in by_error.items()
    ]
    return tuple(sorted(counts, key=lambda count: (-count.visits, count.error)))


def _by_day(days: Sequence[SubscriptionDay]) -> tuple[StatisticsDay, ...]:
    by_number: dict[int, list[SubscriptionDay]] = {}
    for day in days:
        by_number.setdefault(day.day, []).append(day)
    newest_first = sorted(by_number.items(), reverse=True)
    return tuple(_statistics_day_of(number, parts) for number, parts in newest_first)


def _statistics_day_of(number: int, parts: Sequence[SubscriptionDay]) -> StatisticsDay:
    visits = sum(part.visits for part in parts)
    return StatisticsDay(
        on=None if number == OLDER else date_of(number),
        visits=visits,
        failures=_failures(parts),
        new_entries=sum(part.new_entries for part in parts),
        bytes_in=sum(part.bytes_in for part in parts),
        unchanged=sum(part.unchanged for part in parts),
        retries=sum(part.retries for part in parts),
        updated_entries=sum(part.updated_entries for part in parts),
        saved_bytes=sum(part.saved_bytes for part in parts),
        mean_latency_ms=sum(part.latency_ms for part in parts) / visits if visits else 0.0,
    )

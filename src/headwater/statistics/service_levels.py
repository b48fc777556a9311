"""Service levels: the promises on speed, failures and freshness, and whether they are kept."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from headwater.core.errors import BadInput
from headwater.core.ports import Database, View
from headwater.core.values.ids import FeedId
from headwater.core.values.latency import quantile_ms, slower_than
from headwater.feeds.fetch.failures import codes_of
from headwater.feeds.schedule import schedule_rows
from headwater.feeds.schedule.durations import format_count, format_duration
from headwater.statistics import total_rows
from headwater.statistics.subscriptions import Window, date_of
from headwater.statistics.total_rows import DayFailures, FailureFilter, FeedDayFailures, SlowFeed

ServiceLevelName = Literal["fetch_latency", "failed_fetches", "freshness"]
Unit = Literal["seconds", "share"]

P99 = 0.99
TIMES = 2.0
"""A feed is fresh until it has waited longer than so many of its chosen intervals."""

_JUDGED_FAILURES = FailureFilter(never=codes_of("theirs"), sometimes=codes_of("network"))
"""Publishers' faults never count; the network's only on days when everybody has them."""


@dataclass(frozen=True, slots=True)
class ServiceTargets:
    """Targets of the promises. On a day when more than `network_share` of all visits fail in the
    network, the trouble is in our own network: then those failures count as ours."""

    p99_ms: float = 5_000.0
    failed_share: float = 0.02
    fresh_share: float = 0.95
    network_share: float = 0.1


@dataclass(frozen=True, slots=True)
class Offender:
    """A feed that breaks a promise, with its own figure and an explanation."""

    feed_id: FeedId
    url: str
    value: float
    detail: str


@dataclass(frozen=True, slots=True)
class ServiceLevel:
    """One promise. `value` and `met` are None while there is nothing to judge.

    `measured` counts the fetches or feeds; `beyond` counts those of them that miss the target.
    """

    name: ServiceLevelName
    promise: str
    unit: Unit
    target: float
    value: float | None
    met: bool | None
    window: str
    measured: int
    beyond: int
    worst: tuple[Offender, ...]


async def service_levels(
    database: Database, promises: ServiceTargets, window: Window, *, worst: int
) -> tuple[ServiceLevel, ...]:
    """All three service levels, from the sums: visits of the last minute may be missing."""
    if window.days is None:
        raise BadInput("window must be a number of days, such as 1d.", field="window")
    now = database.clock.now()
    async with database.read() as view:
        return (
            await _fetch_latency(view, promises, window, now, worst),
            await _failed_fetches(view, promises, window, now, worst),
            await _freshness(view, promises, now, worst),
        )


async def _fetch_latency(
    view: View, promises: ServiceTargets, window: Window, now: datetime, worst: int
) -> ServiceLevel:
    first = window.first_day(now)
    counts = await total_rows.latencies(view, first)
    p99_ms = quantile_ms(counts, P99)
    target = promises.p99_ms / 1000
    return ServiceLevel(
        name="fetch_latency",
        promise=f"99 of 100 fetches of up to 1 MiB take {target:g} s at most.",
        unit="seconds",
        target=target,
        value=None if p99_ms is None else p99_ms / 1000,
        met=None if p99_ms is None else p99_ms <= promises.p99_ms,
        window=f"{window.days}d",
        measured=sum(counts.values()),
        beyond=slower_than(counts, promises.p99_ms),
        worst=tuple(
            _slow_offender(feed) for feed in await total_rows.list_slowest_feeds(view, first, worst)
        ),
    )


def _slow_offender(feed: SlowFeed) -> Offender:
    detail = f"on average, in {format_count(feed.visits, 'visit', 'visits')}"
    return Offender(feed.feed_id, feed.url, feed.mean_ms / 1000, detail)


async def _failed_fetches(
    view: View, promises: ServiceTargets, window: Window, now: datetime, worst: int
) -> ServiceLevel:
    first, share = window.first_day(now), promises.failed_share
    days = await total_rows.list_day_failures(view, first, _JUDGED_FAILURES)
    blame = replace(_JUDGED_FAILURES, days=network_trouble_days(days, promises.network_share))
    failed = await total_rows.list_most_failed_days(view, first, blame, max(1, worst))
    measured = sum(_count_judged(day, blame) for day in days)
    value = failed[0].share if failed else 0.0
    return ServiceLevel(
        name="failed_fetches",
        promise=f"No feed fails {share:.0%} of its fetches on a day, publishers' faults left out.",
        unit="share",
        target=share,
        value=value if measured else None,
        met=value < share if measured else None,
        window=f"{window.days}d",
        measured=measured,
        beyond=await total_rows.count_over_budget(view, first, blame, share),
        worst=tuple(_failing_offender(feed_day) for feed_day in failed[:worst]),
    )


def network_trouble_days(days: Sequence[DayFailures], network_share: float) -> tuple[int, ...]:
    """Days on which too many visits failed in the network for the hosts to be the cause."""
    return tuple(day.day for day in days if day.sometimes > day.visits * network_share)


def _count_judged(day: DayFailures, blame: FailureFilter) -> int:
    left_out = day.never if day.day in blame.days else day.never + day.sometimes
    return day.visits - left_out


def _failing_offender(feed_day: FeedDayFailures) -> Offender:
    fetches = format_count(feed_day.visits, "fetch", "fetches")
    detail = f"{feed_day.failures} of {fetches} on {date_of(feed_day.day).isoformat()}"
    return Offender(feed_day.feed_id, feed_day.url, feed_day.share, detail)


async def _freshness(
    view: View, promises: ServiceTargets, now: datetime, worst: int
) -> ServiceLevel:
    feeds, overdue = await schedule_rows.count_active_and_overdue(view, now, TIMES)
    share = (feeds - overdue) / feeds if feeds else None
    waiting = await schedule_rows.list_overdue_feeds(view, now, TIMES, worst) if overdue else []
    return ServiceLevel(
        name="freshness",
        promise=f"{promises.fresh_share:.0%} of active feeds are visited within {TIMES:g} times"
        " the interval chosen for them.",
        unit="share",
        target=promises.fresh_share,
        value=share,
        met=None if share is None else share >= promises.fresh_share,
        window="now",
        measured=feeds,
        beyond=overdue,
        worst=tuple(
            Offender(
                feed.feed_id, feed.url, feed.times, f"times {format_duration(feed.chosen_sec)}"
            )
            for feed in waiting
        ),
    )

"""What Headwater promises of itself, and whether it keeps it: speed, failures, freshness."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from headwater.engine import Engine
from headwater.errors import BadInput
from headwater.fetch.faults import codes_of
from headwater.ports import Reader
from headwater.schedule import queries as calendar
from headwater.schedule.words import counted, duration
from headwater.subscribe.statistics import Window, date_of
from headwater.subscribe.totals import queries as totals
from headwater.subscribe.totals.queries import Blame, DayOfAll, Judged, Slow
from headwater.values.ids import FeedId
from headwater.values.latency import quantile_ms, slower_than

Name = Literal["fetch_latency", "failed_fetches", "freshness"]
Unit = Literal["seconds", "share"]

P99 = 0.99
TIMES = 2.0
"""A feed is fresh while it has not waited longer than so many of its chosen intervals."""

_BLAME = Blame(never=codes_of("theirs"), sometimes=codes_of("network"))
"""Publishers' faults never count; the network's only on days when everybody has them."""


@dataclass(frozen=True, slots=True)
class Promises:
    """Targets. On a day when more than `network_share` of all visits fail in the network it is our
    own network that has trouble: then those failures count as ours."""

    p99_ms: float = 5_000.0
    failed_share: float = 0.02
    fresh_share: float = 0.95
    network_share: float = 0.1


@dataclass(frozen=True, slots=True)
class Offender:
    """A feed that keeps a promise from being kept, with its own figure and what it is about."""

    feed_id: FeedId
    url: str
    value: float
    detail: str


@dataclass(frozen=True, slots=True)
class Level:
    """One promise. `value` and `met` are None while there is nothing to judge.

    `measured` fetches or feeds, of which so many are `beyond` the target.
    """

    name: Name
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
    engine: Engine, promises: Promises, window: Window, *, worst: int
) -> tuple[Level, ...]:
    """All three, from the sums: visits of the last minute may not be counted yet."""
    if window.days is None:
        raise BadInput("window must be a number of days, such as 1d.", field="window")
    now = engine.clock.now()
    async with engine.database.read() as view:
        return (
            await _fetch_latency(view, promises, window, now, worst),
            await _failed_fetches(view, promises, window, now, worst),
            await _freshness(view, promises, now, worst),
        )


async def _fetch_latency(
    view: Reader, promises: Promises, window: Window, now: datetime, worst: int
) -> Level:
    first = window.first_day(now)
    counts = await totals.latencies(view, first)
    found = quantile_ms(counts, P99)
    target = promises.p99_ms / 1000
    return Level(
        name="fetch_latency",
        promise=f"99 of 100 fetches of up to 1 MiB take {target:g} s at most.",
        unit="seconds",
        target=target,
        value=None if found is None else found / 1000,
        met=None if found is None else found <= promises.p99_ms,
        window=_in_days(window),
        measured=sum(counts.values()),
        beyond=slower_than(counts, promises.p99_ms),
        worst=tuple(_slow(each) for each in await totals.slowest(view, first, worst)),
    )


def _slow(slow: Slow) -> Offender:
    detail = f"on average, in {counted(slow.visits, 'visit', 'visits')}"
    return Offender(slow.feed_id, slow.url, slow.mean_ms / 1000, detail)


async def _failed_fetches(
    view: Reader, promises: Promises, window: Window, now: datetime, worst: int
) -> Level:
    first, share = window.first_day(now), promises.failed_share
    days = await totals.days_of_all(view, first, _BLAME)
    blame = replace(_BLAME, days=general_trouble(days, promises.network_share))
    found = await totals.failed_most(view, first, blame, max(1, worst))
    measured = sum(_judged(day, blame) for day in days)
    value = found[0].share if found else 0.0
    return Level(
        name="failed_fetches",
        promise=f"No feed fails {share:.0%} of its fetches on a day, publishers' faults left out.",
        unit="share",
        target=share,
        value=value if measured else None,
        met=value < share if measured else None,
        window=_in_days(window),
        measured=measured,
        beyond=await totals.count_over_budget(view, first, blame, share),
        worst=tuple(_failing(each) for each in found[:worst]),
    )


def general_trouble(days: Sequence[DayOfAll], network_share: float) -> tuple[int, ...]:
    """Days on which so many visits failed in the network that it was not the hosts."""
    return tuple(day.day for day in days if day.sometimes > day.visits * network_share)


def _judged(day: DayOfAll, blame: Blame) -> int:
    left_out = day.never if day.day in blame.days else day.never + day.sometimes
    return day.visits - left_out


def _failing(judged: Judged) -> Offender:
    fetches = counted(judged.visits, "fetch", "fetches")
    detail = f"{judged.failures} of {fetches} on {date_of(judged.day).isoformat()}"
    return Offender(judged.feed_id, judged.url, judged.share, detail)


async def _freshness(view: Reader, promises: Promises, now: datetime, worst: int) -> Level:
    feeds, late = await calendar.freshness(view, now, TIMES)
    share = (feeds - late) / feeds if feeds else None
    waiting = await calendar.longest_waiting(view, now, TIMES, worst) if late else []
    return Level(
        name="freshness",
        promise=f"{promises.fresh_share:.0%} of active feeds are visited within {TIMES:g} times"
        " the interval chosen for them.",
        unit="share",
        target=promises.fresh_share,
        value=share,
        met=None if share is None else share >= promises.fresh_share,
        window="now",
        measured=feeds,
        beyond=late,
        worst=tuple(
            Offender(each.feed_id, each.url, each.times, f"times {duration(each.chosen_sec)}")
            for each in waiting
        ),
    )


def _in_days(window: Window) -> str:
    return f"{window.days}d"

"""Statistics of subscriptions over HTTP: the figures of one, and which go worst."""

from datetime import date, datetime
from typing import Annotated

from fastapi import Query
from pydantic import Field
from starlette.responses import Response

from headwater.entrypoints.api.dependencies import (
    Limit,
    RouteContext,
    json_response,
    parse_number,
)
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.router import Router
from headwater.feeds import feed_rows
from headwater.feeds.feed import Feed
from headwater.statistics import statistics_rows
from headwater.statistics.subscriptions import (
    USUAL_WINDOW,
    FailureCount,
    Statistics,
    StatisticsDay,
    WorstSubscription,
    parse_window,
)
from headwater.subscriptions import subscription_rows
from headwater.subscriptions.subscription import Subscription


class ErrorCountRecord(Record):
    """Failed visits of one kind."""

    error: str
    visits: int
    last_at: Moment

    @classmethod
    def of(cls, kind: FailureCount) -> "ErrorCountRecord":
        return cls(error=kind.error, visits=kind.visits, last_at=kind.last_at)


class DayRecord(Record):
    day: date | None = Field(description="UTC. Null: everything older than the days kept.")
    visits: int
    failures: int
    new_entries: int
    bytes_in: int

    @classmethod
    def of(cls, day: StatisticsDay) -> "DayRecord":
        return cls(
            day=day.on,
            visits=day.visits,
            failures=day.failures,
            new_entries=day.new_entries,
            bytes_in=day.bytes_in,
        )


class StatisticsRecord(Record):
    """`dated_entries` are new entries whose moment of publication is known: they were published
    between two successful visits. `mean_late_sec` is how long after it they were seen."""

    subscription_id: int
    feed_id: str
    fetcher_id: int
    window: str
    since: date | None
    until: Moment
    visits: int
    successes: int
    failures: int
    unchanged: int
    success_rate: float | None
    new_entries: int
    updated_entries: int
    bytes_in: int
    mean_latency_ms: float | None
    dated_entries: int
    mean_late_sec: float | None
    consecutive_failures: int
    last_success_at: Moment | None
    last_error: str | None
    last_error_at: Moment | None
    errors: list[ErrorCountRecord]
    days: list[DayRecord]

    @classmethod
    def of(
        cls,
        subscription: Subscription,
        feed: Feed,
        figures: Statistics,
        window: str,
        since: date | None,
        now: datetime,
    ) -> "StatisticsRecord":
        last = figures.last_error
        return cls(
            subscription_id=subscription.id,
            feed_id=feed.id,
            fetcher_id=subscription.fetcher_id,
            window=window,
            since=since,
            until=now,
            visits=figures.visits,
            successes=figures.successes,
            failures=figures.failures,
            unchanged=figures.unchanged,
            success_rate=figures.success_rate,
            new_entries=figures.new_entries,
            updated_entries=figures.updated_entries,
            bytes_in=figures.bytes_in,
            mean_latency_ms=figures.mean_latency_ms,
            dated_entries=figures.dated_entries,
            mean_late_sec=figures.mean_late_sec,
            consecutive_failures=feed.stats.failures,
            last_success_at=feed.stats.last_success_at,
            last_error=last.error if last else None,
            last_error_at=last.last_at if last else None,
            errors=[ErrorCountRecord.of(each) for each in figures.errors],
            days=[DayRecord.of(each) for each in figures.days],
        )


class WorstSubscriptionRecord(Record):
    subscription_id: int
    feed_id: str
    source_url: str
    name: str | None
    fetcher_id: int
    fetcher: str
    visits: int
    failures: int
    failure_rate: float
    consecutive_failures: int
    last_error: str | None
    last_success_at: Moment | None
    next_fetch_at: Moment | None

    @classmethod
    def of(cls, worst: WorstSubscription) -> "WorstSubscriptionRecord":
        return cls(
            subscription_id=worst.subscription_id,
            feed_id=worst.feed_id,
            source_url=worst.source_url,
            name=worst.name,
            fetcher_id=worst.fetcher_id,
            fetcher=worst.fetcher_name,
            visits=worst.visits,
            failures=worst.failures,
            failure_rate=worst.failure_rate,
            consecutive_failures=worst.in_a_row,
            last_error=worst.last_error,
            last_success_at=worst.last_success_at,
            next_fetch_at=worst.next_visit_at,
        )


class WorstSubscriptionsRecord(Record):
    window: str
    since: date | None
    min_visits: int
    subscriptions: list[WorstSubscriptionRecord]


router = Router(tags=["statistics"])
LEAST_VISITS = 5
WindowIn = Annotated[
    str, Query(max_length=16, description="Whole days in UTC up to now, such as 7d, or all.")
]


@router.get("/subscriptions/{subscription_id}/stats", right="read", response_model=StatisticsRecord)
async def show_statistics(
    subscription_id: str, at: RouteContext, window: WindowIn = USUAL_WINDOW
) -> Response:
    """Success, failure and usage of one subscription, up to its last visit."""
    known, now = parse_number(subscription_id, "subscription"), at.clock.now()
    days = parse_window(window, at.settings.statistics_days)
    async with at.database.read() as view:
        subscription = await subscription_rows.get_subscription(view, known)
        feed = await feed_rows.get_feed(view, subscription.feed_id)
        figures = await statistics_rows.get_statistics(view, known, feed.pk, days, now)
    return json_response(
        StatisticsRecord.of(subscription, feed, figures, window, days.since(now), now)
    )


@router.get("/stats/worst", right="read", response_model=WorstSubscriptionsRecord)
async def list_worst(
    at: RouteContext,
    window: WindowIn = USUAL_WINDOW,
    min_visits: Annotated[
        int, Query(ge=1, le=1_000_000, description="Fewer visits in the window say too little.")
    ] = LEAST_VISITS,
    limit: Limit = None,
) -> Response:
    """Active subscriptions whose visits fail, the worst first: by the share of visits that
    failed, then by failures in a row. Visits of the last minute may not be counted yet."""
    now, days = at.clock.now(), parse_window(window, at.settings.statistics_days)
    async with at.database.read() as view:
        found = await statistics_rows.list_worst_subscriptions(
            view, days, now, min_visits=min_visits, limit=at.page_size(limit)
        )
    return json_response(
        WorstSubscriptionsRecord(
            window=window,
            since=days.since(now),
            min_visits=min_visits,
            subscriptions=[WorstSubscriptionRecord.of(each) for each in found],
        )
    )

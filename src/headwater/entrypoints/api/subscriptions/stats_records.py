"""Records of the statistics of subscriptions: what callers ask for, and what they get."""

from datetime import date, datetime
from typing import Annotated

from fastapi import Query
from pydantic import Field

from headwater.entrypoints.api.records import Moment, NounRecord, Record
from headwater.feeds.feed import Feed
from headwater.statistics.subscriptions import Statistics
from headwater.subscriptions.subscription import Subscription

WindowIn = Annotated[
    str, Query(max_length=16, description="Whole days in UTC up to now, such as 7d, or all.")
]


class ErrorCountRecord(NounRecord):
    """Failed visits of one kind."""

    error: str
    visits: int
    last_at: Moment


class DayRecord(NounRecord):
    day: date | None = Field(
        validation_alias="on", description="UTC. Null: everything older than the days kept."
    )
    visits: int
    failures: int
    new_entries: int
    bytes_in: int


class StatisticsRecord(NounRecord):
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
    def of_subscription(
        cls,
        subscription: Subscription,
        feed: Feed,
        statistics: Statistics,
        window: str,
        since: date | None,
        now: datetime,
    ) -> "StatisticsRecord":
        last = statistics.last_error
        return cls.of(
            statistics,
            subscription_id=subscription.id,
            feed_id=feed.id,
            fetcher_id=subscription.fetcher_id,
            window=window,
            since=since,
            until=now,
            consecutive_failures=feed.stats.failures,
            last_success_at=feed.stats.last_success_at,
            last_error=last and last.error,
            last_error_at=last and last.last_at,
        )


class WorstSubscriptionRecord(NounRecord):
    subscription_id: int
    feed_id: str
    source_url: str
    name: str | None
    fetcher_id: int
    fetcher: str = Field(validation_alias="fetcher_name")
    visits: int
    failures: int
    failure_rate: float
    consecutive_failures: int = Field(validation_alias="in_a_row")
    last_error: str | None
    last_success_at: Moment | None
    next_fetch_at: Moment | None = Field(validation_alias="next_visit_at")


class WorstSubscriptionsRecord(Record):
    window: str
    since: date | None
    min_visits: int
    subscriptions: list[WorstSubscriptionRecord]

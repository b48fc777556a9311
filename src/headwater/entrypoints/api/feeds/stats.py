"""How one feed goes, over HTTP: what its visits brought in a window of days, and its rhythm."""

from datetime import date, datetime

from pydantic import Field
from starlette.responses import Response

from headwater.entrypoints.api.dependencies import (
    RouteContext,
    json_response,
    parse_public_id,
)
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.router import Router
from headwater.entrypoints.api.subscriptions.stats import WindowIn
from headwater.feeds import feed_rows
from headwater.feeds.feed import Feed
from headwater.statistics import statistics_rows, total_rows
from headwater.statistics.subscriptions import USUAL_WINDOW, Statistics, StatisticsDay, parse_window
from headwater.subscriptions import subscription_rows

router = Router(tags=["statistics"])


class FeedDayRecord(Record):
    day: date | None = Field(description="UTC. Null: everything older than the days kept.")
    fetch_count: int
    failures: int
    not_modified: int
    retry_count: int
    new_entries: int
    updated_entries: int
    bytes_in: int
    bytes_saved: int
    average_latency_ms: float

    @classmethod
    def of(cls, day: StatisticsDay) -> "FeedDayRecord":
        return cls(
            day=day.on,
            fetch_count=day.visits,
            failures=day.failures,
            not_modified=day.unchanged,
            retry_count=day.retries,
            new_entries=day.new_entries,
            updated_entries=day.updated_entries,
            bytes_in=day.bytes_in,
            bytes_saved=day.saved_bytes,
            average_latency_ms=day.mean_latency_ms,
        )


class FeedStatisticsRecord(Record):
    """`bytes_saved`: documents that a 304 spared us. `compression_ratio`: how many times smaller
    documents came than they were. `p99_latency_ms` is of the visits remembered one by one."""

    feed_id: str
    window: str
    since: date | None
    until: Moment
    fetch_count: int
    success_rate: float | None
    not_modified_rate: float | None
    error_code_counts: dict[str, int]
    retry_count: int
    bytes_in: int
    bytes_saved: int
    decoded_bytes: int
    compression_ratio: float | None
    average_latency_ms: float | None
    p99_latency_ms: float | None
    new_entries: int
    updated_entries: int
    new_entries_per_fetch: float | None
    interval_chosen_sec: float
    ewma_interval_sec: float | None
    days: list[FeedDayRecord]

    @classmethod
    def of(
        cls,
        feed: Feed,
        figures: Statistics,
        p99: float | None,
        window: str,
        since: date | None,
        now: datetime,
    ) -> "FeedStatisticsRecord":
        return cls(
            feed_id=feed.id,
            window=window,
            since=since,
            until=now,
            fetch_count=figures.visits,
            success_rate=figures.success_rate,
            not_modified_rate=figures.not_modified_rate,
            error_code_counts={kind.error: kind.visits for kind in figures.errors},
            retry_count=figures.retries,
            bytes_in=figures.bytes_in,
            bytes_saved=figures.saved_bytes,
            decoded_bytes=figures.decoded_bytes,
            compression_ratio=figures.compression_ratio,
            average_latency_ms=figures.mean_latency_ms,
            p99_latency_ms=p99,
            new_entries=figures.new_entries,
            updated_entries=figures.updated_entries,
            new_entries_per_fetch=figures.new_entries_per_visit,
            interval_chosen_sec=feed.schedule.interval_sec,
            ewma_interval_sec=feed.stats.ewma_sec,
            days=[FeedDayRecord.of(day) for day in figures.days],
        )


@router.get("/feeds/{feed_id}/stats", right="read", response_model=FeedStatisticsRecord)
async def show_feed_statistics(
    feed_id: str, at: RouteContext, window: WindowIn = USUAL_WINDOW
) -> Response:
    """How the visits to one feed went, up to the last one, and the interval they led to."""
    now, days = at.clock.now(), parse_window(window, at.settings.statistics_days)
    async with at.database.read() as view:
        feed = await feed_rows.get_feed(view, parse_public_id(feed_id, "feed"))
        owner = await subscription_rows.get_subscription_of_feed(view, feed.id)
        figures = await statistics_rows.get_statistics(view, owner.id, feed.pk, days, now)
        p99 = await total_rows.p99_of_feed(view, feed.pk, days.first_day(now))
    return json_response(FeedStatisticsRecord.of(feed, figures, p99, window, days.since(now), now))

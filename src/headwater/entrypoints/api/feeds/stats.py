"""Statistics of one feed over HTTP: what its visits brought in a window of days, and its rhythm."""

from headwater.entrypoints.api.dependencies import App, FeedId, View
from headwater.entrypoints.api.feeds.feed_stats_records import FeedStatisticsRecord
from headwater.entrypoints.api.router import Router
from headwater.entrypoints.api.subscriptions.stats_records import WindowIn
from headwater.feeds import feed_rows
from headwater.statistics import statistics_rows, total_rows
from headwater.statistics.subscriptions import USUAL_WINDOW, parse_window
from headwater.subscriptions import subscription_rows

router = Router(tags=["statistics"])


@router.get("/feeds/{feed_id}/stats", right="read")
async def show_feed_statistics(
    feed_id: FeedId, app: App, view: View, window: WindowIn = USUAL_WINDOW
) -> FeedStatisticsRecord:
    """How the visits to one feed went, up to the last one, and the interval they led to."""
    now, days = app.clock.now(), parse_window(window, app.settings.statistics_days)
    feed = await feed_rows.get_feed(view, feed_id)
    owner = await subscription_rows.get_subscription_of_feed(view, feed.id)
    statistics = await statistics_rows.get_statistics(view, owner.id, feed.pk, days, now)
    return FeedStatisticsRecord.of(
        statistics,
        feed_id=feed.id,
        window=window,
        since=days.since(now),
        until=now,
        p99_latency_ms=await total_rows.p99_of_feed(view, feed.pk, days.first_day(now)),
        interval_chosen_sec=feed.schedule.interval_sec,
        ewma_interval_sec=feed.stats.ewma_sec,
    )

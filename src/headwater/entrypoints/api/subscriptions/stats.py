"""Statistics of subscriptions over HTTP: those of one, and the subscriptions that fail most."""

from typing import Annotated

from fastapi import Query

from headwater.entrypoints.api.dependencies import App, Limit, SubscriptionId, View
from headwater.entrypoints.api.router import Router
from headwater.entrypoints.api.subscriptions.stats_records import (
    StatisticsRecord,
    WindowIn,
    WorstSubscriptionRecord,
    WorstSubscriptionsRecord,
)
from headwater.feeds import feed_rows
from headwater.statistics import statistics_rows
from headwater.statistics.subscriptions import USUAL_WINDOW, parse_window
from headwater.subscriptions import subscription_rows

router = Router(tags=["statistics"])
LEAST_VISITS = 5


@router.get("/subscriptions/{subscription_id}/stats", right="read")
async def show_statistics(
    subscription_id: SubscriptionId, app: App, view: View, window: WindowIn = USUAL_WINDOW
) -> StatisticsRecord:
    """Success, failure and usage of one subscription, up to its last visit."""
    now, days = app.clock.now(), parse_window(window, app.settings.statistics_days)
    subscription = await subscription_rows.get_subscription(view, subscription_id)
    feed = await feed_rows.get_feed(view, subscription.feed_id)
    statistics = await statistics_rows.get_statistics(view, subscription_id, feed.pk, days, now)
    return StatisticsRecord.of_subscription(
        subscription, feed, statistics, window, days.since(now), now
    )


@router.get("/stats/worst", right="read")
async def list_worst(
    app: App,
    view: View,
    window: WindowIn = USUAL_WINDOW,
    min_visits: Annotated[
        int, Query(ge=1, le=1_000_000, description="Fewer visits in the window say too little.")
    ] = LEAST_VISITS,
    limit: Limit = None,
) -> WorstSubscriptionsRecord:
    """Active subscriptions whose visits fail, the worst first: by the share of visits that
    failed, then by failures in a row. Visits of the last minute may not be counted yet."""
    now, days = app.clock.now(), parse_window(window, app.settings.statistics_days)
    worst = await statistics_rows.list_worst_subscriptions(
        view, days, now, min_visits=min_visits, limit=app.page_size(limit)
    )
    return WorstSubscriptionsRecord(
        window=window,
        since=days.since(now),
        min_visits=min_visits,
        subscriptions=[WorstSubscriptionRecord.of(subscription) for subscription in worst],
    )

"""How subscriptions go, over HTTP: the figures of one, and which go worst."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from headwater.entrypoints.api.asking import REFUSALS, At, Limit, told
from headwater.entrypoints.api.evidence_records import StatisticsRecord, WorstList, WorstRecord
from headwater.entrypoints.api.numbers import number
from headwater.schedule import queries as calendar
from headwater.subscribe.statistics import USUAL_WINDOW, window_of
from headwater.subscribe.subscriptions import queries as subscriptions
from headwater.subscribe.tallies import queries

router = APIRouter(tags=["statistics"], responses=REFUSALS)

LEAST_VISITS = 5

WindowIn = Annotated[
    str, Query(max_length=16, description="Whole days in UTC up to now, such as 7d, or all.")
]


@router.get("/subscriptions/{subscription_id}/stats", response_model=StatisticsRecord)
async def show_statistics(
    subscription_id: str, at: At, window: WindowIn = USUAL_WINDOW
) -> Response:
    """Success, failure and usage of one subscription, up to its last visit."""
    known, now = number(subscription_id, "subscription"), at.engine.clock.now()
    days = window_of(window, at.settings.statistics_days)
    async with at.engine.database.read() as view:
        subscription = await subscriptions.subscription(view, known)
        feed = await calendar.feed(view, subscription.feed_id)
        figures = await queries.statistics(view, known, feed.pk, days, now)
    return told(StatisticsRecord.of(subscription, feed, figures, window, days.since(now), now))


@router.get("/stats/worst", response_model=WorstList)
async def list_worst(
    at: At,
    window: WindowIn = USUAL_WINDOW,
    min_visits: Annotated[
        int, Query(ge=1, le=1_000_000, description="Fewer visits in the window say too little.")
    ] = LEAST_VISITS,
    limit: Limit = None,
) -> Response:
    """Active subscriptions whose visits fail, the worst first: by the share of visits that
    failed, then by failures in a row. Visits of the last minute may not be counted yet."""
    now, days = at.engine.clock.now(), window_of(window, at.settings.statistics_days)
    async with at.engine.database.read() as view:
        found = await queries.worst(
            view, days, now, min_visits=min_visits, limit=at.page_size(limit)
        )
    return told(
        WorstList(
            window=window,
            since=days.since(now),
            min_visits=min_visits,
            subscriptions=[WorstRecord.of(each) for each in found],
        )
    )

"""Feeds over HTTP: list, follow, look, change, visit soon, take off; and a feed's history."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Annotated

from fastapi import Query

from headwater.core.ports import View as DatabaseView
from headwater.core.values.instant import to_micros
from headwater.entrypoints.api.dependencies import (
    ApiContext,
    App,
    Caller,
    FeedId,
    TextWithoutNul,
    View,
    parse_public_id,
)
from headwater.entrypoints.api.feeds.feed_records import (
    FeedChanges,
    FeedPage,
    FeedRecord,
    NewFeed,
    RefetchIn,
    RefetchRecord,
    RemovedFeedRecord,
    schedule_record,
)
from headwater.entrypoints.api.feeds.visit_records import (
    DecisionPage,
    DecisionRecord,
    VisitPage,
    VisitRecord,
)
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.paging import Page, paging
from headwater.entrypoints.api.router import Router
from headwater.feeds import change_feed as change_feed_module
from headwater.feeds import feed_rows, visit_rows
from headwater.feeds.feed import STATES, Feed, FeedState
from headwater.feeds.visit_rows import Visit
from headwater.subscriptions import unsubscribe
from headwater.subscriptions.add_feed import add_feed, add_feed_later

_NOT_REMOVED = tuple(state for state in STATES if state != "removed")

router = Router(tags=["feeds"])


async def feed_page(
    app: ApiContext, page: Page, state: FeedState | None, url: str | None
) -> FeedPage:
    """In the order they were added. Removed feeds are listed only when asked for by state."""
    states = (state,) if state else _NOT_REMOVED
    async with app.database.read() as view:
        feeds = await feed_rows.list_feeds(
            view, after=page.after, limit=page.size + 1, states=states, url=url
        )
    shown, next_cursor = page.cut(feeds, key=attrgetter("pk"))
    records = [FeedRecord.of(feed, app.feeds.schedule) for feed in shown]
    return FeedPage(feeds=records, next_cursor=next_cursor)


async def feed_record(app: ApiContext, feed_id: str) -> FeedRecord:
    async with app.database.read() as view:
        feed = await feed_rows.get_feed(view, parse_public_id(feed_id, "feed"))
    return FeedRecord.of(feed, app.feeds.schedule)


@router.get("/feeds", right="read")
async def list_feeds(
    app: App,
    page: Annotated[Page, paging("feeds")],
    state: FeedState | None = None,
    url: Annotated[TextWithoutNul | None, Query(description="Only the feed at this URL.")] = None,
) -> FeedPage:
    """In the order they were added. Removed feeds are listed only when asked for by state."""
    return await feed_page(app, page, state, url)


@router.get("/feeds/{feed_id}", right="read")
async def show_feed(feed_id: FeedId, view: View, app: App) -> FeedRecord:
    """One feed: validators, hints, schedule with its reason, counts."""
    return FeedRecord.of(await feed_rows.get_feed(view, feed_id), app.feeds.schedule)


@router.post("/feeds", right="admin", status_code=201, location="/feeds/{id}", again=show_feed)
async def follow_feed(body: NewFeed, app: App, caller: Caller, key: IdempotencyKey) -> FeedRecord:
    """Fetches at once and refuses what is no feed, unless `visit` is `later`.

    A page that links to feeds is answered with 422 `not_a_feed` and its `candidates`.
    """
    options = body.options()
    options.overrides.policy_from(app.feeds.schedule)  # refuses limits that contradict each other
    follow = add_feed if body.visit == "now" else add_feed_later
    feed_id = await follow(body.url, options, app.registry, idempotency=key, who=caller.name)
    return await feed_record(app, feed_id)


@router.patch("/feeds/{feed_id}", right="admin")
async def change_feed(feed_id: FeedId, body: FeedChanges, app: App) -> FeedRecord:
    """Only what is named changes; null goes back to the default. New limits count from the last
    fetch, and never shorten a rest that the host asked for."""
    feed = await change_feed_module.change_feed(feed_id, body.patch(), app.feeds, app.gap)
    return FeedRecord.of(feed, app.feeds.schedule)


@router.delete("/feeds/{feed_id}", right="admin")
async def remove_feed(
    feed_id: FeedId, app: App, caller: Caller, hard: bool = False
) -> RemovedFeedRecord:
    """Soft: no more visits, all history stays. `hard`: entries, visits and raw go for good."""
    feed = await unsubscribe.remove_feed(feed_id, app.database, hard=hard, who=caller.name)
    history = "deleted" if hard else "kept"
    return RemovedFeedRecord(
        feed_id=feed.id, url=feed.url, removed=True, hard=hard, history=history
    )


async def show_refetch(feed_id: FeedId, view: View) -> RefetchRecord:
    """The answer to a refetch that was asked for already."""
    schedule = (await feed_rows.get_feed(view, feed_id)).schedule
    return RefetchRecord(
        feed_id=feed_id,
        next_visit_at=schedule.next_visit_at or view.now,
        in_progress=schedule.claimed,
    )


@router.post("/feeds/{feed_id}/refetch", right="admin", status_code=202, again=show_refetch)
async def refetch_feed(
    feed_id: FeedId, app: App, key: IdempotencyKey, body: RefetchIn | None = None
) -> RefetchRecord:
    """Due now; a worker visits it when its host's turn comes."""
    result = await change_feed_module.refetch(
        feed_id,
        app.feeds,
        whole=body is not None and body.whole,
        gap=app.gap,
        idempotency=key,
    )
    return RefetchRecord(
        feed_id=feed_id, next_visit_at=result.next_visit_at, in_progress=result.in_progress
    )


@router.get("/feeds/{feed_id}/visits", right="read")
async def list_visits(
    feed_id: FeedId, view: View, page: Annotated[Page, paging("visits")]
) -> VisitPage:
    """Newest first: what was asked, what came back, what was decided."""
    feed = await feed_rows.get_feed(view, feed_id)
    visits, next_cursor = await _visits_of(view, feed, page)
    return VisitPage(visits=[VisitRecord.of(visit) for visit in visits], next_cursor=next_cursor)


@router.get("/feeds/{feed_id}/schedule", right="read")
async def list_decisions(
    feed_id: FeedId, app: App, view: View, page: Annotated[Page, paging("visits")]
) -> DecisionPage:
    """Newest first: every decision with its reason in words and all it was made from."""
    feed = await feed_rows.get_feed(view, feed_id)
    visits, next_cursor = await _visits_of(view, feed, page)
    return DecisionPage(
        feed_id=feed.id,
        schedule=schedule_record(feed, app.feeds.schedule),
        decisions=[DecisionRecord.of(visit) for visit in visits],
        next_cursor=next_cursor,
    )


async def _visits_of(
    view: DatabaseView, feed: Feed, page: Page
) -> tuple[Sequence[Visit], str | None]:
    visits = await visit_rows.list_visits(view, feed.pk, before=page.before, limit=page.size + 1)
    return page.cut(visits, key=lambda visit: to_micros(visit.scheduled_at))

"""Feeds over HTTP: list, follow, look, change, visit soon, take off; and a feed's history."""

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from headwater.core.values.instant import to_micros
from headwater.entrypoints.api.dependencies import (
    ApiContext,
    App,
    Caller,
    Cursor,
    FeedId,
    Limit,
    RouteContext,
    TextWithoutNul,
    View,
    json_response,
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
from headwater.entrypoints.api.paging import PageRequest, cursor, decode_cursor
from headwater.entrypoints.api.router import Router
from headwater.feeds import change_feed as change_feed_module
from headwater.feeds import feed_rows, visit_rows
from headwater.feeds.feed import STATES, Feed, FeedState
from headwater.feeds.visit_rows import Visit
from headwater.subscriptions import unsubscribe
from headwater.subscriptions.add_feed import add_feed, add_feed_later

_NOT_REMOVED = tuple(state for state in STATES if state != "removed")


async def feed_page(
    at: ApiContext, piece: PageRequest, state: FeedState | None, url: str | None
) -> FeedPage:
    """In the order they were added. Removed feeds are listed only when asked for by state."""
    size = at.page_size(piece.limit)
    (after,) = decode_cursor(piece.cursor, "feeds", 1) if piece.cursor else (0,)
    states = (state,) if state else _NOT_REMOVED
    async with at.database.read() as view:
        found = await feed_rows.list_feeds(
            view, after=after, limit=size + 1, states=states, url=url
        )
    shown = found[:size]
    records = [FeedRecord.of(feed, at.feeds.schedule) for feed in shown]
    more = cursor("feeds", shown[-1].pk) if len(found) > size else None
    return FeedPage(feeds=records, next_cursor=more)


async def feed_record(at: ApiContext, feed_id: str) -> FeedRecord:
    async with at.database.read() as view:
        feed = await feed_rows.get_feed(view, parse_public_id(feed_id, "feed"))
    return FeedRecord.of(feed, at.feeds.schedule)


router = Router(tags=["feeds"])


@router.get("/feeds", right="read", response_model=FeedPage)
async def list_feeds(
    at: RouteContext,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
    state: FeedState | None = None,
    url: Annotated[TextWithoutNul | None, Query(description="Only the feed at this URL.")] = None,
) -> Response:
    """In the order they were added. Removed feeds are listed only when asked for by state."""
    return json_response(await feed_page(at, PageRequest(limit, cursor_), state, url))


@router.get("/feeds/{feed_id}", right="read")
async def show_feed(feed_id: FeedId, view: View, app: App) -> FeedRecord:
    """One feed: validators, hints, schedule with its reason, counts."""
    return FeedRecord.of(await feed_rows.get_feed(view, feed_id), app.feeds.schedule)


@router.post("/feeds", right="admin", status_code=201, location="/feeds/{id}", again=show_feed)
async def follow_feed(body: NewFeed, app: App, caller: Caller, key: IdempotencyKey) -> FeedRecord:
    """Fetches at once and refuses what is no feed, unless `visit` is `later`.

    A page that links to feeds is answered with 422 `not_a_feed` and its `candidates`.
    """
    options = body.wish()
    options.overrides.policy_from(app.feeds.schedule)  # refuses limits that contradict each other
    follow = add_feed if body.visit == "now" else add_feed_later
    feed_id = await follow(body.url, options, app.registry, idempotency=key, who=caller.name)
    return await feed_record(app, feed_id)


@router.patch("/feeds/{feed_id}", right="admin", response_model=FeedRecord)
async def change_feed(feed_id: str, body: FeedChanges, at: RouteContext) -> Response:
    """Only what is named changes; null goes back to the default. New limits count from the last
    fetch, and never shorten a rest that the host asked for."""
    known = parse_public_id(feed_id, "feed")
    feed = await change_feed_module.change_feed(known, body.patch(), at.feeds, at.gap)
    return json_response(FeedRecord.of(feed, at.feeds.schedule))


@router.delete("/feeds/{feed_id}", right="admin", response_model=RemovedFeedRecord)
async def remove_feed(
    feed_id: str, request: Request, at: RouteContext, hard: bool = False
) -> Response:
    """Soft: no more visits, all history stays. `hard`: entries, visits and raw go for good."""
    known, who = parse_public_id(feed_id, "feed"), request.scope["credential"].name
    feed = await unsubscribe.remove_feed(known, at.database, hard=hard, who=who)
    history = "deleted" if hard else "kept"
    return json_response(
        RemovedFeedRecord(feed_id=feed.id, url=feed.url, removed=True, hard=hard, history=history)
    )


async def show_refetch(feed_id: FeedId, view: View, app: App) -> RefetchRecord:
    """The answer to a refetch that was asked for already."""
    plan = (await feed_rows.get_feed(view, feed_id)).schedule
    return RefetchRecord(
        feed_id=feed_id,
        next_visit_at=plan.next_visit_at or view.now,
        in_progress=plan.claimed,
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


@router.get("/feeds/{feed_id}/visits", right="read", response_model=VisitPage)
async def list_visits(
    feed_id: str,
    at: RouteContext,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """Newest first: what was asked, what came back, what was decided."""
    _, visits, more = await _visits(at, feed_id, limit, cursor_)
    return json_response(
        VisitPage(visits=[VisitRecord.of(visit) for visit in visits], next_cursor=more)
    )


@router.get("/feeds/{feed_id}/schedule", right="read", response_model=DecisionPage)
async def list_decisions(
    feed_id: str,
    at: RouteContext,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """Newest first: every decision with its reason in words and all it was made from."""
    feed, visits, more = await _visits(at, feed_id, limit, cursor_)
    return json_response(
        DecisionPage(
            feed_id=feed.id,
            schedule=schedule_record(feed, at.feeds.schedule),
            decisions=[DecisionRecord.of(visit) for visit in visits],
            next_cursor=more,
        )
    )


async def _visits(
    at: RouteContext, feed_id: str, limit: int | None, cursor_: str | None
) -> tuple[Feed, list[Visit], str | None]:
    size = at.page_size(limit)
    before = decode_cursor(cursor_, "visits", 1)[0] if cursor_ else None
    async with at.database.read() as view:
        feed = await feed_rows.get_feed(view, parse_public_id(feed_id, "feed"))
        found = await visit_rows.list_visits(view, feed.pk, before=before, limit=size + 1)
    shown = found[:size]
    more = cursor("visits", to_micros(shown[-1].scheduled_at)) if len(found) > size else None
    return feed, shown, more

"""Feeds over HTTP: list, follow, look, change, visit soon, take off; and a feed's history."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from headwater import wishes
from headwater.entrypoints.api.asking import REFUSALS, At, Cursor, Limit, Text, public_id, told
from headwater.entrypoints.api.cursors import cursor, numbers_of
from headwater.entrypoints.api.journal import (
    DecisionPage,
    DecisionRecord,
    FeedPage,
    RefetchRecord,
    RemovedRecord,
    VisitPage,
    VisitRecord,
)
from headwater.entrypoints.api.models import FeedChanges, NewFeed, RefetchIn
from headwater.entrypoints.api.once import Told, once
from headwater.entrypoints.api.pages import Piece, feed_page, feed_record
from headwater.entrypoints.api.records import FeedRecord, schedule_record
from headwater.first_visit import add_feed, follow_later
from headwater.schedule import queries
from headwater.schedule.queries import Visit
from headwater.schedule.replan import policy_of
from headwater.subscribe.feed import Feed, State
from headwater.values.instant import to_micros

router = APIRouter(tags=["feeds"], responses=REFUSALS)


@router.get("/feeds", response_model=FeedPage)
async def list_feeds(
    at: At,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
    state: State | None = None,
    url: Annotated[Text | None, Query(description="Only the feed at this URL.")] = None,
) -> Response:
    """In the order they were added. Removed feeds are listed only when asked for by state."""
    return told(await feed_page(at, Piece(limit, cursor_), state, url))


@router.post("/feeds", response_model=FeedRecord, status_code=201)
async def follow_feed(body: NewFeed, request: Request, at: At) -> Response:
    """Fetches at once and refuses what is no feed, unless `visit` is `later`.

    A page that links to feeds is answered with 422 `not_a_feed` and its `candidates`.
    """
    wish, who = body.wish(), request.scope["credential"].name
    policy_of(wish.overrides, at.engine.schedule)

    async def effect(key: bytes | None) -> str:
        follow = add_feed if body.visit == "now" else follow_later
        return await follow(body.url, wish, at.engine, idempotency=key, who=who)

    async def tell(feed_id: str) -> Told:
        return Told(201, await feed_record(at, feed_id), location=f"/feeds/{feed_id}")

    return await once(request, at.engine, effect, tell)


@router.get("/feeds/{feed_id}", response_model=FeedRecord)
async def show_feed(feed_id: str, at: At) -> Response:
    """One feed: validators, hints, schedule with its reason, counts."""
    return told(await feed_record(at, feed_id))


@router.patch("/feeds/{feed_id}", response_model=FeedRecord)
async def change_feed(feed_id: str, body: FeedChanges, at: At) -> Response:
    """Only what is named changes; null goes back to the default. New limits count from the last
    fetch, and never shorten a rest that the host asked for."""
    known = public_id(feed_id, "feed")
    feed = await wishes.change_feed(known, body.patch(), at.engine, at.gap)
    return told(FeedRecord.of(feed, at.engine.schedule))


@router.delete("/feeds/{feed_id}", response_model=RemovedRecord)
async def remove_feed(feed_id: str, request: Request, at: At, hard: bool = False) -> Response:
    """Soft: no more visits, all history stays. `hard`: entries, visits and raw go for good."""
    known, who = public_id(feed_id, "feed"), request.scope["credential"].name
    feed = await wishes.remove_feed(known, at.engine, hard=hard, who=who)
    history = "deleted" if hard else "kept"
    return told(
        RemovedRecord(feed_id=feed.id, url=feed.url, removed=True, hard=hard, history=history)
    )


@router.post("/feeds/{feed_id}/refetch", response_model=RefetchRecord, status_code=202)
async def refetch_feed(
    feed_id: str, request: Request, at: At, body: RefetchIn | None = None
) -> Response:
    """Due now; a worker visits it when its host's turn comes."""
    known = public_id(feed_id, "feed")
    whole = body is not None and body.whole
    done: list[wishes.Refetch] = []

    async def effect(key: bytes | None) -> str:
        done.append(
            await wishes.refetch(known, at.engine, whole=whole, gap=at.gap, idempotency=key)
        )
        return known

    async def tell(_: str) -> Told:
        return _refetch_told(known, done[0])

    async def tell_again(_: str) -> Told:
        async with at.engine.database.read() as view:
            plan = (await queries.feed(view, known)).schedule
        planned = plan.next_visit_at or at.engine.clock.now()
        return _refetch_told(known, wishes.Refetch(planned, plan.claimed))

    return await once(request, at.engine, effect, tell, tell_again)


@router.get("/feeds/{feed_id}/visits", response_model=VisitPage)
async def list_visits(
    feed_id: str,
    at: At,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """Newest first: what was asked, what came back, what was decided."""
    _, visits, more = await _visits(at, feed_id, limit, cursor_)
    return told(VisitPage(visits=[VisitRecord.of(visit) for visit in visits], next_cursor=more))


@router.get("/feeds/{feed_id}/schedule", response_model=DecisionPage)
async def list_decisions(
    feed_id: str,
    at: At,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """Newest first: every decision with its reason in words and all it was made from."""
    feed, visits, more = await _visits(at, feed_id, limit, cursor_)
    return told(
        DecisionPage(
            feed_id=feed.id,
            schedule=schedule_record(feed, at.engine.schedule),
            decisions=[DecisionRecord.of(visit) for visit in visits],
            next_cursor=more,
        )
    )


async def _visits(
    at: At, feed_id: str, limit: int | None, cursor_: str | None
) -> tuple[Feed, list[Visit], str | None]:
    size = at.page_size(limit)
    before = numbers_of(cursor_, "visits", 1)[0] if cursor_ else None
    async with at.engine.database.read() as view:
        feed = await queries.feed(view, public_id(feed_id, "feed"))
        found = await queries.visits(view, feed.pk, before=before, limit=size + 1)
    shown = found[:size]
    more = cursor("visits", to_micros(shown[-1].scheduled_at)) if len(found) > size else None
    return feed, shown, more


def _refetch_told(feed_id: str, done: wishes.Refetch) -> Told:
    record = RefetchRecord(
        feed_id=feed_id, next_visit_at=done.next_visit_at, in_progress=done.in_progress
    )
    return Told(202, record)

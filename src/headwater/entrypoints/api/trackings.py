"""Trackings over HTTP: a show and the feed it is collected from; made, changed, removed."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from headwater import outlook, tracking
from headwater.collect.decisions import queries as decisions
from headwater.collect.shows import queries as shows
from headwater.collect.trackings import queries
from headwater.entrypoints.api.asking import REFUSALS, At, Cursor, Limit, public_id, told
from headwater.entrypoints.api.cursors import cursor, numbers_of
from headwater.entrypoints.api.numbers import LARGEST, number
from headwater.entrypoints.api.once import Told, once
from headwater.entrypoints.api.tracking_models import NewTrackingIn, TrackingChanges
from headwater.entrypoints.api.tracking_records import (
    NewTrackingRecord,
    RemovedTrackingRecord,
    TrackingPage,
    TrackingRecord,
    WholeTrackingRecord,
)
from headwater.policies import track_policy

router = APIRouter(tags=["trackings"], responses=REFUSALS)

OfShow = Annotated[int | None, Query(ge=1, le=LARGEST, description="Only those of this show.")]


@router.get("/trackings", response_model=TrackingPage)
async def list_trackings(
    at: At,
    show: OfShow = None,
    feed: Annotated[str | None, Query(description="Only those of the feed of this id.")] = None,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """In the order they were made, disabled ones too."""
    size = at.page_size(limit)
    (after,) = numbers_of(cursor_, "trackings", 1) if cursor_ else (0,)
    of = None if feed is None else public_id(feed, "feed")
    async with at.engine.database.read() as view:
        found = await queries.trackings(view, show_id=show, feed_id=of, after=after, limit=size + 1)
        shown = found[:size]
        every = await shows.shows_by_id(view, sorted({each.show_id for each in shown}))
        feeds = await queries.feeds_named(view, (each.feed_id for each in shown))
    more = cursor("trackings", found[size - 1].id) if len(found) > size else None
    records = [
        TrackingRecord.of(each, every[each.show_id], feeds.get(each.feed_id)) for each in shown
    ]
    return told(TrackingPage(trackings=records, next_cursor=more))


@router.post("/trackings", response_model=NewTrackingRecord, status_code=201)
async def track(body: NewTrackingIn, request: Request, at: At) -> Response:
    """Follows the feed if it is not followed yet, proposes what is not said of the show, and visits
    at once. Only what comes out from now on is collected, unless `back_catalogue` is true."""
    new, who = body.new(), request.scope["credential"].name
    if new.feed_id is not None:
        public_id(new.feed_id, "feed")
    policy = track_policy(at.settings)

    async def effect(key: bytes | None) -> str:
        made = await tracking.create_tracking(at.engine, new, policy, who=who, idempotency=key)
        return str(made.id)

    async def tell(tracking_id: str) -> Told:
        async with at.engine.database.read() as view:
            made = await queries.tracking(view, int(tracking_id))
            show = await shows.show(view, made.show_id)
            feeds = await queries.feeds_named(view, [made.feed_id])
        earlier = await outlook.earlier_releases(at.engine, made, show.show)
        record = NewTrackingRecord.after(made, show, feeds.get(made.feed_id), earlier)
        return Told(201, record, location=f"/trackings/{tracking_id}")

    return await once(request, at.engine, effect, tell)


@router.get("/trackings/{tracking_id}", response_model=WholeTrackingRecord)
async def show_tracking(tracking_id: str, at: At) -> Response:
    """One tracking, and how often each rule decided so far."""
    return told(await _whole(at, number(tracking_id, "tracking")))


@router.patch("/trackings/{tracking_id}", response_model=WholeTrackingRecord)
async def change_tracking(tracking_id: str, body: TrackingChanges, at: At) -> Response:
    """Only what is named changes, and its feed is visited at once. What was decided stays, until
    it is decided again on request."""
    known = number(tracking_id, "tracking")
    await tracking.change_tracking(at.engine, known, body.patch(), track_policy(at.settings))
    return told(await _whole(at, known))


@router.delete("/trackings/{tracking_id}", response_model=RemovedTrackingRecord)
async def remove_tracking(tracking_id: str, at: At, hard: bool = False) -> Response:
    """Soft: nothing more is collected, and what was downloaded stays known. `hard`: its records go
    for good. Files, torrents and the feed stay."""
    gone = await tracking.remove_tracking(
        at.engine, number(tracking_id, "tracking"), track_policy(at.settings), hard=hard
    )
    return told(
        RemovedTrackingRecord(
            id=gone.id,
            show_id=gone.show_id,
            removed=True,
            hard=hard,
            history="deleted" if hard else "kept",
        )
    )


async def _whole(at: At, tracking_id: int) -> WholeTrackingRecord:
    async with at.engine.database.read() as view:
        found = await queries.current(view, tracking_id)
        show = await shows.show(view, found.show_id)
        feeds = await queries.feeds_named(view, [found.feed_id])
        counts = await decisions.counts(view, tracking_id)
    return WholeTrackingRecord.whole(found, show, feeds.get(found.feed_id), counts)

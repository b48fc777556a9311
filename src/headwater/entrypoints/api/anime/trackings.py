"""Trackings over HTTP: create, list, change and remove them. Each collects a show from a feed."""

from typing import Annotated

from fastapi import Query

from headwater.anime import tracking_commands
from headwater.anime.decide import decision_rows
from headwater.anime.episodes import preview
from headwater.anime.shows import show_rows, tracking_rows
from headwater.core.ports import View as DatabaseView
from headwater.entrypoints.api.anime.tracking_records import (
    NewTrackingIn,
    NewTrackingRecord,
    RemovedTrackingRecord,
    TrackingChanges,
    TrackingPage,
    TrackingRecord,
    WholeTrackingRecord,
)
from headwater.entrypoints.api.dependencies import (
    LARGEST_ID,
    App,
    Caller,
    TrackingId,
    View,
    parse_public_id,
)
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.paging import Page, paging
from headwater.entrypoints.api.router import Router
from headwater.wiring.policies import track_policy

router = Router(tags=["trackings"])
ShowFilter = Annotated[
    int | None, Query(ge=1, le=LARGEST_ID, description="Only those of this show.")
]


@router.get("/trackings", right="read")
async def list_trackings(
    view: View,
    page: Annotated[Page, paging("trackings")],
    show: ShowFilter = None,
    feed: Annotated[str | None, Query(description="Only those of the feed of this id.")] = None,
) -> TrackingPage:
    """In the order they were made, disabled ones too."""
    trackings = await tracking_rows.list_trackings(
        view,
        show_id=show,
        feed_id=None if feed is None else parse_public_id(feed, "feed"),
        after=page.after,
        limit=page.size + 1,
    )
    shown, next_cursor = page.cut(trackings)
    shows = await show_rows.list_shows_by_id(view, sorted({each.show_id for each in shown}))
    feeds = await tracking_rows.list_feed_titles(view, (each.feed_id for each in shown))
    records = [
        TrackingRecord.of_tracking(tracking, shows[tracking.show_id], feeds.get(tracking.feed_id))
        for tracking in shown
    ]
    return TrackingPage(trackings=records, next_cursor=next_cursor)


async def show_new_tracking(tracking_id: TrackingId, app: App) -> NewTrackingRecord:
    """The answer to a repeated request, whose tracking was made already."""
    async with app.database.read() as view:
        tracking = await tracking_rows.get_tracking(view, tracking_id)
        show = await show_rows.get_show(view, tracking.show_id)
        feeds = await tracking_rows.list_feed_titles(view, [tracking.feed_id])
    earlier = await preview.earlier_releases(app.database, tracking, show.show)
    return NewTrackingRecord.of_tracking(
        tracking, show, feeds.get(tracking.feed_id), earlier_releases=earlier
    )


@router.post(
    "/trackings",
    right="admin",
    status_code=201,
    location="/trackings/{id}",
    again=show_new_tracking,
)
async def track(
    body: NewTrackingIn, app: App, caller: Caller, key: IdempotencyKey
) -> NewTrackingRecord:
    """Follows the feed if it is not followed yet, proposes the fields of the show that are not
    named, and visits at once. Only what comes out from now on is collected, unless `back_catalogue`
    is true."""
    new = body.tracking()
    if new.feed_id is not None:
        parse_public_id(new.feed_id, "feed")
    tracking = await tracking_commands.create_tracking(
        app.releases, new, track_policy(app.settings), who=caller.name, idempotency=key
    )
    return await show_new_tracking(tracking.id, app)


@router.get("/trackings/{tracking_id}", right="read")
async def show_tracking(tracking_id: TrackingId, view: View) -> WholeTrackingRecord:
    """One tracking, and how often each rule decided so far."""
    return await _record(view, tracking_id)


@router.patch("/trackings/{tracking_id}", right="admin")
async def change_tracking(
    tracking_id: TrackingId, body: TrackingChanges, app: App
) -> WholeTrackingRecord:
    """Only what is named changes, and its feed is visited at once. What was decided stays, until
    it is decided again on request."""
    await tracking_commands.change_tracking(
        app.releases, tracking_id, body.patch(), track_policy(app.settings)
    )
    async with app.database.read() as view:
        return await _record(view, tracking_id)


@router.delete("/trackings/{tracking_id}", right="admin")
async def remove_tracking(
    tracking_id: TrackingId, app: App, hard: bool = False
) -> RemovedTrackingRecord:
    """Soft: nothing more is collected, and what was downloaded stays known. `hard`: its records go
    for good. Files, torrents and the feed stay."""
    tracking = await tracking_commands.remove_tracking(
        app.releases, tracking_id, track_policy(app.settings), hard=hard
    )
    return RemovedTrackingRecord(
        id=tracking.id,
        show_id=tracking.show_id,
        removed=True,
        hard=hard,
        history="deleted" if hard else "kept",
    )


async def _record(view: DatabaseView, tracking_id: int) -> WholeTrackingRecord:
    tracking = await tracking_rows.get_current_tracking(view, tracking_id)
    show = await show_rows.get_show(view, tracking.show_id)
    feeds = await tracking_rows.list_feed_titles(view, [tracking.feed_id])
    counts = await decision_rows.count_decisions_by_rule(view, tracking_id)
    return WholeTrackingRecord.of_tracking(
        tracking, show, feeds.get(tracking.feed_id), counts=counts
    )

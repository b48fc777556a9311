"""Releases over HTTP: every decision and its reason, and how a person overrules it."""

from typing import Annotated, Literal

from fastapi import Query

from headwater.anime.decide import decide_again as decide_again_module
from headwater.anime.decide import decide_by_hand, decision_rows
from headwater.core.ports import View as DatabaseView
from headwater.entrypoints.api.anime.release_records import (
    BackfillIn,
    ReleaseDecisionCountsRecord,
    ReleasePage,
    ReleaseRecord,
    TakeIn,
)
from headwater.entrypoints.api.dependencies import (
    LARGEST_ID,
    App,
    ReleaseId,
    TextWithoutNul,
    TrackingId,
    View,
)
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.models import NothingIn
from headwater.entrypoints.api.paging import Page, paging
from headwater.entrypoints.api.router import Router

router = Router(tags=["releases"])
IdFilter = Annotated[int | None, Query(ge=1, le=LARGEST_ID)]
Actions = Annotated[
    list[Literal["fetch", "upgrade", "skip", "hold", "removed", "refused"]] | None,
    Query(description="Only what was decided so; may be repeated."),
]
Rule = Annotated[
    TextWithoutNul | None, Query(max_length=64, description="Only what this rule decided.")
]


@router.get("/releases", right="read")
async def list_releases(
    view: View,
    page: Annotated[Page, paging("releases")],
    tracking: IdFilter = None,
    show: IdFilter = None,
    action: Actions = None,
    rule: Rule = None,
) -> ReleasePage:
    """Every entry that a tracking looked at, wanted or not, the newest first."""
    decisions = await decision_rows.list_decisions(
        view,
        tracking_id=tracking,
        show_id=show,
        actions=action or (),
        rule=rule,
        before=page.before,
        limit=page.size + 1,
    )
    shown, next_cursor = page.cut(decisions)
    downloads = await decision_rows.list_downloads_by_release(
        view, [decision.id for decision in shown]
    )
    records = [
        ReleaseRecord.of_decision(decision, downloads.get(decision.id)) for decision in shown
    ]
    return ReleasePage(releases=records, next_cursor=next_cursor)


@router.get("/releases/{release_id}", right="read")
async def show_release(release_id: ReleaseId, view: View) -> ReleaseRecord:
    """One release, with the decision on it and the reason."""
    return await _record(view, release_id)


@router.post("/releases/{release_id}/take", right="admin", again=show_release)
async def take_release(
    release_id: ReleaseId, app: App, key: IdempotencyKey, body: TakeIn | None = None
) -> ReleaseRecord:
    """It is downloaded, and takes its place in the library from whatever has it. One that is on
    its way stays as it is."""
    body = body or TakeIn()
    await decide_by_hand.take_release(
        app.database, release_id, body.episodes, season=body.season, idempotency=key
    )
    async with app.database.read() as view:
        return await _record(view, release_id)


@router.post("/releases/{release_id}/refuse", right="admin", again=show_release)
async def refuse_release(
    release_id: ReleaseId, app: App, key: IdempotencyKey, body: NothingIn | None = None
) -> ReleaseRecord:
    """Neither it nor its torrent comes again for this show. 409 while it is in the library, or on
    its way there."""
    await decide_by_hand.refuse_release(app.database, release_id, idempotency=key)
    async with app.database.read() as view:
        return await _record(view, release_id)


async def finish_backfill(
    tracking_id: TrackingId, app: App, body: BackfillIn | None = None
) -> ReleaseDecisionCountsRecord:
    """The answer to a repeated request: the work that the first one left is done now."""
    since = None if body is None else body.since
    summary = await decide_again_module.backfill(app.releases, tracking_id, since)
    return ReleaseDecisionCountsRecord.of(tracking_id, summary)


@router.post("/trackings/{tracking_id}/backfill", right="admin", again=finish_backfill)
async def backfill_tracking(
    tracking_id: TrackingId, app: App, key: IdempotencyKey, body: BackfillIn | None = None
) -> ReleaseDecisionCountsRecord:
    """Earlier releases are collected too, as far as their entries are kept. The tracking's `since`
    goes back to that moment, and never forward."""
    since = None if body is None else body.since
    summary = await decide_again_module.backfill(app.releases, tracking_id, since, idempotency=key)
    return ReleaseDecisionCountsRecord.of(tracking_id, summary)


async def finish_deciding(tracking_id: TrackingId, app: App) -> ReleaseDecisionCountsRecord:
    """The answer to a repeated request: the work that the first one left is done now."""
    summary = await decide_again_module.record_decisions_again(app.releases, tracking_id)
    return ReleaseDecisionCountsRecord.of(tracking_id, summary)


@router.post("/trackings/{tracking_id}/decide", right="admin", again=finish_deciding)
async def decide_again(
    tracking_id: TrackingId, app: App, key: IdempotencyKey, body: NothingIn | None = None
) -> ReleaseDecisionCountsRecord:
    """Looks again at all that was held, skipped or removed, by what the tracking wants now. The
    decisions of a person stay, and so does what is downloaded."""
    summary = await decide_again_module.record_decisions_again(
        app.releases, tracking_id, idempotency=key
    )
    return ReleaseDecisionCountsRecord.of(tracking_id, summary)


async def _record(view: DatabaseView, release_id: int) -> ReleaseRecord:
    decision = await decision_rows.get_decision(view, release_id)
    download = await decision_rows.find_download_of_release(view, release_id)
    return ReleaseRecord.of_decision(decision, download)

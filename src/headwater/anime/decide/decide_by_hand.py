"""Decide by hand: a person takes or refuses a release, whatever the tracking decided."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from headwater.anime.decide import decision_rows
from headwater.anime.decide.decision import DecisionAction, NewReleaseDecision, ReleaseDecision
from headwater.anime.decide.decision_rows import ChangedDecision
from headwater.anime.decide.plan import Replacement
from headwater.anime.decide.record_decisions import (
    DecisionSummary,
    count_decisions,
    create_download,
)
from headwater.anime.downloads import download_rows
from headwater.anime.downloads.download import STATES_WITH_SLOTS, Download
from headwater.anime.release_events import release_found
from headwater.anime.shows import show_rows, tracking_rows
from headwater.anime.shows.show import TrackedShow
from headwater.anime.shows.slot import FILM, Slot, SlotMatch, match_release_to_show
from headwater.anime.shows.tracking import Tracking
from headwater.core.errors import BadInput, ConflictError
from headwater.core.idempotency_rows import set_key_resource
from headwater.core.ports import Database, Transaction
from headwater.events import event_rows

BY_HAND = "by_hand"


async def take_release(
    database: Database,
    release_id: int,
    episodes: Sequence[Decimal] = (),
    *,
    season: int | None = None,
    idempotency: bytes | None = None,
) -> ReleaseDecision:
    """Download a release that a person wants. It takes its slots from whatever has them, better or
    not: the `episodes` of `season` (the show's own where none is named), or without any those that
    its title names. A release that is in the library or on its way there stays as it is."""
    if season is not None and not episodes:
        raise BadInput("A season alone is no place: say which episodes.", field="episodes")
    now = database.clock.now()
    async with database.write() as tx:
        row, tracking, show = await _lock_release(tx, release_id)
        download = await decision_rows.find_download_of_release(tx, release_id)
        if download is None or not download.is_standing:
            _check_not_leaving(download)
            usual_season = show.show.season if season is None else season
            chosen = [Slot(usual_season, number) for number in episodes]
            taken = _slots_to_take(row, show, chosen)
            row = await _take_row(tx, row, tracking, show, taken, now)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(release_id))
    return row


async def refuse_release(
    database: Database, release_id: int, *, idempotency: bytes | None = None
) -> ReleaseDecision:
    """Refuse a release: neither it nor its torrent comes again for this show, unless it is
    taken."""
    async with database.write() as tx:
        row, _, _ = await _lock_release(tx, release_id)
        download = await decision_rows.find_download_of_release(tx, release_id)
        if download is not None and download.state in STATES_WITH_SLOTS:
            raise ConflictError(
                "It is in the library or on its way there: drop its download first.",
                download_id=download.id,
                state=download.state,
            )
        if row.action != "refused":
            row = await _change_decision(
                tx, row, "refused", "A person does not want it.", row.slots, tx.now
            )
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(release_id))
    return row


async def _lock_release(
    tx: Transaction, release_id: int
) -> tuple[ReleaseDecision, Tracking, TrackedShow]:
    """Read the release once its show is locked: nobody decides anything for it until we are
    done."""
    tracking = await tracking_rows.get_tracking(
        tx, (await decision_rows.get_decision(tx, release_id)).tracking_id
    )
    show = await show_rows.get_show(tx, tracking.show_id, lock=True)
    return await decision_rows.get_decision(tx, release_id), tracking, show


async def _take_row(
    tx: Transaction,
    row: ReleaseDecision,
    tracking: Tracking,
    show: TrackedShow,
    slots: tuple[Slot, ...],
    now: datetime,
) -> ReleaseDecision:
    replaces = []
    for held in await download_rows.list_held_releases(tx, show.id):
        lost = tuple(slot for slot in held.slots if slot in slots)
        if lost:
            replaces.append(Replacement(held, lost, set(held.slots) <= set(lost)))
    action: DecisionAction = "upgrade" if replaces else "fetch"
    taken = await _change_decision(tx, row, action, "A person took it.", slots, now)
    await create_download(tx, show, taken, replaces, now)
    await event_rows.append_events(tx, [release_found(tracking.feed_id, show, taken)], now)
    return taken


async def _change_decision(
    tx: Transaction,
    row: ReleaseDecision,
    action: DecisionAction,
    reason: str,
    slots: tuple[Slot, ...],
    now: datetime,
) -> ReleaseDecision:
    new = NewReleaseDecision(row.tracking_id, row.offer, action, BY_HAND, reason, slots)
    changed = await decision_rows.update_decision(tx, ChangedDecision(row, new), now)
    assert changed is not None, "its show is locked"
    count_decisions(DecisionSummary({action: 1}), tracking=row.tracking_id)
    return changed


def _check_not_leaving(download: Download | None) -> None:
    if download is not None and download.state == "retiring":
        raise ConflictError(
            "It is on its way out of the library: take it when it is gone.",
            download_id=download.id,
            state=download.state,
        )


def _slots_to_take(
    row: ReleaseDecision, show: TrackedShow, chosen: Sequence[Slot]
) -> tuple[Slot, ...]:
    if not row.candidate.can_be_fetched:
        raise BadInput("It has neither a torrent nor a magnet link.", release_id=row.id)
    if chosen:
        return tuple(dict.fromkeys(chosen))
    if show.show.is_film:
        return (FILM,)
    if row.slots:
        return row.slots
    # A release that the filter removed has no slots yet. One of another season has slots there.
    season = row.release.season
    show_of_season = show.show if season is None else replace(show.show, season=season)
    match = match_release_to_show(row.release, show_of_season)
    if isinstance(match, SlotMatch) and match.slots:
        return match.slots
    raise BadInput("Its title does not say which episode it is: say so.", field="episodes")

"""Releases that a person takes or refuses, whatever was decided of them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from headwater.access.store import remember_resource
from headwater.announce import store as log
from headwater.collect.decisions import queries as decisions
from headwater.collect.decisions import store as decided
from headwater.collect.decisions.decided import Action, Decided, Deciding
from headwater.collect.decisions.store import Anew
from headwater.collect.download import STANDING, Download
from headwater.collect.downloads import queries as downloads
from headwater.collect.plan import Replacement, Standing
from headwater.collect.shows import queries as shows
from headwater.collect.slot import FILM, Placement, Slot, placed
from headwater.collect.tracking import TrackedShow, Tracking
from headwater.collect.trackings import queries as trackings
from headwater.collecting import Outcome, count, intend
from headwater.engine import Engine
from headwater.errors import BadInput, Conflict
from headwater.ports import Transaction
from headwater.release_events import release_found

BY_HAND = "by_hand"


async def take(
    engine: Engine,
    release_id: int,
    slots: Sequence[Slot] = (),
    *,
    idempotency: bytes | None = None,
) -> Decided:
    """It is downloaded, and takes its slots from whatever has them, better or not. `slots` say
    which they are; without any, those that its title names. One on its way stays as it is."""
    now = engine.clock.now()
    async with engine.database.write() as tx:
        row, tracking, show = await _held(tx, release_id)
        download = await decisions.download_of(tx, release_id)
        if download is None or not download.is_standing:
            _refuse_leaving(download)
            row = await _taken(tx, row, tracking, show, _slots(row, show, slots), now)
        if idempotency is not None:
            await remember_resource(tx, idempotency, str(release_id))
    return row


async def refuse(engine: Engine, release_id: int, *, idempotency: bytes | None = None) -> Decided:
    """Neither it nor its torrent comes again for this show, unless it is taken."""
    async with engine.database.write() as tx:
        row, _, _ = await _held(tx, release_id)
        download = await decisions.download_of(tx, release_id)
        if download is not None and download.state in STANDING:
            raise Conflict(
                "It is in the library or on its way there: drop its download first.",
                download_id=download.id,
                state=download.state,
            )
        if row.action != "refused":
            row = await _changed(
                tx, row, "refused", "A person does not want it.", row.slots, engine.clock.now()
            )
        if idempotency is not None:
            await remember_resource(tx, idempotency, str(release_id))
    return row


async def _held(tx: Transaction, release_id: int) -> tuple[Decided, Tracking, TrackedShow]:
    """Read once its show is held: nobody decides anything for it until we are done."""
    tracking = await trackings.tracking(tx, (await decisions.decision(tx, release_id)).tracking_id)
    show = await shows.show(tx, tracking.show_id, lock=True)
    return await decisions.decision(tx, release_id), tracking, show


async def _taken(
    tx: Transaction,
    row: Decided,
    tracking: Tracking,
    show: TrackedShow,
    slots: tuple[Slot, ...],
    now: datetime,
) -> Decided:
    replaces = _replaced(await downloads.standing(tx, show.id), slots)
    action: Action = "upgrade" if replaces else "fetch"
    taken = await _changed(tx, row, action, "A person took it.", slots, now)
    await intend(tx, show, taken, replaces, now)
    await log.append(tx, [release_found(tracking.feed_id, show, taken)], now)
    return taken


async def _changed(
    tx: Transaction,
    row: Decided,
    action: Action,
    reason: str,
    slots: tuple[Slot, ...],
    now: datetime,
) -> Decided:
    deciding = Deciding(row.tracking_id, row.offer, action, BY_HAND, reason, slots)
    changed = await decided.change(tx, Anew(row, deciding), now)
    assert changed is not None, "its show is held"
    count(Outcome({action: 1}), tracking=row.tracking_id)
    return changed


def _refuse_leaving(download: Download | None) -> None:
    if download is not None and download.state == "retiring":
        raise Conflict(
            "It is on its way out of the library: take it when it is gone.",
            download_id=download.id,
            state=download.state,
        )


def _slots(row: Decided, show: TrackedShow, said: Sequence[Slot]) -> tuple[Slot, ...]:
    if not row.candidate.can_be_fetched:
        raise BadInput("It has neither a torrent nor a magnet link.", release_id=row.id)
    if said:
        return tuple(dict.fromkeys(said))
    if show.show.is_film:
        return (FILM,)
    if row.slots:
        return row.slots
    # What the filter removed was given no place; and what is of another season has one there.
    season = row.release.season
    at_home = show.show if season is None else replace(show.show, season=season)
    found = placed(row.release, at_home)
    if isinstance(found, Placement) and found.slots:
        return found.slots
    raise BadInput("Its title does not say which episode it is: say so.", field="episodes")


def _replaced(standing: Sequence[Standing], slots: Sequence[Slot]) -> list[Replacement]:
    found = []
    for each in standing:
        lost = tuple(slot for slot in each.slots if slot in slots)
        if lost:
            found.append(Replacement(each, lost, set(each.slots) <= set(lost)))
    return found

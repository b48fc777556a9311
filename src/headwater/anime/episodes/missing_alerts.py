"""Alerts for missing episodes: an event for each, once for as long as it is missing."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from headwater.anime.episodes import gap_rows
from headwater.anime.episodes.episodes import gaps_of
from headwater.anime.release_events import episode_missing
from headwater.anime.services import ReleaseServices
from headwater.anime.shows import show_rows, tracking_rows
from headwater.anime.shows.show import TrackedShow
from headwater.anime.shows.slot import Slot
from headwater.anime.shows.tracking import Tracking
from headwater.core.errors import NotFound
from headwater.core.ports import Database, View
from headwater.core.telemetry.log import get_logger
from headwater.events import event_rows

_PAGE = 1_000

logger = get_logger("releases")


async def announce_missing_episodes(services: ReleaseServices) -> int:
    """Announce the missing episodes of all shows that are collected, and return their number."""
    announced = 0
    for show_id, trackings in (await _list_enabled_trackings(services.database)).items():
        try:
            announced += await _announce_for_show(services, show_id, trackings)
        except NotFound:  # somebody has just removed it
            continue
    return announced


async def _list_enabled_trackings(database: Database) -> dict[int, list[Tracking]]:
    """Enabled trackings by show."""
    by_show: dict[int, list[Tracking]] = {}
    after = 0
    while True:
        async with database.read() as view:
            page = await tracking_rows.list_trackings(view, after=after, limit=_PAGE)
        for tracking in page:
            if tracking.enabled:
                by_show.setdefault(tracking.show_id, []).append(tracking)
        if len(page) < _PAGE:
            return by_show
        after = page[-1].id


async def _announce_for_show(
    services: ReleaseServices, show_id: int, trackings: Sequence[Tracking]
) -> int:
    """Reads first, and writes only when there is something to write."""
    before = services.clock.now() - timedelta(hours=services.policy.gap_hours)
    async with services.database.read() as view:
        show = await show_rows.get_show(view, show_id)
        due, filled = await _find_gap_changes(view, show, trackings, before)
    if not due and not filled:
        return 0
    async with services.database.write() as tx:
        show = await show_rows.get_show(tx, show_id, lock=True)
        due, filled = await _find_gap_changes(tx, show, trackings, before)
        await gap_rows.delete_gaps(tx, show_id, filled)
        new = await gap_rows.insert_gaps(tx, show_id, due, tx.now)
        events = [episode_missing(trackings[0].feed_id, show, slot) for slot in new]
        await event_rows.append_events(tx, events, tx.now)
    for slot in new:
        logger.warning("episode_missing", show=show_id, episode=str(slot))
    return len(new)


async def _find_gap_changes(
    view: View, show: TrackedShow, trackings: Sequence[Tracking], before: datetime
) -> tuple[list[Slot], set[Slot]]:
    """Slots to announce as missing, and slots that were announced and are filled by now."""
    filled_slots = await gap_rows.list_filled_slots(view, show.id)
    announced = await gap_rows.list_reported_gaps(view, show.id)
    from_first = any(tracking.since is None for tracking in trackings)
    gaps = gaps_of(show.show, filled_slots, from_first=from_first)
    due = [gap.slot for gap in gaps if gap.since <= before and gap.slot not in announced]
    return due, announced - {gap.slot for gap in gaps}

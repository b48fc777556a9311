"""Missing episodes told to other programs: each once, for as long as it is missing."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from headwater.announce import store as log
from headwater.collect.gaps import queries, store
from headwater.collect.gaps.gap import gaps_of
from headwater.collect.shows import queries as shows
from headwater.collect.slot import Slot
from headwater.collect.tracking import TrackedShow, Tracking
from headwater.collect.trackings import queries as trackings
from headwater.engine import Engine
from headwater.errors import NotFound
from headwater.ports import Reader
from headwater.release_events import episode_missing
from headwater.telemetry.log import logger

_PAGE = 1_000

lines = logger("releases")


async def tell_gaps(engine: Engine) -> int:
    """How many episodes were told to be missing now, of all shows that are collected."""
    told = 0
    for show_id, wishes in (await _collected(engine)).items():
        try:
            told += await _tell(engine, show_id, wishes)
        except NotFound:  # somebody has just let it go
            continue
    return told


async def _collected(engine: Engine) -> dict[int, list[Tracking]]:
    """Trackings that are enabled, by show."""
    found: dict[int, list[Tracking]] = {}
    after = 0
    while True:
        async with engine.database.read() as view:
            page = await trackings.trackings(view, after=after, limit=_PAGE)
        for tracking in page:
            if tracking.enabled:
                found.setdefault(tracking.show_id, []).append(tracking)
        if len(page) < _PAGE:
            return found
        after = page[-1].id


async def _tell(engine: Engine, show_id: int, wishes: Sequence[Tracking]) -> int:
    """Looks first, and writes only when there is something to write."""
    before = engine.clock.now() - timedelta(hours=engine.collect.gap_hours)
    async with engine.database.read() as view:
        show = await shows.show(view, show_id)
        due, filled = await _looked(view, show, wishes, before)
    if not due and not filled:
        return 0
    async with engine.database.write() as tx:
        show = await shows.show(tx, show_id, lock=True)
        due, filled = await _looked(tx, show, wishes, before)
        await store.forget(tx, show_id, filled)
        new = await store.add(tx, show_id, due, engine.clock.now())
        events = [episode_missing(wishes[0].feed_id, show, slot) for slot in new]
        await log.append(tx, events, engine.clock.now())
    for slot in new:
        lines.warning("episode_missing", show=show_id, episode=str(slot))
    return len(new)


async def _looked(
    view: Reader, show: TrackedShow, wishes: Sequence[Tracking], before: datetime
) -> tuple[list[Slot], set[Slot]]:
    """What is to be told, and what was told and is filled by now."""
    there = await queries.standing_since(view, show.id)
    known = await queries.gaps_told(view, show.id)
    from_first = any(tracking.since is None for tracking in wishes)
    missing = gaps_of(show.show, there, from_first=from_first)
    due = [gap.slot for gap in missing if gap.since <= before and gap.slot not in known]
    return due, known - {gap.slot for gap in missing}

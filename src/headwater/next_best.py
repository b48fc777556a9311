"""When a release is given up, the best of those that were passed over for it gets its chance."""

import asyncio
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime

from headwater.catching_up import changed_by, read_again
from headwater.collect.decisions import queries as decisions
from headwater.collect.decisions import store as decided
from headwater.collect.decisions.decided import Decided
from headwater.collect.shows import queries as shows
from headwater.collect.slot import Slot
from headwater.collect.tracking import TrackedShow, Tracking
from headwater.collect.trackings import queries as trackings
from headwater.collecting import Outcome, acted_on, judged
from headwater.engine import Engine
from headwater.ports import Transaction


async def next_best(
    tx: Transaction, engine: Engine, show_id: int, slots: Collection[Slot], now: datetime
) -> Outcome:
    """In the transaction in which these slots become free: what was skipped for them is looked at
    again, by every tracking of the show. What had its turn does not come again, so this ends."""
    show = await shows.show(tx, show_id, lock=True)
    outcome = Outcome()
    for tracking in await trackings.trackings(tx, show_id=show_id):
        if tracking.enabled:
            rows = await decisions.passed_over(tx, tracking.id, slots)
            outcome += await _looked_at(tx, engine, show, tracking, rows, now)
    return outcome


async def _looked_at(
    tx: Transaction,
    engine: Engine,
    show: TrackedShow,
    tracking: Tracking,
    rows: Sequence[Decided],
    now: datetime,
) -> Outcome:
    """Only what is wanted or held by now is written: the others stay as they were."""
    if not rows:
        return Outcome()
    offers = await asyncio.to_thread(read_again, rows, tracking.preferences)
    judgement = await judged(tx, show, tracking, offers, engine.collect, now)
    made = [await decided.change(tx, each, now) for each in changed_by(rows, judgement).loud]
    kept = tuple(row for row in made if row is not None)
    await acted_on(tx, show, tracking, kept, judgement, now)
    return Outcome(Counter[str](row.action for row in kept), kept)

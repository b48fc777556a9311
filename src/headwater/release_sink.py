"""The engine's own sink that decides on releases: it is there while something is tracked."""

from headwater.announce.sinks import queries, store
from headwater.announce.sinks.sink import SinkPatch
from headwater.announce.sinks.wish import RELEASES, SinkWish
from headwater.announce.wanted import Wanted
from headwater.engine import Engine
from headwater.ports import OutletPlan, Transaction
from headwater.reconciling import free_name
from headwater.sinks import Overtaken, added
from headwater.telemetry.log import logger

_WANTED = Wanted(types=("new_entry", "updated_entry"), tracked=True)

_TRACKED = "SELECT 1 AS one FROM trackings WHERE removed_at IS NULL LIMIT 1"

log = logger("sinks")


async def ensure_sink(tx: Transaction, engine: Engine) -> bool:
    """It is there and runs: whether it had to be made. A new one is told what comes from now on;
    what is kept already is looked at by catching up."""
    while True:
        there = await queries.sinks(tx)
        own = next((sink for sink in there if sink.kind == RELEASES), None)
        if own is None:
            wish = SinkWish(free_name(RELEASES, there), RELEASES, wanted=_WANTED)
            plan = engine.outlets.checked(OutletPlan(wish.name, RELEASES, {}, {}))
            try:
                made = await added(tx, engine, wish, plan, most=0, origin="settings")
            except Overtaken:  # by another process, which is done by now: its sink can be seen
                continue
            log.info("sink_made", sink=made.name, kind=RELEASES, cursor=made.cursor)
            return True
        if not own.runs or own.wanted != _WANTED:
            patch = SinkPatch(enabled=True, wanted=_WANTED)
            await store.change(tx, own.id, patch, engine.clock.now())
            log.info("sink_changed", sink=own.name, kind=RELEASES)
        return False


async def keep_release_sink(engine: Engine) -> None:
    """As `ensure_sink` while something is tracked; without a tracking there is none."""
    async with engine.database.read() as view:
        tracked = await view.row(_TRACKED) is not None
        own = [sink for sink in await queries.sinks(view) if sink.kind == RELEASES]
    if tracked == bool(own) and all(sink.runs and sink.wanted == _WANTED for sink in own):
        return
    async with engine.database.write() as tx:
        if await tx.row(_TRACKED) is not None:
            if await ensure_sink(tx, engine):
                # Nobody can say what was told in the meantime.
                await tx.run("UPDATE trackings SET caught_up = NULL")
            return
        for sink in own:
            await store.remove(tx, sink.id)
            log.info("sink_removed", sink=sink.name, kind=RELEASES)

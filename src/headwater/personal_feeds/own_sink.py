"""The sink of our own that fills personal feeds, made at every start."""

from datetime import timedelta

from headwater.core.engine import Engine
from headwater.core.ports import Transaction
from headwater.core.telemetry.log import get_logger
from headwater.core.values.instant import to_micros
from headwater.events.event_filter import EventFilter
from headwater.sinks import sink_rows
from headwater.sinks.ports import SinkConfig
from headwater.sinks.sink import PERSONAL, SinkDefinition, SinkPatch, StartPosition
from headwater.sinks.sink_commands import SinkNameTaken, free_name, insert_new_sink

logger = get_logger("sinks")
_OWN_WANTED = EventFilter(types=("new_entry", "updated_entry"), categorised=True)


async def ensure_personal_sink(engine: Engine, *, days: float) -> None:
    """The engine's own sink is there and runs. A new one is told of the last `days`: older entries
    would be in no personal feed."""
    while True:
        try:
            async with engine.database.write() as tx:
                await _write_personal_sink(tx, engine, timedelta(days=days))
        except SinkNameTaken:
            continue
        return


async def _write_personal_sink(tx: Transaction, engine: Engine, window: timedelta) -> None:
    there, now = await sink_rows.list_sinks(tx), engine.clock.now()
    own = next((sink for sink in there if sink.kind == PERSONAL), None)
    if own is None:
        start = StartPosition(moment=to_micros(now - window))
        wish = SinkDefinition(free_name(PERSONAL, there), PERSONAL, wanted=_OWN_WANTED, start=start)
        plan = engine.outlets.checked(SinkConfig(wish.name, PERSONAL, {}, {}))
        made = await insert_new_sink(tx, engine, wish, plan, most=0, origin="settings")
        logger.info("sink_made", sink=made.name, kind=PERSONAL, cursor=made.cursor)
    elif not own.runs or own.wanted != _OWN_WANTED:
        await sink_rows.update_sink(tx, own.id, SinkPatch(enabled=True, wanted=_OWN_WANTED), now)
        logger.info("sink_changed", sink=own.name, kind=PERSONAL)

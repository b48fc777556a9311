"""Sinks that stand in the settings: the database is brought in line with them at every start."""

from collections.abc import Sequence

from headwater.announce.sinks import queries, store
from headwater.announce.sinks.sink import Sink, SinkPatch
from headwater.announce.sinks.wish import WEBHOOK, SinkWish
from headwater.engine import Engine
from headwater.errors import BadInput, BadSettings, Conflict, SecretUnreadable
from headwater.ports import OutletPlan, Transaction
from headwater.sinks import Overtaken, added, checked, opened, sealed
from headwater.telemetry.log import logger

log = logger("sinks")


async def reconcile(engine: Engine, wishes: Sequence[SinkWish], *, most: int) -> None:
    """The database says what the settings say. BadSettings, and no change, when it cannot."""
    while True:
        try:
            async with engine.database.write() as tx:
                await _reconciled(tx, engine, wishes, most=most)
        except Overtaken:  # another process began at the same moment
            continue
        except (BadInput, Conflict) as trouble:
            raise BadSettings(f"sinks: {trouble.message}", **trouble.facts) from trouble
        return


async def _reconciled(
    tx: Transaction, engine: Engine, wishes: Sequence[SinkWish], *, most: int
) -> None:
    there = {sink.name: sink for sink in await queries.sinks(tx)}
    for wish in wishes:
        try:
            await _in_line(tx, engine, wish, there.pop(wish.name, None), most=most)
        except BadInput as trouble:
            raise BadInput(f"{wish.name}: {trouble.message}", **trouble.facts) from trouble
    for sink in there.values():
        if sink.origin == "settings":
            left = SinkPatch(enabled=False, origin="api")
            await store.change(tx, sink.id, left, engine.clock.now())
            log.warning("sink_left_the_settings", sink=sink.name, cursor=sink.cursor)


async def _in_line(
    tx: Transaction, engine: Engine, wish: SinkWish, sink: Sink | None, *, most: int
) -> None:
    if wish.kind == WEBHOOK and "secret" not in wish.secrets:
        # One that we made could be shown to nobody.
        raise BadInput("A webhook in the settings needs its secret there.", field="secret")
    plan = checked(engine, wish)
    if sink is None:
        await added(tx, engine, wish, plan, most=most, origin="settings")
        log.info("sink_made", sink=wish.name, kind=wish.kind)
    elif sink.kind != wish.kind:
        raise BadInput(
            f"There is one of this name already, a {sink.kind}; a {wish.kind} needs another name.",
            field="kind",
        )
    elif not _is_as_wished(engine, sink, wish, plan):
        await store.change(tx, sink.id, _as_wished(engine, wish, plan), engine.clock.now())
        log.info("sink_changed", sink=wish.name)


def _as_wished(engine: Engine, wish: SinkWish, plan: OutletPlan) -> SinkPatch:
    return SinkPatch(
        options=plan.options,
        secrets=sealed(engine, plan),
        wanted=wish.wanted,
        enabled=wish.enabled,
        max_attempts=wish.attempts,
        origin="settings",
    )


def _is_as_wished(engine: Engine, sink: Sink, wish: SinkWish, plan: OutletPlan) -> bool:
    """Secrets that do not open are not as wished: the settings have them."""
    said = (sink.origin, sink.enabled, sink.max_attempts, sink.wanted, dict(sink.options))
    if said != ("settings", wish.enabled, wish.attempts, wish.wanted, dict(plan.options)):
        return False
    try:
        return opened(engine, sink) == dict(plan.secrets)
    except SecretUnreadable:
        return False

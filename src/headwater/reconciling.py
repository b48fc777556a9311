"""Sinks that stand in the settings, and the engine's own: made so at every start."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import count

from headwater.announce.sinks import queries, store
from headwater.announce.sinks.sink import Sink, SinkPatch
from headwater.announce.sinks.wish import OWN_KINDS, PERSONAL, WEBHOOK, SinkWish, Start
from headwater.announce.wanted import Wanted
from headwater.engine import Engine
from headwater.errors import BadInput, BadSettings, Conflict, SecretUnreadable
from headwater.ports import OutletPlan, Transaction
from headwater.sinks import Overtaken, added, checked, opened, sealed
from headwater.telemetry.log import logger
from headwater.values.instant import to_micros

_OWN_WANTED = Wanted(types=("new_entry", "updated_entry"), categorised=True)

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


async def keep_own_sink(engine: Engine, *, days: float) -> None:
    """The engine's own sink is there and runs. A new one is told of the last `days`: older entries
    would be in no personal feed."""
    while True:
        try:
            async with engine.database.write() as tx:
                await _own_sink(tx, engine, timedelta(days=days))
        except Overtaken:
            continue
        return


async def _own_sink(tx: Transaction, engine: Engine, window: timedelta) -> None:
    there, now = await queries.sinks(tx), engine.clock.now()
    own = next((sink for sink in there if sink.kind == PERSONAL), None)
    if own is None:
        start = Start(moment=to_micros(now - window))
        wish = SinkWish(free_name(PERSONAL, there), PERSONAL, wanted=_OWN_WANTED, start=start)
        plan = engine.outlets.checked(OutletPlan(wish.name, PERSONAL, {}, {}))
        made = await added(tx, engine, wish, plan, most=0, origin="settings")
        log.info("sink_made", sink=made.name, kind=PERSONAL, cursor=made.cursor)
    elif not own.runs or own.wanted != _OWN_WANTED:
        await store.change(tx, own.id, SinkPatch(enabled=True, wanted=_OWN_WANTED), now)
        log.info("sink_changed", sink=own.name, kind=PERSONAL)


def free_name(kind: str, there: Sequence[Sink]) -> str:
    """That of its kind, or with a number when somebody has called a sink of theirs that."""
    taken = {sink.name for sink in there}
    names = (kind if number == 1 else f"{kind}-{number}" for number in count(1))
    return next(name for name in names if name not in taken)


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
        if sink.origin == "settings" and sink.kind not in OWN_KINDS:
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

"""What people ask of sinks: make, change, try and remove them, and tell them something again."""

import secrets as luck
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import orjson
from uuid_utils import uuid7

from headwater.access.store import remember_resource
from headwater.announce.parcel import parcel_of
from headwater.announce.queries import last_seq, seq_at
from headwater.announce.sinks import queries, store
from headwater.announce.sinks.sink import NewSink, Origin, Sink, SinkPatch, Standing
from headwater.announce.sinks.wish import (
    OWN_KINDS,
    PERSONAL,
    WEBHOOK,
    SinkChanges,
    SinkWish,
    Start,
    checked_name,
    is_name,
    merged,
)
from headwater.announce.wanted import checked_wanted
from headwater.delivering import plan_of
from headwater.engine import Engine
from headwater.errors import BadInput, Conflict, NotFound
from headwater.ports import OutletPlan, Reader, Receipt, Transaction
from headwater.telemetry.log import logger
from headwater.values.instant import to_micros
from headwater.values.signature import secret_of

_SECRET_BYTES = 32
_GREETING = "This is a test. It is in no log, and nothing has happened."

log = logger("sinks")


@dataclass(frozen=True, slots=True)
class Made:
    """`secret` was made by us, and can be shown this once."""

    sink: Sink
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Tried:
    """What a sink said to a test message."""

    event_id: str
    receipt: Receipt


class Overtaken(Conflict):
    """Somebody else made a sink of this name between our look and our write."""


async def standing(engine: Engine, name: str) -> Standing:
    async with engine.database.read() as view:
        return await queries.standing_of(view, await _named(view, name))


async def create(
    engine: Engine, wish: SinkWish, *, most: int, idempotency: bytes | None = None
) -> Made:
    """It is told what comes from `wish.start` on. BadInput names the field that is wrong."""
    plan = checked(engine, wish)
    async with engine.database.write() as tx:
        sink = await added(tx, engine, wish, plan, most=most)
        if idempotency is not None:
            await remember_resource(tx, idempotency, sink.name)
    log.info("sink_made", sink=sink.name, kind=sink.kind, cursor=sink.cursor)
    return Made(sink, None if "secret" in wish.secrets else plan.secrets.get("secret"))


async def change(engine: Engine, name: str, changes: SinkChanges) -> Sink:
    """It starts afresh with what is new, from where it was. One from the settings is refused."""
    if changes == SinkChanges():
        return (await standing(engine, name)).sink
    now = engine.clock.now()
    async with engine.database.write() as tx:
        there = await _held(tx, name, now)
        if not (changes.only_starts and there.enabled):
            _refuse_from_settings(there)
        changed = await store.change(tx, there.id, _columns(engine, there, changes), now)
        assert changed is not None, "it is held"
    log.info("sink_changed", sink=name, state=changed.state)
    return changed


async def remove(engine: Engine, name: str) -> Sink:
    """As it was. Its dead letters go with it."""
    async with engine.database.write() as tx:
        there = await _named(tx, name)
        _refuse_from_settings(await _held(tx, name, engine.clock.now()))
        await store.remove(tx, there.id)
    log.info("sink_removed", sink=name, cursor=there.cursor)
    return there


async def replay(
    engine: Engine, name: str, start: Start, *, idempotency: bytes | None = None
) -> Sink:
    """Everything from `start` on once more. What was not delivered yet is not left out for it."""
    async with engine.database.write() as tx:
        there = await _named(tx, name)
        cursor = await _cursor(tx, start)
        moved = await store.rewind(tx, there.id, cursor + 1, engine.clock.now())
        if moved is None:
            raise _nobody(name)
        if idempotency is not None:
            await remember_resource(tx, idempotency, name)
    log.info("sink_replayed", sink=name, before=there.cursor, cursor=moved.cursor)
    return moved


async def retry_dead(
    engine: Engine, name: str, seqs: Sequence[int] | None, *, idempotency: bytes | None = None
) -> int:
    """How many will be tried again; None means all of them."""
    async with engine.database.write() as tx:
        there = await _named(tx, name)
        asked = await store.ask_retry(tx, there.id, seqs, engine.clock.now())
        if idempotency is not None:
            await remember_resource(tx, idempotency, str(asked))
    return asked


async def forget_dead(engine: Engine, name: str, seqs: Sequence[int] | None) -> int:
    """How many were let go; None means all of them."""
    async with engine.database.write() as tx:
        forgotten = await store.forget_letters(tx, (await _named(tx, name)).id, seqs)
    log.info("dead_letters_forgotten", sink=name, letters=forgotten)
    return forgotten


async def rotate_secret(
    engine: Engine, name: str, own: str | None, *, idempotency: bytes | None = None
) -> Made:
    """A new secret signs from now on, and the old one beside it until the rotation is finished."""
    new = own or secret_of(luck.token_bytes(_SECRET_BYTES))
    async with engine.database.write() as tx:
        there, held = await _rotating(tx, engine, name)
        if "previous_secret" in held:
            raise Conflict("The secret is being changed already: finish that first.")
        both = {"secret": new, "previous_secret": held["secret"]}
        sink = await _resealed(tx, engine, there, both)
        if idempotency is not None:
            await remember_resource(tx, idempotency, name)
    log.info("sink_secret_rotated", sink=name)
    return Made(sink, new if own is None else None)


async def finish_rotation(engine: Engine, name: str, *, idempotency: bytes | None = None) -> Sink:
    """Only the new secret signs from now on. Finishing twice is finishing once."""
    async with engine.database.write() as tx:
        there = await _named(tx, name)
        _refuse_other_kinds(there, "signed")
        if "previous_secret" in opened(engine, there):
            there, held = await _rotating(tx, engine, name)
            there = await _resealed(tx, engine, there, {"secret": held["secret"]})
        if idempotency is not None:
            await remember_resource(tx, idempotency, name)
    return there


async def try_out(engine: Engine, name: str) -> Tried:
    """One signed message to a webhook, beside the log: it has no number and is kept nowhere."""
    async with engine.database.read() as view:
        there = await _named(view, name)
    _refuse_other_kinds(there, "tested: the others would keep what is no event")
    event_id, at = str(uuid7()), to_micros(engine.clock.now())
    said = orjson.dumps({"sink": there.name, "message": _GREETING}).decode()
    outlet = await engine.outlets.open(plan_of(engine, there))
    try:
        parcel = parcel_of(0, event_id, "test", at, None, said)
        return Tried(event_id, await outlet.deliver([parcel], replay=there.replays))
    finally:
        await outlet.close()


async def added(
    tx: Transaction,
    engine: Engine,
    wish: SinkWish,
    plan: OutletPlan,
    *,
    most: int,
    origin: Origin = "api",
) -> Sink:
    """`Overtaken` when there is one of this name. The engine's own do not count."""
    known = [each for each in await queries.sinks(tx) if each.kind not in OWN_KINDS]
    full = len(known) >= most and wish.kind not in OWN_KINDS
    if full and all(each.name != wish.name for each in known):
        raise Conflict(f"There are {len(known)} sinks, and no more may be made.", sinks_max=most)
    new = NewSink(
        name=wish.name,
        kind=wish.kind,
        options=plan.options,
        cursor=await _cursor(tx, wish.start),
        origin=origin,
        secrets=sealed(engine, plan),
        wanted=wish.wanted,
        enabled=wish.enabled,
        max_attempts=wish.attempts,
    )
    made = await store.add(tx, new, engine.clock.now())
    if made is None:
        raise Overtaken("There is a sink of this name already.", name=wish.name)
    return made


def checked(engine: Engine, wish: SinkWish) -> OutletPlan:
    if wish.kind in OWN_KINDS:
        raise BadInput("There is one sink of this kind, Headwater's own.", field="kind")
    return engine.outlets.checked(
        OutletPlan(checked_name(wish.name), wish.kind, wish.options, wish.secrets)
    )


def _columns(engine: Engine, there: Sink, changes: SinkChanges) -> SinkPatch:
    """What is to be written; what is not mentioned is not even opened."""
    patch = SinkPatch(enabled=changes.enabled, max_attempts=changes.max_attempts)
    if changes.wanted:
        wanted = checked_wanted(**(there.wanted.named | dict(changes.wanted)))
        patch = replace(patch, wanted=wanted)
    if changes.options or changes.secrets:
        plan = _changed_plan(engine, there, changes)
        patch = replace(patch, options=plan.options, secrets=sealed(engine, plan))
    return patch


def _changed_plan(engine: Engine, there: Sink, changes: SinkChanges) -> OutletPlan:
    before = opened(engine, there)
    options, secrets = merged(there.options, changes.options), merged(before, changes.secrets)
    if there.kind == WEBHOOK and "secret" not in secrets:
        raise BadInput("A webhook has a secret; it can be rotated.", field="secret")
    plan = engine.outlets.checked(OutletPlan(there.name, there.kind, options, secrets))
    moved = plan.options.get("url") != there.options.get("url") and there.kind != WEBHOOK
    if moved and plan.secrets != _said_now(engine, plan, options, changes):
        # Whoever may change a URL must not learn a password by it.
        raise BadInput(
            "The URL leads somewhere else: say the secrets again, or null.", field="secrets"
        )
    return plan


def _said_now(
    engine: Engine, plan: OutletPlan, options: Mapping[str, Any], changes: SinkChanges
) -> Mapping[str, str]:
    """The secrets there would be without those we hold; some stand in the URL."""
    said = replace(plan, options=options, secrets=merged({}, changes.secrets))
    return engine.outlets.checked(said).secrets


async def _rotating(tx: Transaction, engine: Engine, name: str) -> tuple[Sink, dict[str, str]]:
    there = await _held(tx, name, engine.clock.now())
    _refuse_other_kinds(there, "signed")
    _refuse_from_settings(there)
    return there, opened(engine, there)


async def _resealed(
    tx: Transaction, engine: Engine, there: Sink, secrets: Mapping[str, str]
) -> Sink:
    plan = engine.outlets.checked(OutletPlan(there.name, there.kind, there.options, secrets))
    patch = SinkPatch(secrets=sealed(engine, plan))
    changed = await store.change(tx, there.id, patch, engine.clock.now())
    if changed is None:
        raise _nobody(there.name)
    return changed


def opened(engine: Engine, sink: Sink) -> dict[str, str]:
    """SecretUnreadable when they were sealed with a key that is not here."""
    return dict(plan_of(engine, sink).secrets)


def sealed(engine: Engine, plan: OutletPlan) -> bytes | None:
    if not plan.secrets:
        return None
    return engine.vault.seal(orjson.dumps(dict(plan.secrets)), about=f"sink:{plan.name}")


async def _cursor(view: Reader, start: Start) -> int:
    """The last number that is not told."""
    last = await last_seq(view)
    if start.moment is not None:
        return min(await seq_at(view, start.moment), last)
    if start.seq is None:
        return last
    if start.seq > last + 1:
        raise BadInput(f"The log ends at {last}.", field="from", last_seq=last)
    return max(0, start.seq - 1)


async def _named(view: Reader, name: str) -> Sink:
    found = await queries.sink_named(view, name) if is_name(name) else None
    if found is None:
        raise _nobody(name)
    return found


async def _held(tx: Transaction, name: str, now: datetime) -> Sink:
    """Nobody else changes it until the end. A wish that comes to nothing leaves no trace."""
    held = await store.change(tx, (await _named(tx, name)).id, SinkPatch(), now)
    if held is None:
        raise _nobody(name)
    return held


def _nobody(name: str) -> NotFound:
    return NotFound("There is no such sink.", what="sink", name=name[:100])


def _refuse_from_settings(sink: Sink) -> None:
    if sink.kind in OWN_KINDS:
        does = "fills personal feeds" if sink.kind == PERSONAL else "decides on releases"
        raise Conflict(
            f"This sink is Headwater's own: it {does}, and stays as it is.",
            reason="own_sink",
            name=sink.name,
        )
    if sink.origin == "settings":
        raise Conflict(
            "This sink stands in the settings: change it there and start the service again.",
            reason="from_settings",
            name=sink.name,
        )


def _refuse_other_kinds(sink: Sink, what: str) -> None:
    if sink.kind != WEBHOOK:
        raise Conflict(f"Only webhooks are {what}.", reason="not_a_webhook", kind=sink.kind)

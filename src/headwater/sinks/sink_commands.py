"""What people ask of sinks: make, change, try and remove them, and tell them something again."""

import secrets as luck
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count
from typing import Any

import orjson
from uuid_utils import uuid7

from headwater.core.errors import BadInput, ConflictError, NotFound
from headwater.core.idempotency_rows import set_key_resource
from headwater.core.ports import Database, Transaction, Vault, View
from headwater.core.telemetry.log import get_logger
from headwater.core.values.instant import to_micros
from headwater.core.values.signature import secret_of
from headwater.events.event_filter import parse_event_filter
from headwater.events.event_json import wire_event_of
from headwater.events.event_rows import get_last_seq, last_seq_before
from headwater.sinks import sink_rows
from headwater.sinks.dispatch import sink_config_of
from headwater.sinks.ports import DeliveryResult, SinkConfig
from headwater.sinks.services import SinkServices
from headwater.sinks.sink import (
    NewSink,
    Sink,
    SinkDefinition,
    SinkDefinitionPatch,
    SinkOrigin,
    SinkPatch,
    SinkStatus,
    StartPosition,
    check_sink_name,
    is_sink_name,
    merge_options,
)
from headwater.sinks.sink_kind import SinkKinds

logger = get_logger("sinks")
_SECRET_BYTES = 32
_GREETING = "This is a test. It is in no log, and nothing has happened."


@dataclass(frozen=True, slots=True)
class CreatedSink:
    """`secret` was made by us, and can be shown this once."""

    sink: Sink
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class SinkTestResult:
    """What a sink said to a test message."""

    event_id: str
    receipt: DeliveryResult


class SinkNameTaken(ConflictError):
    """Somebody else made a sink of this name between our look and our write."""


async def get_sink_status(database: Database, name: str) -> SinkStatus:
    async with database.read() as view:
        return await sink_rows.sink_status_of(view, await _get_sink(view, name))


async def create_sink(
    services: SinkServices, wish: SinkDefinition, *, most: int, idempotency: bytes | None = None
) -> CreatedSink:
    """It is told what comes from `wish.start` on. BadInput names the field that is wrong."""
    plan = check_definition(services.kinds, wish)
    async with services.database.write() as tx:
        sink = await insert_new_sink(tx, services, wish, plan, most=most)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, sink.name)
    logger.info("sink_made", sink=sink.name, kind=sink.kind, cursor=sink.cursor)
    return CreatedSink(sink, None if "secret" in wish.secrets else plan.secrets.get("secret"))


async def change_sink(services: SinkServices, name: str, changes: SinkDefinitionPatch) -> Sink:
    """It starts afresh with what is new, from where it was. One from the settings is refused."""
    if changes == SinkDefinitionPatch():
        return (await get_sink_status(services.database, name)).sink
    now = services.clock.now()
    async with services.database.write() as tx:
        there = await _lock_sink(tx, name, now)
        if not (changes.only_starts and there.enabled):
            _check_changeable(services.kinds, there)
        changed = await sink_rows.update_sink(tx, there.id, _columns(services, there, changes), now)
        assert changed is not None, "it is held"
    logger.info("sink_changed", sink=name, state=changed.state)
    return changed


async def remove_sink(services: SinkServices, name: str) -> Sink:
    """As it was. Its dead letters go with it."""
    async with services.database.write() as tx:
        there = await _get_sink(tx, name)
        _check_changeable(services.kinds, await _lock_sink(tx, name, tx.now))
        await sink_rows.delete_sink(tx, there.id)
    logger.info("sink_removed", sink=name, cursor=there.cursor)
    return there


async def replay_sink(
    database: Database, name: str, start: StartPosition, *, idempotency: bytes | None = None
) -> Sink:
    """Everything from `start` on once more. What was not delivered yet is not left out for it."""
    async with database.write() as tx:
        there = await _get_sink(tx, name)
        cursor = await _cursor(tx, start)
        moved = await sink_rows.rewind(tx, there.id, cursor + 1, tx.now)
        if moved is None:
            raise _no_such_sink(name)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, name)
    logger.info("sink_replayed", sink=name, before=there.cursor, cursor=moved.cursor)
    return moved


async def retry_dead_letters(
    database: Database, name: str, seqs: Sequence[int] | None, *, idempotency: bytes | None = None
) -> int:
    """How many will be tried again; None means all of them."""
    async with database.write() as tx:
        there = await _get_sink(tx, name)
        asked = await sink_rows.ask_retry(tx, there.id, seqs, tx.now)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(asked))
    return asked


async def delete_dead_letters(database: Database, name: str, seqs: Sequence[int] | None) -> int:
    """How many were let go; None means all of them."""
    async with database.write() as tx:
        forgotten = await sink_rows.delete_dead_letters(tx, (await _get_sink(tx, name)).id, seqs)
    logger.info("dead_letters_forgotten", sink=name, letters=forgotten)
    return forgotten


async def rotate_secret(
    services: SinkServices, name: str, own: str | None, *, idempotency: bytes | None = None
) -> CreatedSink:
    """A new secret signs from now on, and the old one beside it until the rotation is finished."""
    new = own or secret_of(luck.token_bytes(_SECRET_BYTES))
    async with services.database.write() as tx:
        there, held = await _lock_sink_to_rotate(tx, services, name)
        if "previous_secret" in held:
            raise ConflictError("The secret is being changed already: finish that first.")
        both = {"secret": new, "previous_secret": held["secret"]}
        sink = await _resealed(tx, services, there, both)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, name)
    logger.info("sink_secret_rotated", sink=name)
    return CreatedSink(sink, new if own is None else None)


async def finish_rotation(
    services: SinkServices, name: str, *, idempotency: bytes | None = None
) -> Sink:
    """Only the new secret signs from now on. Finishing twice is finishing once."""
    async with services.database.write() as tx:
        there = await _get_sink(tx, name)
        _check_signed(services.kinds, there, "signed")
        if "previous_secret" in open_secrets(services.vault, there):
            there, held = await _lock_sink_to_rotate(tx, services, name)
            there = await _resealed(tx, services, there, {"secret": held["secret"]})
        if idempotency is not None:
            await set_key_resource(tx, idempotency, name)
    return there


async def send_test_event(services: SinkServices, name: str) -> SinkTestResult:
    """One signed message to a webhook, beside the log: it has no number and is kept nowhere."""
    async with services.database.read() as view:
        there = await _get_sink(view, name)
    _check_signed(services.kinds, there, "tested: the others would keep what is no event")
    event_id, at = str(uuid7()), to_micros(services.clock.now())
    said = orjson.dumps({"sink": there.name, "message": _GREETING}).decode()
    outlet = await services.kinds.open(sink_config_of(services.vault, there))
    try:
        parcel = wire_event_of(0, event_id, "test", at, None, said)
        return SinkTestResult(event_id, await outlet.deliver([parcel], replay=there.replays))
    finally:
        await outlet.close()


async def insert_new_sink(
    tx: Transaction,
    services: SinkServices,
    wish: SinkDefinition,
    plan: SinkConfig,
    *,
    most: int,
    origin: SinkOrigin = "api",
) -> Sink:
    """`SinkNameTaken` when there is one of this name. The engine's own do not count."""
    kinds = services.kinds
    known = [each for each in await sink_rows.list_sinks(tx) if not kinds.is_own(each.kind)]
    full = len(known) >= most and not kinds.is_own(wish.kind)
    if full and all(each.name != wish.name for each in known):
        raise ConflictError(
            f"There are {len(known)} sinks, and no more may be made.", sinks_max=most
        )
    new = NewSink(
        name=wish.name,
        kind=wish.kind,
        options=plan.options,
        cursor=await _cursor(tx, wish.start),
        origin=origin,
        secrets=seal_secrets(services.vault, plan),
        wanted=wish.wanted,
        enabled=wish.enabled,
        max_attempts=kinds.attempts_of(wish),
    )
    made = await sink_rows.insert_sink(tx, new, tx.now)
    if made is None:
        raise SinkNameTaken("There is a sink of this name already.", name=wish.name)
    return made


def check_definition(kinds: SinkKinds, wish: SinkDefinition) -> SinkConfig:
    if kinds.is_own(wish.kind):
        raise BadInput("There is one sink of this kind, Headwater's own.", field="kind")
    return kinds.checked(
        SinkConfig(check_sink_name(wish.name), wish.kind, wish.options, wish.secrets)
    )


def _columns(services: SinkServices, there: Sink, changes: SinkDefinitionPatch) -> SinkPatch:
    """What is to be written; what is not mentioned is not even opened."""
    patch = SinkPatch(enabled=changes.enabled, max_attempts=changes.max_attempts)
    if changes.wanted:
        wanted = parse_event_filter(**(there.wanted.named | dict(changes.wanted)))
        patch = replace(patch, wanted=wanted)
    if changes.options or changes.secrets:
        plan = _changed_plan(services, there, changes)
        patch = replace(patch, options=plan.options, secrets=seal_secrets(services.vault, plan))
    return patch


def _changed_plan(services: SinkServices, there: Sink, changes: SinkDefinitionPatch) -> SinkConfig:
    before = open_secrets(services.vault, there)
    options, secrets = (
        merge_options(there.options, changes.options),
        merge_options(before, changes.secrets),
    )
    is_signed = services.kinds.is_signed(there.kind)
    if is_signed and "secret" not in secrets:
        raise BadInput(f"A {there.kind} has a secret; it can be rotated.", field="secret")
    plan = services.kinds.checked(SinkConfig(there.name, there.kind, options, secrets))
    moved = plan.options.get("url") != there.options.get("url") and not is_signed
    if moved and plan.secrets != _secrets_given_now(services.kinds, plan, options, changes):
        # Whoever may change a URL must not learn a password by it.
        raise BadInput(
            "The URL leads somewhere else: say the secrets again, or null.", field="secrets"
        )
    return plan


def _secrets_given_now(
    kinds: SinkKinds, plan: SinkConfig, options: Mapping[str, Any], changes: SinkDefinitionPatch
) -> Mapping[str, str]:
    """The secrets there would be without those we hold; some stand in the URL."""
    said = replace(plan, options=options, secrets=merge_options({}, changes.secrets))
    return kinds.checked(said).secrets


async def _lock_sink_to_rotate(
    tx: Transaction, services: SinkServices, name: str
) -> tuple[Sink, dict[str, str]]:
    there = await _lock_sink(tx, name, tx.now)
    _check_signed(services.kinds, there, "signed")
    _check_changeable(services.kinds, there)
    return there, open_secrets(services.vault, there)


async def _resealed(
    tx: Transaction, services: SinkServices, there: Sink, secrets: Mapping[str, str]
) -> Sink:
    plan = services.kinds.checked(SinkConfig(there.name, there.kind, there.options, secrets))
    patch = SinkPatch(secrets=seal_secrets(services.vault, plan))
    changed = await sink_rows.update_sink(tx, there.id, patch, tx.now)
    if changed is None:
        raise _no_such_sink(there.name)
    return changed


def open_secrets(vault: Vault, sink: Sink) -> dict[str, str]:
    """SecretUnreadable when they were sealed with a key that is not here."""
    return dict(sink_config_of(vault, sink).secrets)


def seal_secrets(vault: Vault, plan: SinkConfig) -> bytes | None:
    if not plan.secrets:
        return None
    return vault.seal(orjson.dumps(dict(plan.secrets)), about=f"sink:{plan.name}")


async def _cursor(view: View, start: StartPosition) -> int:
    """The last number that is not told."""
    last = await get_last_seq(view)
    if start.moment is not None:
        return min(await last_seq_before(view, start.moment), last)
    if start.seq is None:
        return last
    if start.seq > last + 1:
        raise BadInput(f"The log ends at {last}.", field="from", last_seq=last)
    return max(0, start.seq - 1)


async def _get_sink(view: View, name: str) -> Sink:
    found = await sink_rows.find_sink(view, name) if is_sink_name(name) else None
    if found is None:
        raise _no_such_sink(name)
    return found


async def _lock_sink(tx: Transaction, name: str, now: datetime) -> Sink:
    """Nobody else changes it until the end. A wish that comes to nothing leaves no trace."""
    held = await sink_rows.update_sink(tx, (await _get_sink(tx, name)).id, SinkPatch(), now)
    if held is None:
        raise _no_such_sink(name)
    return held


def _no_such_sink(name: str) -> NotFound:
    return NotFound("There is no such sink.", what="sink", name=name[:100])


def _check_changeable(kinds: SinkKinds, sink: Sink) -> None:
    own_task = kinds.own_task(sink.kind)
    if own_task is not None:
        raise ConflictError(
            f"This sink is Headwater's own: it {own_task}, and stays as it is.",
            reason="own_sink",
            name=sink.name,
        )
    if sink.origin == "settings":
        raise ConflictError(
            "This sink stands in the settings: change it there and start the service again.",
            reason="from_settings",
            name=sink.name,
        )


def _check_signed(kinds: SinkKinds, sink: Sink, what: str) -> None:
    if not kinds.is_signed(sink.kind):
        raise ConflictError(f"Only webhooks are {what}.", reason="not_a_webhook", kind=sink.kind)


def free_name(kind: str, there: Sequence[Sink]) -> str:
    """That of its kind, or with a number when somebody has called a sink of theirs that."""
    taken = {sink.name for sink in there}
    names = (kind if number == 1 else f"{kind}-{number}" for number in count(1))
    return next(name for name in names if name not in taken)

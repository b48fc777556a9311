"""Commands of sinks: create, change, test, replay and remove them, and retry dead letters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from secrets import token_bytes
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
    """A new sink, or one with a new secret. `secret` was made by us, and can be shown this once."""

    sink: Sink
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class SinkTestResult:
    """The result of a test message to a sink."""

    event_id: str
    receipt: DeliveryResult


class SinkNameTaken(ConflictError):
    """Somebody else made a sink of this name between our read and our write."""


async def get_sink_status(database: Database, name: str) -> SinkStatus:
    async with database.read() as view:
        return await sink_rows.sink_status_of(view, await _get_sink(view, name))


async def create_sink(
    services: SinkServices,
    definition: SinkDefinition,
    *,
    most: int,
    idempotency: bytes | None = None,
) -> CreatedSink:
    """A new sink, which gets the events from `definition.start` on.

    BadInput names the wrong field.
    """
    config = check_definition(services.kinds, definition)
    async with services.database.write() as tx:
        sink = await insert_new_sink(tx, services, definition, config, most=most)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, sink.name)
    logger.info("sink_made", sink=sink.name, kind=sink.kind, cursor=sink.cursor)
    return CreatedSink(
        sink, None if "secret" in definition.secrets else config.secrets.get("secret")
    )


async def change_sink(services: SinkServices, name: str, changes: SinkDefinitionPatch) -> Sink:
    """Change a sink; it goes on from its cursor, without its failures.

    One from the settings is refused.
    """
    if changes == SinkDefinitionPatch():
        return (await get_sink_status(services.database, name)).sink
    async with services.database.write() as tx:
        sink = await _lock_sink(tx, name)
        if not (changes.only_starts and sink.enabled):
            _check_changeable(services.kinds, sink)
        patch = _sink_patch_of(services, sink, changes)
        changed = await sink_rows.update_sink(tx, sink.id, patch, tx.now)
        assert changed is not None, "its row is locked"
    logger.info("sink_changed", sink=name, state=changed.state)
    return changed


async def remove_sink(services: SinkServices, name: str) -> Sink:
    """Remove a sink with its dead letters, and return it as it was."""
    async with services.database.write() as tx:
        sink = await _get_sink(tx, name)
        _check_changeable(services.kinds, await _lock_sink(tx, name))
        await sink_rows.delete_sink(tx, sink.id)
    logger.info("sink_removed", sink=name, cursor=sink.cursor)
    return sink


async def replay_sink(
    database: Database, name: str, start: StartPosition, *, idempotency: bytes | None = None
) -> Sink:
    """Deliver everything from `start` on once more. Events that were not delivered yet stay due."""
    async with database.write() as tx:
        sink = await _get_sink(tx, name)
        cursor = await _cursor(tx, start)
        moved = await sink_rows.rewind(tx, sink.id, cursor + 1, tx.now)
        if moved is None:
            raise _no_such_sink(name)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, name)
    logger.info("sink_replayed", sink=name, before=sink.cursor, cursor=moved.cursor)
    return moved


async def retry_dead_letters(
    database: Database, name: str, seqs: Sequence[int] | None, *, idempotency: bytes | None = None
) -> int:
    """Retry dead letters, all of them when `seqs` is None; how many there are."""
    async with database.write() as tx:
        sink = await _get_sink(tx, name)
        asked = await sink_rows.ask_retry(tx, sink.id, seqs, tx.now)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(asked))
    return asked


async def delete_dead_letters(database: Database, name: str, seqs: Sequence[int] | None) -> int:
    """Delete dead letters, all of them when `seqs` is None; how many there were."""
    async with database.write() as tx:
        deleted = await sink_rows.delete_dead_letters(tx, (await _get_sink(tx, name)).id, seqs)
    logger.info("dead_letters_forgotten", sink=name, letters=deleted)
    return deleted


async def rotate_secret(
    services: SinkServices, name: str, own: str | None, *, idempotency: bytes | None = None
) -> CreatedSink:
    """Sign with a new secret from now on, and with the old one too until the rotation is
    finished."""
    new = own or secret_of(token_bytes(_SECRET_BYTES))
    async with services.database.write() as tx:
        sink, opened = await _lock_sink_to_rotate(tx, services, name)
        if "previous_secret" in opened:
            raise ConflictError("The secret is being changed already: finish that first.")
        both = {"secret": new, "previous_secret": opened["secret"]}
        sink = await _reseal(tx, services, sink, both)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, name)
    logger.info("sink_secret_rotated", sink=name)
    return CreatedSink(sink, new if own is None else None)


async def finish_rotation(
    services: SinkServices, name: str, *, idempotency: bytes | None = None
) -> Sink:
    """Sign only with the new secret from now on. A second time changes nothing."""
    async with services.database.write() as tx:
        sink = await _get_sink(tx, name)
        _check_signed(services.kinds, sink, "signed")
        if "previous_secret" in open_secrets(services.vault, sink):
            sink, opened = await _lock_sink_to_rotate(tx, services, name)
            sink = await _reseal(tx, services, sink, {"secret": opened["secret"]})
        if idempotency is not None:
            await set_key_resource(tx, idempotency, name)
    return sink


async def send_test_event(services: SinkServices, name: str) -> SinkTestResult:
    """Send one signed message to a webhook, beside the log: it has no number and is stored
    nowhere."""
    async with services.database.read() as view:
        sink = await _get_sink(view, name)
    _check_signed(services.kinds, sink, "tested: the others would keep what is no event")
    event_id, at = str(uuid7()), to_micros(services.clock.now())
    payload = orjson.dumps({"sink": sink.name, "message": _GREETING}).decode()
    connection = await services.kinds.open(sink_config_of(services.vault, sink))
    try:
        event = wire_event_of(0, event_id, "test", at, None, payload)
        return SinkTestResult(event_id, await connection.deliver([event], replay=sink.replays))
    finally:
        await connection.close()


async def insert_new_sink(
    tx: Transaction,
    services: SinkServices,
    definition: SinkDefinition,
    config: SinkConfig,
    *,
    most: int,
    origin: SinkOrigin = "api",
) -> Sink:
    """SinkNameTaken when there is one of this name. Headwater's own do not count for `most`."""
    kinds = services.kinds
    known = [each for each in await sink_rows.list_sinks(tx) if not kinds.is_own(each.kind)]
    full = len(known) >= most and not kinds.is_own(definition.kind)
    if full and all(each.name != definition.name for each in known):
        raise ConflictError(
            f"There are {len(known)} sinks, and no more may be made.", sinks_max=most
        )
    new = NewSink(
        name=definition.name,
        kind=definition.kind,
        options=config.options,
        cursor=await _cursor(tx, definition.start),
        origin=origin,
        secrets=seal_secrets(services.vault, config),
        wanted=definition.wanted,
        enabled=definition.enabled,
        max_attempts=kinds.attempts_of(definition),
    )
    sink = await sink_rows.insert_sink(tx, new, tx.now)
    if sink is None:
        raise SinkNameTaken("There is a sink of this name already.", name=definition.name)
    return sink


def check_definition(kinds: SinkKinds, definition: SinkDefinition) -> SinkConfig:
    if kinds.is_own(definition.kind):
        raise BadInput("There is one sink of this kind, Headwater's own.", field="kind")
    return kinds.checked(
        SinkConfig(
            check_sink_name(definition.name),
            definition.kind,
            definition.options,
            definition.secrets,
        )
    )


def _sink_patch_of(services: SinkServices, sink: Sink, changes: SinkDefinitionPatch) -> SinkPatch:
    """The columns to write; secrets that do not change are not even opened."""
    patch = SinkPatch(enabled=changes.enabled, max_attempts=changes.max_attempts)
    if changes.wanted:
        wanted = parse_event_filter(**(sink.wanted.named | dict(changes.wanted)))
        patch = replace(patch, wanted=wanted)
    if changes.options or changes.secrets:
        config = _changed_config(services, sink, changes)
        patch = replace(patch, options=config.options, secrets=seal_secrets(services.vault, config))
    return patch


def _changed_config(services: SinkServices, sink: Sink, changes: SinkDefinitionPatch) -> SinkConfig:
    before = open_secrets(services.vault, sink)
    options, secrets = (
        merge_options(sink.options, changes.options),
        merge_options(before, changes.secrets),
    )
    is_signed = services.kinds.is_signed(sink.kind)
    if is_signed and "secret" not in secrets:
        raise BadInput(f"A {sink.kind} has a secret; it can be rotated.", field="secret")
    config = services.kinds.checked(SinkConfig(sink.name, sink.kind, options, secrets))
    moved = config.options.get("url") != sink.options.get("url") and not is_signed
    if moved and config.secrets != _secrets_given_now(services.kinds, config, options, changes):
        # A person who may change the URL must not get the password sent to it.
        raise BadInput(
            "The URL leads somewhere else: say the secrets again, or null.", field="secrets"
        )
    return config


def _secrets_given_now(
    kinds: SinkKinds, config: SinkConfig, options: Mapping[str, Any], changes: SinkDefinitionPatch
) -> Mapping[str, str]:
    """The secrets of this change alone, without the stored ones; some are in the URL."""
    changed = replace(config, options=options, secrets=merge_options({}, changes.secrets))
    return kinds.checked(changed).secrets


async def _lock_sink_to_rotate(
    tx: Transaction, services: SinkServices, name: str
) -> tuple[Sink, dict[str, str]]:
    sink = await _lock_sink(tx, name)
    _check_signed(services.kinds, sink, "signed")
    _check_changeable(services.kinds, sink)
    return sink, open_secrets(services.vault, sink)


async def _reseal(
    tx: Transaction, services: SinkServices, sink: Sink, secrets: Mapping[str, str]
) -> Sink:
    config = services.kinds.checked(SinkConfig(sink.name, sink.kind, sink.options, secrets))
    patch = SinkPatch(secrets=seal_secrets(services.vault, config))
    changed = await sink_rows.update_sink(tx, sink.id, patch, tx.now)
    if changed is None:
        raise _no_such_sink(sink.name)
    return changed


def open_secrets(vault: Vault, sink: Sink) -> dict[str, str]:
    """A sink's secrets; SecretUnreadable when they were sealed with a key that is not here."""
    return dict(sink_config_of(vault, sink).secrets)


def seal_secrets(vault: Vault, config: SinkConfig) -> bytes | None:
    if not config.secrets:
        return None
    return vault.seal(orjson.dumps(dict(config.secrets)), about=f"sink:{config.name}")


async def _cursor(view: View, start: StartPosition) -> int:
    """The last number that is not delivered."""
    last = await get_last_seq(view)
    if start.moment is not None:
        return min(await last_seq_before(view, start.moment), last)
    if start.seq is None:
        return last
    if start.seq > last + 1:
        raise BadInput(f"The log ends at {last}.", field="from", last_seq=last)
    return max(0, start.seq - 1)


async def _get_sink(view: View, name: str) -> Sink:
    sink = await sink_rows.find_sink(view, name) if is_sink_name(name) else None
    if sink is None:
        raise _no_such_sink(name)
    return sink


async def _lock_sink(tx: Transaction, name: str) -> Sink:
    """Nobody else changes the sink until the end.

    A transaction that fails leaves no trace of it.
    """
    sink = await sink_rows.update_sink(tx, (await _get_sink(tx, name)).id, SinkPatch(), tx.now)
    if sink is None:
        raise _no_such_sink(name)
    return sink


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


def free_name(kind: str, sinks: Sequence[Sink]) -> str:
    """The name of the kind, with a number when somebody has a sink of that name."""
    taken = {sink.name for sink in sinks}
    names = (kind if number == 1 else f"{kind}-{number}" for number in count(1))
    return next(name for name in names if name not in taken)

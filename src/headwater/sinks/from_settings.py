"""Sinks from the settings: inserted and changed at every start."""

from collections.abc import Sequence

from headwater.core.errors import BadInput, BadSettings, ConflictError, SecretUnreadable
from headwater.core.ports import Transaction
from headwater.core.telemetry.log import get_logger
from headwater.sinks import sink_rows
from headwater.sinks.ports import SinkConfig
from headwater.sinks.services import SinkServices
from headwater.sinks.sink import Sink, SinkDefinition, SinkPatch
from headwater.sinks.sink_commands import (
    SinkNameTaken,
    check_definition,
    insert_new_sink,
    open_secrets,
    seal_secrets,
)

logger = get_logger("sinks")


async def apply_sink_settings(
    services: SinkServices, definitions: Sequence[SinkDefinition], *, most: int
) -> None:
    """Make the database agree with the settings; BadSettings, and no change, when it cannot."""
    while True:
        try:
            async with services.database.write() as tx:
                await _apply_definitions(tx, services, definitions, most=most)
        except SinkNameTaken:  # another process began at the same moment
            continue
        except (BadInput, ConflictError) as trouble:
            raise BadSettings(f"sinks: {trouble.message}", **trouble.facts) from trouble
        return


async def _apply_definitions(
    tx: Transaction, services: SinkServices, definitions: Sequence[SinkDefinition], *, most: int
) -> None:
    known = {sink.name: sink for sink in await sink_rows.list_sinks(tx)}
    for definition in definitions:
        try:
            await _apply_definition(
                tx, services, definition, known.pop(definition.name, None), most=most
            )
        except BadInput as trouble:
            raise BadInput(f"{definition.name}: {trouble.message}", **trouble.facts) from trouble
    for sink in known.values():
        if sink.origin == "settings" and not services.kinds.is_own(sink.kind):
            patch = SinkPatch(enabled=False, origin="api")
            await sink_rows.update_sink(tx, sink.id, patch, tx.now)
            logger.warning("sink_left_the_settings", sink=sink.name, cursor=sink.cursor)


async def _apply_definition(
    tx: Transaction,
    services: SinkServices,
    definition: SinkDefinition,
    sink: Sink | None,
    *,
    most: int,
) -> None:
    if services.kinds.is_signed(definition.kind) and "secret" not in definition.secrets:
        # Nobody could be shown a secret that we make.
        raise BadInput(
            f"A {definition.kind} in the settings needs its secret there.", field="secret"
        )
    config = check_definition(services.kinds, definition)
    if sink is None:
        await insert_new_sink(tx, services, definition, config, most=most, origin="settings")
        logger.info("sink_made", sink=definition.name, kind=definition.kind)
    elif sink.kind != definition.kind:
        raise BadInput(
            f"There is one of this name already, a {sink.kind};"
            f" a {definition.kind} needs another name.",
            field="kind",
        )
    elif not _matches_definition(services, sink, definition, config):
        await sink_rows.update_sink(tx, sink.id, _patch_for(services, definition, config), tx.now)
        logger.info("sink_changed", sink=definition.name)


def _patch_for(services: SinkServices, definition: SinkDefinition, config: SinkConfig) -> SinkPatch:
    return SinkPatch(
        options=config.options,
        secrets=seal_secrets(services.vault, config),
        wanted=definition.wanted,
        enabled=definition.enabled,
        max_attempts=services.kinds.attempts_of(definition),
        origin="settings",
    )


def _matches_definition(
    services: SinkServices, sink: Sink, definition: SinkDefinition, config: SinkConfig
) -> bool:
    """False also when the secrets do not open: the settings have them."""
    attempts = services.kinds.attempts_of(definition)
    stored = (sink.origin, sink.enabled, sink.max_attempts, sink.wanted, dict(sink.options))
    if stored != (
        "settings",
        definition.enabled,
        attempts,
        definition.wanted,
        dict(config.options),
    ):
        return False
    try:
        return open_secrets(services.vault, sink) == dict(config.secrets)
    except SecretUnreadable:
        return False

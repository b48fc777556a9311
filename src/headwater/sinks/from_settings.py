"""Sinks from the settings: made and changed at every start, as the settings say."""

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
    services: SinkServices, wishes: Sequence[SinkDefinition], *, most: int
) -> None:
    """The database says what the settings say. BadSettings, and no change, when it cannot."""
    while True:
        try:
            async with services.database.write() as tx:
                await _apply_definitions(tx, services, wishes, most=most)
        except SinkNameTaken:  # another process began at the same moment
            continue
        except (BadInput, ConflictError) as trouble:
            raise BadSettings(f"sinks: {trouble.message}", **trouble.facts) from trouble
        return


async def _apply_definitions(
    tx: Transaction, services: SinkServices, wishes: Sequence[SinkDefinition], *, most: int
) -> None:
    there = {sink.name: sink for sink in await sink_rows.list_sinks(tx)}
    for wish in wishes:
        try:
            await _apply_definition(tx, services, wish, there.pop(wish.name, None), most=most)
        except BadInput as trouble:
            raise BadInput(f"{wish.name}: {trouble.message}", **trouble.facts) from trouble
    for sink in there.values():
        if sink.origin == "settings" and not services.kinds.is_own(sink.kind):
            left = SinkPatch(enabled=False, origin="api")
            await sink_rows.update_sink(tx, sink.id, left, tx.now)
            logger.warning("sink_left_the_settings", sink=sink.name, cursor=sink.cursor)


async def _apply_definition(
    tx: Transaction, services: SinkServices, wish: SinkDefinition, sink: Sink | None, *, most: int
) -> None:
    if services.kinds.is_signed(wish.kind) and "secret" not in wish.secrets:
        # One that we made could be shown to nobody.
        raise BadInput(f"A {wish.kind} in the settings needs its secret there.", field="secret")
    plan = check_definition(services.kinds, wish)
    if sink is None:
        await insert_new_sink(tx, services, wish, plan, most=most, origin="settings")
        logger.info("sink_made", sink=wish.name, kind=wish.kind)
    elif sink.kind != wish.kind:
        raise BadInput(
            f"There is one of this name already, a {sink.kind}; a {wish.kind} needs another name.",
            field="kind",
        )
    elif not _matches_definition(services, sink, wish, plan):
        await sink_rows.update_sink(tx, sink.id, _patch_for(services, wish, plan), tx.now)
        logger.info("sink_changed", sink=wish.name)


def _patch_for(services: SinkServices, wish: SinkDefinition, plan: SinkConfig) -> SinkPatch:
    return SinkPatch(
        options=plan.options,
        secrets=seal_secrets(services.vault, plan),
        wanted=wish.wanted,
        enabled=wish.enabled,
        max_attempts=services.kinds.attempts_of(wish),
        origin="settings",
    )


def _matches_definition(
    services: SinkServices, sink: Sink, wish: SinkDefinition, plan: SinkConfig
) -> bool:
    """Secrets that do not open are not as wished: the settings have them."""
    attempts = services.kinds.attempts_of(wish)
    stored = (sink.origin, sink.enabled, sink.max_attempts, sink.wanted, dict(sink.options))
    if stored != ("settings", wish.enabled, attempts, wish.wanted, dict(plan.options)):
        return False
    try:
        return open_secrets(services.vault, sink) == dict(plan.secrets)
    except SecretUnreadable:
        return False

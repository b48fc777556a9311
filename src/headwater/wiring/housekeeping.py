"""Housekeeping: count visits, delete payloads that nobody needs, forget old history."""

from datetime import timedelta

from headwater.core import idempotency_rows
from headwater.core.ports import Database
from headwater.core.telemetry.log import get_logger
from headwater.core.values.instant import to_micros
from headwater.feeds.retention import (
    expire_payloads,
    forget_visits,
    resume_duplicates,
    try_delete_unused_blobs,
)
from headwater.settings import Settings
from headwater.statistics import day_rows
from headwater.statistics.days import day_of
from headwater.subscriptions.seal_credentials import reseal_secrets
from headwater.wiring.services import Services

logger = get_logger("housekeeping")
_COUNTED_AT_ONCE = 500
_GATHERED_AT_ONCE = 2_000
"""Rows in one transaction: few, so that visits do not wait for it."""


async def housekeeping_once(services: Services, settings: Settings) -> None:
    """Do all of it once, in small transactions, so that visits do not wait long."""
    now = services.clock.now()
    keep_since = now - timedelta(days=settings.raw_keep_days) if settings.raw_keep_days else None
    expired = await expire_payloads(services.database, settings.raw_keep_unchanged, keep_since)
    deleted = await try_delete_unused_blobs(services.feeds)
    counted = await count_visits(services.database)
    renewed = await reseal_secrets(services.database, services.registry.vault)
    await compact_old_days(services.database, settings)
    forgotten = await forget_visits(services.database, settings.visits_keep)
    await resume_duplicates(services.database)
    async with services.database.write() as tx:
        await idempotency_rows.delete_old_keys(
            tx, now - timedelta(hours=settings.idempotency_hours)
        )
    logger.info(
        "tidied",
        raw_expired=expired,
        blobs_deleted=deleted,
        visits_counted=counted,
        visits_forgotten=forgotten,
        seals_renewed=renewed,
    )


async def count_visits(database: Database) -> int:
    """Count every visit that is not in the statistics yet, in several transactions."""
    total = 0
    while True:
        async with database.write() as tx:
            counted = await day_rows.count_visits(tx, _COUNTED_AT_ONCE)
        total += counted
        if counted < _COUNTED_AT_ONCE:
            return total


async def compact_old_days(database: Database, settings: Settings) -> None:
    """Delete the single days of fetchers and latencies, and sum up those of subscriptions."""
    today = day_of(to_micros(database.clock.now()))
    async with database.write() as tx:
        await day_rows.delete_fetcher_days(tx, today - settings.suggestion_days + 1)
        await day_rows.delete_latency_days(tx, today - settings.statistics_days + 1)
    gathered = _GATHERED_AT_ONCE
    while gathered == _GATHERED_AT_ONCE:
        async with database.write() as tx:
            before = today - settings.statistics_days + 1
            gathered = await day_rows.gather_old_days(tx, before, _GATHERED_AT_ONCE)

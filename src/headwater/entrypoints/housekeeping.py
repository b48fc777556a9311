"""What is done now and then: visits are counted, payloads nobody needs and old history go."""

from datetime import datetime, timedelta

from headwater.access import store as access
from headwater.engine import Engine
from headwater.errors import StorageError
from headwater.fetch import store as raws
from headwater.schedule import store as calendar
from headwater.settings import Settings
from headwater.subscribe.tallies import store as tallies
from headwater.subscribe.tallies.days import day_of
from headwater.telemetry.log import logger
from headwater.unlock import renew_seals
from headwater.values.ids import key_of
from headwater.values.instant import to_micros
from headwater.values.url import canonical

log = logger("housekeeping")

_COUNTED_AT_ONCE = 500
_GATHERED_AT_ONCE = 2_000
"""So many rows in one transaction, lest visits wait for it."""


async def keep_house(engine: Engine, settings: Settings) -> None:
    """Small transactions, so that visits do not wait long for us."""
    now = engine.clock.now()
    kept_since = now - timedelta(days=settings.raw_keep_days) if settings.raw_keep_days else None
    expired = await expire_payloads(engine, settings.raw_keep_unchanged, kept_since)
    deleted = await _deleted_blobs(engine)
    counted = await count_visits(engine)
    renewed = await renew_seals(engine)
    await gather_old_days(engine, settings)
    forgotten = await forget_visits(engine, settings.visits_keep)
    await wake_duplicates(engine)
    async with engine.database.write() as tx:
        await access.forget_keys(tx, now - timedelta(hours=settings.idempotency_hours))
    log.info(
        "tidied",
        raw_expired=expired,
        blobs_deleted=deleted,
        visits_counted=counted,
        visits_forgotten=forgotten,
        seals_renewed=renewed,
    )


async def count_visits(engine: Engine) -> int:
    """Every visit that is not in the statistics yet, some in each transaction."""
    total = 0
    while True:
        async with engine.database.write() as tx:
            counted = await tallies.count_visits(tx, _COUNTED_AT_ONCE)
        total += counted
        if counted < _COUNTED_AT_ONCE:
            return total


async def gather_old_days(engine: Engine, settings: Settings) -> None:
    """Single days are kept for a while only, of subscriptions and of fetchers."""
    today = day_of(to_micros(engine.clock.now()))
    async with engine.database.write() as tx:
        await tallies.forget_fetcher_days(tx, today - settings.suggestion_days + 1)
        await tallies.forget_latency_days(tx, today - settings.statistics_days + 1)
    gathered = _GATHERED_AT_ONCE
    while gathered == _GATHERED_AT_ONCE:
        async with engine.database.write() as tx:
            before = today - settings.statistics_days + 1
            gathered = await tallies.gather_old_days(tx, before, _GATHERED_AT_ONCE)


async def expire_payloads(engine: Engine, unchanged_kept: int, kept_since: datetime | None) -> int:
    """What to let go is looked for without holding up visits, which only wait for it to be marked.

    So it is with all that follows.
    """
    expired = 0
    while True:
        async with engine.database.read() as view:
            found = await raws.surplus(view, unchanged_kept=unchanged_kept, kept_before=kept_since)
        if not found:
            return expired
        async with engine.database.write() as tx:
            await raws.expire(tx, found, engine.clock.now())
        expired += len({*found.unneeded, *found.old})


async def forget_visits(engine: Engine, kept: int) -> int:
    forgotten = 0
    while True:
        async with engine.database.read() as view:
            old = await calendar.old_visits(view, kept)
        if not old:
            return forgotten
        async with engine.database.write() as tx:
            await calendar.forget_visits(tx, old)
        forgotten += len(old)


async def _deleted_blobs(engine: Engine) -> int:
    """A store that lets nothing be deleted must not keep the rest of the house from being kept."""
    try:
        return await delete_unused_blobs(engine)
    except StorageError as trouble:
        log.error("blobs_not_deleted", error=trouble.code, detail=trouble.message)
        return 0


async def wake_duplicates(engine: Engine) -> None:
    """A feed stopped because another one was followed at its new address. When that one was
    removed, or lives elsewhere now, nobody would visit what somebody still wants."""
    async with engine.database.read() as view:
        stopped = await calendar.stopped_as_duplicates(view)
    for feed, address in stopped:
        async with engine.database.write() as tx:
            there = await calendar.feed_at(tx, key_of(canonical(address) or address))
            if there is None or there.state == "removed":
                await calendar.go_on(tx, feed, to_micros(engine.clock.now()))


async def delete_unused_blobs(engine: Engine) -> int:
    """Marked in a transaction, deleted outside of it, forgotten a day later."""
    now, deleted = engine.clock.now(), 0
    async with engine.database.read() as view:
        keys = await raws.dying_blobs(view)
    while True:
        await engine.blobs.delete(keys)
        deleted += len(keys)
        async with engine.database.read() as view:
            unused = await raws.unused_blobs(view)
        if not unused:
            break
        async with engine.database.write() as tx:
            keys = await raws.doom(tx, unused, now)
    async with engine.database.write() as tx:
        await raws.forget_blobs(tx, now - timedelta(days=1))
    return deleted

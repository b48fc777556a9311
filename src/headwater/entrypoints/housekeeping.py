"""What is done now and then: payloads nobody needs go, old history goes, nothing else."""

from datetime import timedelta

from headwater.access import store as access
from headwater.engine import Engine
from headwater.fetch import store as raws
from headwater.schedule import store as calendar
from headwater.settings import Settings
from headwater.telemetry.log import logger

log = logger("housekeeping")


async def keep_house(engine: Engine, settings: Settings) -> None:
    """Small transactions, so that visits do not wait long for us."""
    now = engine.clock.now()
    kept_since = now - timedelta(days=settings.raw_keep_days) if settings.raw_keep_days else None
    async with engine.database.write() as tx:
        expired = await raws.expire_surplus(
            tx, unchanged_kept=settings.raw_keep_unchanged, kept_before=kept_since, now=now
        )
    deleted = await delete_unused_blobs(engine)
    async with engine.database.write() as tx:
        forgotten = await calendar.forget_old_visits(tx, settings.visits_keep)
        await access.forget_keys(tx, now - timedelta(hours=settings.idempotency_hours))
    log.info("tidied", raw_expired=expired, blobs_deleted=deleted, visits_forgotten=forgotten)


async def delete_unused_blobs(engine: Engine) -> int:
    """Marked in one transaction, deleted outside of it, forgotten a day later."""
    now = engine.clock.now()
    async with engine.database.write() as tx:
        await raws.doom_unused_blobs(tx, now)
    async with engine.database.read() as view:
        keys = await raws.dying_blobs(view)
    await engine.blobs.delete(keys)
    async with engine.database.write() as tx:
        await raws.forget_blobs(tx, now - timedelta(days=1))
    return len(keys)

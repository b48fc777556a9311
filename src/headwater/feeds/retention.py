"""Retention of feeds: payloads, blobs and visits that nobody needs go."""

from datetime import datetime, timedelta

from headwater.core.errors import StorageError
from headwater.core.ports import Database
from headwater.core.telemetry.log import get_logger
from headwater.core.values.ids import index_key
from headwater.core.values.instant import to_micros
from headwater.core.values.url import canonical
from headwater.feeds import feed_rows, visit_rows
from headwater.feeds.raw import raw_rows
from headwater.feeds.services import FeedServices

logger = get_logger("housekeeping")


async def expire_payloads(
    database: Database, unchanged_kept: int, kept_since: datetime | None
) -> int:
    """What to let go is looked for without holding up visits, which only wait for it to be marked.

    So it is with all that follows.
    """
    expired = 0
    while True:
        async with database.read() as view:
            found = await raw_rows.list_expirable(
                view, unchanged_kept=unchanged_kept, kept_before=kept_since
            )
        if not found:
            return expired
        async with database.write() as tx:
            await raw_rows.set_expired(tx, found, tx.now)
        expired += len({*found.unneeded, *found.old})


async def forget_visits(database: Database, kept: int) -> int:
    forgotten = 0
    while True:
        async with database.read() as view:
            old = await visit_rows.list_old_visits(view, kept)
        if not old:
            return forgotten
        async with database.write() as tx:
            await visit_rows.delete_visits(tx, old)
        forgotten += len(old)


async def try_delete_unused_blobs(services: FeedServices) -> int:
    """A store that lets nothing be deleted must not keep the rest of the house from being kept."""
    try:
        return await delete_unused_blobs(services)
    except StorageError as trouble:
        logger.error("blobs_not_deleted", error=trouble.code, detail=trouble.message)
        return 0


async def resume_duplicates(database: Database) -> None:
    """A feed stopped because another one was followed at its new address. When that one was
    removed, or lives elsewhere now, nobody would visit what somebody still wants."""
    async with database.read() as view:
        stopped = await feed_rows.list_duplicates(view)
    for feed, address in stopped:
        async with database.write() as tx:
            there = await feed_rows.find_feed_at_url(tx, index_key(canonical(address) or address))
            if there is None or there.state == "removed":
                await feed_rows.resume_duplicate(tx, feed, to_micros(tx.now))


async def delete_unused_blobs(services: FeedServices) -> int:
    """Marked in a transaction, deleted outside of it, forgotten a day later."""
    now, deleted = services.clock.now(), 0
    async with services.database.read() as view:
        keys = await raw_rows.list_dying_blobs(view)
    while True:
        await services.blobs.delete(keys)
        deleted += len(keys)
        async with services.database.read() as view:
            unused = await raw_rows.list_unused_blobs(view)
        if not unused:
            break
        async with services.database.write() as tx:
            keys = await raw_rows.mark_blobs_dying(tx, unused, now)
    async with services.database.write() as tx:
        await raw_rows.delete_dying_blobs(tx, now - timedelta(days=1))
    return deleted

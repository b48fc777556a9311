"""Retention of feeds: delete payloads, blobs and visits that nobody needs."""

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
    """Expired payloads are searched in a read: visits wait only while they are marked.

    The other functions here do the same.
    """
    expired = 0
    while True:
        async with database.read() as view:
            expirable = await raw_rows.list_expirable(
                view, unchanged_kept=unchanged_kept, kept_before=kept_since
            )
        if not expirable:
            return expired
        async with database.write() as tx:
            await raw_rows.set_expired(tx, expirable, tx.now)
        expired += len({*expirable.unneeded, *expirable.old})


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
    """A store that refuses deletions must not stop the rest of the housekeeping."""
    try:
        return await delete_unused_blobs(services)
    except StorageError as error:
        logger.error("blobs_not_deleted", error=error.code, detail=error.message)
        return 0


async def resume_duplicates(database: Database) -> None:
    """Resume duplicates whose URL is free again.

    A duplicate stopped because another feed was followed at its new URL. When that one was removed,
    or has another URL now, nobody would visit a feed that somebody still wants.
    """
    async with database.read() as view:
        duplicates = await feed_rows.list_duplicates(view)
    for feed, url in duplicates:
        async with database.write() as tx:
            other = await feed_rows.find_feed_at_url(tx, index_key(canonical(url) or url))
            if other is None or other.state == "removed":
                await feed_rows.resume_duplicate(tx, feed, to_micros(tx.now))


async def delete_unused_blobs(services: FeedServices) -> int:
    """Mark blobs in a transaction, delete them outside of it, and delete their rows a day later."""
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

"""Unsubscribe: a subscription ends, and its feed goes when nobody else wants it."""

from datetime import datetime

from headwater.core.errors import BadUrl, NotFound
from headwater.core.ports import Database, Transaction
from headwater.core.telemetry.log import get_logger
from headwater.core.values.instant import rfc3339
from headwater.core.values.url import check_source_url, redacted
from headwater.events import event_rows
from headwater.events.event import Event
from headwater.feeds import feed_rows
from headwater.feeds.feed import Feed
from headwater.subscriptions import history_rows, subscription_rows
from headwater.subscriptions.conflicts import conflict_rows
from headwater.subscriptions.conflicts.conflict import SUBSCRIPTION_DELETED
from headwater.subscriptions.registry_events import conflict_resolved, subscription_deleted
from headwater.subscriptions.subscription import SYSTEM_ACTOR, Subscription, assignment_facts
from headwater.subscriptions.subscription_rows import get_subscription_of_feed

logger = get_logger("registry")


async def remove_feed(
    feed_id: str, database: Database, *, hard: bool, who: str = SYSTEM_ACTOR
) -> Feed:
    """Soft: no more visits, history stays. Hard: everything goes, one event tells of it."""
    now = database.clock.now()
    async with database.write() as tx:
        feed = await feed_rows.get_feed(tx, feed_id, lock=True)
        facts = await unsubscribe(tx, feed, hard=hard, who=who, now=now)
        await event_rows.append_events(tx, facts, now)
    return feed


async def unsubscribe(
    tx: Transaction, feed: Feed, *, hard: bool, who: str, now: datetime
) -> list[Event]:
    """A feed goes together with its subscription. The facts are for the caller to append last."""
    there = await get_subscription_of_feed(tx, feed.id)
    told = subscription_deleted(there, feed.url, rfc3339(now), hard=hard)
    if hard:
        await subscription_rows.delete_subscription_and_feed(tx, there.id)
        return [told]
    if feed.state == "removed":
        return []
    gone = await subscription_rows.deactivate(tx, there.id, now)
    closed = await conflict_rows.close_open_conflicts(tx, there.id, SUBSCRIPTION_DELETED, who, now)
    await _record_history(tx, there, gone, who, now)
    return [*(conflict_resolved(each, gone) for each in closed), told]


async def _record_history(
    tx: Transaction, before: Subscription, after: Subscription, who: str, now: datetime
) -> None:
    await history_rows.insert_history(
        tx,
        after.id,
        at=now,
        who=who,
        what="deleted",
        why=None,
        before=assignment_facts(before),
        after=assignment_facts(after),
    )


async def delete_subscription(
    subscription_id: int, database: Database, who: str, *, hard: bool
) -> Subscription:
    """As it was before. Soft: no more visits. Hard: everything goes, one event tells of it."""
    now = database.clock.now()
    async with database.write() as tx:
        there = await subscription_rows.get_subscription(tx, subscription_id, lock=True)
        await _unsubscribe_feed(tx, there, hard=hard, who=who, now=now)
    logger.info("subscription_deleted", subscription=there.id, hard=hard, by=who)
    return there


async def delete_by_url(url: str, database: Database, who: str, *, hard: bool) -> Subscription:
    """Softly deleted ones cannot be found by their URL, except to delete them for good."""
    now = database.clock.now()
    async with database.write() as tx:
        source = _source(url)
        there = (
            await subscription_rows.find_subscription_by_url(tx, source, lock=True)
            if source
            else None
        )
        if there is None or not (there.is_active or hard):
            shown = redacted(source) if source else "this is none"
            raise NotFound(f"Subscription not found for URL: {shown}", what="subscription")
        await _unsubscribe_feed(tx, there, hard=hard, who=who, now=now)
    logger.info("subscription_deleted", subscription=there.id, hard=hard, by=who)
    return there


def _source(url: str) -> str | None:
    try:
        return check_source_url(url)
    except BadUrl:
        return None


async def _unsubscribe_feed(
    tx: Transaction, there: Subscription, *, hard: bool, who: str, now: datetime
) -> None:
    feed = await feed_rows.get_feed(tx, there.feed_id, lock=True)
    events = await unsubscribe(tx, feed, hard=hard, who=who, now=now)
    await event_rows.append_events(tx, events, now)

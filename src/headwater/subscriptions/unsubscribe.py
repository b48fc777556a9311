"""Unsubscribe: a subscription ends, and its feed goes together with it."""

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
    """Soft: no more visits, history stays. Hard: everything is deleted, with one event."""
    async with database.write() as tx:
        feed = await feed_rows.get_feed(tx, feed_id, lock=True)
        events = await unsubscribe(tx, feed, hard=hard, who=who, now=tx.now)
        await event_rows.append_events(tx, events, tx.now)
    return feed


async def unsubscribe(
    tx: Transaction, feed: Feed, *, hard: bool, who: str, now: datetime
) -> list[Event]:
    """Remove a feed together with its subscription. The caller appends the events last."""
    subscription = await get_subscription_of_feed(tx, feed.id)
    deleted = subscription_deleted(subscription, feed.url, rfc3339(now), hard=hard)
    if hard:
        await subscription_rows.delete_subscription_and_feed(tx, subscription.id)
        return [deleted]
    if feed.state == "removed":
        return []
    after = await subscription_rows.deactivate(tx, subscription.id, now)
    closed = await conflict_rows.close_open_conflicts(
        tx, subscription.id, SUBSCRIPTION_DELETED, who, now
    )
    await history_rows.insert_history(
        tx,
        after.id,
        at=now,
        who=who,
        what="deleted",
        why=None,
        before=assignment_facts(subscription),
        after=assignment_facts(after),
    )
    return [*(conflict_resolved(conflict, after) for conflict in closed), deleted]


async def delete_subscription(
    subscription_id: int, database: Database, who: str, *, hard: bool
) -> Subscription:
    """The subscription as it was.

    Soft: no more visits. Hard: everything is deleted, with one event.
    """
    async with database.write() as tx:
        subscription = await subscription_rows.get_subscription(tx, subscription_id, lock=True)
        await _unsubscribe_feed(tx, subscription, hard=hard, who=who)
    logger.info("subscription_deleted", subscription=subscription.id, hard=hard, by=who)
    return subscription


async def delete_by_url(url: str, database: Database, who: str, *, hard: bool) -> Subscription:
    """A softly deleted one is found by its URL only to be deleted for good."""
    async with database.write() as tx:
        source = _find_source_url(url)
        subscription = (
            await subscription_rows.find_subscription_by_url(tx, source, lock=True)
            if source
            else None
        )
        if subscription is None or not (subscription.is_active or hard):
            shown = redacted(source) if source else "this is none"
            raise NotFound(f"Subscription not found for URL: {shown}", what="subscription")
        await _unsubscribe_feed(tx, subscription, hard=hard, who=who)
    logger.info("subscription_deleted", subscription=subscription.id, hard=hard, by=who)
    return subscription


def _find_source_url(url: str) -> str | None:
    try:
        return check_source_url(url)
    except BadUrl:
        return None


async def _unsubscribe_feed(
    tx: Transaction, subscription: Subscription, *, hard: bool, who: str
) -> None:
    feed = await feed_rows.get_feed(tx, subscription.feed_id, lock=True)
    events = await unsubscribe(tx, feed, hard=hard, who=who, now=tx.now)
    await event_rows.append_events(tx, events, tx.now)

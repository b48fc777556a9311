"""Change a subscription: every part of the change in one transaction, with its events."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from headwater.core.errors import ConflictError
from headwater.core.ports import Transaction
from headwater.core.telemetry.log import get_logger
from headwater.core.values.ids import FetcherId
from headwater.core.values.keep import KEEP, Keep
from headwater.events import event_rows
from headwater.events.event import Event
from headwater.feeds import feed_rows
from headwater.feeds.change_feed import change_feed_within
from headwater.feeds.feed import Feed, FeedOptions, FeedPatch
from headwater.feeds.schedule.replan import earliest_visit
from headwater.subscriptions import history_rows, subscription_rows
from headwater.subscriptions.conflicts import conflict_rows
from headwater.subscriptions.fetchers import fetcher_rows
from headwater.subscriptions.fetchers.ask_fetchers import choose_fetcher
from headwater.subscriptions.fetchers.config_schema import check_config
from headwater.subscriptions.groups.apply_group_values import apply_group_values, move_to_group
from headwater.subscriptions.insert_subscription import insert_subscription_with_feed
from headwater.subscriptions.registry_events import (
    conflict_resolved,
    subscription_assigned,
    subscription_changed,
)
from headwater.subscriptions.services import RegistryServices
from headwater.subscriptions.subscribe import enabled_fetcher
from headwater.subscriptions.subscription import (
    NewSubscription,
    Subscription,
    SubscriptionPatch,
    assignment_facts,
)
from headwater.subscriptions.unsubscribe import unsubscribe

logger = get_logger("registry")

REASSIGNED = "reassigned"
"""A conflict was closed because somebody named a fetcher, not necessarily a candidate."""


@dataclass(frozen=True, slots=True)
class SubscriptionUpdate:
    """All changes of one request. A new fetcher has been asked before whether it can."""

    patch: SubscriptionPatch
    is_active: bool | Keep = KEEP
    fetcher_id: FetcherId | Keep = KEEP


@dataclass(slots=True)
class SubscriptionUpdater:
    """Applies an update in the transaction `tx`. The caller appends `events` last.

    `who` goes into the history. `gap` is the shortest time between visits.
    """

    tx: Transaction
    services: RegistryServices
    who: str
    gap: timedelta
    events: list[Event] = field(default_factory=list)

    async def apply(self, subscription: Subscription, update: SubscriptionUpdate) -> Subscription:
        """The subscription after the update. The caller holds its lock."""
        if update.is_active is True and not subscription.is_active:
            subscription = await self._restore(subscription)
        if not subscription.is_active and (
            update.fetcher_id is not KEEP or update.patch != _NO_CHANGE
        ):
            raise ConflictError(
                "This subscription is not active. Set is_active to true first.",
                subscription_id=subscription.id,
            )
        if update.fetcher_id is not KEEP:
            subscription = await self._assign(subscription, update.fetcher_id, update.patch)
        if update.patch != _NO_CHANGE:
            subscription = await self._patch(subscription, update.patch)
        if update.is_active is False:
            subscription = await self._deactivate(subscription)
        return subscription

    async def _restore(self, subscription: Subscription) -> Subscription:
        """As it was, with its interval, and with its fetcher even if that is disabled. A host that
        asked for a rest still gets it."""
        feed = await feed_rows.get_feed(self.tx, subscription.feed_id, lock=True)
        restored, created = await insert_subscription_with_feed(
            self.tx,
            self.services,
            NewSubscription(subscription.source_url, subscription.source_type),
            FeedOptions(feed.priority, feed.categories, feed.overrides),
            await fetcher_rows.get_fetcher(self.tx, subscription.fetcher_id),
            who=self.who,
            why=None,
            now=self.tx.now,
            keep_former=True,
            interval_sec=feed.schedule.interval_sec,
            visit_at=earliest_visit(feed, self.gap, self.tx.now),
        )
        self.events.append(created)
        return restored

    async def _assign(
        self, subscription: Subscription, fetcher_id: FetcherId, patch: SubscriptionPatch
    ) -> Subscription:
        chosen = await enabled_fetcher(self.tx, fetcher_id)
        check_config(
            subscription.config if patch.config is KEEP else patch.config, chosen.config_schema
        )
        after = await subscription_rows.assign(
            self.tx, subscription, chosen, auto_selected=False, status="assigned", now=self.tx.now
        )
        if after.fetcher_id != subscription.fetcher_id:
            self.events.append(subscription_assigned(after, subscription))
        for conflict in await conflict_rows.list_conflicts(
            self.tx, limit=2, subscription_id=subscription.id
        ):
            closed = await conflict_rows.set_resolved(
                self.tx, conflict, chosen.id, REASSIGNED, self.who, self.tx.now
            )
            self.events.append(conflict_resolved(closed, after))
        await self._insert_history(
            "assigned", assignment_facts(subscription), assignment_facts(after), subscription.id
        )
        return after

    async def _patch(self, subscription: Subscription, patch: SubscriptionPatch) -> Subscription:
        feed = await feed_rows.get_feed(self.tx, subscription.feed_id, lock=True)
        before = _editable_values(subscription, feed)
        if patch.config is not KEEP:
            schema = (
                await fetcher_rows.get_fetcher(self.tx, subscription.fetcher_id)
            ).config_schema
            patch = replace(patch, config=check_config(patch.config, schema))
        if patch.feed_patch != FeedPatch():
            feed = await change_feed_within(
                self.tx,
                subscription.feed_id,
                patch.feed_patch,
                self.services.feeds.schedule,
                self.gap,
            )
        after = await subscription_rows.update_subscription(
            self.tx, subscription.id, replace(patch, group_id=KEEP), self.tx.now
        )
        if patch.group_id is not KEEP and patch.group_id != subscription.group_id:
            after = await move_to_group(
                self.tx, self.services.feeds.schedule, after, patch.group_id, self.tx.now
            )
        else:
            # A value that was reset to the default now follows the group.
            after = await apply_group_values(
                self.tx, self.services.feeds.schedule, after, self.tx.now
            )
        feed = await feed_rows.get_feed(self.tx, subscription.feed_id)
        values = _editable_values(after, feed)
        changed = [name for name, value in values.items() if value != before[name]]
        if changed:
            await self._insert_history(
                "changed",
                {name: before[name] for name in changed},
                {name: values[name] for name in changed},
                subscription.id,
            )
            self.events.append(subscription_changed(after, changed))
        return after

    async def _deactivate(self, subscription: Subscription) -> Subscription:
        feed = await feed_rows.get_feed(self.tx, subscription.feed_id, lock=True)
        self.events += await unsubscribe(self.tx, feed, hard=False, who=self.who, now=self.tx.now)
        return await subscription_rows.get_subscription(self.tx, subscription.id)

    async def _insert_history(
        self, what: str, before: Mapping[str, Any], after: Mapping[str, Any], subscription_id: int
    ) -> None:
        await history_rows.insert_history(
            self.tx,
            subscription_id,
            at=self.tx.now,
            who=self.who,
            what=what,
            why=None,
            before=before,
            after=after,
        )


_NO_CHANGE = SubscriptionPatch()


def _editable_values(subscription: Subscription, feed: Feed) -> dict[str, Any]:
    """The values that people set, with the interval that they asked for."""
    asked_sec = feed.overrides.interval_sec
    return {
        "name": subscription.name,
        "description": subscription.description,
        "fetch_interval_minutes": None
        if asked_sec is None
        else subscription.fetch_interval_minutes,
        "config": subscription.config,
        "priority": feed.priority,
        "categories": list(feed.categories),
        "group_id": subscription.group_id,
    }


async def change_subscription(
    subscription_id: int,
    update: SubscriptionUpdate,
    services: RegistryServices,
    who: str,
    *,
    gap: timedelta,
) -> Subscription:
    """The changed subscription. A new fetcher is asked first whether it can.

    `gap` is the shortest time between visits that a person may ask for.
    """
    if update.fetcher_id is not KEEP:
        async with services.database.read() as view:
            subscription = await subscription_rows.get_subscription(view, subscription_id)
        await choose_fetcher(
            services, subscription.source_url, subscription.source_type, target=update.fetcher_id
        )
    async with services.database.write() as tx:
        before = await subscription_rows.get_subscription(tx, subscription_id, lock=True)
        updater = SubscriptionUpdater(tx, services, who, gap)
        after = await updater.apply(before, update)
        await event_rows.append_events(tx, updater.events, tx.now)
    event_types = [event.type for event in updater.events]
    logger.info("subscription_changed", subscription=after.id, told=event_types, by=who)
    return after

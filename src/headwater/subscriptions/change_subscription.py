"""One change of a subscription, step by step inside its transaction, and the facts it makes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
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
"""Why a conflict was closed: somebody named a fetcher without choosing among the candidates."""


@dataclass(frozen=True, slots=True)
class SubscriptionUpdate:
    """All that may be changed of a subscription at once. A new fetcher was asked before."""

    patch: SubscriptionPatch
    is_active: bool | Keep = KEEP
    fetcher_id: FetcherId | Keep = KEEP


@dataclass(slots=True)
class SubscriptionUpdater:
    """Who changes what when. The facts are for the caller to append last."""

    tx: Transaction
    services: RegistryServices
    who: str
    now: datetime
    gap: timedelta
    facts: list[Event] = field(default_factory=list)

    async def apply(self, there: Subscription, changes: SubscriptionUpdate) -> Subscription:
        """The subscription as it is then; its lock is held by the caller."""
        if changes.is_active is True and not there.is_active:
            there = await self._bring_back(there)
        if not there.is_active and (changes.fetcher_id is not KEEP or changes.patch != _NOTHING):
            raise ConflictError(
                "This subscription is not active. Set is_active to true first.",
                subscription_id=there.id,
            )
        if changes.fetcher_id is not KEEP:
            there = await self._assign(there, changes.fetcher_id, changes.patch)
        if changes.patch != _NOTHING:
            there = await self._say(there, changes.patch)
        if changes.is_active is False:
            there = await self._take_off(there)
        return there

    async def _bring_back(self, there: Subscription) -> Subscription:
        """As it was, its interval too, and its fetcher even if that is switched off; a host that
        asked for a rest still gets it."""
        feed = await feed_rows.get_feed(self.tx, there.feed_id, lock=True)
        back, created = await insert_subscription_with_feed(
            self.tx,
            self.services,
            NewSubscription(there.source_url, there.source_type),
            FeedOptions(feed.priority, feed.categories, feed.overrides),
            await fetcher_rows.get_fetcher(self.tx, there.fetcher_id),
            who=self.who,
            why=None,
            now=self.now,
            keep_former=True,
            interval_sec=feed.schedule.interval_sec,
            visit_at=earliest_visit(feed, self.gap, self.now),
        )
        self.facts.append(created)
        return back

    async def _assign(
        self, there: Subscription, fetcher_id: FetcherId, patch: SubscriptionPatch
    ) -> Subscription:
        chosen = await enabled_fetcher(self.tx, fetcher_id)
        check_config(there.config if patch.config is KEEP else patch.config, chosen.config_schema)
        after = await subscription_rows.assign(
            self.tx, there, chosen, auto_selected=False, status="assigned", now=self.now
        )
        if after.fetcher_id != there.fetcher_id:
            self.facts.append(subscription_assigned(after, there))
        for conflict in await conflict_rows.list_conflicts(
            self.tx, limit=2, subscription_id=there.id
        ):
            closed = await conflict_rows.set_resolved(
                self.tx, conflict, chosen.id, REASSIGNED, self.who, self.now
            )
            self.facts.append(conflict_resolved(closed, after))
        await self._write_down(
            "assigned", assignment_facts(there), assignment_facts(after), there.id
        )
        return after

    async def _say(self, there: Subscription, patch: SubscriptionPatch) -> Subscription:
        feed = await feed_rows.get_feed(self.tx, there.feed_id, lock=True)
        before = _editable_values(there, feed)
        if patch.config is not KEEP:
            schema = (await fetcher_rows.get_fetcher(self.tx, there.fetcher_id)).config_schema
            patch = replace(patch, config=check_config(patch.config, schema))
        if patch.feed_patch != FeedPatch():
            feed = await change_feed_within(
                self.tx, there.feed_id, patch.feed_patch, self.services.feeds.schedule, self.gap
            )
        after = await subscription_rows.update_subscription(
            self.tx, there.id, replace(patch, group_id=KEEP), self.now
        )
        if patch.group_id is not KEEP and patch.group_id != there.group_id:
            after = await move_to_group(
                self.tx, self.services.feeds.schedule, after, patch.group_id, self.now
            )
        else:
            # What was put back to the default is now what the group says.
            after = await apply_group_values(self.tx, self.services.feeds.schedule, after, self.now)
        feed = await feed_rows.get_feed(self.tx, there.feed_id)
        said = _editable_values(after, feed)
        changed = [name for name, value in said.items() if value != before[name]]
        if changed:
            was, now = ({name: each[name] for name in changed} for each in (before, said))
            await self._write_down("changed", was, now, there.id)
            self.facts.append(subscription_changed(after, changed))
        return after

    async def _take_off(self, there: Subscription) -> Subscription:
        feed = await feed_rows.get_feed(self.tx, there.feed_id, lock=True)
        self.facts += await unsubscribe(self.tx, feed, hard=False, who=self.who, now=self.now)
        return await subscription_rows.get_subscription(self.tx, there.id)

    async def _write_down(
        self, what: str, before: Mapping[str, Any], after: Mapping[str, Any], subscription_id: int
    ) -> None:
        await history_rows.insert_history(
            self.tx,
            subscription_id,
            at=self.now,
            who=self.who,
            what=what,
            why=None,
            before=before,
            after=after,
        )


_NOTHING = SubscriptionPatch()


def _editable_values(subscription: Subscription, feed: Feed) -> dict[str, Any]:
    """What people say about a subscription, with the interval they asked for."""
    asked = feed.overrides.interval_sec
    return {
        "name": subscription.name,
        "description": subscription.description,
        "fetch_interval_minutes": None if asked is None else subscription.fetch_interval_minutes,
        "config": subscription.config,
        "priority": feed.priority,
        "categories": list(feed.categories),
        "group_id": subscription.group_id,
    }


async def change_subscription(
    subscription_id: int,
    changes: SubscriptionUpdate,
    services: RegistryServices,
    who: str,
    *,
    gap: timedelta,
) -> Subscription:
    """Another fetcher is asked first. `gap`: the shortest time between visits a person may ask."""
    if changes.fetcher_id is not KEEP:
        async with services.database.read() as view:
            there = await subscription_rows.get_subscription(view, subscription_id)
        await choose_fetcher(
            services, there.source_url, there.source_type, target=changes.fetcher_id
        )
    now = services.clock.now()
    async with services.database.write() as tx:
        before = await subscription_rows.get_subscription(tx, subscription_id, lock=True)
        change = SubscriptionUpdater(tx, services, who, now, gap)
        after = await change.apply(before, changes)
        await event_rows.append_events(tx, change.facts, now)
    told = [event.type for event in change.facts]
    logger.info("subscription_changed", subscription=after.id, told=told, by=who)
    return after

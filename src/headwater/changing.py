"""One change of a subscription, step by step inside its transaction, and the facts it makes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from headwater.announce.event import (
    Event,
    conflict_resolved,
    subscription_assigned,
    subscription_changed,
    subscription_created,
)
from headwater.engine import Engine
from headwater.errors import BroadcastFailed, Conflict
from headwater.membership import move, welcome
from headwater.ports import Transaction
from headwater.schedule import queries as feed_queries
from headwater.schedule.replan import earliest_visit
from headwater.subscribe import store as feeds
from headwater.subscribe.config_schema import checked_config
from headwater.subscribe.conflicts import store as conflicts
from headwater.subscribe.feed import KEEP, Feed, FeedPatch, Keep, Wish
from headwater.subscribe.fetcher import Fetcher, FetcherId
from headwater.subscribe.fetchers import store as fetchers
from headwater.subscribe.history import store as history
from headwater.subscribe.subscription import (
    NewSubscription,
    Subscription,
    SubscriptionPatch,
    as_assigned,
)
from headwater.subscribe.subscriptions import queries
from headwater.subscribe.subscriptions import store as subscriptions
from headwater.wishes import change_in, take_off

REASSIGNED = "reassigned"
"""Why a conflict was closed: somebody named a fetcher without choosing among the candidates."""


@dataclass(frozen=True, slots=True)
class Changes:
    """All that may be changed of a subscription at once. A new fetcher was asked before."""

    patch: SubscriptionPatch
    is_active: bool | Keep = KEEP
    fetcher_id: FetcherId | Keep = KEEP


@dataclass(slots=True)
class Change:
    """Who changes what when. The facts are for the caller to append last."""

    tx: Transaction
    engine: Engine
    who: str
    now: datetime
    gap: timedelta
    facts: list[Event] = field(default_factory=list)

    async def apply(self, there: Subscription, changes: Changes) -> Subscription:
        """The subscription as it is then; its lock is held by the caller."""
        if changes.is_active is True and not there.is_active:
            there = await self._bring_back(there)
        if not there.is_active and (changes.fetcher_id is not KEEP or changes.patch != _NOTHING):
            raise Conflict(
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
        """As it was, with all its history; a host that asked for a rest still gets it."""
        feed = await feed_queries.feed(self.tx, there.feed_id, lock=True)
        followed = await feeds.follow(
            self.tx,
            there.source_url,
            Wish(None, feed.priority, feed.categories, feed.overrides),
            feed_id=there.feed_id,
            interval_sec=feed.schedule.interval_sec,
            now=self.now,
            visit_at=earliest_visit(feed, self.gap, self.now),
        )
        new = NewSubscription(
            there.source_url,
            there.source_type,
            description=there.description,
            config=there.config,
            group_id=there.group_id,
        )
        back = await subscriptions.add(
            self.tx,
            new,
            followed,
            there.fetcher_id,
            auto_selected=there.auto_selected,
            now=self.now,
        )
        await self._write_down("revived", as_assigned(there), as_assigned(back), back.id)
        self.facts.append(subscription_created(back, revived=True))
        return back

    async def _assign(
        self, there: Subscription, fetcher_id: FetcherId, patch: SubscriptionPatch
    ) -> Subscription:
        chosen = await enabled_fetcher(self.tx, fetcher_id)
        checked_config(there.config if patch.config is KEEP else patch.config, chosen.config_schema)
        after = await subscriptions.assign(
            self.tx, there, chosen, auto_selected=False, status="assigned", now=self.now
        )
        if after.fetcher_id != there.fetcher_id:
            self.facts.append(subscription_assigned(after, there))
        for conflict in await conflicts.conflicts(self.tx, limit=2, subscription_id=there.id):
            closed = await conflicts.resolve(
                self.tx, conflict, chosen.id, REASSIGNED, self.who, self.now
            )
            self.facts.append(conflict_resolved(closed, after))
        await self._write_down("assigned", as_assigned(there), as_assigned(after), there.id)
        return after

    async def _say(self, there: Subscription, patch: SubscriptionPatch) -> Subscription:
        feed = await feed_queries.feed(self.tx, there.feed_id, lock=True)
        before = _said(there, feed)
        if patch.config is not KEEP:
            schema = (await fetchers.fetcher(self.tx, there.fetcher_id)).config_schema
            patch = replace(patch, config=checked_config(patch.config, schema))
        if patch.feed_patch != FeedPatch():
            feed = await change_in(self.tx, there.feed_id, patch.feed_patch, self.engine, self.gap)
        after = await subscriptions.change(
            self.tx, there.id, replace(patch, group_id=KEEP), self.now
        )
        if patch.group_id is not KEEP and patch.group_id != there.group_id:
            after = await move(self.tx, self.engine, after, patch.group_id, self.now)
        else:
            # What was put back to the default is now what the group says.
            after = await welcome(self.tx, self.engine, after, self.now)
        feed = await feed_queries.feed(self.tx, there.feed_id)
        said = _said(after, feed)
        changed = [name for name, value in said.items() if value != before[name]]
        if changed:
            was, now = ({name: each[name] for name in changed} for each in (before, said))
            await self._write_down("changed", was, now, there.id)
            self.facts.append(subscription_changed(after, changed))
        return after

    async def _take_off(self, there: Subscription) -> Subscription:
        feed = await feed_queries.feed(self.tx, there.feed_id, lock=True)
        self.facts += await take_off(self.tx, feed, hard=False, who=self.who, now=self.now)
        return await queries.subscription(self.tx, there.id)

    async def _write_down(
        self, what: str, before: Mapping[str, Any], after: Mapping[str, Any], subscription_id: int
    ) -> None:
        await history.write(
            self.tx,
            subscription_id,
            at=self.now,
            who=self.who,
            what=what,
            why=None,
            before=before,
            after=after,
        )


async def enabled_fetcher(tx: Transaction, fetcher_id: FetcherId) -> Fetcher:
    """It was asked before this transaction, and somebody may have switched it off since."""
    chosen = await fetchers.fetcher(tx, fetcher_id)
    if not chosen.is_enabled:
        raise BroadcastFailed(
            f"Fetcher {fetcher_id} was disabled in this very moment", fetcher_id=fetcher_id
        )
    return chosen


_NOTHING = SubscriptionPatch()


def _said(subscription: Subscription, feed: Feed) -> dict[str, Any]:
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

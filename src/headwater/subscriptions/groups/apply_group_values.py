"""Apply the values of a group to its members, batch by batch, also to those that just joined."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from headwater.core.errors import BadConfig
from headwater.core.ports import Transaction
from headwater.core.values.ids import FeedPk
from headwater.events import event_rows
from headwater.events.event import Event
from headwater.feeds import feed_rows
from headwater.feeds.feed import Feed
from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.feeds.schedule.replan import replan_feed
from headwater.subscriptions import subscription_rows
from headwater.subscriptions.fetchers.config_schema import check_config
from headwater.subscriptions.fetchers.fetcher_rows import get_fetcher
from headwater.subscriptions.groups import group_rows
from headwater.subscriptions.groups.group import (
    DEFAULT_FETCH_SETTINGS,
    NO_GROUP_VALUES,
    FetchSettings,
    Group,
    GroupChange,
    GroupValues,
    check_not_full,
    settings_after_change,
)
from headwater.subscriptions.registry_events import subscription_changed
from headwater.subscriptions.services import RegistryServices
from headwater.subscriptions.subscription import Subscription, SubscriptionPatch

BATCH = 100
"""Members that get the new values in one transaction."""


@dataclass(frozen=True, slots=True)
class RefusedMember:
    """A member whose fetcher does not take the config of the group."""

    subscription_id: int
    message: str


@dataclass(slots=True)
class SpreadResult:
    """The effect of a change of a group's values on its members."""

    changed: int = 0
    unchanged: int = 0
    refused: list[RefusedMember] = field(default_factory=list)


async def move_to_group(
    tx: Transaction,
    schedule: SchedulePolicy,
    subscription: Subscription,
    to: int | None,
    now: datetime,
    locked: dict[int, Group] | None = None,
) -> Subscription:
    """Move a subscription into another group, or into none; it loses the old group's values.

    The caller holds the subscription's lock and announces the change. `locked` keeps the groups
    that are locked already, for those who move many in one transaction: locking a group counts all
    of its members.
    """
    former = subscription.group_id
    locked = {} if locked is None else locked
    concerned = {group_id for group_id in (former, to) if group_id is not None}
    for group_id in sorted(concerned - locked.keys()):
        locked[group_id] = await group_rows.lock_group(tx, group_id)
    if to is not None and to != former:
        check_not_full(locked[to])
    before = (
        NO_GROUP_VALUES if former is None else values_in_force(locked[former], subscription.feed_pk)
    )
    after = NO_GROUP_VALUES if to is None else locked[to].shared
    moved = await subscription_rows.update_subscription(
        tx, subscription.id, SubscriptionPatch(group_id=to), now
    )
    await _apply_values(tx, schedule, moved, before, after, now)
    return await subscription_rows.get_subscription(tx, subscription.id)


async def apply_group_values(
    tx: Transaction, schedule: SchedulePolicy, subscription: Subscription, now: datetime
) -> Subscription:
    """A new subscription that was made inside a group begins with the values of that group."""
    if subscription.group_id is None:
        return subscription
    group = await group_rows.lock_group(tx, subscription.group_id)
    check_not_full(group, joining=0)
    await _apply_values(tx, schedule, subscription, NO_GROUP_VALUES, group.shared, now)
    return await subscription_rows.get_subscription(tx, subscription.id)


async def spread_group_change(services: RegistryServices, group_id: int) -> SpreadResult:
    """Carry a group's change to all of its members; safe to begin again after a crash."""
    result = SpreadResult()
    while await _spread_batch(services, group_id, result):
        pass
    return result


async def finish_spreading(services: RegistryServices) -> None:
    """Finish the changes that a crash interrupted; the worker looks every minute."""
    async with services.database.read() as view:
        group_ids = await group_rows.list_unfinished_changes(view)
    for group_id in group_ids:
        await spread_group_change(services, group_id)


async def _spread_batch(services: RegistryServices, group_id: int, result: SpreadResult) -> bool:
    """One batch; False when every member has the new values."""
    async with services.database.write() as tx:
        change = (await group_rows.get_group(tx, group_id)).spreading
        if change is None:
            return False
        members = await group_rows.list_members_by_feed(
            tx, group_id, after=change.after, limit=BATCH
        )
        group = await group_rows.lock_group(tx, group_id)
        if group.spreading != change:
            return True  # another process did this batch meanwhile
        events = []
        for member in members:
            subscription = await subscription_rows.get_subscription(tx, member.subscription_id)
            if subscription.group_id != group_id:
                continue  # it went elsewhere while its lock was waited for
            events += await _spread_to_member(
                tx,
                services.feeds.schedule,
                subscription,
                change.before,
                group.shared,
                tx.now,
                result,
            )
        done = len(members) < BATCH
        rest = None if done else replace(change, after=members[-1].feed_pk)
        await group_rows.set_group_change(tx, group, rest)
        await event_rows.append_events(tx, events, tx.now)
    return not done


async def _spread_to_member(
    tx: Transaction,
    schedule: SchedulePolicy,
    subscription: Subscription,
    before: GroupValues,
    after: GroupValues,
    now: datetime,
    result: SpreadResult,
) -> list[Event]:
    change = await _apply_values(tx, schedule, subscription, before, after, now)
    if change.refusal is not None:
        result.refused.append(RefusedMember(subscription.id, change.refusal))
    if not change.changed:
        result.unchanged += 1
        return []
    result.changed += 1
    if not subscription.is_active:
        return []
    changed = await subscription_rows.get_subscription(tx, subscription.id)
    return [subscription_changed(changed, change.changed)]


@dataclass(frozen=True, slots=True)
class _MemberChange:
    changed: tuple[str, ...] = ()
    refusal: str | None = None


async def _apply_values(
    tx: Transaction,
    schedule: SchedulePolicy,
    subscription: Subscription,
    before: GroupValues,
    after: GroupValues,
    now: datetime,
) -> _MemberChange:
    """Change one member's values, and plan its next visit again when its interval changes."""
    feed = await feed_rows.get_feed(tx, subscription.feed_id, lock=True)
    held = FetchSettings(
        feed.overrides.interval_sec, feed.priority, feed.categories, subscription.config
    )
    settings = settings_after_change(held, before, after)
    refusal = await _config_refusal(tx, subscription, settings) if settings != held else None
    if refusal is not None:
        settings = await _without_config(tx, subscription, settings)
    await _write(tx, schedule, feed, held, settings, now)
    if settings.config != held.config:
        await subscription_rows.update_subscription(
            tx, subscription.id, SubscriptionPatch(config=settings.config), now
        )
    return _MemberChange(_differences(held, settings), refusal)


async def _write(
    tx: Transaction,
    schedule: SchedulePolicy,
    feed: Feed,
    held: FetchSettings,
    settings: FetchSettings,
    now: datetime,
) -> None:
    if replace(settings, config=held.config) == held:
        return
    after = replace(
        feed,
        priority=settings.priority,
        categories=settings.categories,
        overrides=feed.overrides._replace(interval_sec=settings.interval_sec),
    )
    await feed_rows.update_feed_options(tx, after, now)
    if settings.interval_sec != held.interval_sec:
        await replan_feed(tx, feed, after, schedule, now)


async def _config_refusal(
    tx: Transaction, subscription: Subscription, settings: FetchSettings
) -> str | None:
    """Why the member's fetcher does not take this config: each fetcher has a schema of its own."""
    if settings.config == subscription.config:
        return None
    schema = (await get_fetcher(tx, subscription.fetcher_id)).config_schema
    try:
        check_config(settings.config, schema)
    except BadConfig as refusal:
        return refusal.message
    return None


async def _without_config(
    tx: Transaction, subscription: Subscription, settings: FetchSettings
) -> FetchSettings:
    """Without the refused config. The group's former config does not stay either: it would count
    as the member's own for ever. Only a member that needs a config keeps the one that it has."""
    plain = replace(settings, config=DEFAULT_FETCH_SETTINGS.config)
    if await _config_refusal(tx, subscription, plain) is None:
        return plain
    return replace(settings, config=subscription.config)


def _differences(held: FetchSettings, settings: FetchSettings) -> tuple[str, ...]:
    pairs = {
        "fetch_interval_minutes": held.interval_sec != settings.interval_sec,
        "priority": held.priority != settings.priority,
        "categories": held.categories != settings.categories,
        "config": held.config != settings.config,
    }
    return tuple(name for name, differs in pairs.items() if differs)


def values_in_force(group: Group, feed: FeedPk) -> GroupValues:
    """While a change spreads, the members that it has not reached still have the values before."""
    change: GroupChange | None = group.spreading
    return group.shared if change is None or feed <= change.after else change.before

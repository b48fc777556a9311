"""Apply the values of a group to its members, batch by batch, also to those that just joined."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from headwater.core.engine import Engine
from headwater.core.errors import BadConfig
from headwater.core.ports import Transaction
from headwater.core.values.ids import FeedPk
from headwater.events import event_rows
from headwater.events.event import Event
from headwater.feeds import feed_rows
from headwater.feeds.feed import Feed
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
from headwater.subscriptions.subscription import Subscription, SubscriptionPatch

BATCH = 100
"""Members that are told in one transaction."""


@dataclass(slots=True)
class SpreadResult:
    """How a group's new word was received. `refused`: whose fetcher does not take the config."""

    changed: int = 0
    unchanged: int = 0
    refused: list[tuple[int, str]] = field(default_factory=list)


async def move_to_group(
    tx: Transaction,
    engine: Engine,
    subscription: Subscription,
    to: int | None,
    now: datetime,
    held: dict[int, Group] | None = None,
) -> Subscription:
    """Out of its group and into another, or into none; what the old one said is said no more.

    The caller holds the subscription's lock and tells of the change. `held`: groups that are held
    already, for those who move many in one transaction: holding one counts all of its members.
    """
    former = subscription.group_id
    held = {} if held is None else held
    concerned = {each for each in (former, to) if each is not None}
    for each in sorted(concerned - held.keys()):
        held[each] = await group_rows.lock_group(tx, each)
    if to is not None and to != former:
        check_not_full(held[to])
    before = (
        NO_GROUP_VALUES if former is None else values_in_force(held[former], subscription.feed_pk)
    )
    after = NO_GROUP_VALUES if to is None else held[to].shared
    moved = await subscription_rows.update_subscription(
        tx, subscription.id, SubscriptionPatch(group_id=to), now
    )
    await _apply_values(tx, engine, moved, before, after, now)
    return await subscription_rows.get_subscription(tx, subscription.id)


async def apply_group_values(
    tx: Transaction, engine: Engine, subscription: Subscription, now: datetime
) -> Subscription:
    """For a new subscription that was made inside its group: it begins by the group's word."""
    if subscription.group_id is None:
        return subscription
    group = await group_rows.lock_group(tx, subscription.group_id)
    check_not_full(group, joining=0)
    await _apply_values(tx, engine, subscription, NO_GROUP_VALUES, group.shared, now)
    return await subscription_rows.get_subscription(tx, subscription.id)


async def spread_group_change(engine: Engine, group_id: int) -> SpreadResult:
    """Carry a group's change to all of its members; safe to begin again after a crash."""
    told = SpreadResult()
    while await _spread_batch(engine, group_id, told):
        pass
    engine.database.woken("feeds").set()
    return told


async def finish_spreading(engine: Engine) -> None:
    """What a crash interrupted; the worker looks every minute."""
    async with engine.database.read() as view:
        waiting = await group_rows.list_unfinished_changes(view)
    for group_id in waiting:
        await spread_group_change(engine, group_id)


async def _spread_batch(engine: Engine, group_id: int, told: SpreadResult) -> bool:
    """One batch; False when everybody knows."""
    now = engine.clock.now()
    async with engine.database.write() as tx:
        going = (await group_rows.get_group(tx, group_id)).spreading
        if going is None:
            return False
        members = await group_rows.list_members_by_feed(
            tx, group_id, after=going.after, limit=BATCH
        )
        group = await group_rows.lock_group(tx, group_id)
        if group.spreading != going:
            return True  # somebody else told these
        facts = []
        for member in members:
            subscription = await subscription_rows.get_subscription(tx, member.subscription_id)
            if subscription.group_id != group_id:
                continue  # it went elsewhere while its lock was waited for
            facts += await _spread_to_member(
                tx, engine, subscription, going.before, group.shared, now, told
            )
        done = len(members) < BATCH
        further = None if done else replace(going, after=members[-1].feed_pk)
        await group_rows.set_group_change(tx, group, further)
        await event_rows.append_events(tx, facts, now)
    return not done


async def _spread_to_member(
    tx: Transaction,
    engine: Engine,
    subscription: Subscription,
    before: GroupValues,
    after: GroupValues,
    now: datetime,
    told: SpreadResult,
) -> list[Event]:
    heard = await _apply_values(tx, engine, subscription, before, after, now)
    if heard.refusal is not None:
        told.refused.append((subscription.id, heard.refusal))
    if not heard.changed:
        told.unchanged += 1
        return []
    told.changed += 1
    if not subscription.is_active:
        return []
    changed = await subscription_rows.get_subscription(tx, subscription.id)
    return [subscription_changed(changed, heard.changed)]


@dataclass(frozen=True, slots=True)
class _MemberChange:
    changed: tuple[str, ...] = ()
    refusal: str | None = None


async def _apply_values(
    tx: Transaction,
    engine: Engine,
    subscription: Subscription,
    before: GroupValues,
    after: GroupValues,
    now: datetime,
) -> _MemberChange:
    """One member's values, and its next visit when its pace has changed."""
    feed = await feed_rows.get_feed(tx, subscription.feed_id, lock=True)
    held = FetchSettings(
        feed.overrides.interval_sec, feed.priority, feed.categories, subscription.config
    )
    wanted = settings_after_change(held, before, after)
    refusal = await _config_refusal(tx, subscription, wanted) if wanted != held else None
    if refusal is not None:
        wanted = await _without_config(tx, subscription, wanted)
    await _write(tx, engine, feed, held, wanted, now)
    if wanted.config != held.config:
        await subscription_rows.update_subscription(
            tx, subscription.id, SubscriptionPatch(config=wanted.config), now
        )
    return _MemberChange(_differences(held, wanted), refusal)


async def _write(
    tx: Transaction,
    engine: Engine,
    feed: Feed,
    held: FetchSettings,
    wanted: FetchSettings,
    now: datetime,
) -> None:
    if replace(wanted, config=held.config) == held:
        return
    after = replace(
        feed,
        priority=wanted.priority,
        categories=wanted.categories,
        overrides=feed.overrides._replace(interval_sec=wanted.interval_sec),
    )
    await feed_rows.update_feed_options(tx, after, now)
    if wanted.interval_sec != held.interval_sec:
        await replan_feed(tx, feed, after, engine.schedule, now)


async def _config_refusal(
    tx: Transaction, subscription: Subscription, wanted: FetchSettings
) -> str | None:
    """Fetchers have schemas of their own: a config that does not fit one is not forced on it."""
    if wanted.config == subscription.config:
        return None
    schema = (await get_fetcher(tx, subscription.fetcher_id)).config_schema
    try:
        check_config(wanted.config, schema)
    except BadConfig as refusal:
        return refusal.message
    return None


async def _without_config(
    tx: Transaction, subscription: Subscription, wanted: FetchSettings
) -> FetchSettings:
    """Of what the group said before, nothing stays: it would count as the member's own for ever.
    Only who cannot do without a config keeps it."""
    plain = replace(wanted, config=DEFAULT_FETCH_SETTINGS.config)
    if await _config_refusal(tx, subscription, plain) is None:
        return plain
    return replace(wanted, config=subscription.config)


def _differences(held: FetchSettings, wanted: FetchSettings) -> tuple[str, ...]:
    pairs = {
        "fetch_interval_minutes": held.interval_sec != wanted.interval_sec,
        "priority": held.priority != wanted.priority,
        "categories": held.categories != wanted.categories,
        "config": held.config != wanted.config,
    }
    return tuple(name for name, differs in pairs.items() if differs)


def values_in_force(group: Group, feed: FeedPk) -> GroupValues:
    """While a change spreads, those whom it has not reached still go by what was said before."""
    going: GroupChange | None = group.spreading
    return group.shared if going is None or feed <= going.after else going.before

"""Who is in which group, and how what a group says reaches its members, batch by batch."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from headwater.announce import store as log
from headwater.announce.event import Event, subscription_changed
from headwater.engine import Engine
from headwater.errors import BadConfig
from headwater.ports import Transaction
from headwater.schedule import queries as feeds
from headwater.schedule.steps import plan_anew
from headwater.subscribe import store
from headwater.subscribe.config_schema import checked_config
from headwater.subscribe.feed import Feed
from headwater.subscribe.fetchers.store import fetcher
from headwater.subscribe.group import (
    NOTHING_SHARED,
    USUAL_WAYS,
    Group,
    Shared,
    Spreading,
    Ways,
    following,
    refuse_full,
)
from headwater.subscribe.groups import store as groups
from headwater.subscribe.subscription import Subscription, SubscriptionPatch
from headwater.subscribe.subscriptions import queries as subscriptions
from headwater.subscribe.subscriptions import store as registered
from headwater.values.ids import FeedPk

BATCH = 100
"""Members that are told in one transaction."""


@dataclass(slots=True)
class Told:
    """How a group's new word was received. `refused`: whose fetcher does not take the config."""

    changed: int = 0
    unchanged: int = 0
    refused: list[tuple[int, str]] = field(default_factory=list)


async def move(
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
        held[each] = await groups.hold(tx, each)
    if to is not None and to != former:
        refuse_full(held[to])
    before = NOTHING_SHARED if former is None else said_to(held[former], subscription.feed_pk)
    after = NOTHING_SHARED if to is None else held[to].shared
    moved = await registered.change(tx, subscription.id, SubscriptionPatch(group_id=to), now)
    await _follow(tx, engine, moved, before, after, now)
    return await subscriptions.subscription(tx, subscription.id)


async def welcome(
    tx: Transaction, engine: Engine, subscription: Subscription, now: datetime
) -> Subscription:
    """For a new subscription that was made inside its group: it begins by the group's word."""
    if subscription.group_id is None:
        return subscription
    group = await groups.hold(tx, subscription.group_id)
    refuse_full(group, joining=0)
    await _follow(tx, engine, subscription, NOTHING_SHARED, group.shared, now)
    return await subscriptions.subscription(tx, subscription.id)


async def tell_members(engine: Engine, group_id: int) -> Told:
    """Carry a group's change to all of its members; safe to begin again after a crash."""
    told = Told()
    while await _tell_some(engine, group_id, told):
        pass
    engine.woken.set()
    return told


async def finish_telling(engine: Engine) -> None:
    """What a crash interrupted; the worker looks every minute."""
    async with engine.database.read() as view:
        waiting = await groups.half_told(view)
    for group_id in waiting:
        await tell_members(engine, group_id)


async def _tell_some(engine: Engine, group_id: int, told: Told) -> bool:
    """One batch; False when everybody knows."""
    now = engine.clock.now()
    async with engine.database.write() as tx:
        going = (await groups.group(tx, group_id)).spreading
        if going is None:
            return False
        members = await groups.members_by_feed(tx, group_id, after=going.after, limit=BATCH)
        group = await groups.hold(tx, group_id)
        if group.spreading != going:
            return True  # somebody else told these
        facts = []
        for member in members:
            subscription = await subscriptions.subscription(tx, member.subscription_id)
            if subscription.group_id != group_id:
                continue  # it went elsewhere while its lock was waited for
            facts += await _tell(tx, engine, subscription, going.before, group.shared, now, told)
        done = len(members) < BATCH
        further = None if done else replace(going, after=members[-1].feed_pk)
        await groups.spread(tx, group, further)
        await log.append(tx, facts, now)
    return not done


async def _tell(
    tx: Transaction,
    engine: Engine,
    subscription: Subscription,
    before: Shared,
    after: Shared,
    now: datetime,
    told: Told,
) -> list[Event]:
    heard = await _follow(tx, engine, subscription, before, after, now)
    if heard.refusal is not None:
        told.refused.append((subscription.id, heard.refusal))
    if not heard.changed:
        told.unchanged += 1
        return []
    told.changed += 1
    if not subscription.is_active:
        return []
    changed = await subscriptions.subscription(tx, subscription.id)
    return [subscription_changed(changed, heard.changed)]


@dataclass(frozen=True, slots=True)
class _Heard:
    changed: tuple[str, ...] = ()
    refusal: str | None = None


async def _follow(
    tx: Transaction,
    engine: Engine,
    subscription: Subscription,
    before: Shared,
    after: Shared,
    now: datetime,
) -> _Heard:
    """One member's values, and its next visit when its pace has changed."""
    feed = await feeds.feed(tx, subscription.feed_id, lock=True)
    held = Ways(feed.overrides.interval_sec, feed.priority, feed.categories, subscription.config)
    wanted = following(held, before, after)
    refusal = await _config_refusal(tx, subscription, wanted) if wanted != held else None
    if refusal is not None:
        wanted = await _without_config(tx, subscription, wanted)
    await _write(tx, engine, feed, held, wanted, now)
    if wanted.config != held.config:
        await registered.change(tx, subscription.id, SubscriptionPatch(config=wanted.config), now)
    return _Heard(_differences(held, wanted), refusal)


async def _write(
    tx: Transaction, engine: Engine, feed: Feed, held: Ways, wanted: Ways, now: datetime
) -> None:
    if replace(wanted, config=held.config) == held:
        return
    after = replace(
        feed,
        priority=wanted.priority,
        categories=wanted.categories,
        overrides=replace(feed.overrides, interval_sec=wanted.interval_sec),
    )
    await store.save_wish(tx, after, now)
    if wanted.interval_sec != held.interval_sec:
        await plan_anew(tx, feed, after, engine.schedule, now)


async def _config_refusal(tx: Transaction, subscription: Subscription, wanted: Ways) -> str | None:
    """Fetchers have schemas of their own: a config that does not fit one is not forced on it."""
    if wanted.config == subscription.config:
        return None
    schema = (await fetcher(tx, subscription.fetcher_id)).config_schema
    try:
        checked_config(wanted.config, schema)
    except BadConfig as refusal:
        return refusal.message
    return None


async def _without_config(tx: Transaction, subscription: Subscription, wanted: Ways) -> Ways:
    """Of what the group said before, nothing stays: it would count as the member's own for ever.
    Only who cannot do without a config keeps it."""
    plain = replace(wanted, config=USUAL_WAYS.config)
    if await _config_refusal(tx, subscription, plain) is None:
        return plain
    return replace(wanted, config=subscription.config)


def _differences(held: Ways, wanted: Ways) -> tuple[str, ...]:
    pairs = {
        "fetch_interval_minutes": held.interval_sec != wanted.interval_sec,
        "priority": held.priority != wanted.priority,
        "categories": held.categories != wanted.categories,
        "config": held.config != wanted.config,
    }
    return tuple(name for name, differs in pairs.items() if differs)


def said_to(group: Group, feed: FeedPk) -> Shared:
    """While a change spreads, those whom it has not reached still go by what was said before."""
    going: Spreading | None = group.spreading
    return group.shared if going is None or feed <= going.after else going.before

"""Credentials that people set for a subscription or a group: sealed, told of, never read back."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from headwater.announce import store as log
from headwater.announce.event import subscription_changed
from headwater.engine import Engine
from headwater.errors import BadInput
from headwater.ports import Reader, Transaction
from headwater.schedule import queries as feeds
from headwater.schedule.replan import earliest_visit
from headwater.subscribe import store as wishes
from headwater.subscribe.credentials import Credentials, bound_to, checked, origins_of
from headwater.subscribe.feed import Feed
from headwater.subscribe.group import MOST_MEMBERS
from headwater.subscribe.groups import store as groups
from headwater.subscribe.history import store as history
from headwater.subscribe.secrets import store
from headwater.subscribe.subscription import Subscription
from headwater.subscribe.subscriptions import queries as subscriptions
from headwater.unlock import sealed_for_group, sealed_for_subscription

_MOST_SHOWN = 5


async def set_for_subscription(
    subscription_id: int, given: Credentials, engine: Engine, who: str, gap: timedelta
) -> Credentials:
    """For the origin where its feed lives now, whatever becomes of the URL later.

    The feed is visited soon: whoever sets a login wants to know whether it works.
    """
    now = engine.clock.now()
    async with engine.database.write() as tx:
        there = await subscriptions.subscription(tx, subscription_id, lock=True)
        feed = await feeds.feed(tx, there.feed_id, lock=True)
        bound = bound_to(feed.url, given)
        sealed = sealed_for_subscription(engine, there.id, bound)
        await store.keep_for_subscription(tx, there.id, sealed, now)
        await _visit_soon(tx, feed, gap, now)
        await _tell(tx, there, who, "credentials_set", {"kinds": list(bound.kinds)}, now)
    engine.woken.set()
    return bound


async def drop_for_subscription(subscription_id: int, engine: Engine, who: str) -> None:
    """Dropping twice is dropping once."""
    now = engine.clock.now()
    async with engine.database.write() as tx:
        there = await subscriptions.subscription(tx, subscription_id, lock=True)
        if there.has_credentials:
            await store.keep_for_subscription(tx, there.id, None, now)
            await _tell(tx, there, who, "credentials_dropped", None, now)


async def set_for_group(
    group_id: int, given: Credentials, named: Sequence[str], engine: Engine
) -> Credentials:
    """For the origins that are named; without names, for the one that all members share.

    A subscription that joins later gets them only if it lives at one of these origins.
    """
    now = engine.clock.now()
    async with engine.database.write() as tx:
        await groups.hold(tx, group_id)
        origins = origins_of(named) if named else await _shared_origin(tx, group_id)
        bound = checked(replace(given, origins=origins))
        await store.keep_for_group(tx, group_id, sealed_for_group(engine, group_id, bound), now)
    return bound


async def drop_for_group(group_id: int, engine: Engine) -> None:
    now = engine.clock.now()
    async with engine.database.write() as tx:
        await store.keep_for_group(tx, group_id, None, now)


async def _shared_origin(view: Reader, group_id: int) -> tuple[str, ...]:
    origins = origins_of(await groups.source_urls(view, group_id, MOST_MEMBERS))
    if len(origins) == 1:
        return origins
    raise BadInput(
        "Say for which origins these credentials are: the members have"
        f" {len(origins) or 'no'} different ones.",
        field="origins",
        found=list(origins[:_MOST_SHOWN]),
    )


async def _visit_soon(tx: Transaction, feed: Feed, gap: timedelta, now: datetime) -> None:
    """As soon as politeness allows, and never later than planned."""
    soonest, planned = earliest_visit(feed, gap, now), feed.schedule.next_visit_at
    if feed.state != "active" or (planned is not None and planned <= soonest):
        return
    await wishes.plan_again(
        tx,
        feed,
        at=soonest,
        interval_sec=feed.schedule.interval_sec,
        reason="its credentials were changed by a user",
        now=now,
    )


async def _tell(
    tx: Transaction,
    there: Subscription,
    who: str,
    what: str,
    after: dict[str, list[str]] | None,
    now: datetime,
) -> None:
    await history.write(
        tx, there.id, at=now, who=who, what=what, why=None, before=None, after=after
    )
    changed = await subscriptions.subscription(tx, there.id)
    await log.append(tx, [subscription_changed(changed, ["credentials"])], now)

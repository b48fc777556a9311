"""Credentials that people set for a subscription or a group: sealed, told of, never read back."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from headwater.core.errors import BadInput
from headwater.core.ports import Database, Transaction, View
from headwater.events import event_rows
from headwater.feeds import feed_rows
from headwater.feeds.feed import Feed
from headwater.feeds.keyring import Credentials, bind_to_origin, check_credentials, origins_of
from headwater.feeds.schedule.replan import earliest_visit
from headwater.subscriptions import history_rows, secret_rows, subscription_rows
from headwater.subscriptions.groups import group_rows
from headwater.subscriptions.groups.group import MOST_MEMBERS
from headwater.subscriptions.registry_events import subscription_changed
from headwater.subscriptions.seal_credentials import seal_for_group, seal_for_subscription
from headwater.subscriptions.services import RegistryServices
from headwater.subscriptions.subscription import Subscription

_MOST_SHOWN = 5


async def set_subscription_credentials(
    subscription_id: int, given: Credentials, services: RegistryServices, who: str, gap: timedelta
) -> Credentials:
    """For the origin where its feed lives now, whatever becomes of the URL later.

    The feed is visited soon: whoever sets a login wants to know whether it works.
    """
    now = services.clock.now()
    async with services.database.write() as tx:
        there = await subscription_rows.get_subscription(tx, subscription_id, lock=True)
        feed = await feed_rows.get_feed(tx, there.feed_id, lock=True)
        bound = bind_to_origin(feed.url, given)
        sealed = seal_for_subscription(services.vault, there.id, bound)
        await secret_rows.set_subscription_secret(tx, there.id, sealed, now)
        await _visit_soon(tx, feed, gap, now)
        await _record_change(tx, there, who, "credentials_set", {"kinds": list(bound.kinds)}, now)
    return bound


async def remove_subscription_credentials(
    subscription_id: int, database: Database, who: str
) -> None:
    """Dropping twice is dropping once."""
    now = database.clock.now()
    async with database.write() as tx:
        there = await subscription_rows.get_subscription(tx, subscription_id, lock=True)
        if there.has_credentials:
            await secret_rows.set_subscription_secret(tx, there.id, None, now)
            await _record_change(tx, there, who, "credentials_dropped", None, now)


async def set_group_credentials(
    group_id: int, given: Credentials, named: Sequence[str], services: RegistryServices
) -> Credentials:
    """For the origins that are named; without names, for the one that all members share.

    A subscription that joins later gets them only if it lives at one of these origins.
    """
    now = services.clock.now()
    async with services.database.write() as tx:
        await group_rows.lock_group(tx, group_id)
        origins = origins_of(named) if named else await _shared_origin(tx, group_id)
        bound = check_credentials(replace(given, origins=origins))
        await secret_rows.set_group_secret(
            tx, group_id, seal_for_group(services.vault, group_id, bound), now
        )
    return bound


async def remove_group_credentials(group_id: int, database: Database) -> None:
    now = database.clock.now()
    async with database.write() as tx:
        await secret_rows.set_group_secret(tx, group_id, None, now)


async def _shared_origin(view: View, group_id: int) -> tuple[str, ...]:
    origins = origins_of(await group_rows.list_source_urls(view, group_id, MOST_MEMBERS))
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
    await feed_rows.set_next_visit(
        tx,
        feed,
        at=soonest,
        interval_sec=feed.schedule.interval_sec,
        reason="its credentials were changed by a user",
        now=now,
    )


async def _record_change(
    tx: Transaction,
    there: Subscription,
    who: str,
    what: str,
    after: dict[str, list[str]] | None,
    now: datetime,
) -> None:
    await history_rows.insert_history(
        tx, there.id, at=now, who=who, what=what, why=None, before=None, after=after
    )
    changed = await subscription_rows.get_subscription(tx, there.id)
    await event_rows.append_events(tx, [subscription_changed(changed, ["credentials"])], now)

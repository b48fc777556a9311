"""Credentials that people set for a subscription or a group: stored sealed, never shown again."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

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
    subscription_id: int,
    credentials: Credentials,
    services: RegistryServices,
    who: str,
    gap: timedelta,
) -> Credentials:
    """Bind the credentials to the origin of the feed's URL now: a move changes nothing.

    The feed is visited soon: whoever sets a login wants to know whether it works.
    """
    async with services.database.write() as tx:
        subscription = await subscription_rows.get_subscription(tx, subscription_id, lock=True)
        feed = await feed_rows.get_feed(tx, subscription.feed_id, lock=True)
        bound = bind_to_origin(feed.url, credentials)
        sealed = seal_for_subscription(services.vault, subscription.id, bound)
        await secret_rows.set_subscription_secret(tx, subscription.id, sealed, tx.now)
        await _visit_soon(tx, feed, gap)
        await _record_change(tx, subscription, who, "credentials_set", {"kinds": list(bound.kinds)})
    return bound


async def remove_subscription_credentials(
    subscription_id: int, database: Database, who: str
) -> None:
    """Remove them; without effect where there are none."""
    async with database.write() as tx:
        subscription = await subscription_rows.get_subscription(tx, subscription_id, lock=True)
        if subscription.has_credentials:
            await secret_rows.set_subscription_secret(tx, subscription.id, None, tx.now)
            await _record_change(tx, subscription, who, "credentials_dropped", None)


async def set_group_credentials(
    group_id: int,
    credentials: Credentials,
    named_origins: Sequence[str],
    services: RegistryServices,
) -> Credentials:
    """Bind the credentials to `named_origins`; without any, to the one that all members share.

    A subscription that joins later gets them only if it lives at one of these origins.
    """
    async with services.database.write() as tx:
        await group_rows.lock_group(tx, group_id)
        origins = origins_of(named_origins) if named_origins else await _shared_origin(tx, group_id)
        bound = check_credentials(replace(credentials, origins=origins))
        await secret_rows.set_group_secret(
            tx, group_id, seal_for_group(services.vault, group_id, bound), tx.now
        )
    return bound


async def remove_group_credentials(group_id: int, database: Database) -> None:
    async with database.write() as tx:
        await secret_rows.set_group_secret(tx, group_id, None, tx.now)


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


async def _visit_soon(tx: Transaction, feed: Feed, gap: timedelta) -> None:
    """As soon as politeness allows, and never later than planned."""
    soonest, planned = earliest_visit(feed, gap, tx.now), feed.schedule.next_visit_at
    if feed.state != "active" or (planned is not None and planned <= soonest):
        return
    await feed_rows.set_next_visit(
        tx,
        feed,
        at=soonest,
        interval_sec=feed.schedule.interval_sec,
        reason="its credentials were changed by a user",
        now=tx.now,
    )


async def _record_change(
    tx: Transaction,
    subscription: Subscription,
    who: str,
    what: str,
    after: dict[str, list[str]] | None,
) -> None:
    await history_rows.insert_history(
        tx, subscription.id, at=tx.now, who=who, what=what, why=None, before=None, after=after
    )
    changed = await subscription_rows.get_subscription(tx, subscription.id)
    await event_rows.append_events(tx, [subscription_changed(changed, ["credentials"])], tx.now)

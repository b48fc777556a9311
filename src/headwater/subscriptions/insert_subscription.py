"""Insert a subscription together with its feed; every way to follow a source comes here."""

from dataclasses import replace
from datetime import datetime

from uuid_utils import uuid7

from headwater.core.errors import DuplicateUrl
from headwater.core.ports import Transaction, View
from headwater.core.values.ids import FeedId
from headwater.events.event import Event
from headwater.feeds import feed_rows
from headwater.feeds.feed import FeedOptions
from headwater.subscriptions import history_rows, subscription_rows
from headwater.subscriptions.fetchers import fetcher_rows
from headwater.subscriptions.fetchers.config_schema import check_config
from headwater.subscriptions.fetchers.fetcher import Fetcher
from headwater.subscriptions.groups import group_rows
from headwater.subscriptions.groups.apply_group_values import apply_group_values
from headwater.subscriptions.registry_events import subscription_created
from headwater.subscriptions.seal_credentials import save_credentials
from headwater.subscriptions.services import RegistryServices
from headwater.subscriptions.subscription import NewSubscription, Subscription, assignment_facts


async def find_former_subscription(view: View, url: str) -> Subscription | None:
    """The removed subscription of this source, which would come back; DuplicateUrl when there is
    an active one.

    For callers that make a request before they write: a duplicate is found without the request.
    The transaction that writes checks again by itself.
    """
    former = await subscription_rows.find_subscription_by_url(view, url)
    if former is not None and former.is_active:
        raise DuplicateUrl(
            "This URL is followed already.",
            subscription_id=former.id,
            feed_id=former.feed_id,
            url=url,
        )
    return former


async def insert_subscription_with_feed(
    tx: Transaction,
    services: RegistryServices,
    new: NewSubscription,
    options: FeedOptions,
    fetcher: Fetcher,
    *,
    who: str,
    why: str | None,
    now: datetime,
    auto_selected: bool = True,
    keep_former: bool = False,
    feed_id: FeedId | None = None,
    interval_sec: float | None = None,
    visit_at: datetime | None = None,
) -> tuple[Subscription, Event]:
    """Insert the feed, its subscription, the values of its group, its credentials and the history:
    together or not at all. The caller appends the event last. DuplicateUrl when it is followed.

    A removed subscription comes back under its number, with the values of `new`. With
    `keep_former` it stays as it was, with its fetcher, and `fetcher` takes over only from one that
    is disabled. `options` hold for the feed in either case.
    `why` this fetcher was chosen is for the history. Without `visit_at` the feed is due at once.
    """
    if new.group_id is not None:
        await group_rows.get_group(tx, new.group_id)
    feed = await feed_rows.insert_or_restore_feed(
        tx,
        new.source_url,
        options,
        feed_id=feed_id or FeedId(str(uuid7())),
        interval_sec=interval_sec or services.feeds.schedule.initial_interval,
        now=now,
        visit_at=visit_at or now,
    )
    former = None
    if feed.revived:
        former = await subscription_rows.get_subscription_of_feed(tx, feed.id)
    restorable = former if keep_former else None
    if restorable is not None and await _stays_with_its_fetcher(tx, restorable, fetcher):
        why = None
        subscription = await subscription_rows.restore_subscription(tx, feed, new.source_url, now)
    else:
        if restorable is not None:
            # A config is for one fetcher. The values of the subscription itself stay.
            new = replace(new, description=restorable.description, group_id=restorable.group_id)
        new = replace(new, config=check_config(new.config, fetcher.config_schema))
        subscription = await subscription_rows.insert_subscription(
            tx, new, feed, fetcher, auto_selected=auto_selected, now=now
        )
    subscription = await apply_group_values(tx, services.feeds.schedule, subscription, now)
    await save_credentials(tx, services.vault, subscription.id, new.source_url, options.credentials)
    await history_rows.insert_history(
        tx,
        subscription.id,
        at=now,
        who=who,
        what="created" if former is None else "revived",
        why=why,
        before=None if former is None else assignment_facts(former),
        after=assignment_facts(subscription),
    )
    return subscription, subscription_created(subscription, revived=former is not None)


async def _stays_with_its_fetcher(tx: Transaction, former: Subscription, fetcher: Fetcher) -> bool:
    if former.fetcher_id == fetcher.id:
        return True
    return (await fetcher_rows.get_fetcher(tx, former.fetcher_id)).is_enabled

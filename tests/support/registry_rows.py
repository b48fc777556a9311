"""What tests of the registry's rows keep doing: somebody joins, somebody wants a source."""

from datetime import UTC, datetime, timedelta

from headwater.adapters.database import SqlDatabase
from headwater.core.values.ids import FeedId, FetcherId
from headwater.core.values.url import check_source_url
from headwater.feeds.feed import FeedOptions
from headwater.feeds.feed_rows import insert_or_restore_feed
from headwater.subscriptions import subscription_rows
from headwater.subscriptions.fetchers import fetcher_rows
from headwater.subscriptions.fetchers.fetcher import Fetcher, Registration
from headwater.subscriptions.subscription import NewSubscription, Subscription

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
FEED, MIKANANI = FetcherId(1), FetcherId(2)
"""The built-in fetchers, in the order the migration brings them."""


def registration(
    name: str = "forum", *, base_url: str = "https://forum.example", priority: int = 50
) -> Registration:
    return Registration(name, "1.2.0", "Reads forums.", base_url, priority, None, True)


async def joined(
    database: SqlDatabase, name: str = "forum", *, who: str = "carol", priority: int = 50
) -> Fetcher:
    async with database.write() as tx:
        fetcher, _ = await fetcher_rows.upsert_fetcher(
            tx,
            registration(name, base_url=f"https://{name}.example", priority=priority),
            registered_by=who,
            token_id=None,
            signing_key=None,
            now=NOON,
        )
    return fetcher


async def wanted(
    database: SqlDatabase,
    url: str = "https://a.example/feed",
    fetcher_id: FetcherId = FEED,
    *,
    feed_id: str | None = None,
    auto_selected: bool = True,
    now: datetime = NOON,
    new: NewSubscription | None = None,
) -> Subscription:
    """Followed and subscribed to in one transaction, as everybody does it."""
    source = check_source_url(url)
    said = new or NewSubscription(source)
    async with database.write() as tx:
        feed = await insert_or_restore_feed(
            tx,
            source,
            said.feed_options if new else FeedOptions(),
            feed_id=FeedId(feed_id or f"feed of {source}"),
            interval_sec=900,
            now=now,
            visit_at=now,
        )
        fetcher = await fetcher_rows.get_fetcher(tx, fetcher_id)
        return await subscription_rows.insert_subscription(
            tx, said, feed, fetcher, auto_selected=auto_selected, now=now
        )

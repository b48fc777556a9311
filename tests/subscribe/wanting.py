"""What tests of the registry's rows keep doing: somebody joins, somebody wants a source."""

from datetime import UTC, datetime, timedelta

from headwater.adapters.database import SqlDatabase
from headwater.subscribe.feed import Wish
from headwater.subscribe.fetcher import Fetcher, FetcherId, Registration
from headwater.subscribe.fetchers import store as fetchers
from headwater.subscribe.store import follow
from headwater.subscribe.subscription import NewSubscription, Subscription
from headwater.subscribe.subscriptions import store as subscriptions
from headwater.values.ids import FeedId
from headwater.values.url import checked_source

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
        fetcher, _ = await fetchers.register(
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
    source = checked_source(url)
    said = new or NewSubscription(source)
    async with database.write() as tx:
        feed = await follow(
            tx,
            source,
            said.wish if new else Wish(),
            feed_id=FeedId(feed_id or f"feed of {source}"),
            interval_sec=900,
            now=now,
            visit_at=now,
        )
        return await subscriptions.add(
            tx, said, feed, fetcher_id, auto_selected=auto_selected, now=now
        )

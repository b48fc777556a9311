"""Subscriptions in the database. Each feed has one, which is made and removed together with it."""

from datetime import datetime

from headwater.core.errors import BadUrl, DuplicateUrl, NotFound
from headwater.core.ports import Row, SqlValue, Transaction, View, placeholders
from headwater.core.values.ids import FeedId, FeedPk, FetcherId
from headwater.core.values.instant import from_micros, maybe_moment, to_micros
from headwater.core.values.keep import KEEP
from headwater.core.values.url import check_source_url, shard_of
from headwater.feeds import feed_rows
from headwater.feeds.feed_rows import FollowedFeed, url_key
from headwater.feeds.overrides import decode_overrides
from headwater.subscriptions.fetchers.fetcher import Fetcher
from headwater.subscriptions.subscription import (
    AssignmentStatus,
    NewSubscription,
    Subscription,
    SubscriptionPatch,
    shown_interval,
)

# While a feed is claimed, `next_visit_at` is the end of the lease, and the visit under way is the
# one of `scheduled_at`.
_SELECT = (
    "SELECT s.subscription_id, s.fetcher_id, m.name AS fetcher_name, s.source_url, s.source_type,"
    " s.description, s.is_active, s.config, s.assignment_status, s.auto_selected, s.assigned_at,"
    " s.group_id, s.created_at, s.updated_at, f.id AS feed_pk, f.feed_id, f.overrides,"
    " f.interval_sec, f.last_success_at, s.credentials IS NOT NULL AS has_credentials,"
    " CASE WHEN f.claimed_by IS NULL THEN f.next_visit_at ELSE f.scheduled_at END AS next_fetch_at"
    " FROM rss_subscriptions s JOIN feeds f ON f.id = s.feed_id"
    " JOIN fetcher_modules m ON m.fetcher_id = s.fetcher_id"
)


async def get_subscription(view: View, subscription_id: int, *, lock: bool = False) -> Subscription:
    """`lock` keeps others from changing it, its feed and its conflicts until the transaction
    ends."""
    if lock:
        await lock_feed_of(view, "s.subscription_id = ?", subscription_id)
    subscription = await _find_where(view, "s.subscription_id = ?", subscription_id)
    if subscription is None:
        raise NotFound("There is no such subscription.", what="subscription")
    return subscription


async def find_subscription_by_url(
    view: View, url: str, *, lock: bool = False
) -> Subscription | None:
    """The subscription of this source URL, in any spelling; else that of the feed with this URL
    now."""
    key = url_key(_as_source(url))
    for where in ("s.source_key = ?", "f.url_key = ?"):
        if lock:
            await lock_feed_of(view, where, key)
        subscription = await _find_where(view, where, key)
        if subscription is not None:
            return subscription
    return None


def _as_source(url: str) -> str:
    """As it is stored with a subscription; a bad URL is looked for as it is."""
    try:
        return check_source_url(url)
    except BadUrl:
        return url


async def get_subscription_of_feed(view: View, feed_id: str) -> Subscription:
    subscription = await _find_where(view, "f.feed_id = ?", feed_id)
    if subscription is None:
        raise NotFound("There is no such feed.", what="feed")
    return subscription


async def get_host(view: View, subscription_id: int) -> str:
    """The host of a subscription's feed."""
    row = await view.row(
        "SELECT f.host FROM rss_subscriptions s JOIN feeds f ON f.id = s.feed_id"
        " WHERE s.subscription_id = ?",
        subscription_id,
    )
    assert row is not None, "a subscription has a feed"
    return str(row.host)


async def list_subscriptions(
    view: View,
    *,
    after: int = 0,
    limit: int,
    include_inactive: bool = False,
    fetcher_id: int | None = None,
    group_id: int | None = None,
) -> list[Subscription]:
    """In the order they were made, from the one after `after`."""
    where, values = "s.subscription_id > ?", list[SqlValue]((after,))
    if not include_inactive:
        where += " AND s.is_active"
    for column, id in (("fetcher_id", fetcher_id), ("group_id", group_id)):
        if id is not None:
            where += f" AND s.{column} = ?"
            values.append(id)
    rows = await view.rows(
        f"{_SELECT} WHERE {where} ORDER BY s.subscription_id LIMIT ?", *values, limit
    )
    return [_subscription_of(row) for row in rows]


async def lock_feed_of(view: View, where: str, value: SqlValue) -> None:
    """Lock a subscription by its feed's row, the lock of all that belongs to the feed.

    Every transaction takes it first, so that no two wait for each other. On SQLite the whole
    transaction is that lock.
    """
    if view.dialect == "postgresql":
        await view.rows(
            "SELECT f.id FROM rss_subscriptions s JOIN feeds f ON f.id = s.feed_id"
            f" WHERE {where} FOR UPDATE OF f",
            value,
        )


async def _find_where(view: View, where: str, value: SqlValue) -> Subscription | None:
    row = await view.row(f"{_SELECT} WHERE {where}", value)
    return None if row is None else _subscription_of(row)


def _subscription_of(row: Row) -> Subscription:
    overrides = decode_overrides(row.overrides)
    return Subscription(
        id=row.subscription_id,
        fetcher_id=FetcherId(row.fetcher_id),
        fetcher_name=row.fetcher_name,
        feed_id=FeedId(row.feed_id),
        feed_pk=FeedPk(row.feed_pk),
        source_url=row.source_url,
        source_type=row.source_type,
        name=overrides.title,
        description=row.description,
        last_fetched_at=maybe_moment(row.last_success_at),
        next_fetch_at=maybe_moment(row.next_fetch_at),
        fetch_interval_minutes=shown_interval(overrides.interval_sec, row.interval_sec),
        is_active=bool(row.is_active),
        config=row.config,
        assignment_status=row.assignment_status,
        auto_selected=bool(row.auto_selected),
        assigned_at=maybe_moment(row.assigned_at),
        group_id=row.group_id,
        created_at=from_micros(row.created_at),
        updated_at=from_micros(row.updated_at),
        has_credentials=bool(row.has_credentials),
    )


async def insert_subscription(
    tx: Transaction,
    new: NewSubscription,
    feed: FollowedFeed,
    fetcher: Fetcher,
    *,
    auto_selected: bool,
    now: datetime,
) -> Subscription:
    """Insert the subscription of a feed that was inserted or restored in this transaction.

    An inactive one comes back under its own number, with its history and the new values.
    """
    if feed.revived:
        await _forget_validators_of_others(tx, feed.pk, fetcher)
    columns = _assignment_columns(fetcher, "auto_assigned" if auto_selected else "assigned", now)
    columns |= {
        "source_type": new.source_type,
        "description": new.description,
        "config": new.config,
        "group_id": new.group_id,
        "auto_selected": auto_selected,
    }
    await _activate(tx, feed, new.source_url, columns, now)
    await _set_shard(tx, feed.pk, fetcher)
    return await get_subscription_of_feed(tx, feed.id)


async def restore_subscription(
    tx: Transaction, feed: FollowedFeed, url: str, now: datetime
) -> Subscription:
    """Activate the subscription of a feed that was restored in this transaction, as it was."""
    await _activate(tx, feed, url, {}, now)
    return await get_subscription_of_feed(tx, feed.id)


async def assign(
    tx: Transaction,
    subscription: Subscription,
    fetcher: Fetcher,
    *,
    auto_selected: bool,
    status: AssignmentStatus,
    now: datetime,
) -> Subscription:
    """Another fetcher fetches from now on. The feed is due for it at once; any claim is lost."""
    await lock_feed_of(tx, "s.subscription_id = ?", subscription.id)
    columns = _assignment_columns(fetcher, status, now) | {"auto_selected": auto_selected}
    await _write(tx, subscription.id, columns, now)
    if fetcher.id != subscription.fetcher_id:
        await _set_shard(tx, subscription.feed_pk, fetcher)
        await _reset_claim(tx, subscription.feed_pk, now)
    return await get_subscription(tx, subscription.id)


async def update_subscription(
    tx: Transaction, subscription_id: int, patch: SubscriptionPatch, now: datetime
) -> Subscription:
    """Change only the subscription's own row; `patch.feed_patch` is for the feed's."""
    columns: dict[str, SqlValue] = {
        name: value
        for name in ("description", "config", "group_id")
        if (value := getattr(patch, name)) is not KEEP
    }
    await _write(tx, subscription_id, columns, now)
    return await get_subscription(tx, subscription_id)


async def deactivate(tx: Transaction, subscription_id: int, now: datetime) -> Subscription:
    """Nobody fetches it any more, and its feed becomes a removed one. All history stays."""
    subscription = await get_subscription(tx, subscription_id, lock=True)
    if subscription.is_active:
        await _write(tx, subscription.id, {"is_active": False}, now)
        await feed_rows.set_removed(tx, subscription.feed_pk, now)
    return await get_subscription(tx, subscription_id)


async def delete_subscription_and_feed(tx: Transaction, subscription_id: int) -> None:
    """Delete it with its feed, entries, raw fetches, conflicts and history."""
    subscription = await get_subscription(tx, subscription_id, lock=True)
    await feed_rows.delete_feed_rows(tx, subscription.feed_pk)


def _assignment_columns(
    fetcher: Fetcher, status: AssignmentStatus, now: datetime
) -> dict[str, SqlValue]:
    """`assigned_at` stays empty for an automatic choice."""
    return {
        "fetcher_id": fetcher.id,
        "assignment_status": status,
        "assigned_at": to_micros(now) if status == "assigned" else None,
    }


async def _activate(
    tx: Transaction, feed: FollowedFeed, url: str, columns: dict[str, SqlValue], now: datetime
) -> None:
    """Insert or restore the row of this feed. The second one for a URL is refused."""
    columns = columns | {
        "source_url": url,
        "source_key": url_key(url),
        "is_active": True,
        "updated_at": to_micros(now),
    }
    assignments = ", ".join(f"{name} = ?" for name in columns)
    restored = feed.revived and await tx.run(
        f"UPDATE rss_subscriptions SET {assignments} WHERE feed_id = ?", *columns.values(), feed.pk
    )
    if restored:
        return
    columns |= {"feed_id": feed.pk, "created_at": to_micros(now)}
    inserted = await tx.run(
        f"INSERT INTO rss_subscriptions ({', '.join(columns)}) VALUES "
        f"({placeholders(len(columns))})"
        " ON CONFLICT (source_key) DO NOTHING",
        *columns.values(),
    )
    if not inserted:
        former = await tx.row(
            "SELECT s.subscription_id, f.feed_id FROM rss_subscriptions s"
            " LEFT JOIN feeds f ON f.id = s.feed_id WHERE s.source_key = ?",
            url_key(url),
        )
        assert former is not None, "a conflict without a row"
        raise DuplicateUrl(
            "This URL is followed already.",
            subscription_id=former.subscription_id,
            feed_id=former.feed_id,
            url=url,
        )


async def _write(
    tx: Transaction, subscription_id: int, columns: dict[str, SqlValue], now: datetime
) -> None:
    columns = columns | {"updated_at": to_micros(now)}
    await tx.run(
        f"UPDATE rss_subscriptions SET {', '.join(f'{name} = ?' for name in columns)}"
        " WHERE subscription_id = ?",
        *columns.values(),
        subscription_id,
    )


async def _set_shard(tx: Transaction, feed: FeedPk, fetcher: Fetcher) -> None:
    """A built-in fetcher's feed has the shard of its host; a registered fetcher has its own
    shard."""
    row = await tx.row("SELECT host FROM feeds WHERE id = ?", feed)
    assert row is not None, "a subscription has a feed"
    shard = shard_of(row.host) if fetcher.is_builtin else -fetcher.id
    await tx.run("UPDATE feeds SET shard = ? WHERE id = ? AND shard <> ?", shard, feed, shard)


async def _forget_validators_of_others(tx: Transaction, feed: FeedPk, fetcher: Fetcher) -> None:
    """A fetcher that has not seen the document would never get it after a "not modified"."""
    await tx.run(
        "UPDATE feeds SET etag = NULL, last_modified = NULL WHERE id = ? AND NOT EXISTS"
        " (SELECT 1 FROM rss_subscriptions s WHERE s.feed_id = feeds.id AND s.fetcher_id = ?)",
        feed,
        fetcher.id,
    )


async def _reset_claim(tx: Transaction, feed: FeedPk, now: datetime) -> None:
    """The visit under way loses its claim, and the new fetcher starts without validators.

    A host that asked for a rest gets it, whoever the fetcher is.
    """
    tx.wake("feeds")
    moment = to_micros(now)
    due_after_rest = (
        "CASE WHEN retry_after_sec IS NOT NULL"
        " AND last_decision_at + CAST(retry_after_sec * 1000000 AS BIGINT) > CAST(? AS BIGINT)"
        " THEN last_decision_at + CAST(retry_after_sec * 1000000 AS BIGINT)"
        " ELSE CAST(? AS BIGINT) END"
    )
    due = f"CASE WHEN state = 'active' THEN {due_after_rest} END"
    await tx.run(
        f"UPDATE feeds SET fence = fence + 1, claimed_by = NULL, scheduled_at = {due},"
        f" next_visit_at = {due}, etag = NULL, last_modified = NULL, updated_at = ? WHERE id = ?",
        *(moment,) * 5,
        feed,
    )

"""Subscriptions in the database: one for every feed, made, assigned and let go together with it."""

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

# While somebody visits, `next_visit_at` is the end of their lease; the visit itself is the one
# that was scheduled.
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
    """`lock` keeps others from changing it, its feed and its conflicts until the end."""
    if lock:
        await lock_feed_of(view, "s.subscription_id = ?", subscription_id)
    found = await _find_where(view, "s.subscription_id = ?", subscription_id)
    if found is None:
        raise NotFound("There is no such subscription.", what="subscription")
    return found


async def find_subscription_by_url(
    view: View, url: str, *, lock: bool = False
) -> Subscription | None:
    """Of this source URL, however it is spelt; failing that, of the feed that lives there now."""
    key = url_key(_as_source(url))
    for where in ("s.source_key = ?", "f.url_key = ?"):
        if lock:
            await lock_feed_of(view, where, key)
        found = await _find_where(view, where, key)
        if found is not None:
            return found
    return None


def _as_source(url: str) -> str:
    """As it would be subscribed to; what could not be is looked for as it is."""
    try:
        return check_source_url(url)
    except BadUrl:
        return url


async def get_subscription_of_feed(view: View, feed_id: str) -> Subscription:
    found = await _find_where(view, "f.feed_id = ?", feed_id)
    if found is None:
        raise NotFound("There is no such feed.", what="feed")
    return found


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
    for column, wanted in (("fetcher_id", fetcher_id), ("group_id", group_id)):
        if wanted is not None:
            where += f" AND s.{column} = ?"
            values.append(wanted)
    rows = await view.rows(
        f"{_SELECT} WHERE {where} ORDER BY s.subscription_id LIMIT ?", *values, limit
    )
    return [_subscription_of(row) for row in rows]


async def lock_feed_of(view: View, where: str, value: SqlValue) -> None:
    """A feed's row is the lock of all that belongs to it: taken first by everybody, so that nobody
    waits for somebody who waits. On SQLite the whole transaction is that lock."""
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
    """For a feed that was inserted or restored in this transaction.

    An inactive one comes back under its own number, with its history and the new values.
    """
    if feed.revived:
        await _forget_validators_of_others(tx, feed.pk, fetcher)
    columns = _assigned(fetcher, "auto_assigned" if auto_selected else "assigned", now)
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
    """The inactive one of a feed that was restored in this transaction: active, and as it was."""
    await _activate(tx, feed, url, {}, now)
    return await get_subscription_of_feed(tx, feed.id)


async def assign(
    tx: Transaction,
    to_change: Subscription,
    chosen: Fetcher,
    *,
    auto_selected: bool,
    status: AssignmentStatus,
    now: datetime,
) -> Subscription:
    """Somebody else fetches from now on: due at once for them, and for nobody else any more."""
    await lock_feed_of(tx, "s.subscription_id = ?", to_change.id)
    columns = _assigned(chosen, status, now) | {"auto_selected": auto_selected}
    await _write(tx, to_change.id, columns, now)
    if chosen.id != to_change.fetcher_id:
        await _set_shard(tx, to_change.feed_pk, chosen)
        await _reset_claim(tx, to_change.feed_pk, now)
    return await get_subscription(tx, to_change.id)


async def update_subscription(
    tx: Transaction, subscription_id: int, patch: SubscriptionPatch, now: datetime
) -> Subscription:
    """Only what stands in the subscription's own row; `patch.feed_patch` is for the feed's."""
    columns: dict[str, SqlValue] = {
        name: said
        for name in ("description", "config", "group_id")
        if (said := getattr(patch, name)) is not KEEP
    }
    await _write(tx, subscription_id, columns, now)
    return await get_subscription(tx, subscription_id)


async def deactivate(tx: Transaction, subscription_id: int, now: datetime) -> Subscription:
    """Nobody fetches it any more, and its feed is a removed one; all history stays."""
    there = await get_subscription(tx, subscription_id, lock=True)
    if there.is_active:
        await _write(tx, there.id, {"is_active": False}, now)
        await feed_rows.set_removed(tx, there.feed_pk, now)
    return await get_subscription(tx, subscription_id)


async def delete_subscription_and_feed(tx: Transaction, subscription_id: int) -> None:
    """With its feed, entries, raw fetches, conflicts and history."""
    there = await get_subscription(tx, subscription_id, lock=True)
    await feed_rows.delete_feed_rows(tx, there.feed_pk)


def _assigned(chosen: Fetcher, status: AssignmentStatus, now: datetime) -> dict[str, SqlValue]:
    """A choice that is automatic has no moment of its own."""
    return {
        "fetcher_id": chosen.id,
        "assignment_status": status,
        "assigned_at": to_micros(now) if status == "assigned" else None,
    }


async def _activate(
    tx: Transaction, feed: FollowedFeed, url: str, columns: dict[str, SqlValue], now: datetime
) -> None:
    """The row of this feed, made or brought back. Whoever is second for a URL has no effect."""
    columns = columns | {
        "source_url": url,
        "source_key": url_key(url),
        "is_active": True,
        "updated_at": to_micros(now),
    }
    assignments = ", ".join(f"{name} = ?" for name in columns)
    back = feed.revived and await tx.run(
        f"UPDATE rss_subscriptions SET {assignments} WHERE feed_id = ?", *columns.values(), feed.pk
    )
    if back:
        return
    columns |= {"feed_id": feed.pk, "created_at": to_micros(now)}
    made = await tx.run(
        f"INSERT INTO rss_subscriptions ({', '.join(columns)}) VALUES "
        f"({placeholders(len(columns))})"
        " ON CONFLICT (source_key) DO NOTHING",
        *columns.values(),
    )
    if not made:
        there = await tx.row(
            "SELECT s.subscription_id, f.feed_id FROM rss_subscriptions s"
            " LEFT JOIN feeds f ON f.id = s.feed_id WHERE s.source_key = ?",
            url_key(url),
        )
        assert there is not None, "a conflict without a row"
        raise DuplicateUrl(
            "This URL is followed already.",
            subscription_id=there.subscription_id,
            feed_id=there.feed_id,
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


async def _set_shard(tx: Transaction, feed: FeedPk, chosen: Fetcher) -> None:
    """To our own workers by the shard of its host, to a registered fetcher by its own."""
    row = await tx.row("SELECT host FROM feeds WHERE id = ?", feed)
    assert row is not None, "a subscription has a feed"
    shard = shard_of(row.host) if chosen.is_builtin else -chosen.id
    await tx.run("UPDATE feeds SET shard = ? WHERE id = ? AND shard <> ?", shard, feed, shard)


async def _forget_validators_of_others(tx: Transaction, feed: FeedPk, chosen: Fetcher) -> None:
    """To whoever has not seen the document, "not modified" would hide it."""
    await tx.run(
        "UPDATE feeds SET etag = NULL, last_modified = NULL WHERE id = ? AND NOT EXISTS"
        " (SELECT 1 FROM rss_subscriptions s WHERE s.feed_id = feeds.id AND s.fetcher_id = ?)",
        feed,
        chosen.id,
    )


async def _reset_claim(tx: Transaction, feed: FeedPk, now: datetime) -> None:
    """Whoever is on their way loses the claim; the other's validators are not the new one's.

    A host that asked for a rest gets it, whoever comes.
    """
    tx.wake("feeds")
    moment = to_micros(now)
    rest = (
        "CASE WHEN retry_after_sec IS NOT NULL"
        " AND last_decision_at + CAST(retry_after_sec * 1000000 AS BIGINT) > CAST(? AS BIGINT)"
        " THEN last_decision_at + CAST(retry_after_sec * 1000000 AS BIGINT)"
        " ELSE CAST(? AS BIGINT) END"
    )
    due = f"CASE WHEN state = 'active' THEN {rest} END"
    await tx.run(
        f"UPDATE feeds SET fence = fence + 1, claimed_by = NULL, scheduled_at = {due},"
        f" next_visit_at = {due}, etag = NULL, last_modified = NULL, updated_at = ? WHERE id = ?",
        *(moment,) * 5,
        feed,
    )

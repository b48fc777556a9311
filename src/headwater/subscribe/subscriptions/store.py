"""Subscriptions in the database: one for every feed, made, assigned and let go together with it."""

from datetime import datetime

from headwater.errors import DuplicateUrl
from headwater.ports import Transaction, Value, marks
from headwater.subscribe import store as feeds
from headwater.subscribe.feed import KEEP
from headwater.subscribe.fetcher import Fetcher, FetcherId
from headwater.subscribe.fetchers.store import fetcher as fetcher_by_id
from headwater.subscribe.store import Followed, url_key
from headwater.subscribe.subscription import (
    USUAL_SOURCE_TYPE,
    AssignmentStatus,
    NewSubscription,
    Subscription,
    SubscriptionPatch,
)
from headwater.subscribe.subscriptions.queries import lock_feed_of, of_feed, subscription
from headwater.values.ids import FeedPk
from headwater.values.instant import to_micros
from headwater.values.url import shard_of


async def add(
    tx: Transaction,
    new: NewSubscription,
    feed: Followed,
    fetcher_id: FetcherId,
    *,
    auto_selected: bool,
    now: datetime,
) -> Subscription:
    """For a feed that `subscribe.store.follow` gave in this transaction.

    An inactive one comes back under its own number, with its history and the new wish.
    """
    chosen = await fetcher_by_id(tx, fetcher_id)
    if feed.revived:
        await _forget_validators_of_others(tx, feed.pk, chosen)
    columns = _assigned(chosen, "auto_assigned" if auto_selected else "assigned", now)
    columns |= {
        "source_type": new.source_type,
        "description": new.description,
        "config": new.config,
        "group_id": new.group_id,
        "auto_selected": auto_selected,
    }
    await _activate(tx, feed, new.source_url, columns, now)
    await _move_to(tx, feed.pk, chosen)
    return await of_feed(tx, feed.id)


async def own(
    tx: Transaction, feed: Followed, url: str, fetcher_id: FetcherId, *, now: datetime
) -> Subscription:
    """The subscription of a feed that was asked for without naming a fetcher.

    One that comes back stays with whoever was fetching it, unless they are switched off.
    """
    if feed.revived:
        former = await tx.row(
            "SELECT s.fetcher_id FROM rss_subscriptions s JOIN fetcher_modules m"
            " ON m.fetcher_id = s.fetcher_id WHERE s.feed_id = ? AND m.is_enabled",
            feed.pk,
        )
        if former is not None:
            await _activate(tx, feed, url, {}, now)
            return await of_feed(tx, feed.id)
    new = NewSubscription(url, USUAL_SOURCE_TYPE)
    return await add(tx, new, feed, fetcher_id, auto_selected=True, now=now)


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
        await _move_to(tx, to_change.feed_pk, chosen)
        await _start_afresh(tx, to_change.feed_pk, now)
    return await subscription(tx, to_change.id)


async def change(
    tx: Transaction, subscription_id: int, patch: SubscriptionPatch, now: datetime
) -> Subscription:
    """Only what stands in the subscription's own row; `patch.feed_patch` is for the feed's."""
    columns: dict[str, Value] = {
        name: said
        for name in ("description", "config", "group_id")
        if (said := getattr(patch, name)) is not KEEP
    }
    await _write(tx, subscription_id, columns, now)
    return await subscription(tx, subscription_id)


async def deactivate(tx: Transaction, subscription_id: int, now: datetime) -> Subscription:
    """Nobody fetches it any more, and its feed is a removed one; all history stays."""
    there = await subscription(tx, subscription_id, lock=True)
    if there.is_active:
        await _write(tx, there.id, {"is_active": False}, now)
        await feeds.remove(tx, there.feed_pk, now)
    return await subscription(tx, subscription_id)


async def delete_for_good(tx: Transaction, subscription_id: int) -> None:
    """With its feed, entries, raw fetches, conflicts and history."""
    there = await subscription(tx, subscription_id, lock=True)
    await feeds.delete_for_good(tx, there.feed_pk)


def _assigned(chosen: Fetcher, status: AssignmentStatus, now: datetime) -> dict[str, Value]:
    """A choice that is automatic has no moment of its own."""
    return {
        "fetcher_id": chosen.id,
        "assignment_status": status,
        "assigned_at": to_micros(now) if status == "assigned" else None,
    }


async def _activate(
    tx: Transaction, feed: Followed, url: str, columns: dict[str, Value], now: datetime
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
        f"INSERT INTO rss_subscriptions ({', '.join(columns)}) VALUES ({marks(len(columns))})"
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
            f"Subscription already exists for this URL: {url}",
            subscription_id=there.subscription_id,
            feed_id=there.feed_id,
            url=url,
        )


async def _write(
    tx: Transaction, subscription_id: int, columns: dict[str, Value], now: datetime
) -> None:
    columns = columns | {"updated_at": to_micros(now)}
    await tx.run(
        f"UPDATE rss_subscriptions SET {', '.join(f'{name} = ?' for name in columns)}"
        " WHERE subscription_id = ?",
        *columns.values(),
        subscription_id,
    )


async def _move_to(tx: Transaction, feed: FeedPk, chosen: Fetcher) -> None:
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


async def _start_afresh(tx: Transaction, feed: FeedPk, now: datetime) -> None:
    """Whoever is on their way loses the claim; the other's validators are not the new one's.

    A host that asked for a rest gets it, whoever comes.
    """
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

"""Feeds in the database: read, listed, inserted, changed, and stopped as duplicates."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from headwater.core.errors import ConflictError, DuplicateUrl, NotFound
from headwater.core.ports import Row, SqlValue, Transaction, View, placeholders
from headwater.core.values.ids import FeedId, FeedPk, index_key
from headwater.core.values.instant import from_micros, maybe_micros, maybe_moment, to_micros
from headwater.core.values.url import canonical, host_of, shard_of
from headwater.feeds.feed import (
    Feed,
    FeedOptions,
    FeedSchedule,
    FeedState,
    FeedStats,
    FeedValidators,
)
from headwater.feeds.overrides import decode_overrides, encode_overrides


@dataclass(frozen=True, slots=True)
class FollowedFeed:
    """A feed that is followed from now on. `revived`: it had been removed and has a history."""

    pk: FeedPk
    id: FeedId
    revived: bool


async def insert_or_restore_feed(
    tx: Transaction,
    url: str,
    wish: FeedOptions,
    *,
    feed_id: FeedId,
    interval_sec: float,
    now: datetime,
    visit_at: datetime | None,
    asked_url: str | None = None,
) -> FollowedFeed:
    """A new row, or the removed one of this URL back again. DuplicateUrl when it is followed.

    A feed that has moved since somebody asked for this URL is still the one they asked for.
    `asked_url` is what the person typed, where a redirect led elsewhere. Without `visit_at` the
    caller makes the first visit itself and plans the next one.
    """
    tx.wake("feeds")
    due = maybe_micros(visit_at)
    asked_before = await _asked_for(tx, url)
    if asked_before is not None:
        back = await _restore_removed(
            tx, asked_before, url, wish, interval_sec, to_micros(now), due
        )
        if back is not None:
            return back
    row = _new_row(url, asked_url or url, wish, feed_id, interval_sec, to_micros(now), due)
    made = await tx.row(
        f"INSERT INTO feeds ({', '.join(row)}) VALUES ({placeholders(len(row))})"
        " ON CONFLICT (url_key) DO NOTHING RETURNING id",
        *row.values(),
    )
    if made is not None:
        return FollowedFeed(FeedPk(made.id), feed_id, revived=False)
    there = await tx.row("SELECT id FROM feeds WHERE url_key = ?", url_key(url))
    if there is not None:
        back = await _restore_removed(tx, there.id, url, wish, interval_sec, to_micros(now), due)
        if back is not None:
            return back
    raise ConflictError("This feed was deleted in this very moment; add it again.", url=url)


async def _asked_for(view: View, url: str) -> FeedPk | None:
    row = await view.row(
        "SELECT feed_id FROM rss_subscriptions WHERE source_key = ? AND feed_id IS NOT NULL",
        url_key(url),
    )
    return None if row is None else FeedPk(row.feed_id)


async def _restore_removed(
    tx: Transaction, pk: FeedPk, url: str, wish: FeedOptions, interval_sec: float, now: int,
    due: int | None,
) -> FollowedFeed | None:  # fmt: skip
    """Of two who want it at the same moment one brings it back, and the other finds it back.

    None when it was deleted while we waited for it.
    """
    lock = " FOR UPDATE" if tx.dialect == "postgresql" else ""
    there = await tx.row(
        "SELECT id, feed_id, state, last_decision_at, retry_after_sec FROM feeds"
        f" WHERE id = ?{lock}",
        pk,
    )
    if there is None:
        return None
    if there.state == "removed":
        return await _revive(tx, there, wish, interval_sec, now, due)
    wanted = await tx.row("SELECT subscription_id FROM rss_subscriptions WHERE feed_id = ?", pk)
    raise DuplicateUrl(
        "This URL is followed already.",
        subscription_id=wanted.subscription_id if wanted else None,
        feed_id=there.feed_id,
        url=url,
    )


def url_key(url: str) -> bytes:
    """All spellings of one URL have one key."""
    return index_key(canonical(url) or url)


def _new_row(
    url: str,
    asked_url: str,
    wish: FeedOptions,
    feed_id: FeedId,
    interval_sec: float,
    now: int,
    due: int | None,
) -> dict[str, SqlValue]:
    host = host_of(url)
    return {
        "feed_id": feed_id,
        "url": url,
        "url_key": url_key(url),
        "original_url": asked_url,
        "host": host,
        "shard": shard_of(host),
        "type": "unknown",
        "state": "active",
        **_option_columns(wish),
        **_NOTHING_LEARNT,
        "interval_sec": interval_sec,
        "scheduled_at": due,
        "next_visit_at": due,
        "fence": 0,
        "created_at": now,
        "updated_at": now,
    }


_NOTHING_LEARNT: dict[str, SqlValue] = {
    "hints": "{}",
    "documents_seen": 0,
    "moved_count": 0,
    "gone_count": 0,
    "new_today": 0,
    "today": 0,
    "recent_published": "[]",
    "failures": 0,
    "failing_told": False,
    "new_entries_last_fetch": 0,
}


def _option_columns(wish: FeedOptions) -> dict[str, SqlValue]:
    return {
        "priority": wish.priority,
        "overrides": encode_overrides(wish.overrides),
        "categories": orjson.dumps(wish.categories).decode(),
    }


async def _revive(
    tx: Transaction, there: Row, wish: FeedOptions, interval_sec: float, now: int, due: int | None
) -> FollowedFeed:
    """The new wish counts; validators, entries and counts stay, old failures are forgiven.

    A host that asked for a rest gets it all the same.
    """
    rest_ends = _end_of_rest(there)
    rests = rest_ends > now
    if due is not None:
        due = max(due, rest_ends)
    columns: dict[str, SqlValue] = {
        **_option_columns(wish),
        "state": "active",
        "interval_sec": interval_sec,
        "scheduled_at": due,
        "next_visit_at": due,
        "reason": "as soon as its host allows: it is followed again",
        "failures": 0,
        "failing_told": False,
        "gone_count": 0,
        "retry_after_sec": there.retry_after_sec if rests else None,
        "updated_at": now,
    }
    await _change(tx, there.id, columns, new_fence=True)
    return FollowedFeed(FeedPk(there.id), FeedId(there.feed_id), revived=True)


def _end_of_rest(there: Row) -> int:
    """In the past when nobody asked for one."""
    if there.retry_after_sec is None:
        return 0
    return int(there.last_decision_at + there.retry_after_sec * 1_000_000)


async def update_feed_options(tx: Transaction, feed: Feed, now: datetime) -> None:
    """Priority, categories and overrides as the feed has them now; an ongoing visit goes on."""
    columns: dict[str, SqlValue] = {
        "priority": feed.priority,
        "categories": orjson.dumps(feed.categories).decode(),
        "overrides": encode_overrides(feed.overrides),
        "updated_at": to_micros(now),
    }
    await _change(tx, feed.pk, columns)


async def set_next_visit(
    tx: Transaction, feed: Feed, *, at: datetime, interval_sec: float, reason: str, now: datetime
) -> bool:
    """False when a worker is on its way: its own decision will follow the new wish.

    A rest that the host asked for goes on from the moment it was asked for.
    """
    tx.wake("feeds")
    touched = await tx.run(
        "UPDATE feeds SET scheduled_at = ?, next_visit_at = ?, interval_sec = ?, reason = ?,"
        " last_decision_at = CASE WHEN retry_after_sec IS NULL THEN ? ELSE last_decision_at END,"
        " updated_at = ?"
        " WHERE id = ? AND claimed_by IS NULL AND state = 'active'",
        to_micros(at),
        to_micros(at),
        interval_sec,
        reason,
        to_micros(now),
        to_micros(now),
        feed.pk,
    )
    return touched == 1


async def keep_interval(tx: Transaction, feed: Feed, interval_sec: float) -> None:
    """For the visits to come, when there are any again."""
    await _change(tx, feed.pk, {"interval_sec": interval_sec})


async def set_due_now(tx: Transaction, feed: Feed, *, whole: bool, now: datetime) -> bool:
    """The visit is planned for now, under a new number. False while a worker is on its way.

    A feed that is due already keeps its number: it is the same visit.
    """
    tx.wake("feeds")
    moment = to_micros(now)
    touched = await tx.run(
        "UPDATE feeds SET scheduled_at = CASE WHEN next_visit_at <= ? THEN scheduled_at ELSE ? END,"
        " reason = CASE WHEN next_visit_at <= ? THEN reason ELSE ? END,"
        " next_visit_at = CASE WHEN next_visit_at <= ? THEN next_visit_at ELSE ? END,"
        " updated_at = ? WHERE id = ? AND claimed_by IS NULL AND state = 'active'",
        *(moment,) * 3,
        "now: somebody asked for a visit",
        *(moment,) * 3,
        feed.pk,
    )
    if touched and whole:
        await tx.run("UPDATE feeds SET asked_whole_at = NULL WHERE id = ?", feed.pk)
    return touched == 1


async def set_paused(tx: Transaction, feed: Feed, now: datetime) -> None:
    """No visits until somebody says so; one under way will not be written down."""
    reason = "no visits until it is resumed: somebody paused it"
    await _stop_visits(tx, feed.pk, "paused", reason, now)


async def set_active(tx: Transaction, feed: Feed, *, at: datetime, now: datetime) -> None:
    """Back from paused or gone, with old failures forgiven.

    Whoever was told that it fails is still to be told that it works again.
    """
    tx.wake("feeds")
    columns: dict[str, SqlValue] = {
        "state": "active",
        "scheduled_at": to_micros(at),
        "next_visit_at": to_micros(at),
        "reason": "as soon as its host allows: somebody resumed it",
        "failures": 0,
        "gone_count": 0,
        "updated_at": to_micros(now),
    }
    await _change(tx, feed.pk, columns, new_fence=True)


async def set_removed(tx: Transaction, feed: FeedPk, now: datetime) -> None:
    """No more visits; entries, raw and visits stay."""
    await _stop_visits(tx, feed, "removed", "no more visits: somebody removed it", now)


async def delete_feed_rows(tx: Transaction, feed: FeedPk) -> None:
    """Entries, versions, visits and raw fetches go with the row; blobs are left to retention.

    So does its subscription, with its conflicts and its history.
    """
    await tx.run("DELETE FROM rss_subscriptions WHERE feed_id = ?", feed)
    await tx.run("DELETE FROM feeds WHERE id = ?", feed)


async def _stop_visits(
    tx: Transaction, feed: FeedPk, state: str, reason: str, now: datetime
) -> None:
    columns: dict[str, SqlValue] = {
        "state": state,
        "reason": reason,
        "scheduled_at": None,
        "next_visit_at": None,
        "updated_at": to_micros(now),
    }
    await _change(tx, feed, columns, new_fence=True)


async def _change(
    tx: Transaction, pk: FeedPk, columns: dict[str, SqlValue], *, new_fence: bool = False
) -> None:
    """With a new fence a worker that is on its way commits nothing, and holds no claim."""
    assignments = [f"{name} = ?" for name in columns]
    if new_fence:
        assignments += ["fence = fence + 1", "claimed_by = NULL"]
    await tx.run(f"UPDATE feeds SET {', '.join(assignments)} WHERE id = ?", *columns.values(), pk)


_FEED_COLUMNS = (
    "id, feed_id, url, original_url, type, title, home_link, state, priority, overrides,"
    " categories, etag, last_modified, hints, documents_seen, document_seen_at, moved_to,"
    " interval_sec, next_visit_at, claimed_by, last_decision_at, reason, retry_after_sec,"
    " ewma_sec, failures, last_fetch_at, last_success_at, last_outcome, last_status, last_error,"
    " new_entries_last_fetch, created_at, updated_at"
)


async def list_feeds(
    view: View, *, after: int = 0, limit: int, states: Sequence[FeedState], url: str | None = None
) -> list[Feed]:
    """In the order they were added, from the one after `after`."""
    values: list[SqlValue] = [after, *states]
    where = f"id > ? AND state IN ({placeholders(len(states))})"
    if url is not None:
        where += " AND url_key = ?"
        values.append(index_key(canonical(url) or url))
    rows = await view.rows(
        f"SELECT {_FEED_COLUMNS} FROM feeds WHERE {where} ORDER BY id LIMIT ?", *values, limit
    )
    return [feed_of(row) for row in rows]


async def get_feed(view: View, feed_id: str, *, lock: bool = False) -> Feed:
    """`lock` keeps others from changing it until the transaction ends."""
    suffix = " FOR UPDATE" if lock and view.dialect == "postgresql" else ""
    row = await view.row(f"SELECT {_FEED_COLUMNS} FROM feeds WHERE feed_id = ?{suffix}", feed_id)
    if row is None:
        raise NotFound("There is no such feed.", what="feed")
    return feed_of(row)


@dataclass(frozen=True, slots=True)
class FeedToReparse:
    """What must be known of a feed to read its payloads again."""

    pk: FeedPk
    id: FeedId
    url: str
    identity: dict[str, Any] | None
    document_hash: bytes | None
    documents_seen: int


async def get_feed_to_reparse(view: View, feed_id: str, *, lock: bool = False) -> FeedToReparse:
    """`lock` as above."""
    suffix = " FOR UPDATE" if lock and view.dialect == "postgresql" else ""
    row = await view.row(
        "SELECT id, feed_id, url, identity, document_hash, documents_seen FROM feeds"
        f" WHERE feed_id = ?{suffix}",
        feed_id,
    )
    if row is None:
        raise NotFound("There is no such feed.", what="feed")
    memory = orjson.loads(row.identity) if row.identity else None
    return FeedToReparse(
        FeedPk(row.id), FeedId(row.feed_id), row.url, memory, row.document_hash, row.documents_seen
    )


def feed_of(row: Row) -> Feed:
    return Feed(
        pk=FeedPk(row.id),
        id=FeedId(row.feed_id),
        url=row.url,
        original_url=row.original_url,
        type=row.type,
        publisher_title=row.title,
        home_link=row.home_link,
        state=row.state,
        priority=row.priority,
        categories=tuple(orjson.loads(row.categories)),
        overrides=decode_overrides(row.overrides),
        validators=FeedValidators(row.etag, row.last_modified),
        hints=orjson.loads(row.hints),
        schedule=_schedule_of(row),
        stats=_stats_of(row),
        moved_to=row.moved_to,
        created_at=from_micros(row.created_at),
        updated_at=from_micros(row.updated_at),
    )


def _schedule_of(row: Row) -> FeedSchedule:
    return FeedSchedule(
        interval_sec=row.interval_sec,
        next_visit_at=maybe_moment(row.next_visit_at),
        last_decision_at=maybe_moment(row.last_decision_at),
        reason=row.reason,
        retry_after_sec=row.retry_after_sec,
        claimed=row.claimed_by is not None,
    )


def _stats_of(row: Row) -> FeedStats:
    return FeedStats(
        last_fetch_at=maybe_moment(row.last_fetch_at),
        last_success_at=maybe_moment(row.last_success_at),
        failures=row.failures,
        ewma_sec=row.ewma_sec,
        new_entries_last_fetch=row.new_entries_last_fetch,
        last_outcome=row.last_outcome,
        last_status=row.last_status,
        last_error=row.last_error,
        documents_seen=row.documents_seen,
        document_seen_at=maybe_moment(row.document_seen_at),
    )


async def set_feed_url(
    tx: Transaction, feed: FeedPk, url: str, key: bytes, host: str, shard: int
) -> None:
    """Only the address changes: history, validators and identity stay, and so does a registered
    fetcher, whose shard is below zero."""
    await tx.run(
        "UPDATE feeds SET url = ?, url_key = ?, host = ?,"
        " shard = CASE WHEN shard < 0 THEN shard ELSE CAST(? AS INTEGER) END,"
        " moved_to = NULL, moved_count = 0, moved_since = NULL WHERE id = ?",
        url,
        key,
        host,
        shard,
        feed,
    )


@dataclass(frozen=True, slots=True)
class FeedAtUrl:
    """Who lives at a URL already."""

    feed_id: FeedId
    state: str
    identity: dict[str, Any] | None


async def find_feed_at_url(view: View, url_key: bytes) -> FeedAtUrl | None:
    row = await view.row("SELECT feed_id, state, identity FROM feeds WHERE url_key = ?", url_key)
    if row is None:
        return None
    identity = orjson.loads(row.identity) if row.identity else None
    return FeedAtUrl(FeedId(row.feed_id), row.state, identity)


async def find_feed_identity(view: View, feed: FeedPk) -> dict[str, Any] | None:
    """By what its entries are told apart, as its last document had it."""
    row = await view.row("SELECT identity FROM feeds WHERE id = ?", feed)
    return orjson.loads(row.identity) if row and row.identity else None


async def set_duplicate(tx: Transaction, feed: FeedPk, of: str) -> None:
    """It moved to where another feed lives: no second visit to one place, both histories kept."""
    await tx.run(
        "UPDATE feeds SET state = 'duplicate', moved_to = ?, next_visit_at = NULL, reason = ?"
        " WHERE id = ?",
        of,
        "no more visits: it moved to an address that is followed already",
        feed,
    )


async def list_duplicates(view: View) -> list[tuple[FeedPk, str]]:
    """Feeds that moved to where another one lived, and where that is."""
    rows = await view.rows(
        "SELECT id, moved_to FROM feeds WHERE state = 'duplicate' AND moved_to IS NOT NULL"
    )
    return [(FeedPk(row.id), row.moved_to) for row in rows]


async def resume_duplicate(tx: Transaction, feed: FeedPk, now: int) -> bool:
    """A duplicate of what is not followed any more is visited again, and moves there itself."""
    tx.wake("feeds")
    touched = await tx.run(
        "UPDATE feeds SET state = 'active', scheduled_at = ?, next_visit_at = ?, reason = ?,"
        " updated_at = ? WHERE id = ? AND state = 'duplicate'",
        now,
        now,
        "now: nobody follows the address any more that it moved to",
        now,
        feed,
    )
    return touched == 1

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
    """A feed that is followed from now on. `revived`: it was removed before and has a history."""

    pk: FeedPk
    id: FeedId
    revived: bool


async def insert_or_restore_feed(
    tx: Transaction,
    url: str,
    options: FeedOptions,
    *,
    feed_id: FeedId,
    interval_sec: float,
    now: datetime,
    visit_at: datetime | None,
    asked_url: str | None = None,
) -> FollowedFeed:
    """Insert a feed, or restore the removed one of this URL. DuplicateUrl when it is followed.

    A feed that has moved since somebody asked for this URL is still the one they asked for.
    `asked_url` is what the person typed, where a redirect led elsewhere. Without `visit_at` the
    caller makes the first visit itself and plans the next one.
    """
    tx.wake("feeds")
    due = maybe_micros(visit_at)
    asked_before = await _asked_for(tx, url)
    if asked_before is not None:
        restored = await _restore_removed(
            tx, asked_before, url, options, interval_sec, to_micros(now), due
        )
        if restored is not None:
            return restored
    columns = _new_row(url, asked_url or url, options, feed_id, interval_sec, to_micros(now), due)
    inserted = await tx.row(
        f"INSERT INTO feeds ({', '.join(columns)}) VALUES ({placeholders(len(columns))})"
        " ON CONFLICT (url_key) DO NOTHING RETURNING id",
        *columns.values(),
    )
    if inserted is not None:
        return FollowedFeed(FeedPk(inserted.id), feed_id, revived=False)
    row = await tx.row("SELECT id FROM feeds WHERE url_key = ?", url_key(url))
    if row is not None:
        restored = await _restore_removed(
            tx, row.id, url, options, interval_sec, to_micros(now), due
        )
        if restored is not None:
            return restored
    raise ConflictError("This feed was deleted in this very moment; add it again.", url=url)


async def _asked_for(view: View, url: str) -> FeedPk | None:
    row = await view.row(
        "SELECT feed_id FROM rss_subscriptions WHERE source_key = ? AND feed_id IS NOT NULL",
        url_key(url),
    )
    return None if row is None else FeedPk(row.feed_id)


async def _restore_removed(
    tx: Transaction, pk: FeedPk, url: str, options: FeedOptions, interval_sec: float, now: int,
    due: int | None,
) -> FollowedFeed | None:  # fmt: skip
    """Of two callers at the same moment, one restores the feed and the other finds it restored.

    None when the feed was deleted while we waited for its lock.
    """
    lock = " FOR UPDATE" if tx.dialect == "postgresql" else ""
    row = await tx.row(
        "SELECT id, feed_id, state, last_decision_at, retry_after_sec FROM feeds"
        f" WHERE id = ?{lock}",
        pk,
    )
    if row is None:
        return None
    if row.state == "removed":
        return await _revive(tx, row, options, interval_sec, now, due)
    subscription = await tx.row(
        "SELECT subscription_id FROM rss_subscriptions WHERE feed_id = ?", pk
    )
    raise DuplicateUrl(
        "This URL is followed already.",
        subscription_id=subscription.subscription_id if subscription else None,
        feed_id=row.feed_id,
        url=url,
    )


def url_key(url: str) -> bytes:
    """All spellings of one URL have one key."""
    return index_key(canonical(url) or url)


def _new_row(
    url: str,
    asked_url: str,
    options: FeedOptions,
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
        **_option_columns(options),
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


def _option_columns(options: FeedOptions) -> dict[str, SqlValue]:
    return {
        "priority": options.priority,
        "overrides": encode_overrides(options.overrides),
        "categories": orjson.dumps(options.categories).decode(),
    }


async def _revive(
    tx: Transaction,
    row: Row,
    options: FeedOptions,
    interval_sec: float,
    now: int,
    due: int | None,
) -> FollowedFeed:
    """The new options count; validators, entries and counts stay, old failures are forgiven.

    A host that asked for a rest still gets it.
    """
    rest_ends = _end_of_rest(row)
    rests = rest_ends > now
    if due is not None:
        due = max(due, rest_ends)
    columns: dict[str, SqlValue] = {
        **_option_columns(options),
        "state": "active",
        "interval_sec": interval_sec,
        "scheduled_at": due,
        "next_visit_at": due,
        "reason": "as soon as its host allows: it is followed again",
        "failures": 0,
        "failing_told": False,
        "gone_count": 0,
        "retry_after_sec": row.retry_after_sec if rests else None,
        "updated_at": now,
    }
    await _change(tx, row.id, columns, new_fence=True)
    return FollowedFeed(FeedPk(row.id), FeedId(row.feed_id), revived=True)


def _end_of_rest(row: Row) -> int:
    """Zero when no rest was asked for."""
    if row.retry_after_sec is None:
        return 0
    return int(row.last_decision_at + row.retry_after_sec * 1_000_000)


async def update_feed_options(tx: Transaction, feed: Feed, now: datetime) -> None:
    """Write the feed's priority, categories and overrides; a visit under way goes on."""
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
    """False when a worker has the feed: its own decision will follow the new settings.

    A rest that the host asked for still counts from the moment it was asked for.
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
    """Set the interval for later visits, if there are any again."""
    await _change(tx, feed.pk, {"interval_sec": interval_sec})


async def set_due_now(tx: Transaction, feed: Feed, *, whole: bool, now: datetime) -> bool:
    """Plan the visit for now, with a new `scheduled_at`. False while a worker has the feed.

    A feed that is due already keeps its `scheduled_at`: it is the same visit.
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
    """No visits until somebody resumes the feed; a visit under way will not be committed."""
    reason = "no visits until it is resumed: somebody paused it"
    await _stop_visits(tx, feed.pk, "paused", reason, now)


async def set_active(tx: Transaction, feed: Feed, *, at: datetime, now: datetime) -> None:
    """Resume a paused or gone feed, with old failures forgiven.

    `failing_told` stays: who got an event that it fails still gets one that it works again.
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
    """No more visits; entries, raw fetches and visits stay."""
    await _stop_visits(tx, feed, "removed", "no more visits: somebody removed it", now)


async def delete_feed_rows(tx: Transaction, feed: FeedPk) -> None:
    """Delete a feed, its entries, versions, visits and raw fetches; blobs are left to retention.

    Its subscription goes too, with its conflicts and its history.
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
    """With a new fence, a worker that has the feed commits nothing and loses its claim."""
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
    """Feeds in the order they were added, from the one after `after`."""
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
    """A feed by its id. `lock` keeps others from changing it until the transaction ends."""
    suffix = " FOR UPDATE" if lock and view.dialect == "postgresql" else ""
    row = await view.row(f"SELECT {_FEED_COLUMNS} FROM feeds WHERE feed_id = ?{suffix}", feed_id)
    if row is None:
        raise NotFound("There is no such feed.", what="feed")
    return feed_of(row)


@dataclass(frozen=True, slots=True)
class FeedToReparse:
    """The facts about a feed that are needed to parse its payloads again."""

    pk: FeedPk
    id: FeedId
    url: str
    identity: dict[str, Any] | None
    document_hash: bytes | None
    documents_seen: int


async def get_feed_to_reparse(view: View, feed_id: str, *, lock: bool = False) -> FeedToReparse:
    """The same facts for `reparse`. `lock` is as in `get_feed`."""
    suffix = " FOR UPDATE" if lock and view.dialect == "postgresql" else ""
    row = await view.row(
        "SELECT id, feed_id, url, identity, document_hash, documents_seen FROM feeds"
        f" WHERE feed_id = ?{suffix}",
        feed_id,
    )
    if row is None:
        raise NotFound("There is no such feed.", what="feed")
    identity = orjson.loads(row.identity) if row.identity else None
    return FeedToReparse(
        FeedPk(row.id),
        FeedId(row.feed_id),
        row.url,
        identity,
        row.document_hash,
        row.documents_seen,
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
    """Only the URL changes: history, validators and identity stay. So does a registered fetcher,
    whose shard is below zero."""
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
    """The feed that has a URL already."""

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
    """The memory by which a feed's entries are told apart, as of its last document."""
    row = await view.row("SELECT identity FROM feeds WHERE id = ?", feed)
    return orjson.loads(row.identity) if row and row.identity else None


async def set_duplicate(tx: Transaction, feed: FeedPk, of: str) -> None:
    """A feed that moved to the URL of another one is not visited; both histories stay."""
    await tx.run(
        "UPDATE feeds SET state = 'duplicate', moved_to = ?, next_visit_at = NULL, reason = ?"
        " WHERE id = ?",
        of,
        "no more visits: it moved to an address that is followed already",
        feed,
    )


async def list_duplicates(view: View) -> list[tuple[FeedPk, str]]:
    """Feeds that moved to the URL of another one, with that URL."""
    rows = await view.rows(
        "SELECT id, moved_to FROM feeds WHERE state = 'duplicate' AND moved_to IS NOT NULL"
    )
    return [(FeedPk(row.id), row.moved_to) for row in rows]


async def resume_duplicate(tx: Transaction, feed: FeedPk, now: int) -> bool:
    """A duplicate whose URL nobody follows any more is visited again, and moves there itself."""
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

"""Feeds in the database: following one, changing a wish, making one due, letting one go."""

from dataclasses import dataclass
from datetime import datetime

import orjson

from headwater.errors import Conflict, DuplicateUrl
from headwater.ports import Reader, Row, Transaction, Value, marks
from headwater.subscribe.feed import Feed, Wish
from headwater.values.ids import FeedId, FeedPk, key_of
from headwater.values.instant import maybe_micros, to_micros
from headwater.values.url import canonical, host_of, shard_of


@dataclass(frozen=True, slots=True)
class Followed:
    """A feed that is followed from now on. `revived`: it had been removed and has a history."""

    pk: FeedPk
    id: FeedId
    revived: bool


async def follow(
    tx: Transaction,
    url: str,
    wish: Wish,
    *,
    feed_id: FeedId,
    interval_sec: float,
    now: datetime,
    visit_at: datetime | None,
    asked_url: str | None = None,
) -> Followed:
    """A new row, or the removed one of this URL back again. DuplicateUrl when it is followed.

    A feed that has moved since somebody asked for this URL is still the one they asked for.
    `asked_url` is what the person typed, where a redirect led elsewhere. Without `visit_at` the
    caller makes the first visit itself and plans the next one.
    """
    due = maybe_micros(visit_at)
    asked_before = await _asked_for(tx, url)
    if asked_before is not None:
        back = await _back_again(tx, asked_before, url, wish, interval_sec, to_micros(now), due)
        if back is not None:
            return back
    row = _new_row(url, asked_url or url, wish, feed_id, interval_sec, to_micros(now), due)
    made = await tx.row(
        f"INSERT INTO feeds ({', '.join(row)}) VALUES ({marks(len(row))})"
        " ON CONFLICT (url_key) DO NOTHING RETURNING id",
        *row.values(),
    )
    if made is not None:
        return Followed(FeedPk(made.id), feed_id, revived=False)
    there = await tx.row("SELECT id FROM feeds WHERE url_key = ?", url_key(url))
    if there is not None:
        back = await _back_again(tx, there.id, url, wish, interval_sec, to_micros(now), due)
        if back is not None:
            return back
    raise Conflict("This feed was deleted in this very moment; add it again.", url=url)


async def _asked_for(view: Reader, url: str) -> FeedPk | None:
    row = await view.row(
        "SELECT feed_id FROM rss_subscriptions WHERE source_key = ? AND feed_id IS NOT NULL",
        url_key(url),
    )
    return None if row is None else FeedPk(row.feed_id)


async def _back_again(
    tx: Transaction, pk: FeedPk, url: str, wish: Wish, interval_sec: float, now: int,
    due: int | None,
) -> Followed | None:  # fmt: skip
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
    return key_of(canonical(url) or url)


def _new_row(
    url: str,
    asked_url: str,
    wish: Wish,
    feed_id: FeedId,
    interval_sec: float,
    now: int,
    due: int | None,
) -> dict[str, Value]:
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
        **_wish_columns(wish),
        **_NOTHING_LEARNT,
        "interval_sec": interval_sec,
        "scheduled_at": due,
        "next_visit_at": due,
        "fence": 0,
        "created_at": now,
        "updated_at": now,
    }


_NOTHING_LEARNT: dict[str, Value] = {
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


def _wish_columns(wish: Wish) -> dict[str, Value]:
    return {
        "priority": wish.priority,
        "overrides": orjson.dumps(wish.all_overrides.as_json()).decode(),
        "categories": orjson.dumps(wish.categories).decode(),
    }


async def _revive(
    tx: Transaction, there: Row, wish: Wish, interval_sec: float, now: int, due: int | None
) -> Followed:
    """The new wish counts; validators, entries and counts stay, old failures are forgiven.

    A host that asked for a rest gets it all the same.
    """
    rest_ends = _end_of_rest(there)
    rests = rest_ends > now
    if due is not None:
        due = max(due, rest_ends)
    columns: dict[str, Value] = {
        **_wish_columns(wish),
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
    return Followed(FeedPk(there.id), FeedId(there.feed_id), revived=True)


def _end_of_rest(there: Row) -> int:
    """In the past when nobody asked for one."""
    if there.retry_after_sec is None:
        return 0
    return int(there.last_decision_at + there.retry_after_sec * 1_000_000)


async def save_wish(tx: Transaction, feed: Feed, now: datetime) -> None:
    """Priority, categories and overrides as the feed has them now; an ongoing visit goes on."""
    columns: dict[str, Value] = {
        "priority": feed.priority,
        "categories": orjson.dumps(feed.categories).decode(),
        "overrides": orjson.dumps(feed.overrides.as_json()).decode(),
        "updated_at": to_micros(now),
    }
    await _change(tx, feed.pk, columns)


async def plan_again(
    tx: Transaction, feed: Feed, *, at: datetime, interval_sec: float, reason: str, now: datetime
) -> bool:
    """False when a worker is on its way: its own decision will follow the new wish.

    A rest that the host asked for goes on from the moment it was asked for.
    """
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


async def make_due(tx: Transaction, feed: Feed, *, whole: bool, now: datetime) -> bool:
    """The visit is planned for now, under a new number. False while a worker is on its way.

    A feed that is due already keeps its number: it is the same visit.
    """
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


async def pause(tx: Transaction, feed: Feed, now: datetime) -> None:
    """No visits until somebody says so; one under way will not be written down."""
    reason = "no visits until it is resumed: somebody paused it"
    await _stop_visits(tx, feed.pk, "paused", reason, now)


async def resume(tx: Transaction, feed: Feed, *, at: datetime, now: datetime) -> None:
    """Back from paused or gone, with old failures forgiven.

    Whoever was told that it fails is still to be told that it works again.
    """
    columns: dict[str, Value] = {
        "state": "active",
        "scheduled_at": to_micros(at),
        "next_visit_at": to_micros(at),
        "reason": "as soon as its host allows: somebody resumed it",
        "failures": 0,
        "gone_count": 0,
        "updated_at": to_micros(now),
    }
    await _change(tx, feed.pk, columns, new_fence=True)


async def remove(tx: Transaction, feed: FeedPk, now: datetime) -> None:
    """No more visits; entries, raw and visits stay."""
    await _stop_visits(tx, feed, "removed", "no more visits: somebody removed it", now)


async def delete_for_good(tx: Transaction, feed: FeedPk) -> None:
    """Entries, versions, visits and raw fetches go with the row; blobs are left to retention.

    So does its subscription, with its conflicts and its history.
    """
    await tx.run("DELETE FROM rss_subscriptions WHERE feed_id = ?", feed)
    await tx.run("DELETE FROM feeds WHERE id = ?", feed)


async def _stop_visits(
    tx: Transaction, feed: FeedPk, state: str, reason: str, now: datetime
) -> None:
    columns: dict[str, Value] = {
        "state": state,
        "reason": reason,
        "scheduled_at": None,
        "next_visit_at": None,
        "updated_at": to_micros(now),
    }
    await _change(tx, feed, columns, new_fence=True)


async def _change(
    tx: Transaction, pk: FeedPk, columns: dict[str, Value], *, new_fence: bool = False
) -> None:
    """With a new fence a worker that is on its way commits nothing, and holds no claim."""
    assignments = [f"{name} = ?" for name in columns]
    if new_fence:
        assignments += ["fence = fence + 1", "claimed_by = NULL"]
    await tx.run(f"UPDATE feeds SET {', '.join(assignments)} WHERE id = ?", *columns.values(), pk)

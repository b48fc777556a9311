"""Rows of trackings in the database: read, inserted, changed and deleted."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import orjson

from headwater.anime.shows.tracking import Tracking
from headwater.anime.stored_json import decode_preferences, encode_json, encode_preferences
from headwater.core.errors import ConflictError, NotFound
from headwater.core.ports import Row, SqlValue, Transaction, View, placeholders
from headwater.core.values.instant import from_micros, maybe_micros, maybe_moment, to_micros
from headwater.feeds.overrides import decode_overrides

COLUMNS = (
    "id, show_id, feed_id, preferences, include, exclude, packs, save_path, enabled, since,"
    " created_at, updated_at, removed_at"
)


async def list_trackings(
    view: View,
    *,
    show_id: int | None = None,
    feed_id: str | None = None,
    after: int = 0,
    limit: int = 1_000,
) -> list[Tracking]:
    """In the order of their creation, without removed ones."""
    where, values = ["id > ?", "removed_at IS NULL"], list[SqlValue]([after])
    if show_id is not None:
        where.append("show_id = ?")
        values.append(show_id)
    if feed_id is not None:
        where.append("feed_id = ?")
        values.append(feed_id)
    rows = await view.rows(
        f"SELECT {COLUMNS} FROM trackings WHERE {' AND '.join(where)} ORDER BY id LIMIT ?",
        *values,
        limit,
    )
    return [tracking_from_row(row) for row in rows]


async def get_tracking(view: View, tracking_id: int, *, lock: bool = False) -> Tracking:
    """Also one that was removed: its downloads may still be running."""
    held = " FOR UPDATE" if lock and view.dialect == "postgresql" else ""
    row = await view.row(f"SELECT {COLUMNS} FROM trackings WHERE id = ?{held}", tracking_id)
    if row is None:
        raise NotFound("There is no such tracking.", what="tracking")
    return tracking_from_row(row)


async def get_current_tracking(view: View, tracking_id: int, *, lock: bool = False) -> Tracking:
    """NotFound for a removed tracking too."""
    tracking = await get_tracking(view, tracking_id, lock=lock)
    if tracking.removed_at is not None:
        raise NotFound("There is no such tracking.", what="tracking")
    return tracking


async def has_trackings(view: View) -> bool:
    """Whether anything is tracked. Removed trackings do not count."""
    row = await view.row("SELECT 1 AS one FROM trackings WHERE removed_at IS NULL LIMIT 1")
    return row is not None


async def find_same_tracking(view: View, show_id: int, feed_id: str) -> Tracking | None:
    """The tracking of this show and this feed, removed or not."""
    row = await view.row(
        f"SELECT {COLUMNS} FROM trackings WHERE show_id = ? AND feed_id = ?", show_id, feed_id
    )
    return None if row is None else tracking_from_row(row)


async def list_tracked_feeds(view: View) -> list[str]:
    """Feeds with an enabled tracking."""
    rows = await view.rows("SELECT DISTINCT feed_id FROM trackings WHERE enabled ORDER BY feed_id")
    return [row.feed_id for row in rows]


async def list_trackings_of_feeds(view: View, feed_ids: Iterable[str]) -> list[Tracking]:
    """Enabled trackings that collect from one of these feeds."""
    ids = sorted(set(feed_ids))
    if not ids:
        return []
    rows = await view.rows(
        f"SELECT {COLUMNS} FROM trackings WHERE enabled AND feed_id IN "
        f"({placeholders(len(ids))})"
        " ORDER BY id",
        *ids,
    )
    return [tracking_from_row(row) for row in rows]


def tracking_from_row(row: Row) -> Tracking:
    return Tracking(
        id=row.id,
        show_id=row.show_id,
        feed_id=row.feed_id,
        preferences=decode_preferences(row.preferences),
        include=tuple(orjson.loads(row.include)),
        exclude=tuple(orjson.loads(row.exclude)),
        packs=bool(row.packs),
        save_path=row.save_path,
        enabled=bool(row.enabled),
        since=maybe_moment(row.since),
        created_at=from_micros(row.created_at),
        updated_at=from_micros(row.updated_at),
        removed_at=maybe_moment(row.removed_at),
    )


@dataclass(frozen=True, slots=True)
class TrackedFeed:
    """The fields of a feed that are shown beside its tracking."""

    title: str | None
    state: str


async def list_feed_titles(view: View, feed_ids: Iterable[str]) -> dict[str, TrackedFeed]:
    """By id, without feeds that are gone for good."""
    ids = sorted(set(feed_ids))
    if not ids:
        return {}
    rows = await view.rows(
        "SELECT feed_id, title, overrides, state FROM feeds"
        f" WHERE feed_id IN ({placeholders(len(ids))})",
        *ids,
    )
    return {
        row.feed_id: TrackedFeed(decode_overrides(row.overrides).title or row.title, row.state)
        for row in rows
    }


async def insert_tracking(tx: Transaction, new: Tracking, now: datetime) -> Tracking:
    """`id` and moments are set here. Conflict when the show is collected from that feed already."""
    moment = to_micros(now)
    row = await tx.row(
        "INSERT INTO trackings (show_id, feed_id, preferences, include, exclude, packs, save_path,"
        " enabled, since, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        f" ON CONFLICT (show_id, feed_id) DO NOTHING RETURNING {COLUMNS}",
        new.show_id,
        new.feed_id,
        *_values(new),
        moment,
        moment,
    )
    if row is None:
        raise ConflictError("This show is collected from this feed already.", show_id=new.show_id)
    return tracking_from_row(row)


async def update_tracking(tx: Transaction, after: Tracking, now: datetime) -> Tracking:
    """Write every column but the show and the feed."""
    row = await tx.row(
        "UPDATE trackings SET preferences = ?, include = ?, exclude = ?, packs = ?, save_path = ?,"
        " enabled = ?, since = ?, removed_at = ?, updated_at = ?"
        f" WHERE id = ? RETURNING {COLUMNS}",
        *_values(after),
        maybe_micros(after.removed_at),
        to_micros(now),
        after.id,
    )
    if row is None:
        raise NotFound("There is no such tracking.", what="tracking")
    return tracking_from_row(row)


async def delete_tracking(tx: Transaction, tracking_id: int) -> bool:
    """Delete a tracking with its decisions and records of downloads. Files stay."""
    return await tx.run("DELETE FROM trackings WHERE id = ?", tracking_id) > 0


def _values(tracking: Tracking) -> list[SqlValue]:
    return [
        encode_preferences(tracking.preferences),
        encode_json(tracking.include),
        encode_json(tracking.exclude),
        tracking.packs,
        tracking.save_path,
        tracking.enabled,
        maybe_micros(tracking.since),
    ]

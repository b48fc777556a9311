"""What may be asked of trackings."""

from collections.abc import Iterable
from dataclasses import dataclass

import orjson

from headwater.collect.kept import preferences_of
from headwater.collect.tracking import Tracking
from headwater.errors import NotFound
from headwater.ports import Reader, Row, Value, marks
from headwater.values.instant import from_micros, maybe_moment

COLUMNS = (
    "id, show_id, feed_id, preferences, include, exclude, packs, save_path, enabled, since,"
    " created_at, updated_at, removed_at"
)


async def trackings(
    view: Reader,
    *,
    show_id: int | None = None,
    feed_id: str | None = None,
    after: int = 0,
    limit: int = 1_000,
) -> list[Tracking]:
    """In the order they were made, without those that were removed."""
    where, values = ["id > ?", "removed_at IS NULL"], list[Value]([after])
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
    return [tracking_of(row) for row in rows]


async def tracking(view: Reader, tracking_id: int, *, lock: bool = False) -> Tracking:
    """One that was removed too: what it downloaded may still be on its way."""
    held = " FOR UPDATE" if lock and view.dialect == "postgresql" else ""
    row = await view.row(f"SELECT {COLUMNS} FROM trackings WHERE id = ?{held}", tracking_id)
    if row is None:
        raise NotFound("There is no such tracking.", what="tracking")
    return tracking_of(row)


async def current(view: Reader, tracking_id: int, *, lock: bool = False) -> Tracking:
    """NotFound for one that was removed, as for one that never was."""
    found = await tracking(view, tracking_id, lock=lock)
    if found.removed_at is not None:
        raise NotFound("There is no such tracking.", what="tracking")
    return found


async def same_tracking(view: Reader, show_id: int, feed_id: str) -> Tracking | None:
    """The one of this show and this feed, removed or not."""
    row = await view.row(
        f"SELECT {COLUMNS} FROM trackings WHERE show_id = ? AND feed_id = ?", show_id, feed_id
    )
    return None if row is None else tracking_of(row)


async def tracked_feeds(view: Reader) -> list[str]:
    """Feeds that releases are collected from at this moment."""
    rows = await view.rows("SELECT DISTINCT feed_id FROM trackings WHERE enabled ORDER BY feed_id")
    return [row.feed_id for row in rows]


async def of_feeds(view: Reader, feed_ids: Iterable[str]) -> list[Tracking]:
    """Those that are enabled and collect from one of these feeds."""
    wanted = sorted(set(feed_ids))
    if not wanted:
        return []
    rows = await view.rows(
        f"SELECT {COLUMNS} FROM trackings WHERE enabled AND feed_id IN ({marks(len(wanted))})"
        " ORDER BY id",
        *wanted,
    )
    return [tracking_of(row) for row in rows]


def tracking_of(row: Row) -> Tracking:
    return Tracking(
        id=row.id,
        show_id=row.show_id,
        feed_id=row.feed_id,
        preferences=preferences_of(row.preferences),
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
    """What a person wants to see of a feed beside its tracking."""

    title: str | None
    state: str


async def feeds_named(view: Reader, feed_ids: Iterable[str]) -> dict[str, TrackedFeed]:
    """By id; those that are gone for good are not there."""
    wanted = sorted(set(feed_ids))
    if not wanted:
        return {}
    rows = await view.rows(
        "SELECT feed_id, title, overrides, state FROM feeds"
        f" WHERE feed_id IN ({marks(len(wanted))})",
        *wanted,
    )
    return {
        row.feed_id: TrackedFeed(orjson.loads(row.overrides).get("title") or row.title, row.state)
        for row in rows
    }

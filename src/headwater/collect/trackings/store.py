"""Trackings made, changed and let go."""

from datetime import datetime

from headwater.collect.kept import json_of, preferences_json
from headwater.collect.tracking import Tracking
from headwater.collect.trackings.queries import COLUMNS, tracking_of
from headwater.errors import Conflict, NotFound
from headwater.ports import Transaction, Value
from headwater.values.instant import maybe_micros, to_micros


async def add(tx: Transaction, new: Tracking, now: datetime) -> Tracking:
    """Its `id` and moments are made here. Conflict when the show is collected from that feed."""
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
        raise Conflict("This show is collected from this feed already.", show_id=new.show_id)
    return tracking_of(row)


async def change(tx: Transaction, after: Tracking, now: datetime) -> Tracking:
    """Everything but its show and its feed."""
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
    return tracking_of(row)


async def forget(tx: Transaction, tracking_id: int) -> bool:
    """With its decisions and records of downloads. Files stay where they are."""
    return await tx.run("DELETE FROM trackings WHERE id = ?", tracking_id) > 0


def _values(tracking: Tracking) -> list[Value]:
    return [
        preferences_json(tracking.preferences),
        json_of(tracking.include),
        json_of(tracking.exclude),
        tracking.packs,
        tracking.save_path,
        tracking.enabled,
        maybe_micros(tracking.since),
    ]

"""Groups in the database: made, changed and let go; who is in which."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from headwater.errors import Conflict, NotFound
from headwater.ports import Reader, Row, Transaction
from headwater.subscribe.feed import KEEP
from headwater.subscribe.group import (
    NOTHING_SHARED,
    Group,
    GroupPatch,
    NewGroup,
    Shared,
    Spreading,
    patched,
)
from headwater.values.ids import FeedId, FeedPk
from headwater.values.instant import from_micros, to_micros

_SELECT = (
    "SELECT g.group_id, g.name, g.description, g.config, g.created_at, g.updated_at,"
    " g.credentials IS NOT NULL AS has_credentials, (SELECT count(*) FROM rss_subscriptions s"
    " WHERE s.group_id = g.group_id AND s.is_active) AS members FROM subscription_groups g"
)


@dataclass(frozen=True, slots=True)
class Member:
    """One subscription of a group, and the feed behind it."""

    subscription_id: int
    feed_id: FeedId
    feed_pk: FeedPk


async def add(tx: Transaction, new: NewGroup, now: datetime) -> Group:
    """Conflict `name_taken` when there is one of this name."""
    moment = to_micros(now)
    row = await tx.row(
        "INSERT INTO subscription_groups (name, description, config, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING RETURNING group_id",
        new.name,
        new.description,
        _config(new.shared, None),
        moment,
        moment,
    )
    if row is None:
        raise _name_taken(new.name)
    return await group(tx, row.group_id)


async def groups(view: Reader, *, after: int = 0, limit: int) -> list[Group]:
    """In the order they were made."""
    rows = await view.rows(
        f"{_SELECT} WHERE g.group_id > ? ORDER BY g.group_id LIMIT ?", after, limit
    )
    return [_group_of(row) for row in rows]


async def group(view: Reader, group_id: int) -> Group:
    row = await view.row(f"{_SELECT} WHERE g.group_id = ?", group_id)
    if row is None:
        raise NotFound("There is no such group.", what="group")
    return _group_of(row)


async def hold(tx: Transaction, group_id: int) -> Group:
    """The group, and nobody else changes it or joins it until the end.

    Feeds are locked before groups, by everybody, so that nobody waits for somebody who waits.
    """
    await tx.run(
        "UPDATE subscription_groups SET updated_at = updated_at WHERE group_id = ?", group_id
    )
    return await group(tx, group_id)


async def change(tx: Transaction, held: Group, patch: GroupPatch, now: datetime) -> Group:
    """What the members have to hear of it begins to spread; see `spread`."""
    after = patched(held, patch)
    if patch.name is not KEEP and after.name != held.name:
        await _refuse_taken(tx, after)
    spreading = held.spreading
    if after.shared != held.shared:
        assert spreading is None, "one change spreads at a time"
        spreading = Spreading(held.shared)
    await tx.run(
        "UPDATE subscription_groups SET name = ?, description = ?, config = ?, updated_at = ?"
        " WHERE group_id = ?",
        after.name,
        after.description,
        _config(after.shared, spreading),
        to_micros(now),
        held.id,
    )
    return await group(tx, held.id)


async def spread(tx: Transaction, held: Group, spreading: Spreading | None) -> None:
    """How far the change has come; None: everybody knows."""
    await tx.run(
        "UPDATE subscription_groups SET config = ? WHERE group_id = ?",
        _config(held.shared, spreading),
        held.id,
    )


async def delete(tx: Transaction, group_id: int) -> None:
    """Its credentials go with it; whoever is still in it is in none."""
    await tx.run("DELETE FROM subscription_groups WHERE group_id = ?", group_id)


async def half_told(view: Reader) -> list[int]:
    """Groups whose last change was interrupted on its way to the members."""
    rows = await view.rows(
        "SELECT group_id FROM subscription_groups WHERE config LIKE '%\"spreading\"%'"
        " ORDER BY group_id"
    )
    return [row.group_id for row in rows]


async def members_by_feed(
    tx: Transaction, group_id: int, *, after: int, limit: int
) -> list[Member]:
    """Members in the order of their feeds, locked in that order as everybody does it."""
    lock = " FOR UPDATE OF f" if tx.dialect == "postgresql" else ""
    rows = await tx.rows(
        "SELECT s.subscription_id, f.feed_id, f.id FROM rss_subscriptions s"
        " JOIN feeds f ON f.id = s.feed_id WHERE s.group_id = ? AND f.id > ?"
        f" ORDER BY f.id LIMIT ?{lock}",
        group_id,
        after,
        limit,
    )
    return [Member(row.subscription_id, FeedId(row.feed_id), FeedPk(row.id)) for row in rows]


async def source_urls(view: Reader, group_id: int, limit: int) -> list[str]:
    """Where the members' feeds live now."""
    rows = await view.rows(
        "SELECT f.url FROM rss_subscriptions s JOIN feeds f ON f.id = s.feed_id"
        " WHERE s.group_id = ? AND s.is_active ORDER BY f.id LIMIT ?",
        group_id,
        limit,
    )
    return [row.url for row in rows]


async def _refuse_taken(tx: Transaction, wanted: Group) -> None:
    taken = await tx.row(
        "SELECT 1 AS it FROM subscription_groups WHERE name = ? AND group_id <> ?",
        wanted.name,
        wanted.id,
    )
    if taken is not None:
        raise _name_taken(wanted.name)


def _name_taken(name: str) -> Conflict:
    return Conflict("There is a group of this name already.", name=name)


def _config(shared: Shared, spreading: Spreading | None) -> str:
    said: dict[str, Any] = {"shared": shared.as_json()}
    if spreading is not None:
        said["spreading"] = {"before": spreading.before.as_json(), "after": spreading.after}
    return orjson.dumps(said).decode()


def _group_of(row: Row) -> Group:
    said = orjson.loads(row.config) if row.config else {}
    going = said.get("spreading")
    return Group(
        id=row.group_id,
        name=row.name,
        description=row.description,
        shared=Shared.from_json(said["shared"]) if "shared" in said else NOTHING_SHARED,
        spreading=going and Spreading(Shared.from_json(going["before"]), going["after"]),
        has_credentials=bool(row.has_credentials),
        members=row.members,
        created_at=from_micros(row.created_at),
        updated_at=from_micros(row.updated_at),
    )

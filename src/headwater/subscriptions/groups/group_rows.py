"""Groups in the database, and which subscriptions are their members."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from headwater.core.errors import ConflictError, NotFound
from headwater.core.ports import Row, Transaction, View
from headwater.core.values.ids import FeedId, FeedPk
from headwater.core.values.instant import from_micros, to_micros
from headwater.core.values.keep import KEEP
from headwater.subscriptions.groups.group import (
    NO_GROUP_VALUES,
    Group,
    GroupChange,
    GroupPatch,
    GroupValues,
    NewGroup,
    patched_group,
)

_SELECT = (
    "SELECT g.group_id, g.name, g.description, g.config, g.created_at, g.updated_at,"
    " g.credentials IS NOT NULL AS has_credentials, (SELECT count(*) FROM rss_subscriptions s"
    " WHERE s.group_id = g.group_id AND s.is_active) AS members FROM subscription_groups g"
)


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One subscription of a group, and the feed behind it."""

    subscription_id: int
    feed_id: FeedId
    feed_pk: FeedPk


async def insert_group(tx: Transaction, new: NewGroup, now: datetime) -> Group:
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
    return await get_group(tx, row.group_id)


async def list_groups(view: View, *, after: int = 0, limit: int) -> list[Group]:
    """In the order they were made."""
    rows = await view.rows(
        f"{_SELECT} WHERE g.group_id > ? ORDER BY g.group_id LIMIT ?", after, limit
    )
    return [_group_of(row) for row in rows]


async def get_group(view: View, group_id: int) -> Group:
    row = await view.row(f"{_SELECT} WHERE g.group_id = ?", group_id)
    if row is None:
        raise NotFound("There is no such group.", what="group")
    return _group_of(row)


async def lock_group(tx: Transaction, group_id: int) -> Group:
    """The group. Nobody else changes it or joins it until the transaction ends.

    Everybody locks feeds before groups, so that no two transactions wait for each other.
    """
    await tx.run(
        "UPDATE subscription_groups SET updated_at = updated_at WHERE group_id = ?", group_id
    )
    return await get_group(tx, group_id)


async def update_group(tx: Transaction, held: Group, patch: GroupPatch, now: datetime) -> Group:
    """When shared values change, the change is noted in the row; it has to reach the members."""
    after = patched_group(held, patch)
    if patch.name is not KEEP and after.name != held.name:
        await _check_name_free(tx, after)
    spreading = held.spreading
    if after.shared != held.shared:
        assert spreading is None, "one change spreads at a time"
        spreading = GroupChange(held.shared)
    await tx.run(
        "UPDATE subscription_groups SET name = ?, description = ?, config = ?, updated_at = ?"
        " WHERE group_id = ?",
        after.name,
        after.description,
        _config(after.shared, spreading),
        to_micros(now),
        held.id,
    )
    return await get_group(tx, held.id)


async def set_group_change(tx: Transaction, held: Group, spreading: GroupChange | None) -> None:
    """Note how far the change has come; None: every member has the new values."""
    await tx.run(
        "UPDATE subscription_groups SET config = ? WHERE group_id = ?",
        _config(held.shared, spreading),
        held.id,
    )


async def delete_group(tx: Transaction, group_id: int) -> None:
    """Its credentials go with it; subscriptions that are still in it are in no group then."""
    await tx.run("DELETE FROM subscription_groups WHERE group_id = ?", group_id)


async def list_unfinished_changes(view: View) -> list[int]:
    """Groups whose last change was interrupted on its way to the members."""
    rows = await view.rows(
        "SELECT group_id FROM subscription_groups WHERE config LIKE '%\"spreading\"%'"
        " ORDER BY group_id"
    )
    return [row.group_id for row in rows]


async def list_members_by_feed(
    tx: Transaction, group_id: int, *, after: int, limit: int
) -> list[GroupMember]:
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
    return [GroupMember(row.subscription_id, FeedId(row.feed_id), FeedPk(row.id)) for row in rows]


async def list_source_urls(view: View, group_id: int, limit: int) -> list[str]:
    """Where the members' feeds live now."""
    rows = await view.rows(
        "SELECT f.url FROM rss_subscriptions s JOIN feeds f ON f.id = s.feed_id"
        " WHERE s.group_id = ? AND s.is_active ORDER BY f.id LIMIT ?",
        group_id,
        limit,
    )
    return [row.url for row in rows]


async def _check_name_free(tx: Transaction, group: Group) -> None:
    taken = await tx.row(
        "SELECT 1 AS it FROM subscription_groups WHERE name = ? AND group_id <> ?",
        group.name,
        group.id,
    )
    if taken is not None:
        raise _name_taken(group.name)


def _name_taken(name: str) -> ConflictError:
    return ConflictError("There is a group of this name already.", name=name)


def _config(shared: GroupValues, spreading: GroupChange | None) -> str:
    """The column `config` holds the shared values, and a change of them that is under way."""
    config: dict[str, Any] = {"shared": shared.as_json()}
    if spreading is not None:
        config["spreading"] = {"before": spreading.before.as_json(), "after": spreading.after}
    return orjson.dumps(config).decode()


def _group_of(row: Row) -> Group:
    config = orjson.loads(row.config) if row.config else {}
    change = config.get("spreading")
    return Group(
        id=row.group_id,
        name=row.name,
        description=row.description,
        shared=GroupValues.from_json(config["shared"]) if "shared" in config else NO_GROUP_VALUES,
        spreading=change and GroupChange(GroupValues.from_json(change["before"]), change["after"]),
        has_credentials=bool(row.has_credentials),
        members=row.members,
        created_at=from_micros(row.created_at),
        updated_at=from_micros(row.updated_at),
    )

"""Conflicts in the database: opened once, decided once, and never forgotten."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

import orjson

from headwater.core.errors import NotFound
from headwater.core.ports import Row, SqlValue, Transaction, View, placeholders
from headwater.core.values.ids import FetcherId
from headwater.core.values.instant import from_micros, maybe_moment, rfc3339, to_micros
from headwater.subscriptions.conflicts.conflict import Conflict
from headwater.subscriptions.subscription_rows import lock_feed_of

_SELECT = (
    "SELECT c.conflict_id, c.subscription_id, s.source_url, c.conflict_type, c.conflict_data,"
    " c.resolution_status, c.resolution_data, c.resolved_at, c.created_at, c.updated_at"
    " FROM subscription_conflicts c JOIN rss_subscriptions s"
    " ON s.subscription_id = c.subscription_id"
)


async def insert_conflict(
    tx: Transaction,
    subscription_id: int,
    type: str,
    candidates: Sequence[FetcherId],
    reason: str,
    now: datetime,
) -> tuple[Conflict, bool]:
    """A new one and True, or the one that is open for this subscription and False."""
    await lock_feed_of(tx, "s.subscription_id = ?", subscription_id)
    facts = {"candidate_fetcher_ids": list(candidates), "conflict_reason": reason}
    inserted = await tx.row(
        "INSERT INTO subscription_conflicts (subscription_id, conflict_type, conflict_data,"
        " resolution_status, created_at, updated_at) VALUES (?, ?, ?, 'unresolved', ?, ?)"
        " ON CONFLICT (subscription_id) WHERE resolution_status = 'unresolved' DO NOTHING"
        " RETURNING conflict_id",
        subscription_id,
        type,
        orjson.dumps(facts).decode(),
        to_micros(now),
        to_micros(now),
    )
    if inserted is not None:
        return await get_conflict(tx, inserted.conflict_id), True
    (conflict,) = await _list_open(tx, subscription_id)
    return conflict, False


async def list_conflicts(
    view: View,
    *,
    status: Literal["unresolved", "resolved", "all"] = "unresolved",
    after: int = 0,
    limit: int,
    subscription_id: int | None = None,
) -> list[Conflict]:
    """In the order they were opened, from the one after `after`."""
    where, values = "c.conflict_id > ?", list[SqlValue]((after,))
    if status != "all":
        where += " AND c.resolution_status = ?"
        values.append(status)
    if subscription_id is not None:
        where += " AND c.subscription_id = ?"
        values.append(subscription_id)
    return await _list_where(view, f"{where} ORDER BY c.conflict_id LIMIT ?", *values, limit)


async def get_conflict(view: View, conflict_id: int, *, lock: bool = False) -> Conflict:
    """`lock` keeps others from deciding it and from changing its subscription until the end."""
    if lock:
        await lock_feed_of(
            view,
            "s.subscription_id ="
            " (SELECT subscription_id FROM subscription_conflicts WHERE conflict_id = ?)",
            conflict_id,
        )
    conflicts = await _list_where(view, "c.conflict_id = ?", conflict_id)
    if not conflicts:
        raise NotFound(f"Conflict not found: {conflict_id}", what="conflict")
    return conflicts[0]


async def set_resolved(
    tx: Transaction,
    conflict: Conflict,
    fetcher_id: FetcherId | None,
    reason: str | None,
    who: str,
    now: datetime,
) -> Conflict:
    """Without a fetcher it is closed without a choice. Only an open one is changed."""
    resolution = {
        "resolved_fetcher_id": fetcher_id,
        "resolved_at": rfc3339(now),
        "resolution_reason": reason,
        "resolved_by": who,
    }
    await tx.run(
        "UPDATE subscription_conflicts SET resolution_status = 'resolved', resolution_data = ?,"
        " resolved_at = ?, updated_at = ?"
        " WHERE conflict_id = ? AND resolution_status = 'unresolved'",
        orjson.dumps(resolution).decode(),
        to_micros(now),
        to_micros(now),
        conflict.id,
    )
    return await get_conflict(tx, conflict.id)


async def close_open_conflicts(
    tx: Transaction, subscription_id: int, reason: str, who: str, now: datetime
) -> list[Conflict]:
    """Closed without a choice: there is nothing left to choose for."""
    return [
        await set_resolved(tx, conflict, None, reason, who, now)
        for conflict in await _list_open(tx, subscription_id)
    ]


async def _list_open(view: View, subscription_id: int) -> list[Conflict]:
    return await _list_where(
        view, "c.subscription_id = ? AND c.resolution_status = 'unresolved'", subscription_id
    )


async def _list_where(view: View, where: str, *values: SqlValue) -> list[Conflict]:
    rows = await view.rows(f"{_SELECT} WHERE {where}", *values)
    facts = [orjson.loads(row.conflict_data) for row in rows]
    fetcher_ids = sorted({number for each in facts for number in each["candidate_fetcher_ids"]})
    names = await _list_fetcher_names(view, fetcher_ids)
    return [_conflict_of(row, each, names) for row, each in zip(rows, facts, strict=True)]


async def _list_fetcher_names(view: View, fetcher_ids: list[int]) -> dict[FetcherId, str]:
    if not fetcher_ids:
        return {}
    rows = await view.rows(
        f"SELECT fetcher_id, name FROM fetcher_modules WHERE fetcher_id IN "
        f"({placeholders(len(fetcher_ids))})",
        *fetcher_ids,
    )
    return {FetcherId(row.fetcher_id): row.name for row in rows}


def _conflict_of(row: Row, facts: dict[str, Any], names: dict[FetcherId, str]) -> Conflict:
    candidates = tuple(FetcherId(number) for number in facts["candidate_fetcher_ids"])
    return Conflict(
        id=row.conflict_id,
        subscription_id=row.subscription_id,
        source_url=row.source_url,
        type=row.conflict_type,
        candidates=candidates,
        reason=facts["conflict_reason"],
        status=row.resolution_status,
        resolution=None if row.resolution_data is None else orjson.loads(row.resolution_data),
        resolved_at=maybe_moment(row.resolved_at),
        created_at=from_micros(row.created_at),
        updated_at=from_micros(row.updated_at),
        candidate_names={each: names[each] for each in candidates if each in names},
    )

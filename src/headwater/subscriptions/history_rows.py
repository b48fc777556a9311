"""The history of decisions about subscriptions in the database, read newest first."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from headwater.core.ports import Row, Transaction, View
from headwater.core.values.instant import from_micros, to_micros

_LATEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One decision. `before` and `after` hold the fetcher and how it was chosen
    (`assignment_facts`), or the values that changed."""

    id: int
    subscription_id: int
    at: datetime
    who: str
    what: str
    why: str | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    conflict_id: int | None


async def insert_history(
    tx: Transaction,
    subscription_id: int,
    *,
    at: datetime,
    who: str,
    what: str,
    why: str | None,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    conflict_id: int | None = None,
) -> None:
    await tx.run(
        "INSERT INTO assignment_history"
        " (subscription_id, at, who, what, why, before, after, conflict_id)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        subscription_id,
        to_micros(at),
        who,
        what,
        why,
        _encode_facts(before),
        _encode_facts(after),
        conflict_id,
    )


async def list_history(
    view: View, subscription_id: int, *, before: int | None = None, limit: int
) -> list[HistoryEntry]:
    """Newest first, from the one before number `before`."""
    rows = await view.rows(
        "SELECT * FROM assignment_history WHERE subscription_id = ? AND id < ?"
        " ORDER BY id DESC LIMIT ?",
        subscription_id,
        _LATEST if before is None else before,
        limit,
    )
    return [_history_entry_of(row) for row in rows]


def _encode_facts(facts: Mapping[str, Any] | None) -> str | None:
    return None if facts is None else orjson.dumps(facts).decode()


def _decode_facts(text: str | None) -> dict[str, Any] | None:
    return None if text is None else orjson.loads(text)


def _history_entry_of(row: Row) -> HistoryEntry:
    return HistoryEntry(
        id=row.id,
        subscription_id=row.subscription_id,
        at=from_micros(row.at),
        who=row.who,
        what=row.what,
        why=row.why,
        before=_decode_facts(row.before),
        after=_decode_facts(row.after),
        conflict_id=row.conflict_id,
    )

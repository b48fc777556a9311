"""What may be asked of the event log: the facts after a number, in order."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from headwater.ports import Reader, Row, Value, marks
from headwater.values.instant import from_micros


@dataclass(frozen=True, slots=True)
class ToldEvent:
    """`seq` orders it, `event_id` is the same in every delivery."""

    seq: int
    event_id: str
    type: str
    at: datetime
    feed_id: str | None
    payload: Any


@dataclass(frozen=True, slots=True)
class Telling:
    """Some events in order. `last_seq` is the newest of the log; read on after `next`.

    A reader who is ahead of the log (it was restored from an older backup) is led back to its end:
    numbers beyond it will be given to new events.
    """

    events: tuple[ToldEvent, ...]
    last_seq: int
    next: int


async def events_after(
    view: Reader,
    after: int,
    *,
    limit: int,
    type: str | None = None,
    feed_id: str | None = None,
    types: Sequence[str] = (),
) -> Telling:
    """The newest number is read first, so that `next` never jumps over an event not yet seen."""
    last = await last_seq(view)
    where, values = "seq > ? AND seq <= ?", list[Value]((after, last))
    for column, wanted in (("type", type), ("feed_id", feed_id)):
        if wanted is not None:
            where += f" AND {column} = ?"
            values.append(wanted)
    if types:
        where += f" AND type IN ({marks(len(types))})"
        values += types
    rows = await view.rows(
        f"SELECT seq, event_id, type, at, feed_id, payload FROM events WHERE {where}"
        " ORDER BY seq LIMIT ?",
        *values,
        limit,
    )
    events = tuple(_event_of(row) for row in rows)
    reached = events[-1].seq if len(events) == limit else last
    return Telling(events, last, reached)


async def last_seq(view: Reader) -> int:
    row = await view.row("SELECT value FROM counters WHERE name = 'events'")
    assert row is not None, "the events counter is missing"
    return int(row.value)


def _event_of(row: Row) -> ToldEvent:
    return ToldEvent(
        row.seq, row.event_id, row.type, from_micros(row.at), row.feed_id, orjson.loads(row.payload)
    )

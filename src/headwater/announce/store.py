"""The event log: one ordered, gap-free sequence, written in the transaction that made the facts."""

from collections.abc import Sequence
from datetime import datetime

import orjson
from uuid_utils import uuid7

from headwater.announce.event import Event
from headwater.ports import Transaction
from headwater.values.instant import to_micros


async def append(tx: Transaction, events: Sequence[Event], now: datetime) -> None:
    """Call last in a transaction: the counter's row lock makes committers take turns from here on.

    Those turns are what makes the order true: a reader who saw number n never meets a smaller
    one later (D3), and a rolled-back transaction takes its numbers back (no gaps).
    """
    if not events:
        return
    counter = await tx.row(
        "UPDATE counters SET value = value + ? WHERE name = 'events' RETURNING value", len(events)
    )
    assert counter is not None, "the events counter is missing"
    first = counter.value - len(events) + 1
    at = to_micros(now)
    await tx.run_many(
        "INSERT INTO events (seq, event_id, type, at, feed_id, payload) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (
                first + place,
                str(uuid7()),
                event.type,
                at,
                event.feed_id,
                orjson.dumps(event.payload).decode(),
            )
            for place, event in enumerate(events)
        ],
    )

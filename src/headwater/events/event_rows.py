"""Event rows in the database: append events in order, and read the events after a number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from uuid_utils import uuid7

from headwater.core.ports import Row, SqlValue, Transaction, View, placeholders
from headwater.core.values.ids import index_key
from headwater.core.values.instant import from_micros, to_micros
from headwater.events.event import Event
from headwater.events.event_filter import EVERYTHING, EventFilter
from headwater.events.event_json import BadPayload, WireEvent, parse_payload, wire_event_of

_COLUMNS = "seq, event_id, type, at, feed_id, payload"
_ENTRY_EVENTS = frozenset({"new_entry", "updated_entry"})

MAX_SCAN = 10_000
"""At most so many numbers are scanned at a time, whatever the filter is."""

_CATEGORY_BATCH = 1_000
"""So many events are read at a time where the database alone cannot apply the filter."""

_DISORDER = 3_600_000_000
"""Moments in the log may be out of order by so many microseconds: commits take their turns after
they looked at the clock, and clocks are corrected."""


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event of the log. `seq` orders it; `event_id` is the same in every delivery."""

    seq: int
    event_id: str
    type: str
    at: datetime
    feed_id: str | None
    payload: Any


@dataclass(frozen=True, slots=True)
class LoggedEvents:
    """Some events in order. `last_seq` is the newest of the log; read on after `next`.

    A reader who is ahead of the log (it was restored from an older backup) is led back to its end:
    new events will get the numbers beyond it.
    """

    events: tuple[LoggedEvent, ...]
    last_seq: int
    next: int


@dataclass(frozen=True, slots=True)
class DamagedEvent:
    """An event whose row is damaged: it can be sent to nobody."""

    seq: int
    event_id: str
    type: str
    detail: str


@dataclass(frozen=True, slots=True)
class LogPage:
    """The events of a stretch of the log that a filter admits, in order, and the damaged ones.

    Everything up to `next` was looked at, so a page without events need not be the end: at the
    end `next` is `last_seq`. A reader ahead of the log is led back, as in `LoggedEvents`.
    """

    parcels: tuple[WireEvent, ...]
    unreadable: tuple[DamagedEvent, ...]
    last_seq: int
    next: int

    @property
    def is_the_end(self) -> bool:
        return self.next >= self.last_seq


async def read_events(
    view: View,
    after: int,
    *,
    limit: int,
    types: Sequence[str] = (),
    feeds: Sequence[str] = (),
) -> LoggedEvents:
    """Read events of these types and feeds; where none is named, of all.

    The newest number is read first, so that `next` never jumps over an event not yet seen.

    An event whose row is damaged is left out: otherwise no reader would get past it.
    """
    last = await get_last_seq(view)
    where, values = "seq > ? AND seq <= ?", list[SqlValue]((after, last))
    for column, names in (("type", types), ("feed_id", feeds)):
        if names:
            where += f" AND {column} IN ({placeholders(len(names))})"
            values += names
    rows = await view.rows(
        f"SELECT seq, event_id, type, at, feed_id, payload FROM events WHERE {where}"
        " ORDER BY seq LIMIT ?",
        *values,
        limit,
    )
    events = (_event_of(row) for row in rows)
    reached = rows[-1].seq if len(rows) == limit else last
    return LoggedEvents(tuple(event for event in events if event is not None), last, reached)


async def read_wire_events(
    view: View, after: int, *, limit: int, wanted: EventFilter = EVERYTHING
) -> LogPage:
    """Read at most `limit` events that the filter admits, from a stretch of bounded length."""
    last = await get_last_seq(view)
    end = min(last, after + MAX_SCAN)
    if end <= after:
        return LogPage((), (), last, last)
    if not (wanted.categories or wanted.categorised):
        rows = await _list_stretch(view, after, end, wanted, limit)
        return _log_page_of(rows, last, rows[-1].seq if len(rows) == limit else end)
    batch = max(limit, _CATEGORY_BATCH)
    rows = await _list_stretch(view, after, end, wanted, batch)
    looked_at = rows[-1].seq if len(rows) == batch else end
    chosen = await _of_categorised(view, rows) if wanted.categorised else rows
    if wanted.categories:
        chosen = await _of_categories(view, chosen, frozenset(wanted.categories))
    reached = chosen[limit - 1].seq if len(chosen) > limit else looked_at
    return _log_page_of(chosen[:limit], last, reached)


async def read_wire_events_at(view: View, seqs: Sequence[int]) -> LogPage:
    """Read the events of these numbers, in order. A number that is not in the log is left out."""
    last = await get_last_seq(view)
    if not seqs:
        return LogPage((), (), last, last)
    rows = await view.rows(
        f"SELECT {_COLUMNS} FROM events WHERE seq IN ({placeholders(len(seqs))}) ORDER BY seq",
        *seqs,
    )
    return _log_page_of(rows, last, last)


async def last_seq_before(view: View, moment: int) -> int:
    """The last number before that moment (in microseconds): a reader who reads on after it misses
    no event of that moment or later."""
    last = await get_last_seq(view)
    below = 0
    above: int | None = last + 1
    while above is not None:
        below = await _last_before(view, above, moment - _DISORDER)
        # Events that were stamped by a clock behind time must not hide the events before them.
        above = await _first_at(view, below - MAX_SCAN, below, moment)
    first = await _first_at(view, below, last, moment)
    return last if first is None else first - 1


async def _last_before(view: View, above: int, moment: int) -> int:
    below = 0
    while above - below > 1:
        middle = (below + above) // 2
        if await _is_older_than(view, middle, moment):
            below = middle
        else:
            above = middle
    return below


async def _first_at(view: View, after: int, end: int, moment: int) -> int | None:
    row = await view.row(
        "SELECT seq FROM events WHERE seq > ? AND seq <= ? AND at >= ? ORDER BY seq LIMIT 1",
        after,
        end,
        moment,
    )
    return None if row is None else int(row.seq)


async def get_last_seq(view: View) -> int:
    row = await view.row("SELECT value FROM counters WHERE name = 'events'")
    assert row is not None, "the events counter is missing"
    return int(row.value)


def _event_of(row: Row) -> LoggedEvent | None:
    """None when the row is damaged."""
    try:
        payload, at = parse_payload(str(row.payload)), from_micros(row.at)
    except (ValueError, OverflowError):
        return None
    return LoggedEvent(row.seq, row.event_id, row.type, at, row.feed_id, payload)


async def _list_stretch(
    view: View, after: int, end: int, event_filter: EventFilter, limit: int
) -> Sequence[Row]:
    where, values = "seq > ? AND seq <= ?", list[SqlValue]((after, end))
    for column, names in (("type", event_filter.types), ("feed_id", event_filter.feeds)):
        if names:
            where += f" AND {column} IN ({placeholders(len(names))})"
            values += names
    if event_filter.tracked:
        where += " AND feed_id IN (SELECT feed_id FROM trackings WHERE enabled)"
    return await view.rows(
        f"SELECT {_COLUMNS} FROM events WHERE {where} ORDER BY seq LIMIT ?", *values, limit
    )


async def _is_older_than(view: View, seq: int, moment: int) -> bool:
    row = await view.row("SELECT at FROM events WHERE seq = ?", seq)
    return row is not None and row.at < moment


def _log_page_of(rows: Sequence[Row], last: int, reached: int) -> LogPage:
    events, unreadable = list[WireEvent](), list[DamagedEvent]()
    for row in rows:
        try:
            # A damaged row may hold a value of any type. As text it is JSON or it is not.
            events.append(
                wire_event_of(
                    row.seq, row.event_id, row.type, row.at, row.feed_id, str(row.payload)
                )
            )
        except BadPayload as trouble:
            unreadable.append(DamagedEvent(row.seq, row.event_id, row.type, trouble.message))
    return LogPage(tuple(events), tuple(unreadable), last, reached)


async def _of_categorised(view: View, rows: Sequence[Row]) -> Sequence[Row]:
    feeds = await _list_feeds_of(view, rows)
    categorised = {id for id, feed in feeds.items() if _decode_categories(feed.categories)}
    return [row for row in rows if row.feed_id in categorised]


class _EntryKey(NamedTuple):
    """An entry that an event names. `uid` is None where the event's row is damaged."""

    feed: int
    uid: str | None


async def _of_categories(
    view: View, rows: Sequence[Row], categories: frozenset[str]
) -> Sequence[Row]:
    """The feed's own categories are compared first: only the other feeds' entries need a look."""
    feeds = await _list_feeds_of(view, rows)
    matching = {
        id for id, feed in feeds.items() if categories & _decode_categories(feed.categories)
    }
    entries = {
        row.seq: _EntryKey(feeds[row.feed_id].id, _entry_uid(row.payload))
        for row in rows
        if row.type in _ENTRY_EVENTS and row.feed_id in feeds and row.feed_id not in matching
    }
    admitted = await _entries_of_categories(view, set(entries.values()), categories)
    return [row for row in rows if row.feed_id in matching or entries.get(row.seq) in admitted]


async def _list_feeds_of(view: View, rows: Sequence[Row]) -> Mapping[str, Row]:
    feed_ids = sorted({row.feed_id for row in rows if row.feed_id is not None})
    if not feed_ids:
        return {}
    feeds = await view.rows(
        "SELECT id, feed_id, categories FROM feeds"
        f" WHERE feed_id IN ({placeholders(len(feed_ids))})",
        *feed_ids,
    )
    return {feed.feed_id: feed for feed in feeds}


async def _entries_of_categories(
    view: View, entries: set[_EntryKey], categories: frozenset[str]
) -> set[_EntryKey]:
    """Entries that have one of the categories, and entries whose event is damaged."""
    unknown = {entry for entry in entries if entry.uid is None}
    keys = sorted({index_key(entry.uid) for entry in entries if entry.uid is not None})
    if not keys:
        return unknown
    rows = await view.rows(
        f"SELECT feed_id, entry_uid, categories FROM entries WHERE uid_key IN "
        f"({placeholders(len(keys))})",
        *keys,
    )
    matching = {
        _EntryKey(row.feed_id, row.entry_uid)
        for row in rows
        if categories & _decode_categories(row.categories)
    }
    return unknown | (matching & entries)


def _decode_categories(stored: str) -> frozenset[str]:
    return frozenset(name for name in orjson.loads(stored) if isinstance(name, str))


def _entry_uid(payload_json: str) -> str | None:
    """None for a damaged row: the reader must see such an event to set it aside."""
    try:
        payload = orjson.loads(payload_json)
    except ValueError:
        return None
    uid = payload.get("entry_uid") if isinstance(payload, dict) else None
    return uid if isinstance(uid, str) else None


async def append_events(tx: Transaction, events: Sequence[Event], now: datetime) -> None:
    """Append events. Call this last in a transaction: from here on the counter's row lock makes
    committers take turns.

    Those turns keep the order: a reader who saw number n never meets a smaller one later (D3).
    A transaction that is rolled back takes its numbers back, so there are no gaps.
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

"""Events in the database: appended in order, and read after a number."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

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
"""So many numbers are looked through at a time, whatever is wanted of them."""

_GLANCE = 1_000
"""So many events are read at a time where the database cannot say which are wanted."""

_DISORDER = 3_600_000_000
"""Commits take turns after they looked at the clock, and clocks are corrected: moments in the log
are in order but for this much, in microseconds."""


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """`seq` orders it, `event_id` is the same in every delivery."""

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
    numbers beyond it will be given to new events.
    """

    events: tuple[LoggedEvent, ...]
    last_seq: int
    next: int


@dataclass(frozen=True, slots=True)
class DamagedEvent:
    """An event whose row is damaged: it can be told to nobody."""

    seq: int
    event_id: str
    type: str
    detail: str


@dataclass(frozen=True, slots=True)
class LogPage:
    """What is wanted of a stretch of the log, in order, and what of it cannot be read.

    Everything up to `next` was looked at, so that a page without parcels need not be the end:
    that is where `next` is `last_seq`. A reader ahead of the log is led back, as in `LoggedEvents`.
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
    """Of these types and feeds; where none is named, of all.

    The newest number is read first, so that `next` never jumps over an event not yet seen.

    One whose row is damaged is left out, lest nobody come past it.
    """
    last = await get_last_seq(view)
    where, values = "seq > ? AND seq <= ?", list[SqlValue]((after, last))
    for column, wanted in (("type", types), ("feed_id", feeds)):
        if wanted:
            where += f" AND {column} IN ({placeholders(len(wanted))})"
            values += wanted
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
    """At most `limit` of them, out of a stretch of bounded length."""
    last = await get_last_seq(view)
    end = min(last, after + MAX_SCAN)
    if end <= after:
        return LogPage((), (), last, last)
    if not (wanted.categories or wanted.categorised):
        rows = await _stretch(view, after, end, wanted, limit)
        return _page(rows, last, rows[-1].seq if len(rows) == limit else end)
    glance = max(limit, _GLANCE)
    rows = await _stretch(view, after, end, wanted, glance)
    looked_at = rows[-1].seq if len(rows) == glance else end
    chosen = await _of_categorised(view, rows) if wanted.categorised else rows
    if wanted.categories:
        chosen = await _of_categories(view, chosen, frozenset(wanted.categories))
    return _page(chosen[:limit], last, chosen[limit - 1].seq if len(chosen) > limit else looked_at)


async def read_wire_events_at(view: View, seqs: Sequence[int]) -> LogPage:
    """The events of these numbers, in order. What is not in the log is not in the answer."""
    last = await get_last_seq(view)
    if not seqs:
        return LogPage((), (), last, last)
    rows = await view.rows(
        f"SELECT {_COLUMNS} FROM events WHERE seq IN ({placeholders(len(seqs))}) ORDER BY seq",
        *seqs,
    )
    return _page(rows, last, last)


async def last_seq_before(view: View, moment: int) -> int:
    """The last number before that moment (in microseconds): whoever reads on after it misses
    nothing that was told then or later."""
    last = await get_last_seq(view)
    below = 0
    above: int | None = last + 1
    while above is not None:
        below = await _last_before(view, above, moment - _DISORDER)
        # What a clock told that was behind for a while must not hide what came before it.
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
    """None when its row is damaged."""
    try:
        payload, at = parse_payload(str(row.payload)), from_micros(row.at)
    except (ValueError, OverflowError):
        return None
    return LoggedEvent(row.seq, row.event_id, row.type, at, row.feed_id, payload)


async def _stretch(
    view: View, after: int, end: int, wanted: EventFilter, limit: int
) -> Sequence[Row]:
    where, values = "seq > ? AND seq <= ?", list[SqlValue]((after, end))
    for column, named in (("type", wanted.types), ("feed_id", wanted.feeds)):
        if named:
            where += f" AND {column} IN ({placeholders(len(named))})"
            values += named
    if wanted.tracked:
        where += " AND feed_id IN (SELECT feed_id FROM trackings WHERE enabled)"
    return await view.rows(
        f"SELECT {_COLUMNS} FROM events WHERE {where} ORDER BY seq LIMIT ?", *values, limit
    )


async def _is_older_than(view: View, seq: int, moment: int) -> bool:
    row = await view.row("SELECT at FROM events WHERE seq = ?", seq)
    return row is not None and row.at < moment


def _page(rows: Sequence[Row], last: int, reached: int) -> LogPage:
    parcels, unreadable = list[WireEvent](), list[DamagedEvent]()
    for row in rows:
        try:
            # A damaged row may hold anything: as text it is JSON or it is not.
            parcels.append(
                wire_event_of(
                    row.seq, row.event_id, row.type, row.at, row.feed_id, str(row.payload)
                )
            )
        except BadPayload as trouble:
            unreadable.append(DamagedEvent(row.seq, row.event_id, row.type, trouble.message))
    return LogPage(tuple(parcels), tuple(unreadable), last, reached)


async def _of_categorised(view: View, rows: Sequence[Row]) -> Sequence[Row]:
    feeds = await _feeds_of(view, rows)
    whole = {name for name, feed in feeds.items() if _listed(feed.categories)}
    return [row for row in rows if row.feed_id in whole]


async def _of_categories(view: View, rows: Sequence[Row], wanted: frozenset[str]) -> Sequence[Row]:
    """The feed's own categories are asked first: only other events' entries need a look."""
    feeds = await _feeds_of(view, rows)
    whole = {name for name, feed in feeds.items() if wanted & _listed(feed.categories)}
    entries = {
        row.seq: (feeds[row.feed_id].id, _entry_uid(row.payload))
        for row in rows
        if row.type in _ENTRY_EVENTS and row.feed_id in feeds and row.feed_id not in whole
    }
    held = await _entries_held(view, set(entries.values()), wanted)
    return [row for row in rows if row.feed_id in whole or entries.get(row.seq) in held]


async def _feeds_of(view: View, rows: Sequence[Row]) -> Mapping[str, Row]:
    named = sorted({row.feed_id for row in rows if row.feed_id is not None})
    if not named:
        return {}
    found = await view.rows(
        f"SELECT id, feed_id, categories FROM feeds WHERE feed_id IN ({placeholders(len(named))})",
        *named,
    )
    return {row.feed_id: row for row in found}


async def _entries_held(
    view: View, entries: set[tuple[int, str | None]], wanted: frozenset[str]
) -> set[tuple[int, str | None]]:
    """Those (feed, uid) that have one of the categories, and those nobody can tell of."""
    unknown = {entry for entry in entries if entry[1] is None}
    keys = sorted({index_key(uid) for _, uid in entries if uid is not None})
    if not keys:
        return unknown
    rows = await view.rows(
        f"SELECT feed_id, entry_uid, categories FROM entries WHERE uid_key IN "
        f"({placeholders(len(keys))})",
        *keys,
    )
    held = {(row.feed_id, row.entry_uid) for row in rows if wanted & _listed(row.categories)}
    return unknown | (held & entries)


def _listed(categories: str) -> frozenset[str]:
    return frozenset(name for name in orjson.loads(categories) if isinstance(name, str))


def _entry_uid(payload: str) -> str | None:
    """None for a damaged row: it must be seen to be set aside."""
    try:
        said = orjson.loads(payload)
    except ValueError:
        return None
    uid = said.get("entry_uid") if isinstance(said, dict) else None
    return uid if isinstance(uid, str) else None


async def append_events(tx: Transaction, events: Sequence[Event], now: datetime) -> None:
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

"""Entries in the database: what a group of visits knows, and what it writes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import TypeVar

import orjson

from headwater.core.ports import SqlValue, Transaction, placeholders
from headwater.core.values.ids import FeedPk, index_key
from headwater.core.values.instant import to_micros
from headwater.feeds.entries.entry import KnownEntry, NormalisedEntry, order_moment
from headwater.feeds.entries.entry_changes import MergeChanges

T = TypeVar("T")

_IN_ONE_QUERY = 400
"""Values in one IN list; SQLite and PostgreSQL both take far more, plans get no better."""


@dataclass(slots=True)
class KnownEntries:
    """What is known of one feed's entries: those of its newest document and those asked for.

    An alias that a person has undone stands for itself, and is never guessed at again.
    """

    known: dict[bytes, KnownEntry] = field(default_factory=dict)
    aliases: dict[bytes, bytes] = field(default_factory=dict)


NOTHING_KNOWN = KnownEntries()
"""Of a feed without a document, or on its first one. Nobody writes into it."""


@dataclass(frozen=True, slots=True)
class EntriesToSave:
    """One feed's changes with what is needed to write them.

    `before` is how many documents had been seen before this one, `seen_before_at` when the last
    of them was; this one is number `before + 1`.
    """

    feed: FeedPk
    changes: MergeChanges
    fetch_id: str
    now: int
    before: int
    seen_before_at: int | None


async def list_known_entries(
    tx: Transaction, shown: Sequence[tuple[FeedPk, Sequence[NormalisedEntry]]]
) -> dict[FeedPk, KnownEntries]:
    """One memory per feed, read in a few queries for the whole group."""
    memories = {feed: KnownEntries() for feed, _ in shown}
    for some in _slices(list(memories)):
        await _load_present(tx, some, memories)
        await _load_aliases(tx, some, memories)
    for feed, entries in shown:
        await _load_absent(tx, feed, entries, memories[feed])
    return memories


async def list_feeds_with_entries(tx: Transaction, feeds: Sequence[FeedPk]) -> set[FeedPk]:
    """Those of these feeds that have any entry."""
    there: set[FeedPk] = set()
    for some in _slices(list(feeds)):
        rows = await tx.rows(
            f"SELECT id FROM feeds WHERE id IN ({placeholders(len(some))})"
            " AND EXISTS (SELECT 1 FROM entries e WHERE e.feed_id = feeds.id)",
            *some,
        )
        there.update(FeedPk(row.id) for row in rows)
    return there


async def _load_present(
    tx: Transaction, feeds: Sequence[FeedPk], memories: dict[FeedPk, KnownEntries]
) -> None:
    rows = await tx.rows(
        "SELECT feed_id, entry_uid, uid_key, link_key, content_hash, version, present_since"
        f" FROM entries WHERE present_since IS NOT NULL AND feed_id IN "
        f"({placeholders(len(feeds))})",
        *feeds,
    )
    for row in rows:
        memories[row.feed_id].known[row.uid_key] = KnownEntry(*row[1:])


async def _load_aliases(
    tx: Transaction, feeds: Sequence[FeedPk], memories: dict[FeedPk, KnownEntries]
) -> None:
    rows = await tx.rows(
        "SELECT feed_id, alias_key, uid_key, undone_at FROM entry_aliases"
        f" WHERE feed_id IN ({placeholders(len(feeds))})",
        *feeds,
    )
    for row in rows:
        meant = row.uid_key if row.undone_at is None else row.alias_key
        memories[row.feed_id].aliases[row.alias_key] = meant


async def _load_absent(
    tx: Transaction, feed: FeedPk, entries: Sequence[NormalisedEntry], memory: KnownEntries
) -> None:
    """Entries that were away and may be back: under their own uid, or the one it stands for."""
    named = {entry.uid_key for entry in entries}
    named |= {memory.aliases[key] for key in named & memory.aliases.keys()}
    for keys in _slices(sorted(named - memory.known.keys())):
        rows = await tx.rows(
            "SELECT entry_uid, uid_key, link_key, content_hash, version, present_since FROM entries"
            f" WHERE feed_id = ? AND uid_key IN ({placeholders(len(keys))})",
            feed,
            *keys,
        )
        for row in rows:
            memory.known[row.uid_key] = KnownEntry(*row)


async def save_entries(tx: Transaction, group: Sequence[EntriesToSave]) -> None:
    """Only what changed is written; an unchanged entry costs nothing."""
    await _insert_new(tx, group)
    await _keep_versions(tx, group)
    await _rewrite_edited(tx, group)
    await _record_aliases(tx, group)
    await _move_presence(tx, group)


_TEXT = (
    "link", "link_key", "title", "summary", "content", "authors", "categories", "enclosures",
    "details", "published", "updated", "content_hash",
)  # fmt: skip
_text_of = attrgetter(*_TEXT)
_TEXT_COLUMNS = ("canonical_link", *_TEXT[1:])
_OTHER_NAMES = {
    "uid": "entry_uid", "link": "canonical_link", "offset": "frag_offset", "length": "frag_length",
}  # fmt: skip
_ENTRY_COLUMNS = tuple(_OTHER_NAMES.get(name, name) for name in NormalisedEntry._fields)


async def _insert_new(tx: Transaction, group: Sequence[EntriesToSave]) -> None:
    columns = (
        "feed_id", *_ENTRY_COLUMNS, "sort_at", "first_seen", "version", "present_since",
        "seen_before", "last_seen", "fetch_id",
    )  # fmt: skip
    await tx.run_many(
        f"INSERT INTO entries ({', '.join(columns)}) VALUES ({placeholders(len(columns))})",
        [
            _new_row(entry, place, merged)
            for merged in group
            for place, entry in enumerate(merged.changes.new)
        ],
    )


def _new_row(entry: NormalisedEntry, place: int, merged: EntriesToSave) -> tuple[SqlValue, ...]:
    """An entry stands in it as it is: its fields are in the columns' order.

    Undated entries of one document keep its order, a microsecond apart.
    """
    now = merged.now
    sort_at = order_moment(entry.published, entry.updated, now - place)
    return (merged.feed, *entry, sort_at, now, 1, merged.before + 1, 0, now, merged.fetch_id)


async def _keep_versions(tx: Transaction, group: Sequence[EntriesToSave]) -> None:
    """The text an edit replaces, as it stands in the database, with the raw it came from."""
    rows = [
        await _replaced(tx, merged, known) for merged in group for _, known in merged.changes.edited
    ]
    await tx.run_many(
        "INSERT INTO entry_versions (feed_id, uid_key, version, replaced_at, content_hash,"
        f" snapshot, fetch_id, frag_offset, frag_length) VALUES ({placeholders(9)})",
        rows,
    )


async def _replaced(
    tx: Transaction, merged: EntriesToSave, known: KnownEntry
) -> tuple[SqlValue, ...]:
    columns = ", ".join((*_TEXT_COLUMNS, "fetch_id", "frag_offset", "frag_length"))
    old = await tx.row(
        f"SELECT {columns} FROM entries WHERE feed_id = ? AND uid_key = ?",
        merged.feed,
        known.uid_key,
    )
    assert old is not None, "an edited entry has just been read in this transaction"
    kept = {name: getattr(old, name) for name in _TEXT_COLUMNS if name not in _NOT_KEPT}
    snapshot = orjson.dumps(kept).decode()
    place = (merged.feed, known.uid_key, known.version, merged.now)
    return (*place, old.content_hash, snapshot, old.fetch_id, old.frag_offset, old.frag_length)


_NOT_KEPT = {"link_key", "content_hash"}
"""A key can be made again from its link; the hash has a column of its own."""


async def _rewrite_edited(tx: Transaction, group: Sequence[EntriesToSave]) -> None:
    """first_seen, sort_at and the uid stay: identity and order do not move (E2)."""
    columns = (*_TEXT_COLUMNS, "version", "fetch_id", "frag_offset", "frag_length")
    assignments = ", ".join(f"{column} = ?" for column in columns)
    await tx.run_many(
        f"UPDATE entries SET {assignments} WHERE feed_id = ? AND uid_key = ?",
        [
            (
                *_text_of(entry),
                known.version + 1,
                merged.fetch_id,
                entry.offset,
                entry.length,
                merged.feed,
                known.uid_key,
            )
            for merged in group
            for entry, known in merged.changes.edited
        ],
    )


async def _record_aliases(tx: Transaction, group: Sequence[EntriesToSave]) -> None:
    await tx.run_many(
        "INSERT INTO entry_aliases (feed_id, alias_key, alias_uid, uid_key, fetch_id, made_at)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (feed_id, alias_key) DO UPDATE SET"
        " uid_key = excluded.uid_key, fetch_id = excluded.fetch_id,"
        " made_at = excluded.made_at, undone_at = NULL",
        [
            (
                merged.feed,
                d.entry.uid_key,
                d.entry.uid,
                d.known.uid_key,
                merged.fetch_id,
                merged.now,
            )
            for merged in group
            for d in merged.changes.drifted
        ],
    )


async def undo_alias(tx: Transaction, of: FeedPk, alias_uid: str, now: datetime) -> bool:
    """The row stays, so that the same guess is not made again; False when there is none."""
    touched = await tx.run(
        "UPDATE entry_aliases SET undone_at = coalesce(undone_at, ?)"
        " WHERE feed_id = ? AND alias_key = ?",
        to_micros(now),
        of,
        index_key(alias_uid),
    )
    return touched == 1


async def _move_presence(tx: Transaction, group: Sequence[EntriesToSave]) -> None:
    """Runs of presence begin and end; in between, counting is arithmetic.

    An entry hidden by a document that ends early ends its run too, and begins the next one with
    the document to come: `seen_count` is the number of documents that really showed it, and
    `last_seen` the moment of the last of them, while it still counts as present. A run that was
    put off like this and never began adds nothing, and leaves `last_seen` as it is.
    """
    await tx.run_many(
        "UPDATE entries SET present_since = ? WHERE feed_id = ? AND uid_key = ?",
        [
            (merged.before + 1, merged.feed, known.uid_key)
            for merged in group
            for known in merged.changes.returned
        ],
    )
    ended = [(merged, known, None) for merged in group for known in merged.changes.left]
    paused = [
        (merged, known, merged.before + 2) for merged in group for known in merged.changes.hidden
    ]
    await tx.run_many(
        "UPDATE entries SET last_seen = CASE WHEN present_since <= ? THEN CAST(? AS BIGINT)"
        " ELSE last_seen END, seen_before = seen_before + ? - present_since, present_since = ?"
        " WHERE feed_id = ? AND uid_key = ?",
        [
            (
                merged.before,
                merged.seen_before_at,
                merged.before + 1,
                present_since,
                merged.feed,
                known.uid_key,
            )
            for merged, known, present_since in (*ended, *paused)
        ],
    )


async def set_away(tx: Transaction, feed: FeedPk, keys: Sequence[bytes], seen: int) -> None:
    """Entries of an older document, just inserted: seen once, then, and not in the newest one."""
    await tx.run_many(
        "UPDATE entries SET present_since = NULL, seen_before = 1, last_seen = ?"
        " WHERE feed_id = ? AND uid_key = ?",
        [(seen, feed, key) for key in keys],
    )


def _slices(values: list[T]) -> list[list[T]]:
    return [values[i : i + _IN_ONE_QUERY] for i in range(0, len(values), _IN_ONE_QUERY)]

"""Entries in the database: the known ones of some feeds, and the changes that visits write."""

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
    """The known entries of one feed: those of its newest document and those that are looked up.

    An alias that a person has undone stands for itself, and is never guessed again.
    """

    known: dict[bytes, KnownEntry] = field(default_factory=dict)
    aliases: dict[bytes, bytes] = field(default_factory=dict)


NOTHING_KNOWN = KnownEntries()
"""For a feed that has no entries yet. It is shared: nothing may be written into it."""


@dataclass(frozen=True, slots=True)
class EntriesToSave:
    """The changes of one feed, and the facts needed to write them.

    `before` is how many documents had been seen before this one, `seen_before_at` when the last
    of them was seen; this one is number `before + 1`.
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
    """The known entries of each feed, read in a few queries for the whole group."""
    by_feed = {feed: KnownEntries() for feed, _ in shown}
    for batch in _slices(list(by_feed)):
        await _load_present(tx, batch, by_feed)
        await _load_aliases(tx, batch, by_feed)
    for feed, entries in shown:
        await _load_absent(tx, feed, entries, by_feed[feed])
    return by_feed


async def list_feeds_with_entries(tx: Transaction, feeds: Sequence[FeedPk]) -> set[FeedPk]:
    """The feeds among these that have any entry."""
    with_entries: set[FeedPk] = set()
    for batch in _slices(list(feeds)):
        rows = await tx.rows(
            f"SELECT id FROM feeds WHERE id IN ({placeholders(len(batch))})"
            " AND EXISTS (SELECT 1 FROM entries e WHERE e.feed_id = feeds.id)",
            *batch,
        )
        with_entries.update(FeedPk(row.id) for row in rows)
    return with_entries


async def _load_present(
    tx: Transaction, feeds: Sequence[FeedPk], by_feed: dict[FeedPk, KnownEntries]
) -> None:
    rows = await tx.rows(
        "SELECT feed_id, entry_uid, uid_key, link_key, content_hash, version, present_since"
        f" FROM entries WHERE present_since IS NOT NULL AND feed_id IN "
        f"({placeholders(len(feeds))})",
        *feeds,
    )
    for row in rows:
        by_feed[row.feed_id].known[row.uid_key] = KnownEntry(*row[1:])


async def _load_aliases(
    tx: Transaction, feeds: Sequence[FeedPk], by_feed: dict[FeedPk, KnownEntries]
) -> None:
    rows = await tx.rows(
        "SELECT feed_id, alias_key, uid_key, undone_at FROM entry_aliases"
        f" WHERE feed_id IN ({placeholders(len(feeds))})",
        *feeds,
    )
    for row in rows:
        uid_key = row.uid_key if row.undone_at is None else row.alias_key
        by_feed[row.feed_id].aliases[row.alias_key] = uid_key


async def _load_absent(
    tx: Transaction, feed: FeedPk, entries: Sequence[NormalisedEntry], known_entries: KnownEntries
) -> None:
    """Entries that were away and may be back, under their own uid or the uid it is an alias of."""
    named = {entry.uid_key for entry in entries}
    named |= {known_entries.aliases[key] for key in named & known_entries.aliases.keys()}
    for keys in _slices(sorted(named - known_entries.known.keys())):
        rows = await tx.rows(
            "SELECT entry_uid, uid_key, link_key, content_hash, version, present_since FROM entries"
            f" WHERE feed_id = ? AND uid_key IN ({placeholders(len(keys))})",
            feed,
            *keys,
        )
        for row in rows:
            known_entries.known[row.uid_key] = KnownEntry(*row)


async def save_entries(tx: Transaction, group: Sequence[EntriesToSave]) -> None:
    """Write the changes only; an unchanged entry costs nothing."""
    await _insert_new(tx, group)
    await _keep_versions(tx, group)
    await _rewrite_edited(tx, group)
    await _record_aliases(tx, group)
    await _move_presence(tx, group)


_TEXT_FIELDS = (
    "link", "link_key", "title", "summary", "content", "authors", "categories", "enclosures",
    "details", "published", "updated", "content_hash",
)  # fmt: skip
_text_of = attrgetter(*_TEXT_FIELDS)
_TEXT_COLUMNS = ("canonical_link", *_TEXT_FIELDS[1:])
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
            _new_row(entry, place, to_save)
            for to_save in group
            for place, entry in enumerate(to_save.changes.new)
        ],
    )


def _new_row(entry: NormalisedEntry, place: int, to_save: EntriesToSave) -> tuple[SqlValue, ...]:
    """The fields of an entry are in the order of the columns.

    Undated entries of one document keep its order, a microsecond apart.
    """
    now = to_save.now
    sort_at = order_moment(entry.published, entry.updated, now - place)
    return (to_save.feed, *entry, sort_at, now, 1, to_save.before + 1, 0, now, to_save.fetch_id)


async def _keep_versions(tx: Transaction, group: Sequence[EntriesToSave]) -> None:
    """Keep the text that an edit replaces, as it is in the database, and the raw it came from."""
    rows = [
        await _replaced(tx, to_save, known)
        for to_save in group
        for _, known in to_save.changes.edited
    ]
    await tx.run_many(
        "INSERT INTO entry_versions (feed_id, uid_key, version, replaced_at, content_hash,"
        f" snapshot, fetch_id, frag_offset, frag_length) VALUES ({placeholders(9)})",
        rows,
    )


async def _replaced(
    tx: Transaction, to_save: EntriesToSave, known: KnownEntry
) -> tuple[SqlValue, ...]:
    columns = ", ".join((*_TEXT_COLUMNS, "fetch_id", "frag_offset", "frag_length"))
    old = await tx.row(
        f"SELECT {columns} FROM entries WHERE feed_id = ? AND uid_key = ?",
        to_save.feed,
        known.uid_key,
    )
    assert old is not None, "an edited entry has just been read in this transaction"
    kept = {name: getattr(old, name) for name in _TEXT_COLUMNS if name not in _NOT_IN_SNAPSHOT}
    snapshot = orjson.dumps(kept).decode()
    place = (to_save.feed, known.uid_key, known.version, to_save.now)
    return (*place, old.content_hash, snapshot, old.fetch_id, old.frag_offset, old.frag_length)


_NOT_IN_SNAPSHOT = {"link_key", "content_hash"}
"""A key can be made again from its link; the hash has a column of its own."""


async def _rewrite_edited(tx: Transaction, group: Sequence[EntriesToSave]) -> None:
    """An edit leaves first_seen, sort_at and the uid: identity and order do not change (E2)."""
    columns = (*_TEXT_COLUMNS, "version", "fetch_id", "frag_offset", "frag_length")
    assignments = ", ".join(f"{column} = ?" for column in columns)
    await tx.run_many(
        f"UPDATE entries SET {assignments} WHERE feed_id = ? AND uid_key = ?",
        [
            (
                *_text_of(entry),
                known.version + 1,
                to_save.fetch_id,
                entry.offset,
                entry.length,
                to_save.feed,
                known.uid_key,
            )
            for to_save in group
            for entry, known in to_save.changes.edited
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
                to_save.feed,
                drift.entry.uid_key,
                drift.entry.uid,
                drift.known.uid_key,
                to_save.fetch_id,
                to_save.now,
            )
            for to_save in group
            for drift in to_save.changes.drifted
        ],
    )


async def undo_alias(tx: Transaction, of: FeedPk, alias_uid: str, now: datetime) -> bool:
    """The row stays, so that the same guess is not made again.

    False when there is no such alias.
    """
    touched = await tx.run(
        "UPDATE entry_aliases SET undone_at = coalesce(undone_at, ?)"
        " WHERE feed_id = ? AND alias_key = ?",
        to_micros(now),
        of,
        index_key(alias_uid),
    )
    return touched == 1


async def _move_presence(tx: Transaction, group: Sequence[EntriesToSave]) -> None:
    """Begin and end runs of presence; within a run, counting is arithmetic.

    When a document that ends early hides an entry, the entry's run ends too, and the next run
    begins with the document to come: `seen_count` is the number of documents that really showed
    the entry, and `last_seen` the moment of the last of them, while it still counts as present. A
    run that was put off like this and never began adds nothing, and leaves `last_seen` as it is.
    """
    await tx.run_many(
        "UPDATE entries SET present_since = ? WHERE feed_id = ? AND uid_key = ?",
        [
            (to_save.before + 1, to_save.feed, known.uid_key)
            for to_save in group
            for known in to_save.changes.returned
        ],
    )
    ended = [(to_save, known, None) for to_save in group for known in to_save.changes.left]
    paused = [
        (to_save, known, to_save.before + 2)
        for to_save in group
        for known in to_save.changes.hidden
    ]
    await tx.run_many(
        "UPDATE entries SET last_seen = CASE WHEN present_since <= ? THEN CAST(? AS BIGINT)"
        " ELSE last_seen END, seen_before = seen_before + ? - present_since, present_since = ?"
        " WHERE feed_id = ? AND uid_key = ?",
        [
            (
                to_save.before,
                to_save.seen_before_at,
                to_save.before + 1,
                present_since,
                to_save.feed,
                known.uid_key,
            )
            for to_save, known, present_since in (*ended, *paused)
        ],
    )


async def set_away(tx: Transaction, feed: FeedPk, keys: Sequence[bytes], seen: int) -> None:
    """Entries of an older document, just inserted, were seen once and are not in the newest one."""
    await tx.run_many(
        "UPDATE entries SET present_since = NULL, seen_before = 1, last_seen = ?"
        " WHERE feed_id = ? AND uid_key = ?",
        [(seen, feed, key) for key in keys],
    )


def _slices(values: list[T]) -> list[list[T]]:
    return [values[i : i + _IN_ONE_QUERY] for i in range(0, len(values), _IN_ONE_QUERY)]

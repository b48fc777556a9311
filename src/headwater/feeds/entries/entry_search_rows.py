"""Search entries in the database: by feed, time, category and text; one entry with its history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from headwater.core.errors import AmbiguousEntry, NotFound
from headwater.core.ports import Row, SqlValue, View, placeholders
from headwater.core.values.ids import FeedId, FeedPk, index_key
from headwater.core.values.instant import from_micros, maybe_moment
from headwater.feeds.entries.diff_entries import FIELDS
from headwater.feeds.entries.entry import KnownEntry
from headwater.feeds.raw.raw_rows import list_unexpired

ESCAPE = "!"


@dataclass(frozen=True, slots=True)
class EntrySearch:
    """`since` is inclusive, `until` exclusive; both are microseconds of first_seen.

    Every word of `text` must occur, each in any field.
    """

    feed: int | None = None
    since: int | None = None
    until: int | None = None
    category: str | None = None
    text: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.text or "").split()))


def sql_of(
    search: EntrySearch, dialect: str, after: tuple[int, int, int, bytes] | None
) -> tuple[str, list[SqlValue]]:
    """Conditions and their values. They select all that match, and perhaps a few that do not."""
    parts: list[tuple[str, list[SqlValue]]] = []
    if search.feed is not None:
        parts.append(("e.feed_id = ?", [search.feed]))
    if search.since is not None:
        parts.append(("e.first_seen >= ?", [search.since]))
    if search.until is not None:
        parts.append(("e.first_seen < ?", [search.until]))
    if search.category is not None:
        position = "instr" if dialect == "sqlite" else "strpos"
        parts.append((f"{position}(e.categories, ?) > 0", [_element(search.category)]))
    like = "LIKE" if dialect == "sqlite" else "ILIKE"
    columns = [f"e.{name} {like} ? ESCAPE '{ESCAPE}'" for name in _TEXT]
    anywhere = f"({' OR '.join(columns)})"
    parts += [(anywhere, [_pattern(word)] * len(_TEXT)) for word in search.words]
    if after is not None:
        parts.append(_after_position(after))
    return " AND ".join(part for part, _ in parts) or "1 = 1", [v for _, vs in parts for v in vs]


_TEXT = ("title", "summary", "content")


def matches(search: EntrySearch, row: Any) -> bool:
    """The exact answer, because databases differ in which letters they call the same."""
    if search.category is not None and search.category not in orjson.loads(row.categories):
        return False
    # Folded, not lowered: the small sigma of a whole word depends on what stands after it.
    non_ascii = [word.casefold() for word in search.words if not word.isascii()]
    if not non_ascii:
        return True
    texts = [(getattr(row, name) or "").casefold() for name in _TEXT]
    return all(any(word in text for text in texts) for word in non_ascii)


def _after_position(place: tuple[int, int, int, bytes]) -> tuple[str, list[SqlValue]]:
    first_seen, sort_at, feed, uid_key = place
    condition = (
        "e.first_seen <= ? AND (e.first_seen < ? OR e.sort_at < ?"
        " OR (e.sort_at = ? AND (e.feed_id > ? OR (e.feed_id = ? AND e.uid_key > ?))))"
    )
    return condition, [first_seen, first_seen, sort_at, sort_at, feed, feed, uid_key]


def _element(category: str) -> str:
    """The category as it is written in the stored JSON list."""
    return orjson.dumps(category).decode()


def _pattern(text: str) -> str:
    """SQLite folds the case of ASCII only: here any other letter with a case matches everything."""
    return f"%{''.join(_literal(letter) for letter in text)}%"


def _literal(letter: str) -> str:
    if letter in ("%", "_", ESCAPE):
        return ESCAPE + letter
    if letter.isascii() or letter.lower() == letter.upper():
        return letter
    return "%"


_IN_ONE_QUERY = 400

_MOST_ROUNDS = 20
"""How many times one search reads on when a filter drops most rows; then the page stays short."""
_COLUMNS = (
    "e.feed_id AS feed, e.uid_key, e.entry_uid, e.canonical_link, e.title, e.summary, e.content,"
    " e.authors, e.categories, e.enclosures, e.details, e.published, e.updated, e.sort_at,"
    " e.content_hash, e.first_seen, e.version, e.present_since, e.seen_before, e.last_seen,"
    " e.fetch_id, e.frag_offset, e.frag_length,"
    " f.feed_id AS public_id, f.documents_seen, f.document_seen_at"
)
_FROM = "FROM entries e JOIN feeds f ON f.id = e.feed_id"

EntryPosition = tuple[int, int, int, bytes]
"""The end of a page: first_seen, sort_at, feed and uid key of its last entry."""


@dataclass(frozen=True, slots=True)
class RawRef:
    """The place of an entry's bytes; `note` is `expired` when retention has deleted them."""

    fetch_id: str
    offset: int | None
    length: int | None
    note: str | None


@dataclass(frozen=True, slots=True)
class KeptEntry:
    """An entry with everything that readers may know; lists are JSON text as stored."""

    feed: FeedPk
    uid_key: bytes
    feed_id: FeedId
    uid: str
    canonical_link: str | None
    title: str | None
    summary: str | None
    content: str | None
    authors: str
    categories: str
    enclosures: str
    details: str
    published: datetime | None
    updated: datetime | None
    first_seen: datetime
    last_seen: datetime
    seen_count: int
    is_present: bool
    version: int
    content_hash: str
    raw_refs: tuple[RawRef, ...]
    place: EntryPosition


@dataclass(frozen=True, slots=True)
class EntryVersion:
    """An entry before an edit; `snapshot` is JSON text of its fields then."""

    version: int
    replaced_at: datetime
    content_hash: str
    snapshot: str
    raw_ref: RawRef


@dataclass(frozen=True, slots=True)
class EntryAlias:
    """A uid that drifted and was taken for a known entry, unless a person undid that."""

    alias_uid: str
    entry_uid: str
    fetch_id: str
    made_at: datetime
    undone_at: datetime | None


@dataclass(frozen=True, slots=True)
class EntrySearchPage:
    entries: tuple[KeptEntry, ...]
    next: EntryPosition | None


async def search_entries(
    view: View, search: EntrySearch, *, after: EntryPosition | None, limit: int
) -> EntrySearchPage:
    """A page of entries, newest first by first_seen, which never changes: a cursor stays valid."""
    matching: list[Row] = []
    has_more = True
    for _ in range(_MOST_ROUNDS):
        where, values = sql_of(search, view.dialect, after)
        rows = await view.rows(
            f"SELECT {_COLUMNS} {_FROM} WHERE {where}"
            " ORDER BY e.first_seen DESC, e.sort_at DESC, e.feed_id, e.uid_key LIMIT ?",
            *values,
            limit + 1 - len(matching),
        )
        has_more = len(rows) == limit + 1 - len(matching)
        matching += [row for row in rows if matches(search, row)]
        if len(matching) > limit or not has_more:
            break
        after = _position_of(rows[-1])
    shown = matching[:limit]
    if len(matching) > limit:
        after = _position_of(shown[-1])
    elif not has_more:
        after = None
    return EntrySearchPage(tuple(await _with_raw_refs(view, shown)), after)


async def get_entry(view: View, uid: str, feed_id: str | None = None) -> KeptEntry:
    """An entry by its uid, or by a uid that drifted to it.

    AmbiguousEntry when several feeds have it.
    """
    rows = await _with_uid(view, index_key(uid), feed_id)
    if not rows:
        rows = await _with_alias(view, index_key(uid), feed_id)
    if not rows:
        raise NotFound("There is no such entry.", what="entry")
    if len(rows) > 1:
        raise AmbiguousEntry(
            "Several feeds have an entry of this uid; say which with ?feed_id=.",
            feeds=[row.public_id for row in rows],
        )
    return (await _with_raw_refs(view, rows))[0]


async def list_versions(view: View, of: KeptEntry) -> list[EntryVersion]:
    """The versions before the present one, oldest first."""
    rows = await view.rows(
        "SELECT * FROM entry_versions WHERE feed_id = ? AND uid_key = ? ORDER BY version",
        of.feed,
        of.uid_key,
    )
    unexpired = await list_unexpired(view, [row.fetch_id for row in rows])
    return [
        EntryVersion(
            row.version,
            from_micros(row.replaced_at),
            row.content_hash,
            row.snapshot,
            _raw_ref(row, unexpired),
        )
        for row in rows
    ]


@dataclass(frozen=True, slots=True)
class KeptText:
    """An entry's present content, by the names of `diff_entries.FIELDS`, and its place in its
    raw."""

    known: KnownEntry
    values: Mapping[str, Any]
    offset: int | None


async def list_texts_from(view: View, feed: FeedPk, fetch_id: str) -> dict[bytes, KeptText]:
    """The entries of a feed whose present text came from this payload, by their keys."""
    columns = ", ".join("canonical_link AS link" if name == "link" else name for name in FIELDS)
    rows = await view.rows(
        "SELECT entry_uid, uid_key, link_key, content_hash, version, present_since, frag_offset,"
        f" {columns} FROM entries WHERE feed_id = ? AND fetch_id = ?",
        feed,
        fetch_id,
    )
    return {
        row.uid_key: KeptText(
            KnownEntry(*row[:6]), {name: getattr(row, name) for name in FIELDS}, row.frag_offset
        )
        for row in rows
    }


async def list_aliases(view: View, of: FeedPk) -> list[EntryAlias]:
    rows = await view.rows(
        "SELECT a.alias_uid, e.entry_uid, a.fetch_id, a.made_at, a.undone_at FROM entry_aliases a"
        " JOIN entries e ON e.feed_id = a.feed_id AND e.uid_key = a.uid_key"
        " WHERE a.feed_id = ? ORDER BY a.made_at, a.alias_key",
        of,
    )
    return [
        EntryAlias(
            row.alias_uid,
            row.entry_uid,
            row.fetch_id,
            from_micros(row.made_at),
            maybe_moment(row.undone_at),
        )
        for row in rows
    ]


async def count_entries(view: View) -> int:
    row = await view.row("SELECT count(*) AS entries FROM entries")
    assert row is not None
    return int(row.entries)


async def _with_uid(view: View, key: bytes, feed_id: str | None) -> Sequence[Row]:
    mine = " AND f.feed_id = ?" if feed_id is not None else ""
    return await view.rows(
        f"SELECT {_COLUMNS} {_FROM} WHERE e.uid_key = ?{mine} ORDER BY e.feed_id LIMIT 100",
        key,
        *([feed_id] if feed_id is not None else []),
    )


async def _with_alias(view: View, key: bytes, feed_id: str | None) -> Sequence[Row]:
    mine = " AND f.feed_id = ?" if feed_id is not None else ""
    return await view.rows(
        f"SELECT {_COLUMNS} {_FROM} JOIN entry_aliases a"
        " ON a.feed_id = e.feed_id AND a.uid_key = e.uid_key AND a.undone_at IS NULL"
        f" WHERE a.alias_key = ?{mine} ORDER BY e.feed_id LIMIT 100",
        key,
        *([feed_id] if feed_id is not None else []),
    )


async def _with_raw_refs(view: View, rows: Sequence[Row]) -> list[KeptEntry]:
    """Rows with the raw they came from; that of older versions comes first."""
    older = await _older_refs(view, [row for row in rows if row.version > 1])
    refs = [[*older.get((row.feed, row.uid_key), []), row] for row in rows]
    unexpired = await list_unexpired(
        view, [ref.fetch_id for entry_refs in refs for ref in entry_refs]
    )
    return [
        _entry_of(row, tuple(_raw_ref(ref, unexpired) for ref in entry_refs))
        for row, entry_refs in zip(rows, refs, strict=True)
    ]


async def _older_refs(view: View, edited: Sequence[Row]) -> dict[tuple[int, bytes], list[Row]]:
    refs: dict[tuple[int, bytes], list[Row]] = {}
    for start in range(0, len(edited), _IN_ONE_QUERY):
        batch = edited[start : start + _IN_ONE_QUERY]
        feeds = sorted({row.feed for row in batch})
        rows = await view.rows(
            "SELECT feed_id, uid_key, fetch_id, frag_offset, frag_length FROM entry_versions"
            f" WHERE feed_id IN ({placeholders(len(feeds))}) AND uid_key IN "
            f"({placeholders(len(batch))})"
            " ORDER BY version",
            *feeds,
            *(row.uid_key for row in batch),
        )
        for row in rows:
            refs.setdefault((row.feed_id, row.uid_key), []).append(row)
    return refs


def _raw_ref(row: Row, unexpired: set[str]) -> RawRef:
    note = None if row.fetch_id in unexpired else "expired"
    return RawRef(row.fetch_id, row.frag_offset, row.frag_length, note)


def _position_of(row: Row) -> EntryPosition:
    return row.first_seen, row.sort_at, row.feed, row.uid_key


def _entry_of(row: Row, raw_refs: tuple[RawRef, ...]) -> KeptEntry:
    """While an entry is in the newest document, its counting is arithmetic.

    A run that begins with the next document (this one ended early) has length zero so far.
    """
    present = row.present_since is not None
    run = row.documents_seen - row.present_since + 1 if present else 0
    last_seen = row.document_seen_at if run else row.last_seen
    return KeptEntry(
        feed=FeedPk(row.feed),
        uid_key=row.uid_key,
        feed_id=FeedId(row.public_id),
        uid=row.entry_uid,
        canonical_link=row.canonical_link,
        title=row.title,
        summary=row.summary,
        content=row.content,
        authors=row.authors,
        categories=row.categories,
        enclosures=row.enclosures,
        details=row.details,
        published=maybe_moment(row.published),
        updated=maybe_moment(row.updated),
        first_seen=from_micros(row.first_seen),
        last_seen=from_micros(last_seen),
        seen_count=row.seen_before + run,
        is_present=present,
        version=row.version,
        content_hash=row.content_hash,
        raw_refs=raw_refs,
        place=_position_of(row),
    )

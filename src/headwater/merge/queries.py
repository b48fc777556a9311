"""What may be asked of the entries: by feed, time, category and text; one with its history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from headwater.errors import AmbiguousEntry, NotFound
from headwater.fetch.queries import unexpired
from headwater.merge.difference import FIELDS
from headwater.merge.entry import Known
from headwater.merge.search import Search, matches, sql_of
from headwater.ports import Reader, Row, marks
from headwater.values.ids import FeedId, FeedPk, key_of
from headwater.values.instant import from_micros, maybe_moment

_IN_ONE_QUERY = 400
_MOST_ROUNDS = 20
"""How many times one question reads on when a filter drops most rows; then the page stays short."""

_COLUMNS = (
    "e.feed_id AS feed, e.uid_key, e.entry_uid, e.canonical_link, e.title, e.summary, e.content,"
    " e.authors, e.categories, e.enclosures, e.details, e.published, e.updated, e.sort_at,"
    " e.content_hash, e.first_seen, e.version, e.present_since, e.seen_before, e.last_seen,"
    " e.fetch_id, e.frag_offset, e.frag_length,"
    " f.feed_id AS public_id, f.documents_seen, f.document_seen_at"
)
_FROM = "FROM entries e JOIN feeds f ON f.id = e.feed_id"

Place = tuple[int, int, int, bytes]
"""Where a page ended: first_seen, sort_at, feed and uid key of its last entry."""


@dataclass(frozen=True, slots=True)
class RawRef:
    """Where an entry's bytes are; `note` says `expired` when they were let go."""

    fetch_id: str
    offset: int | None
    length: int | None
    note: str | None


@dataclass(frozen=True, slots=True)
class KeptEntry:
    """An entry as it is told; lists are JSON text as stored."""

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
    place: Place


@dataclass(frozen=True, slots=True)
class EntryVersion:
    """What an entry said before an edit; `snapshot` is JSON text of its fields then."""

    version: int
    replaced_at: datetime
    content_hash: str
    snapshot: str
    raw_ref: RawRef


@dataclass(frozen=True, slots=True)
class Alias:
    """A uid that drifted and was taken for an entry we know, unless a person undid that."""

    alias_uid: str
    entry_uid: str
    fetch_id: str
    made_at: datetime
    undone_at: datetime | None


@dataclass(frozen=True, slots=True)
class Page:
    entries: tuple[KeptEntry, ...]
    next: Place | None


async def entries(view: Reader, search: Search, *, after: Place | None, limit: int) -> Page:
    """Newest first by first_seen, which never changes: a cursor stays where it is."""
    found: list[Row] = []
    has_more = True
    for _ in range(_MOST_ROUNDS):
        where, values = sql_of(search, view.dialect, after)
        rows = await view.rows(
            f"SELECT {_COLUMNS} {_FROM} WHERE {where}"
            " ORDER BY e.first_seen DESC, e.sort_at DESC, e.feed_id, e.uid_key LIMIT ?",
            *values,
            limit + 1 - len(found),
        )
        has_more = len(rows) == limit + 1 - len(found)
        found += [row for row in rows if matches(search, row)]
        if len(found) > limit or not has_more:
            break
        after = _place_of(rows[-1])
    shown = found[:limit]
    if len(found) > limit:
        after = _place_of(shown[-1])
    elif not has_more:
        after = None
    return Page(tuple(await _kept(view, shown)), after)


async def entry(view: Reader, uid: str, feed_id: str | None = None) -> KeptEntry:
    """By its uid, or by a uid that drifted to it. AmbiguousEntry when several feeds have it."""
    rows = await _with_uid(view, key_of(uid), feed_id)
    if not rows:
        rows = await _with_alias(view, key_of(uid), feed_id)
    if not rows:
        raise NotFound("There is no such entry.", what="entry")
    if len(rows) > 1:
        raise AmbiguousEntry(
            "Several feeds have an entry of this uid; say which with ?feed_id=.",
            feeds=[row.public_id for row in rows],
        )
    return (await _kept(view, rows))[0]


async def versions(view: Reader, of: KeptEntry) -> list[EntryVersion]:
    """What it said before, oldest first."""
    rows = await view.rows(
        "SELECT * FROM entry_versions WHERE feed_id = ? AND uid_key = ? ORDER BY version",
        of.feed,
        of.uid_key,
    )
    there = await unexpired(view, [row.fetch_id for row in rows])
    return [
        EntryVersion(
            row.version,
            from_micros(row.replaced_at),
            row.content_hash,
            row.snapshot,
            _raw_ref(row, there),
        )
        for row in rows
    ]


@dataclass(frozen=True, slots=True)
class KeptText:
    """What an entry says now, by the names of `merge.difference`; where it stands in its raw."""

    known: Known
    said: Mapping[str, Any]
    offset: int | None


async def texts_from(view: Reader, feed: FeedPk, fetch_id: str) -> dict[bytes, KeptText]:
    """Entries of a feed whose present text came from this payload, by their keys."""
    columns = ", ".join("canonical_link AS link" if name == "link" else name for name in FIELDS)
    rows = await view.rows(
        "SELECT entry_uid, uid_key, link_key, content_hash, version, present_since, frag_offset,"
        f" {columns} FROM entries WHERE feed_id = ? AND fetch_id = ?",
        feed,
        fetch_id,
    )
    return {
        row.uid_key: KeptText(
            Known(*row[:6]), {name: getattr(row, name) for name in FIELDS}, row.frag_offset
        )
        for row in rows
    }


async def aliases(view: Reader, of: FeedPk) -> list[Alias]:
    rows = await view.rows(
        "SELECT a.alias_uid, e.entry_uid, a.fetch_id, a.made_at, a.undone_at FROM entry_aliases a"
        " JOIN entries e ON e.feed_id = a.feed_id AND e.uid_key = a.uid_key"
        " WHERE a.feed_id = ? ORDER BY a.made_at, a.alias_key",
        of,
    )
    return [
        Alias(
            row.alias_uid,
            row.entry_uid,
            row.fetch_id,
            from_micros(row.made_at),
            maybe_moment(row.undone_at),
        )
        for row in rows
    ]


async def count(view: Reader) -> int:
    row = await view.row("SELECT count(*) AS entries FROM entries")
    assert row is not None
    return int(row.entries)


async def _with_uid(view: Reader, key: bytes, feed_id: str | None) -> Sequence[Row]:
    mine = " AND f.feed_id = ?" if feed_id is not None else ""
    return await view.rows(
        f"SELECT {_COLUMNS} {_FROM} WHERE e.uid_key = ?{mine} ORDER BY e.feed_id LIMIT 100",
        key,
        *([feed_id] if feed_id is not None else []),
    )


async def _with_alias(view: Reader, key: bytes, feed_id: str | None) -> Sequence[Row]:
    mine = " AND f.feed_id = ?" if feed_id is not None else ""
    return await view.rows(
        f"SELECT {_COLUMNS} {_FROM} JOIN entry_aliases a"
        " ON a.feed_id = e.feed_id AND a.uid_key = e.uid_key AND a.undone_at IS NULL"
        f" WHERE a.alias_key = ?{mine} ORDER BY e.feed_id LIMIT 100",
        key,
        *([feed_id] if feed_id is not None else []),
    )


async def _kept(view: Reader, rows: Sequence[Row]) -> list[KeptEntry]:
    """Rows with the raw they came from, older versions' first."""
    older = await _older_refs(view, [row for row in rows if row.version > 1])
    refs = [[*older.get((row.feed, row.uid_key), []), row] for row in rows]
    there = await unexpired(view, [ref.fetch_id for some in refs for ref in some])
    return [
        _entry_of(row, tuple(_raw_ref(ref, there) for ref in some))
        for row, some in zip(rows, refs, strict=True)
    ]


async def _older_refs(view: Reader, edited: Sequence[Row]) -> dict[tuple[int, bytes], list[Row]]:
    refs: dict[tuple[int, bytes], list[Row]] = {}
    for start in range(0, len(edited), _IN_ONE_QUERY):
        some = edited[start : start + _IN_ONE_QUERY]
        feeds = sorted({row.feed for row in some})
        rows = await view.rows(
            "SELECT feed_id, uid_key, fetch_id, frag_offset, frag_length FROM entry_versions"
            f" WHERE feed_id IN ({marks(len(feeds))}) AND uid_key IN ({marks(len(some))})"
            " ORDER BY version",
            *feeds,
            *(row.uid_key for row in some),
        )
        for row in rows:
            refs.setdefault((row.feed_id, row.uid_key), []).append(row)
    return refs


def _raw_ref(row: Row, there: set[str]) -> RawRef:
    note = None if row.fetch_id in there else "expired"
    return RawRef(row.fetch_id, row.frag_offset, row.frag_length, note)


def _place_of(row: Row) -> Place:
    return row.first_seen, row.sort_at, row.feed, row.uid_key


def _entry_of(row: Row, raw_refs: tuple[RawRef, ...]) -> KeptEntry:
    """While an entry is in the newest document its counting is arithmetic.

    A run that begins with the next document (this one ended early) is zero long as yet.
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
        place=_place_of(row),
    )

"""Collection rows: read the feeds of a collection, and one page of its entries.

A page is found by keys alone, at a cost that does not depend on how many entries there are. The
keys are enough to tell whether the page has changed. Texts are read only when it has.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeVar

import orjson

from headwater.core.ports import Row, SqlValue, View, placeholders
from headwater.core.values.instant import EPOCH, from_micros
from headwater.publish.collection import CollectionName, no_such_collection

EntryPosition = tuple[int, int, int, bytes]
"""The position of an entry: first_seen, sort_at, feed and uid key.

Entries are ordered newest first by the first two. The other two only make the order the same each
time.
"""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EntryOrder:
    """A direction to read entries in. `sign` compares forwards, `reverse` backwards. `outermost` is
    the moment to begin at when there is no position to begin after."""

    sign: Literal["<", ">"]
    reverse: Literal["<", ">"]
    direction: Literal["ASC", "DESC"]
    against: Literal["ASC", "DESC"]
    best: Literal["max", "min"]
    outermost: int

    @property
    def sql(self) -> str:
        return (
            f"ORDER BY e.first_seen {self.direction}, e.sort_at {self.direction},"
            f" e.feed_id {self.against}, e.uid_key {self.against}"
        )

    def beyond(self, position: EntryPosition) -> tuple[str, list[SqlValue]]:
        """SQL for the entries after this position. Its first condition is for the index."""
        within, values = self.within_moment(position)
        condition = f"e.first_seen {self.sign}= ? AND (e.first_seen {self.sign} ? OR ({within}))"
        return condition, [position[0], position[0], *values]

    def within_moment(self, position: EntryPosition) -> tuple[str, list[SqlValue]]:
        first_seen, sort_at, feed, uid_key = position
        on, back = self.sign, self.reverse
        condition = (
            f"e.first_seen = ? AND (e.sort_at {on} ? OR (e.sort_at = ? AND"
            f" (e.feed_id {back} ? OR (e.feed_id = ? AND e.uid_key {back} ?))))"
        )
        return condition, [first_seen, sort_at, sort_at, feed, feed, uid_key]

    def sorted(self, moments: Iterable[int]) -> list[int]:
        return sorted(moments, reverse=self.direction == "DESC")

    def reaches(self, moment: int, bound: int) -> bool:
        return moment >= bound if self.sign == "<" else moment <= bound

    def in_order(self, rows: Sequence[T], position_of: Callable[[T], EntryPosition]) -> list[T]:
        """Sort rows of several queries as the database would have ordered them in one."""

        def key(row: T) -> tuple[Any, ...]:
            first_seen, sort_at, feed, uid_key = position_of(row)
            return -first_seen, -sort_at, feed, uid_key

        return sorted(rows, key=key, reverse=self is NEWER)


NEWER = EntryOrder(">", "<", "ASC", "DESC", "min", -(2**63) + 1)
OLDER = EntryOrder("<", ">", "DESC", "ASC", "max", 2**63 - 1)
_IN_ONE_QUERY = 400

_UNITED = 100
"""Sub-queries in one query. SQLite takes five hundred."""
_KEYS = (
    "SELECT e.feed_id AS feed, e.uid_key, e.first_seen, e.sort_at, e.version, e.content_hash,"
    " f.feed_id AS public_id, f.title AS feed_title, f.home_link, f.url AS feed_url"
    " FROM entries e JOIN feeds f ON f.id = e.feed_id"
)
_TEXTS = (
    " SELECT e.feed_id AS feed, e.uid_key, e.entry_uid, e.canonical_link, e.title, e.summary,"
    " e.content, e.authors, e.categories, e.enclosures, e.details, e.published, e.updated,"
    " e.first_seen, f.feed_id AS public_id, f.title AS feed_title, f.home_link,"
    " f.url AS feed_url FROM w CROSS JOIN entries e CROSS JOIN feeds f"
    " WHERE e.feed_id = w.feed_id AND e.uid_key = w.uid_key AND f.id = e.feed_id"
)
_EDITS = (
    " SELECT v.feed_id AS feed, v.uid_key, max(v.replaced_at) AS at"
    " FROM w CROSS JOIN entry_versions v WHERE v.feed_id = w.feed_id AND v.uid_key = w.uid_key"
    " GROUP BY v.feed_id, v.uid_key"
)
# CROSS JOIN keeps SQLite from another order: the wanted keys come first, and each finds its row by
# key. With two lists (`IN … AND … IN …`) databases try every pair of them.


@dataclass(frozen=True, slots=True)
class Collection:
    """The feeds of a collection. `key` is the same for all its names. `feeds` None means all."""

    key: str
    title: str
    since: datetime
    feeds: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class CollectionPage:
    """Entries by their keys, newest first. `edited` is when an entry last changed, if ever.

    `next` is where the next page begins, and `previous` where the page before begins. It is None
    where that is the first page; unless `at_start`, there is a page before.
    """

    rows: tuple[Row, ...]
    edited: Mapping[tuple[int, bytes], int]
    next: EntryPosition | None
    previous: EntryPosition | None
    at_start: bool

    @property
    def changed(self) -> int | None:
        """The newest change of the page's entries, in microseconds."""
        moments = [*(row.first_seen for row in self.rows), *self.edited.values()]
        return max(moments, default=None)


async def get_collection(view: View, name: CollectionName) -> Collection:
    """NotFound when no collection has that name."""
    match name.kind:
        case "all":
            return Collection("all", "All entries", EPOCH, None)
        case "feed":
            return await _get_feed_collection(view, name.value)
        case "category":
            return await _get_category_collection(view, name.value)
        case "group_number":
            return await _get_group_collection(view, "group_id", int(name.value))
        case "group_name":
            return await _get_group_collection(view, "name", name.value)


def narrowed(of: Collection, feeds: frozenset[int], reader_id: str) -> Collection:
    """The part of a collection that is in these feeds: a collection of that reader alone. NotFound
    when that part is empty: only `all` may be empty."""
    common = sorted(feeds if of.feeds is None else feeds.intersection(of.feeds))
    if not common and of.feeds is not None:
        raise no_such_collection()
    return Collection(f"{of.key} of {reader_id}", of.title, of.since, tuple(common))


async def list_feeds_with_category(view: View, categories: Sequence[str]) -> frozenset[int]:
    """Feeds that have one of these categories, exactly these texts, unless they were removed."""
    # Another tool may have passed names that are no valid text: no feed has those.
    names = [name for name in categories if name.encode("utf-8", "ignore").decode() == name]
    wanted, feeds = frozenset(names), set[int]()
    for batch in _slices(names, _UNITED):
        rows = await view.rows(
            "SELECT id, categories FROM feeds WHERE state <> 'removed'"
            f" AND ({' OR '.join([_category_condition(view)] * len(batch))})",
            *(orjson.dumps(name).decode() for name in batch),
        )
        feeds |= {row.id for row in rows if not wanted.isdisjoint(orjson.loads(row.categories))}
    return frozenset(feeds)


async def get_installation_id(view: View) -> str:
    """The id of the log's first event: no other installation has it. Empty while there is none."""
    row = await view.row("SELECT event_id FROM events WHERE seq = 1")
    return "" if row is None else str(row.event_id)


async def get_collection_page(
    view: View, of: Collection, *, after: EntryPosition | None, limit: int
) -> CollectionPage:
    """A page, newest first by first_seen, which never changes: a cursor stays valid."""
    older = await _list_rows(view, of.feeds, OLDER, after, limit + 1)
    shown = tuple(older[:limit])
    newer = await _list_rows(view, of.feeds, NEWER, after, limit) if after else []
    return CollectionPage(
        rows=shown,
        edited=await _list_edits(view, [row for row in shown if row.version > 1]),
        next=_position_of(shown[-1]) if len(older) > limit else None,
        previous=_position_of(newer[-1]) if len(newer) == limit else None,
        at_start=after is None,
    )


async def get_page_entries(view: View, page: CollectionPage) -> list[tuple[Row, int | None]]:
    """The page's entries with their texts, and when each was last edited, for `item_of_entry`.

    Call this in the same view as the page itself.
    """
    entries: dict[tuple[int, bytes], Row] = {}
    for batch in _slices(list(page.rows), _IN_ONE_QUERY):
        keys_sql, values = _keys_sql(view, batch)
        for row in await view.rows(keys_sql + _TEXTS, *values):
            entries[(row.feed, row.uid_key)] = row
    keys = [(row.feed, row.uid_key) for row in page.rows]
    return [(entries[key], page.edited.get(key)) for key in keys if key in entries]


# Collections ----------------------------------------------------------------------------------


async def _get_feed_collection(view: View, feed_id: str) -> Collection:
    row = await view.row(
        "SELECT id, feed_id, title, created_at FROM feeds WHERE feed_id = ?", feed_id.lower()
    )
    if row is None:
        raise no_such_collection()
    title = row.title or "Entries of one feed"
    return Collection(f"feed-{row.feed_id}", title, from_micros(row.created_at), (row.id,))


async def _get_category_collection(view: View, name: str) -> Collection:
    """Feeds that people gave this category, exactly this text."""
    rows = await view.rows(
        "SELECT id, categories, created_at FROM feeds WHERE state <> 'removed'"
        f" AND {_category_condition(view)} ORDER BY id",
        orjson.dumps(name).decode(),
    )
    matching = [row for row in rows if name in orjson.loads(row.categories)]
    if not matching:
        raise no_such_collection()
    since = from_micros(matching[0].created_at)
    return Collection(f"category-{name}", name, since, tuple(row.id for row in matching))


def _category_condition(view: View) -> str:
    """Rows that may have a category. Compare their decoded list to be sure."""
    position = "instr" if view.dialect == "sqlite" else "strpos"
    return f"{position}(categories, ?) > 0"


async def _get_group_collection(view: View, column: str, value: SqlValue) -> Collection:
    row = await view.row(
        f"SELECT group_id, name, created_at FROM subscription_groups WHERE {column} = ?", value
    )
    if row is None:
        raise no_such_collection()
    members = await view.rows(
        "SELECT feed_id FROM rss_subscriptions WHERE group_id = ? AND is_active"
        " AND feed_id IS NOT NULL ORDER BY feed_id",
        row.group_id,
    )
    feeds = tuple(member.feed_id for member in members)
    return Collection(f"group-{row.group_id}", row.name, from_micros(row.created_at), feeds)


# Pages ----------------------------------------------------------------------------------------


async def _list_rows(
    view: View,
    feeds: tuple[int, ...] | None,
    order: EntryOrder,
    start: EntryPosition | None,
    limit: int,
) -> list[Row]:
    """The nearest `limit` entries in this direction, nearest first."""
    if feeds is None:
        where, values = order.beyond(start) if start else ("1 = 1", [])
        return list(await view.rows(f"{_KEYS} WHERE {where} {order.sql} LIMIT ?", *values, limit))
    same = await _list_same_moment(view, frozenset(feeds), order, start, limit) if start else []
    if len(same) >= limit:
        return same[:limit]
    rest = await _list_other_moments(view, feeds, order, start, limit - len(same))
    return [*same, *rest]


async def _list_same_moment(
    view: View, feeds: frozenset[int], order: EntryOrder, start: EntryPosition, limit: int
) -> list[Row]:
    """All entries of one document have one moment: the page may have ended among them."""
    where, values = order.within_moment(start)
    rows = await view.rows(f"{_KEYS} WHERE {where} {order.sql}", *values)
    return [row for row in rows if row.feed in feeds][:limit]


async def _list_other_moments(
    view: View, feeds: tuple[int, ...], order: EntryOrder, start: EntryPosition | None, limit: int
) -> list[Row]:
    """Find the few feeds that can have such entries, then how far to look, then the entries."""
    from_here = start[0] if start else order.outermost
    if len(feeds) > limit:
        feeds = await _nearest_feeds(view, feeds, order, from_here, limit)
    moments = await _moments(view, feeds, order, from_here, limit)
    if not moments:
        return []
    bound = order.sorted(moments)[:limit][-1]
    entries: list[Row] = []
    for batch in _slices(list(feeds), _IN_ONE_QUERY):
        entries += await view.rows(
            f"{_KEYS} WHERE e.feed_id IN ({placeholders(len(batch))})"
            f" AND e.first_seen {order.sign} ?"
            f" AND e.first_seen {order.reverse}= ? {order.sql} LIMIT ?",
            *batch,
            from_here,
            bound,
            limit,
        )
    return order.in_order(entries, _position_of)[:limit]


async def _nearest_feeds(
    view: View, feeds: tuple[int, ...], order: EntryOrder, from_here: int, limit: int
) -> tuple[int, ...]:
    """Those whose nearest entry is among the nearest `limit` of all feeds: one look at each."""
    nearest: list[tuple[int, int]] = []
    for batch in _slices(list(feeds), _IN_ONE_QUERY):
        rows = await view.rows(
            f"SELECT f.id AS feed, (SELECT {order.best}(x.first_seen) FROM entries x"
            f" WHERE x.feed_id = f.id AND x.first_seen {order.sign} ?) AS at"
            f" FROM feeds f WHERE f.id IN ({placeholders(len(batch))})",
            from_here,
            *batch,
        )
        nearest += [(row.at, row.feed) for row in rows if row.at is not None]
    if len(nearest) <= limit:
        return tuple(feed for _, feed in nearest)
    bound = order.sorted([at for at, _ in nearest])[limit - 1]
    return tuple(feed for at, feed in nearest if order.reaches(at, bound))


async def _moments(
    view: View, feeds: Sequence[int], order: EntryOrder, from_here: int, limit: int
) -> list[int]:
    """The nearest moments of query of these feeds, from an index alone."""
    moments: list[int] = []
    query = (
        "SELECT first_seen FROM (SELECT first_seen FROM entries WHERE feed_id = ?"
        f" AND first_seen {order.sign} ? ORDER BY first_seen {order.direction} LIMIT ?) AS nearest"
    )
    for batch in _slices(list(feeds), _UNITED):
        values: list[SqlValue] = [value for feed in batch for value in (feed, from_here, limit)]
        rows = await view.rows(" UNION ALL ".join([query] * len(batch)), *values)
        moments += [row.first_seen for row in rows]
    return moments


async def _list_edits(view: View, rows: Sequence[Row]) -> dict[tuple[int, bytes], int]:
    edits: dict[tuple[int, bytes], int] = {}
    for batch in _slices(list(rows), _IN_ONE_QUERY):
        keys_sql, values = _keys_sql(view, batch)
        for edit in await view.rows(keys_sql + _EDITS, *values):
            edits[(edit.feed, edit.uid_key)] = edit.at
    return edits


def _keys_sql(view: View, rows: Sequence[Row]) -> tuple[str, list[SqlValue]]:
    """SQL for `w`, the keys of these entries. PostgreSQL learns the types from the first one;
    SQLite has no BYTEA."""
    first = "(CAST(? AS BIGINT), CAST(? AS BYTEA))" if view.dialect == "postgresql" else "(?, ?)"
    values = ", ".join([first, *["(?, ?)"] * (len(rows) - 1)])
    sql = f"WITH w (feed_id, uid_key) AS (VALUES {values})"
    return sql, [value for row in rows for value in (row.feed, row.uid_key)]


def _position_of(row: Row) -> EntryPosition:
    return row.first_seen, row.sort_at, row.feed, row.uid_key


def _slices(values: list[T], size: int) -> list[list[T]]:
    return [values[i : i + size] for i in range(0, len(values), size)]

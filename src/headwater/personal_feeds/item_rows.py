"""Items of personal feeds in the database: the newest of some categories, changes, and all in turn.

The newest are found by keys alone, from the end of an index, however many items there are. Texts
are read only for items that are shown.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from headwater.core.ports import Row, SqlValue, Transaction, View, placeholders
from headwater.core.values.ids import index_key
from headwater.personal_feeds.item_json import decode_item, encode_item, guid_key, guid_of, revised
from headwater.personal_feeds.ports import AddedItem, KeptItem, NewestItems, PersonalChanges

T = TypeVar("T")
_IN_ONE_QUERY = 400

_SUBQUERIES_AT_ONCE = 100
"""Sub-queries in one query; SQLite allows five hundred."""
# A `+` keeps a database from using the index of `expires_at`: the newest guids are at the end of
# the primary key, and nearly all of them have not expired.
_LIVING = "p.category_key = w.k AND +p.expires_at > ?"
_HEADS = (
    " SELECT w.k, c.changed_at, c.gone_at,"
    f" (SELECT p.guid FROM personal_items p WHERE {_LIVING} ORDER BY p.guid DESC LIMIT 1)"
    " AS newest,"
    " (SELECT max(g.expires_at) FROM personal_items g"
    " WHERE g.category_key = w.k AND g.expires_at <= ?) AS gone"
    " FROM w CROSS JOIN personal_categories c WHERE c.category_key = w.k"
)
_NEAREST_SQLITE = (
    "SELECT * FROM (SELECT p.category_key AS k, p.guid AS g FROM personal_items p"
    " WHERE p.category_key = ? AND p.guid >= ? AND +p.expires_at > ?"
    " ORDER BY p.guid DESC LIMIT ?)"
)
_NEAREST_POSTGRESQL = (
    "SELECT w.k, n.g FROM w CROSS JOIN LATERAL (SELECT p.guid AS g FROM personal_items p"
    f" WHERE {_LIVING} AND p.guid >= ? ORDER BY p.guid DESC LIMIT ?) AS n"
)
_OF_THE_NEAREST = (
    " SELECT p.category_key, p.guid, p.expires_at, p.item FROM u CROSS JOIN personal_items p"
    " WHERE p.category_key = u.k AND p.guid = u.g AND u.g >= coalesce("
    "(SELECT g FROM (SELECT DISTINCT g FROM u) AS d ORDER BY g DESC LIMIT 1 OFFSET ?), ?)"
)
_WORDS = (
    " SELECT p.category_key, p.guid, p.expires_at, p.item FROM w CROSS JOIN personal_items p"
    " WHERE p.category_key = w.k AND p.guid = w.g"
)
# PostgreSQL plans with the average number of items of a category, and prefers to sort all items of
# a small one to an index scan: in a category of a hundred thousand that is never right.
_BY_INDEX_ALONE = (
    "SELECT set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true),"
    " set_config('jit', 'off', true)"
)

Key = tuple[bytes, bytes]
"""The key of a category, and that of a guid."""


class _Head(NamedTuple):
    """The end of a category: its newest living guid, and when something last came or went."""

    key: bytes
    newest: bytes | None
    changed_at: int
    gone_at: int


async def list_newest(view: View, categories: Sequence[str], limit: int, now: int) -> NewestItems:
    names = {index_key(name): name for name in categories}
    if view.dialect == "postgresql":
        await view.row(_BY_INDEX_ALONE)
    heads = await _list_heads(view, list(names), now)
    rows = await _newest_rows(view, heads, limit, now)
    items = [
        decode_item(names[bytes(row.category_key)], row.guid, row.expires_at, row.item)
        for row in rows
    ]
    moments = [head.changed_at for head in heads]
    if len({item.guid for item in items}) < limit:
        moments += [head.gone_at for head in heads]
    return NewestItems(tuple(items), max(moments, default=0))


async def get_item_rows(view: View, keys: Sequence[Key]) -> dict[Key, Row]:
    """The rows of those that exist, also expired ones."""
    rows: dict[Key, Row] = {}
    for page in slices(keys, _IN_ONE_QUERY):
        for row in await view.rows(key_pairs_sql(view, len(page)) + _WORDS, *flat(page)):
            rows[(bytes(row.category_key), bytes(row.guid))] = row
    return rows


async def list_categories_by_caller_id(
    view: View, caller_ids: Sequence[str]
) -> dict[str, list[str]]:
    """See `ports.PersonalStore.places`."""
    ids_by_key = {index_key(caller_id): caller_id for caller_id in caller_ids}
    categories: dict[str, list[str]] = {}
    for keys in slices(sorted(ids_by_key), _IN_ONE_QUERY):
        rows = await view.rows(
            "SELECT p.caller_key, c.category FROM personal_items p"
            " JOIN personal_categories c ON c.category_key = p.category_key"
            f" WHERE p.caller_key IN ({placeholders(len(keys))})",
            *keys,
        )
        for row in rows:
            categories.setdefault(ids_by_key[bytes(row.caller_key)], []).append(row.category)
    return categories


async def get_changes(view: View, after: int) -> PersonalChanges:
    rows = await view.rows(
        "SELECT name, value FROM counters WHERE name IN ('personal', 'personal_forgotten')"
    )
    counters = {row.name: int(row.value) for row in rows}
    version = counters["personal"]
    if after == version:
        return PersonalChanges(version)
    if after < counters["personal_forgotten"] or after > version or after < 0:
        return PersonalChanges(version, everything=True)
    categories = await view.rows(
        "SELECT category FROM personal_categories WHERE version > ?", after
    )
    readers = await view.rows("SELECT reader_id FROM reader_changes WHERE version > ?", after)
    return PersonalChanges(
        version,
        categories=frozenset(row.category for row in categories),
        readers=frozenset(row.reader_id for row in readers),
    )


async def list_items_after(
    view: View, after: tuple[str, str] | None, limit: int, now: int
) -> list[KeptItem]:
    """Items in the order of the primary key, so that a reader can go on after any of them."""
    where, values = "", list[SqlValue]()
    if after is not None:
        key, guid = index_key(after[0]), guid_key(after[1])
        where, values = " AND (p.category_key, p.guid) > (?, ?)", [key, guid]
    rows = await view.rows(
        "SELECT c.category, p.guid, p.expires_at, p.item FROM personal_items p"
        " JOIN personal_categories c ON c.category_key = p.category_key"
        f" WHERE +p.expires_at > ?{where} ORDER BY p.category_key, p.guid LIMIT ?",
        now,
        *values,
        limit,
    )
    return [decode_item(row.category, row.guid, row.expires_at, row.item) for row in rows]


async def has_expired(view: View, now: int) -> bool:
    row = await view.row("SELECT 1 FROM personal_items WHERE expires_at <= ? LIMIT 1", now)
    return row is not None


async def _list_heads(view: View, keys: Sequence[bytes], now: int) -> list[_Head]:
    """The heads of those categories that ever had an item."""
    heads: list[_Head] = []
    for page in slices(keys, _IN_ONE_QUERY):
        for row in await view.rows(_listed(view, len(page)) + _HEADS, *page, now, now):
            newest = None if row.newest is None else bytes(row.newest)
            gone_at = max(row.gone_at, row.gone or 0)
            heads.append(_Head(bytes(row.k), newest, row.changed_at, gone_at))
    return heads


async def _newest_rows(view: View, heads: Sequence[_Head], limit: int, now: int) -> list[Row]:
    """Rows, newest first. A category whose newest item is older than the `limit` newest of others
    has none to show; items older than all of those are not read from any category."""
    ends = sorted({head.newest for head in heads if head.newest is not None}, reverse=True)
    bound = ends[limit - 1] if len(ends) >= limit else b""
    near = [head.key for head in heads if head.newest is not None and head.newest >= bound]
    rows: list[Row] = []
    for page in slices(near, _SUBQUERIES_AT_ONCE):
        rows += await _nearest(view, page, bound, limit, now)
    shown = set(sorted({bytes(row.guid) for row in rows}, reverse=True)[:limit])
    place = {key: number for number, key in enumerate(near)}
    return sorted(
        (row for row in rows if bytes(row.guid) in shown),
        key=lambda row: (bytes(row.guid), -place[bytes(row.category_key)]),
        reverse=True,
    )


async def _nearest(
    view: View, near: Sequence[bytes], bound: bytes, limit: int, now: int
) -> Sequence[Row]:
    """The rows of the `limit` newest guids in these categories, none older than the bound."""
    values: list[SqlValue]
    if view.dialect == "postgresql":
        first, union = f"{_listed(view, len(near))}, u", _NEAREST_POSTGRESQL
        values = [*near, now, bound, limit]
    else:
        first, union = "WITH u", " UNION ALL ".join([_NEAREST_SQLITE] * len(near))
        values = [value for key in near for value in (key, bound, now, limit)]
    sql = f"{first} AS MATERIALIZED ({union}){_OF_THE_NEAREST}"
    return await view.rows(sql, *values, limit - 1, b"")


def key_pairs_sql(view: View, count: int) -> str:
    """`w`: a list of `count` pairs of keys. PostgreSQL takes the types from the first one; SQLite
    must not see BYTEA."""
    first = "(CAST(? AS BYTEA), CAST(? AS BYTEA))" if view.dialect == "postgresql" else "(?, ?)"
    return f"WITH w (k, g) AS (VALUES {', '.join([first, *['(?, ?)'] * (count - 1)])})"


def _listed(view: View, count: int) -> str:
    first = "(CAST(? AS BYTEA))" if view.dialect == "postgresql" else "(?)"
    return f"WITH w (k) AS (VALUES {', '.join([first, *['(?)'] * (count - 1)])})"


def flat(keys: Iterable[Key]) -> list[SqlValue]:
    return [value for key in keys for value in key]


def slices(values: Sequence[T], size: int) -> list[Sequence[T]]:
    return [values[i : i + size] for i in range(0, len(values), size)]


_BY_CALLER = (
    " SELECT p.category_key, p.guid, p.caller_key, p.expires_at FROM w"
    " CROSS JOIN personal_items p WHERE p.category_key = w.k AND p.caller_key = w.g"
)


async def lock_writers(tx: Transaction) -> None:
    """Let one transaction at a time write; SQLite does so anyway."""
    if tx.dialect == "postgresql":
        await tx.row("SELECT value FROM counters WHERE name = 'personal' FOR UPDATE")


async def increment_version(tx: Transaction) -> int:
    row = await tx.row(
        "UPDATE counters SET value = value + 1 WHERE name = 'personal' RETURNING value"
    )
    assert row is not None, "the counter of personal feeds is missing"
    return int(row.value)


async def insert_items(tx: Transaction, items: Sequence[KeptItem], now: int) -> list[AddedItem]:
    """See `ports.PersonalStore.add`."""
    await lock_writers(tx)
    existing = await _find_existing(tx, items)
    await _delete_items(tx, existing.expired(now))
    fresh: list[KeptItem] = []
    answers: list[AddedItem] = []
    for item in items:
        known = existing.living(item, now)
        if known is None and item.expires_at > now:
            fresh.append(item)
            existing.note(item)
        guid, expires_at = known or (item.guid, item.expires_at)
        is_new = known is None and item.expires_at > now
        answers.append(AddedItem(guid, item.category, expires_at, is_new))
    await _insert(tx, fresh)
    await _mark_changed(tx, (item.category for item in fresh), now)
    return answers


async def update_items(tx: Transaction, items: Sequence[KeptItem], now: int) -> int:
    """See `ports.PersonalStore.revise`."""
    await lock_writers(tx)
    existing = await _find_existing(tx, items)
    keys = [existing.key_of(item, now) for item in items]
    rows = await get_item_rows(tx, list({key for key in keys if key is not None}))
    changed: dict[Key, KeptItem] = {}
    for item, key in zip(items, keys, strict=True):
        if key is None or key not in rows:
            continue
        row = rows[key]
        old = changed.get(key) or decode_item(item.category, row.guid, row.expires_at, row.item)
        if (new := revised(old, item)) is not old:
            changed[key] = new
    await tx.run_many(
        "UPDATE personal_items SET item = ? WHERE category_key = ? AND guid = ?",
        [(encode_item(item), *key) for key, item in changed.items()],
    )
    await _mark_changed(tx, (item.category for item in changed.values()), now)
    return sum(key is not None and key in rows for key in keys)


async def delete_expired(tx: Transaction, now: int, most: int) -> int:
    """Delete expired rows, the oldest first; their category keeps when the last one expired.

    Returns how many were deleted. The version stays: a reader of an item knows when it expires.
    """
    await lock_writers(tx)
    rows = await tx.rows(
        "DELETE FROM personal_items WHERE (category_key, guid) IN (SELECT category_key, guid"
        " FROM personal_items WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)"
        " RETURNING category_key, expires_at",
        now,
        most,
    )
    await _note_gone_at(tx, [(bytes(row.category_key), row.expires_at) for row in rows])
    return len(rows)


async def delete_old_changes(
    tx: Transaction, *, changed_before: int, categories_before: int
) -> None:
    """Delete old changes of readers, and categories in which nothing happened for a long time.

    A process that has not asked since gets the answer that everything may have changed.
    """
    await lock_writers(tx)
    old = await tx.rows("DELETE FROM reader_changes WHERE at < ? RETURNING version", changed_before)
    forgotten = max((int(row.version) for row in old), default=0)
    silent = await tx.run(
        "DELETE FROM personal_categories WHERE changed_at < ? AND gone_at < ? AND NOT EXISTS"
        " (SELECT 1 FROM personal_items p"
        " WHERE p.category_key = personal_categories.category_key)",
        categories_before,
        categories_before,
    )
    if silent:
        forgotten = await increment_version(tx)
    if forgotten:
        await tx.run(
            "UPDATE counters SET value = ? WHERE name = 'personal_forgotten' AND value < ?",
            forgotten,
            forgotten,
        )


@dataclass(slots=True)
class _ExistingItems:
    """Items that exist: `guids` has expiries by key, `callers` has keys by the key of a caller's
    id."""

    guids: dict[Key, int] = field(default_factory=dict)
    callers: dict[Key, Key] = field(default_factory=dict)

    def key_of(self, item: KeptItem, now: int) -> Key | None:
        """The key of the existing item that this is, if that has not expired."""
        category = index_key(item.category)
        key = (category, guid_key(item.guid))
        if self.guids.get(key, now) > now:
            return key
        if item.caller_id is None:
            return None
        named = self.callers.get((category, index_key(item.caller_id)))
        return named if named is not None and self.guids[named] > now else None

    def living(self, item: KeptItem, now: int) -> tuple[str, int] | None:
        key = self.key_of(item, now)
        return None if key is None else (guid_of(key[1]), self.guids[key])

    def expired(self, now: int) -> Mapping[Key, int]:
        return {key: expires_at for key, expires_at in self.guids.items() if expires_at <= now}

    def note(self, item: KeptItem) -> None:
        category = index_key(item.category)
        key = (category, guid_key(item.guid))
        self.guids[key] = item.expires_at
        if item.caller_id is not None:
            self.callers[(category, index_key(item.caller_id))] = key


async def _find_existing(tx: Transaction, items: Sequence[KeptItem]) -> _ExistingItems:
    existing = _ExistingItems()
    by_guid = {(index_key(item.category), guid_key(item.guid)) for item in items}
    by_caller = {
        (index_key(item.category), index_key(item.caller_id))
        for item in items
        if item.caller_id is not None
    }
    for key, row in (await get_item_rows(tx, sorted(by_guid))).items():
        existing.guids[key] = row.expires_at
    for page in slices(sorted(by_caller), _IN_ONE_QUERY):
        for row in await tx.rows(key_pairs_sql(tx, len(page)) + _BY_CALLER, *flat(page)):
            category = bytes(row.category_key)
            existing.guids[(category, bytes(row.guid))] = row.expires_at
            existing.callers[(category, bytes(row.caller_key))] = (category, bytes(row.guid))
    return existing


async def _delete_items(tx: Transaction, expired: Mapping[Key, int]) -> None:
    await tx.run_many(
        "DELETE FROM personal_items WHERE category_key = ? AND guid = ?", sorted(expired)
    )
    await _note_gone_at(tx, [(key[0], at) for key, at in expired.items()])


async def _note_gone_at(tx: Transaction, gone: Iterable[tuple[bytes, int]]) -> None:
    last: dict[bytes, int] = {}
    for category, at in gone:
        last[category] = max(at, last.get(category, 0))
    await tx.run_many(
        "UPDATE personal_categories SET gone_at = ? WHERE category_key = ? AND gone_at < ?",
        [(at, category, at) for category, at in sorted(last.items())],
    )


async def _insert(tx: Transaction, items: Sequence[KeptItem]) -> None:
    await tx.run_many(
        "INSERT INTO personal_items (category_key, guid, caller_key, expires_at, item)"
        " VALUES (?, ?, ?, ?, ?)",
        [
            (
                index_key(item.category),
                guid_key(item.guid),
                None if item.caller_id is None else index_key(item.caller_id),
                item.expires_at,
                encode_item(item),
            )
            for item in items
        ],
    )


async def _mark_changed(tx: Transaction, categories: Iterable[str], now: int) -> None:
    """Note a change of these categories. A clock that was set back sets no category back."""
    names = sorted(set(categories))
    if not names:
        return
    version = await increment_version(tx)
    await tx.run_many(
        "INSERT INTO personal_categories (category_key, category, version, changed_at, gone_at)"
        " VALUES (?, ?, ?, ?, 0) ON CONFLICT (category_key) DO UPDATE SET"
        " version = excluded.version, changed_at = CASE"
        " WHEN personal_categories.changed_at < excluded.changed_at THEN excluded.changed_at"
        " ELSE personal_categories.changed_at END",
        [(index_key(name), name, version, now) for name in names],
    )

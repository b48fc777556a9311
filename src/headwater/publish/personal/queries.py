"""What may be asked of items in categories: the newest of some, what changed, all of them in turn.

The newest are found by keys alone, from the end of an index, however many items there are. Words
are read only of those that are shown.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from headwater.ports import Reader, Row, Value, marks
from headwater.publish.personal.kept import guid_key, item_of
from headwater.values.ids import key_of
from headwater.values.personal import KeptItem, PersonalChanges, Shelf

T = TypeVar("T")

_IN_ONE_QUERY = 400
_UNITED = 100
"""Sub-queries in one; SQLite takes five hundred."""

# A `+` keeps a database from looking for the moment in another index: the newest guids are at the
# end of the primary key, and nearly all of them live.
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

# PostgreSQL knows how many items a category has on average, and would rather sort all of a small
# one than walk along an index: in a category of a hundred thousand that is never right.
_BY_INDEX_ALONE = (
    "SELECT set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true),"
    " set_config('jit', 'off', true)"
)

Key = tuple[bytes, bytes]
"""Of a category, and of a guid."""


class _Head(NamedTuple):
    """The end of a category: its newest living guid, and when something last came or went."""

    key: bytes
    newest: bytes | None
    changed_at: int
    gone_at: int


async def newest(view: Reader, categories: Sequence[str], limit: int, now: int) -> Shelf:
    names = {key_of(name): name for name in categories}
    if view.dialect == "postgresql":
        await view.row(_BY_INDEX_ALONE)
    heads = await _heads(view, list(names), now)
    rows = await _newest_rows(view, heads, limit, now)
    items = [
        item_of(names[bytes(row.category_key)], row.guid, row.expires_at, row.item) for row in rows
    ]
    moments = [head.changed_at for head in heads]
    if len({item.guid for item in items}) < limit:
        moments += [head.gone_at for head in heads]
    return Shelf(tuple(items), max(moments, default=0))


async def words(view: Reader, keys: Sequence[Key]) -> dict[Key, Row]:
    """Whole rows of those that are there, living or not."""
    found: dict[Key, Row] = {}
    for some in slices(keys, _IN_ONE_QUERY):
        for row in await view.rows(pairs(view, len(some)) + _WORDS, *flat(some)):
            found[(bytes(row.category_key), bytes(row.guid))] = row
    return found


async def places(view: Reader, caller_ids: Sequence[str]) -> dict[str, list[str]]:
    """As `ports.PersonalStore.places` says."""
    named = {key_of(caller_id): caller_id for caller_id in caller_ids}
    found: dict[str, list[str]] = {}
    for some in slices(sorted(named), _IN_ONE_QUERY):
        rows = await view.rows(
            "SELECT p.caller_key, c.category FROM personal_items p"
            " JOIN personal_categories c ON c.category_key = p.category_key"
            f" WHERE p.caller_key IN ({marks(len(some))})",
            *some,
        )
        for row in rows:
            found.setdefault(named[bytes(row.caller_key)], []).append(row.category)
    return found


async def changes(view: Reader, after: int) -> PersonalChanges:
    rows = await view.rows(
        "SELECT name, value FROM counters WHERE name IN ('personal', 'personal_forgotten')"
    )
    counted = {row.name: int(row.value) for row in rows}
    version = counted["personal"]
    if after == version:
        return PersonalChanges(version)
    if after < counted["personal_forgotten"] or after > version or after < 0:
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


async def items_after(
    view: Reader, after: tuple[str, str] | None, limit: int, now: int
) -> list[KeptItem]:
    """In the order of the primary key: every place in it can be found again."""
    where, values = "", list[Value]()
    if after is not None:
        key, guid = key_of(after[0]), guid_key(after[1])
        where, values = " AND (p.category_key, p.guid) > (?, ?)", [key, guid]
    rows = await view.rows(
        "SELECT c.category, p.guid, p.expires_at, p.item FROM personal_items p"
        " JOIN personal_categories c ON c.category_key = p.category_key"
        f" WHERE +p.expires_at > ?{where} ORDER BY p.category_key, p.guid LIMIT ?",
        now,
        *values,
        limit,
    )
    return [item_of(row.category, row.guid, row.expires_at, row.item) for row in rows]


async def has_expired(view: Reader, now: int) -> bool:
    row = await view.row("SELECT 1 FROM personal_items WHERE expires_at <= ? LIMIT 1", now)
    return row is not None


async def _heads(view: Reader, keys: Sequence[bytes], now: int) -> list[_Head]:
    """Of those that ever held anything."""
    found: list[_Head] = []
    for some in slices(keys, _IN_ONE_QUERY):
        for row in await view.rows(_listed(view, len(some)) + _HEADS, *some, now, now):
            newest = None if row.newest is None else bytes(row.newest)
            gone_at = max(row.gone_at, row.gone or 0)
            found.append(_Head(bytes(row.k), newest, row.changed_at, gone_at))
    return found


async def _newest_rows(view: Reader, heads: Sequence[_Head], limit: int, now: int) -> list[Row]:
    """Newest first. A category whose newest is older than the `limit` newest of others has none
    of them; what is older than all of these is not asked for in any category."""
    ends = sorted({head.newest for head in heads if head.newest is not None}, reverse=True)
    bound = ends[limit - 1] if len(ends) >= limit else b""
    near = [head.key for head in heads if head.newest is not None and head.newest >= bound]
    rows: list[Row] = []
    for some in slices(near, _UNITED):
        rows += await _nearest(view, some, bound, limit, now)
    shown = set(sorted({bytes(row.guid) for row in rows}, reverse=True)[:limit])
    place = {key: number for number, key in enumerate(near)}
    return sorted(
        (row for row in rows if bytes(row.guid) in shown),
        key=lambda row: (bytes(row.guid), -place[bytes(row.category_key)]),
        reverse=True,
    )


async def _nearest(
    view: Reader, near: Sequence[bytes], bound: bytes, limit: int, now: int
) -> Sequence[Row]:
    """Those of the `limit` newest guids in these categories, none older than the bound."""
    values: list[Value]
    if view.dialect == "postgresql":
        first, union = f"{_listed(view, len(near))}, u", _NEAREST_POSTGRESQL
        values = [*near, now, bound, limit]
    else:
        first, union = "WITH u", " UNION ALL ".join([_NEAREST_SQLITE] * len(near))
        values = [value for key in near for value in (key, bound, now, limit)]
    sql = f"{first} AS MATERIALIZED ({union}){_OF_THE_NEAREST}"
    return await view.rows(sql, *values, limit - 1, b"")


def pairs(view: Reader, count: int) -> str:
    """`w`, that many pairs of keys. PostgreSQL learns the types of the first one; SQLite must not
    be told of BYTEA."""
    first = "(CAST(? AS BYTEA), CAST(? AS BYTEA))" if view.dialect == "postgresql" else "(?, ?)"
    return f"WITH w (k, g) AS (VALUES {', '.join([first, *['(?, ?)'] * (count - 1)])})"


def _listed(view: Reader, count: int) -> str:
    first = "(CAST(? AS BYTEA))" if view.dialect == "postgresql" else "(?)"
    return f"WITH w (k) AS (VALUES {', '.join([first, *['(?)'] * (count - 1)])})"


def flat(keys: Iterable[Key]) -> list[Value]:
    return [value for key in keys for value in key]


def slices(values: Sequence[T], size: int) -> list[Sequence[T]]:
    return [values[i : i + size] for i in range(0, len(values), size)]

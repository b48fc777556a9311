"""Versions of entries in the database, read in batches."""

from collections.abc import Collection

from headwater.core.ports import SqlValue, View
from headwater.feeds.entries.entry_version import KeptVersion, VersionKey

_IN_ONE_QUERY = 500
_COLUMNS = (
    "w.feed_id, w.uid_key, w.version, e.version, v.snapshot, e.entry_uid, e.canonical_link,"
    " e.title, e.summary, e.content, e.authors, e.categories, e.enclosures, e.details,"
    " e.published, e.updated, e.first_seen, coalesce(v.content_hash, e.content_hash),"
    " coalesce(v.fetch_id, e.fetch_id),"
    " CASE WHEN v.version IS NULL THEN e.frag_offset ELSE v.frag_offset END,"
    " CASE WHEN v.version IS NULL THEN e.frag_length ELSE v.frag_length END"
)
# The keys come first in the join, and each finds its rows by index. With `IN (VALUES …)` SQLite
# reads the whole table instead; CROSS JOIN keeps it from trying another order.
_FROM = (
    " FROM w CROSS JOIN feeds f CROSS JOIN entries e LEFT JOIN entry_versions v"
    " ON v.feed_id = e.feed_id AND v.uid_key = e.uid_key AND v.version = w.version"
    " AND v.version <> e.version"
    " WHERE f.feed_id = w.feed_id AND e.feed_id = f.id AND e.uid_key = w.uid_key"
)


async def find_versions(view: View, keys: Collection[VersionKey]) -> dict[VersionKey, KeptVersion]:
    """The versions that exist: a feed may have been deleted with all its entries."""
    versions: dict[VersionKey, KeptVersion] = {}
    unique = list(dict.fromkeys(keys))
    for start in range(0, len(unique), _IN_ONE_QUERY):
        batch = unique[start : start + _IN_ONE_QUERY]
        values: list[SqlValue] = [value for key in batch for value in key]
        for row in await view.rows(_sql(view, len(batch)), *values):
            version = KeptVersion._make(row)
            if version.snapshot is not None or version.present == version.number:
                versions[VersionKey(*version[:3])] = version
    return versions


def _sql(view: View, count: int) -> str:
    """PostgreSQL takes the types from the first row; SQLite does not know BYTEA."""
    typed = "(CAST(? AS TEXT), CAST(? AS BYTEA), CAST(? AS INTEGER))"
    first = typed if view.dialect == "postgresql" else "(?, ?, ?)"
    rows = ", ".join([first, *["(?, ?, ?)"] * (count - 1)])
    return f"WITH w (feed_id, uid_key, version) AS (VALUES {rows}) SELECT {_COLUMNS}{_FROM}"

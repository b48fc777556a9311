"""What may be asked about a batch of told entries: their versions, and where their bytes are."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeVar

from headwater.merge.told.version import KeptVersion, Version
from headwater.ports import Reader, Value, marks

T = TypeVar("T")

_IN_ONE_QUERY = 500

_COLUMNS = (
    "w.feed_id, w.uid_key, w.version, e.version, v.snapshot, e.entry_uid, e.canonical_link,"
    " e.title, e.summary, e.content, e.authors, e.categories, e.enclosures, e.details,"
    " e.published, e.updated, e.first_seen, coalesce(v.content_hash, e.content_hash),"
    " coalesce(v.fetch_id, e.fetch_id),"
    " CASE WHEN v.version IS NULL THEN e.frag_offset ELSE v.frag_offset END,"
    " CASE WHEN v.version IS NULL THEN e.frag_length ELSE v.frag_length END"
)
# The wanted ones come first in the join, each finds its rows by key. With `IN (VALUES …)` SQLite
# reads the whole table instead; CROSS JOIN keeps it from trying another order.
_FROM = (
    " FROM w CROSS JOIN feeds f CROSS JOIN entries e LEFT JOIN entry_versions v"
    " ON v.feed_id = e.feed_id AND v.uid_key = e.uid_key AND v.version = w.version"
    " AND v.version <> e.version"
    " WHERE f.feed_id = w.feed_id AND e.feed_id = f.id AND e.uid_key = w.uid_key"
)


@dataclass(frozen=True, slots=True)
class KeptBody:
    """Where the bytes of a raw fetch are; `expired` when retention let them go."""

    blob_key: str
    sha256: str
    size: int
    expired: bool


async def versions(view: Reader, wanted: Collection[Version]) -> dict[Version, KeptVersion]:
    """Those that there are: a feed may have been deleted with all its entries."""
    found: dict[Version, KeptVersion] = {}
    for some in _slices(list(dict.fromkeys(wanted))):
        values: list[Value] = [value for version in some for value in version]
        for row in await view.rows(_sql(view, len(some)), *values):
            kept = KeptVersion._make(row)
            if kept.snapshot is not None or kept.present == kept.number:
                found[Version(*kept[:3])] = kept
    return found


async def bodies(view: Reader, fetch_ids: Collection[str]) -> dict[str, KeptBody]:
    """By fetch id; one that is not known is left out."""
    found: dict[str, KeptBody] = {}
    for some in _slices(list(dict.fromkeys(fetch_ids))):
        rows = await view.rows(
            "SELECT fetch_id, blob_key, body_sha256, content_length, expired_at FROM raw_fetches"
            f" WHERE fetch_id IN ({marks(len(some))})",
            *some,
        )
        for fetch_id, blob_key, sha256, size, expired_at in rows:
            found[fetch_id] = KeptBody(blob_key, sha256, size, expired_at is not None)
    return found


def _sql(view: Reader, count: int) -> str:
    """PostgreSQL learns the types of the first row; SQLite must not be told of BYTEA."""
    typed = "(CAST(? AS TEXT), CAST(? AS BYTEA), CAST(? AS INTEGER))"
    first = typed if view.dialect == "postgresql" else "(?, ?, ?)"
    rows = ", ".join([first, *["(?, ?, ?)"] * (count - 1)])
    return f"WITH w (feed_id, uid_key, version) AS (VALUES {rows}) SELECT {_COLUMNS}{_FROM}"


def _slices(values: list[T]) -> list[list[T]]:
    return [values[i : i + _IN_ONE_QUERY] for i in range(0, len(values), _IN_ONE_QUERY)]

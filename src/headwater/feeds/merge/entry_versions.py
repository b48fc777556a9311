"""What may be asked about a batch of told entries: their versions, and where their bytes are."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

import orjson

from headwater.core.ports import SqlValue, View, placeholders
from headwater.core.values.ids import index_key
from headwater.core.values.instant import EPOCH

ENTRY_EVENTS = frozenset({"new_entry", "updated_entry"})
_NO_NUMBER = 2**31


# Named tuples, not dataclasses: batches of hundreds are made and looked up while visits go on.
class VersionKey(NamedTuple):
    """Which entry of which feed, and which of its versions."""

    feed_id: str
    uid_key: bytes
    number: int


class KeptVersion(NamedTuple):
    """A version as it is stored: lists are JSON text, moments are microseconds.

    `snapshot` is JSON of what an edit replaced; what stands beside it are then the entry's
    present words. Without one, `present` is the number of the version that the words belong to.
    """

    feed_id: str
    uid_key: bytes
    number: int
    present: int
    snapshot: str | None
    uid: str
    link: str | None
    title: str | None
    summary: str | None
    content: str | None
    authors: str
    categories: str
    enclosures: str
    details: str
    published: int | None
    updated: int | None
    first_seen: int
    content_hash: str
    fetch_id: str
    offset: int | None
    length: int | None


def version_key_of(type: str, payload: Mapping[str, Any]) -> VersionKey | None:
    """None for an event that speaks of no entry."""
    if type not in ENTRY_EVENTS:
        return None
    feed_id, uid = payload.get("feed_id"), payload.get("entry_uid")
    number = payload.get("version", 1)
    if not (isinstance(feed_id, str) and isinstance(uid, str) and isinstance(number, int)):
        return None
    # A database would refuse to look for these, and the batch with it.
    is_askable = "\0" not in feed_id and number is not True and 0 < number < _NO_NUMBER
    return VersionKey(feed_id, index_key(uid), number) if is_askable else None


def version_json(kept: KeptVersion) -> bytes:
    """One line of JSON, the same each time: nothing in it changes after the version was made."""
    kept = with_own_text(kept)
    return orjson.dumps(
        {
            "entry_uid": kept.uid,
            "feed_id": kept.feed_id,
            "canonical_link": kept.link,
            "title": kept.title,
            "summary": kept.summary,
            "content": kept.content,
            "authors": orjson.Fragment(kept.authors),
            "categories": orjson.Fragment(kept.categories),
            "enclosures": orjson.Fragment(kept.enclosures),
            "published": _moment(kept.published),
            "updated": _moment(kept.updated),
            "first_seen": _moment(kept.first_seen),
            "raw_refs": (
                {"fetch_id": kept.fetch_id, "offset": kept.offset, "length": kept.length},
            ),
            "content_hash": kept.content_hash,
            "version": kept.number,
            "details": orjson.Fragment(kept.details),
        },
        option=orjson.OPT_UTC_Z,
    )


def with_own_text(kept: KeptVersion) -> KeptVersion:
    """The words beside it are then those of this very version."""
    if kept.snapshot is None:
        return kept
    said: Mapping[str, Any] = orjson.loads(kept.snapshot)
    names = ("title", "summary", "content", "authors", "categories", "enclosures", "details")
    words = {name: said[name] for name in names}
    moments = {name: said[name] for name in ("published", "updated")}
    return kept._replace(link=said["canonical_link"], **words, **moments)


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else EPOCH + timedelta(microseconds=micros)


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


async def get_versions(view: View, wanted: Collection[VersionKey]) -> dict[VersionKey, KeptVersion]:
    """Those that there are: a feed may have been deleted with all its entries."""
    found: dict[VersionKey, KeptVersion] = {}
    for some in _slices(list(dict.fromkeys(wanted))):
        values: list[SqlValue] = [value for version in some for value in version]
        for row in await view.rows(_sql(view, len(some)), *values):
            kept = KeptVersion._make(row)
            if kept.snapshot is not None or kept.present == kept.number:
                found[VersionKey(*kept[:3])] = kept
    return found


async def get_bodies(view: View, fetch_ids: Collection[str]) -> dict[str, KeptBody]:
    """By fetch id; one that is not known is left out."""
    found: dict[str, KeptBody] = {}
    for some in _slices(list(dict.fromkeys(fetch_ids))):
        rows = await view.rows(
            "SELECT fetch_id, blob_key, body_sha256, content_length, expired_at FROM raw_fetches"
            f" WHERE fetch_id IN ({placeholders(len(some))})",
            *some,
        )
        for fetch_id, blob_key, sha256, size, expired_at in rows:
            found[fetch_id] = KeptBody(blob_key, sha256, size, expired_at is not None)
    return found


def _sql(view: View, count: int) -> str:
    """PostgreSQL learns the types of the first row; SQLite must not be told of BYTEA."""
    typed = "(CAST(? AS TEXT), CAST(? AS BYTEA), CAST(? AS INTEGER))"
    first = typed if view.dialect == "postgresql" else "(?, ?, ?)"
    rows = ", ".join([first, *["(?, ?, ?)"] * (count - 1)])
    return f"WITH w (feed_id, uid_key, version) AS (VALUES {rows}) SELECT {_COLUMNS}{_FROM}"


def _slices(values: list[T]) -> list[list[T]]:
    return [values[i : i + _IN_ONE_QUERY] for i in range(0, len(values), _IN_ONE_QUERY)]

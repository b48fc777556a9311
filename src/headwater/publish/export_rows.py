"""What may be asked for an export: entries as the log told of them last, payloads in order."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson

from headwater.core.ports import Row, SqlValue, View, placeholders
from headwater.core.values.instant import from_micros, maybe_moment, to_micros
from headwater.core.values.response import Headers
from headwater.events.event_json import WireEvent
from headwater.feeds.entries.entry_version import (
    KeptVersion,
    VersionKey,
    version_json,
    version_key_of,
)
from headwater.feeds.entries.entry_version_rows import find_versions

_AT_ONCE = 32
"""Entries whose words are read together: each may be a megabyte."""


@dataclass(frozen=True, slots=True)
class LatestEntries:
    """Entries as (number in the log, JSON). Everything up to `reached` was looked at."""

    entries: tuple[tuple[int, bytes], ...]
    reached: int


@dataclass(frozen=True, slots=True)
class ExportedFetch:
    """A raw fetch with its headers as they were served, secrets hidden."""

    fetch_id: str
    feed_id: str
    fetched_at: datetime
    url: str
    http_status: int
    request_headers: Headers
    response_headers: Headers
    body_sha256: str
    content_length: int
    truncated: bool
    error: str | None
    expired_at: datetime | None


async def list_latest_entries(
    view: View, parcels: Sequence[WireEvent], *, until: int, most_bytes: int
) -> LatestEntries:
    """Each entry at the last event up to `until` that speaks of it, as that event told of it.

    So an export of several pages has every entry once, however often it is edited meanwhile. Ends
    early when there are more than `most_bytes`.
    """
    found: list[tuple[int, bytes]] = []
    size = 0
    for start in range(0, len(parcels), _AT_ONCE):
        some = parcels[start : start + _AT_ONCE]
        for seq, kept in await _last_of(view, some, until):
            found.append((seq, version_json(kept)))
            size += len(found[-1][1])
        if size > most_bytes:
            return LatestEntries(tuple(found), some[-1].seq)
    return LatestEntries(tuple(found), until)


async def list_raw_fetches_after(
    view: View, after: str, *, before: str, limit: int, feed_id: str | None
) -> list[ExportedFetch]:
    """In the order of their ids, which is the order of time."""
    where, values = "r.fetch_id > ? AND r.fetch_id < ?", list[SqlValue]((after, before))
    if feed_id is not None:
        where += " AND f.feed_id = ?"
        values.append(feed_id)
    rows = await view.rows(
        "SELECT r.*, f.feed_id AS public_id FROM raw_fetches r JOIN feeds f ON f.id = r.feed_id"
        f" WHERE {where} ORDER BY r.fetch_id LIMIT ?",
        *values,
        limit,
    )
    return [_raw_of(row) for row in rows]


async def _last_of(
    view: View, parcels: Sequence[WireEvent], until: int
) -> list[tuple[int, KeptVersion]]:
    """What was deleted for good is nowhere. What was edited since is here only if that was told
    after `until`."""
    told = [(parcel.seq, version_key_of(parcel.type, parcel.payload)) for parcel in parcels]
    kept = await find_versions(view, [version for _, version in told if version is not None])
    edited = [version for version, each in kept.items() if each.present > each.number]
    later = await _versions_in_later_events(
        view, until, sorted({version.feed_id for version in edited})
    )
    return [
        (seq, each)
        for seq, version in told
        if version is not None
        and (each := kept.get(version)) is not None
        and (each.present == each.number or _next(version) in later)
    ]


async def _versions_in_later_events(
    view: View, until: int, feed_ids: Sequence[str]
) -> set[VersionKey]:
    """Versions that the log tells of after that number: what was edited while an export runs."""
    if not feed_ids:
        return set()
    rows = await view.rows(
        "SELECT type, payload FROM events WHERE seq > ? AND type = 'updated_entry'"
        f" AND feed_id IN ({placeholders(len(feed_ids))})",
        until,
        *feed_ids,
    )
    told = (version_key_of(row.type, orjson.loads(row.payload)) for row in rows)
    return {version for version in told if version is not None}


def _next(version: VersionKey) -> VersionKey:
    return version._replace(number=version.number + 1)


def _raw_of(row: Row) -> ExportedFetch:
    return ExportedFetch(
        fetch_id=row.fetch_id,
        feed_id=row.public_id,
        fetched_at=from_micros(row.fetched_at),
        url=row.url,
        http_status=row.http_status,
        request_headers=_pairs(row.request_headers),
        response_headers=_pairs(row.response_headers),
        body_sha256=row.body_sha256,
        content_length=row.content_length,
        truncated=bool(row.truncated),
        error=row.error,
        expired_at=maybe_moment(row.expired_at),
    )


def _pairs(stored: str) -> Headers:
    return tuple((name, value) for name, value in orjson.loads(stored))


FIRST = "00000000-0000-0000-0000-000000000000"


def first_id_at(moment: datetime) -> str:
    """The smallest UUIDv7 of that moment: every id made earlier sorts before it."""
    digits = f"{max(0, to_micros(moment) // 1000):012x}"
    return f"{digits[:8]}-{digits[8:]}-7000-8000-000000000000"

"""Export rows: read entries as the event log last named them, and raw fetches in order."""

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
"""Entries whose texts are read together: each may be a megabyte."""


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
    view: View, events: Sequence[WireEvent], *, until: int, most_bytes: int
) -> LatestEntries:
    """Each entry at its last event up to `until`, in the version that the event names.

    So an export of several pages has each entry once, however often it is edited meanwhile. The
    list ends early when it has more than `most_bytes`.
    """
    entries: list[tuple[int, bytes]] = []
    size = 0
    for start in range(0, len(events), _AT_ONCE):
        batch = events[start : start + _AT_ONCE]
        for seq, version in await _list_last_versions(view, batch, until):
            encoded = version_json(version)
            entries.append((seq, encoded))
            size += len(encoded)
        if size > most_bytes:
            return LatestEntries(tuple(entries), batch[-1].seq)
    return LatestEntries(tuple(entries), until)


async def list_raw_fetches_after(
    view: View, after: str, *, before: str, limit: int, feed_id: str | None
) -> list[ExportedFetch]:
    """Raw fetches in the order of their ids, which is the order of time."""
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
    return [_exported_fetch_of(row) for row in rows]


async def _list_last_versions(
    view: View, events: Sequence[WireEvent], until: int
) -> list[tuple[int, KeptVersion]]:
    """Leaves out entries that were deleted for good. An entry that was edited since is here only
    if the event of its edit is after `until`."""
    named = [(event.seq, version_key_of(event.type, event.payload)) for event in events]
    versions = await find_versions(view, [key for _, key in named if key is not None])
    edited = [key for key, version in versions.items() if version.present > version.number]
    later = await _versions_in_later_events(view, until, sorted({key.feed_id for key in edited}))
    return [
        (seq, version)
        for seq, key in named
        if key is not None
        and (version := versions.get(key)) is not None
        and (version.present == version.number or key._replace(number=key.number + 1) in later)
    ]


async def _versions_in_later_events(
    view: View, until: int, feed_ids: Sequence[str]
) -> set[VersionKey]:
    """Versions that events after that number name: entries that were edited during an export."""
    if not feed_ids:
        return set()
    rows = await view.rows(
        "SELECT type, payload FROM events WHERE seq > ? AND type = 'updated_entry'"
        f" AND feed_id IN ({placeholders(len(feed_ids))})",
        until,
        *feed_ids,
    )
    keys = (version_key_of(row.type, orjson.loads(row.payload)) for row in rows)
    return {key for key in keys if key is not None}


def _exported_fetch_of(row: Row) -> ExportedFetch:
    return ExportedFetch(
        fetch_id=row.fetch_id,
        feed_id=row.public_id,
        fetched_at=from_micros(row.fetched_at),
        url=row.url,
        http_status=row.http_status,
        request_headers=_decode_headers(row.request_headers),
        response_headers=_decode_headers(row.response_headers),
        body_sha256=row.body_sha256,
        content_length=row.content_length,
        truncated=bool(row.truncated),
        error=row.error,
        expired_at=maybe_moment(row.expired_at),
    )


def _decode_headers(stored: str) -> Headers:
    return tuple((name, value) for name, value in orjson.loads(stored))


FIRST = "00000000-0000-0000-0000-000000000000"


def first_id_at(moment: datetime) -> str:
    """The smallest UUIDv7 of that moment: all ids made earlier sort before it."""
    digits = f"{max(0, to_micros(moment) // 1000):012x}"
    return f"{digits[:8]}-{digits[8:]}-7000-8000-000000000000"

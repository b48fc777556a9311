"""What may be asked of the archive: the record of a raw fetch, and which ones have expired."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson

from headwater.errors import NotFound
from headwater.ports import Reader, Row, marks
from headwater.values.ids import FeedId, FeedPk, FetchId
from headwater.values.instant import from_micros, maybe_moment

_IN_ONE_QUERY = 400


@dataclass(frozen=True, slots=True)
class ArchivedFetch:
    """A raw fetch as its row tells it; `expired_at` when retention let the bytes go."""

    fetch_id: FetchId
    feed_id: FeedId
    fetched_at: datetime
    url: str
    http_status: int
    request_headers: Mapping[str, str]
    response_headers: Mapping[str, str]
    storage: str
    blob_key: str
    body_sha256: str
    content_type: str | None
    content_length: int
    truncated: bool
    error: str | None
    expired_at: datetime | None


async def raw_fetch(view: Reader, fetch_id: str) -> ArchivedFetch:
    row = await view.row(
        "SELECT r.*, f.feed_id AS public_id FROM raw_fetches r JOIN feeds f ON f.id = r.feed_id"
        " WHERE r.fetch_id = ?",
        fetch_id,
    )
    if row is None:
        raise NotFound("There is no such raw fetch.", what="raw_fetch")
    return _archived_of(row)


async def unexpired(view: Reader, fetch_ids: Sequence[str]) -> set[str]:
    """Those of these raw fetches whose bytes can still be had."""
    wanted, there = sorted(set(fetch_ids)), set[str]()
    for start in range(0, len(wanted), _IN_ONE_QUERY):
        some = wanted[start : start + _IN_ONE_QUERY]
        rows = await view.rows(
            "SELECT fetch_id FROM raw_fetches WHERE expired_at IS NULL"
            f" AND fetch_id IN ({marks(len(some))})",
            *some,
        )
        there.update(row.fetch_id for row in rows)
    return there


_A_DOCUMENT = "r.error IS NULL AND NOT r.truncated AND r.http_status BETWEEN 200 AND 299"
"""A whole answer that said yes: what a visit would have read."""


async def document_before(view: Reader, raw: ArchivedFetch) -> ArchivedFetch | None:
    """The newest payload of the same feed, older than this one, whose bytes can be had."""
    row = await view.row(
        "SELECT r.*, f.feed_id AS public_id FROM raw_fetches r JOIN feeds f ON f.id = r.feed_id"
        f" WHERE f.feed_id = ? AND r.fetch_id < ? AND r.expired_at IS NULL AND {_A_DOCUMENT}"
        " ORDER BY r.fetch_id DESC LIMIT 1",
        raw.feed_id,
        raw.fetch_id,
    )
    return None if row is None else _archived_of(row)


async def documents_of(
    view: Reader, feed: FeedPk, *, after: str | None, limit: int
) -> list[ArchivedFetch]:
    """Payloads of a feed, oldest first. Of those that have expired, the ones entries came from."""
    rows = await view.rows(
        "SELECT r.*, f.feed_id AS public_id FROM raw_fetches r JOIN feeds f ON f.id = r.feed_id"
        f" WHERE r.feed_id = ? AND r.fetch_id > ? AND {_A_DOCUMENT} AND (r.expired_at IS NULL OR"
        " EXISTS (SELECT 1 FROM entries e WHERE e.feed_id = r.feed_id AND e.fetch_id = r.fetch_id))"
        " ORDER BY r.fetch_id LIMIT ?",
        feed,
        after or "",
        limit,
    )
    return [_archived_of(row) for row in rows]


async def count(view: Reader) -> int:
    row = await view.row("SELECT count(*) AS fetches FROM raw_fetches")
    assert row is not None
    return int(row.fetches)


def _archived_of(row: Row) -> ArchivedFetch:
    return ArchivedFetch(
        fetch_id=row.fetch_id,
        feed_id=row.public_id,
        fetched_at=from_micros(row.fetched_at),
        url=row.url,
        http_status=row.http_status,
        request_headers=_by_name(row.request_headers),
        response_headers=_by_name(row.response_headers),
        storage=row.storage,
        blob_key=row.blob_key,
        body_sha256=row.body_sha256,
        content_type=row.content_type,
        content_length=row.content_length,
        truncated=bool(row.truncated),
        error=row.error,
        expired_at=maybe_moment(row.expired_at),
    )


def _by_name(stored: str) -> dict[str, str]:
    """An object; a field that came several times is joined as HTTP allows."""
    joined: dict[str, str] = {}
    for name, value in orjson.loads(stored):
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined

"""Raw fetches in the database, and the blobs with their bodies."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import orjson

from headwater.core.errors import NotFound
from headwater.core.ports import Row, Transaction, View, placeholders
from headwater.core.values.ids import FeedId, FeedPk, FetchId
from headwater.core.values.instant import from_micros, maybe_moment, to_micros
from headwater.core.values.response import Headers
from headwater.feeds.raw.raw_fetch import RawFetch, blob_key


async def list_blob_keys(view: View, digests: Sequence[str], generation: int) -> dict[str, str]:
    """The key of each body; a new one for a body that is missing, or about to be deleted."""
    unique = sorted(set(digests))
    rows = await view.rows(
        "SELECT body_sha256, generation FROM blobs WHERE dying_since IS NULL"
        f" AND body_sha256 IN ({placeholders(len(unique))})",
        *unique,
    )
    new = {digest: blob_key(digest, generation) for digest in unique}
    return new | {row.body_sha256: blob_key(row.body_sha256, row.generation) for row in rows}


async def lock_blobs(tx: Transaction, digests: Sequence[str], generation: int) -> dict[str, str]:
    """The keys again, now safe from deletion. A dying blob is never used; its content moves on.

    When they differ from those of `list_blob_keys`, somebody came between: put the bodies again.
    """
    unique = sorted(set(digests))
    await tx.run_many(
        "INSERT INTO blobs (body_sha256, generation) VALUES (?, ?)"
        " ON CONFLICT (body_sha256) DO UPDATE SET dying_since = NULL, generation = CASE"
        " WHEN blobs.dying_since IS NULL THEN blobs.generation ELSE excluded.generation END",
        [(digest, generation) for digest in unique],
    )
    return await list_blob_keys(tx, unique, generation)


async def insert_raw_fetches(
    tx: Transaction, raws: Sequence[RawFetch], keys: Mapping[str, str], storage: str
) -> None:
    """Call this only after the blobs are durable: a row promises that its bytes can be had (R1)."""
    await tx.run_many(
        "INSERT INTO raw_fetches (fetch_id, feed_id, fetched_at, url, http_status,"
        " request_headers, response_headers, storage, blob_key, body_sha256, content_type,"
        " content_length, truncated, error, keep)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                raw.fetch_id,
                raw.feed,
                raw.fetched_at,
                raw.url,
                raw.status,
                headers_json(raw.request_headers),
                headers_json(raw.response_headers),
                storage,
                keys[raw.body_sha256],
                raw.body_sha256,
                raw.content_type,
                len(raw.body),
                raw.truncated,
                raw.error,
                False,
            )
            for raw in raws
        ],
    )


async def set_kept(tx: Transaction, fetch_ids: Sequence[str]) -> None:
    """Mark payloads that brought or changed an entry."""
    await tx.run_many(
        "UPDATE raw_fetches SET keep = ? WHERE fetch_id = ?",
        [(True, fetch_id) for fetch_id in fetch_ids],
    )


class ExpirableFetches(NamedTuple):
    """Raw fetches that retention may delete. An `unneeded` one may have become needed since."""

    unneeded: list[str]
    old: list[str]

    def __bool__(self) -> bool:
        return bool(self.unneeded or self.old)


async def list_expirable(
    view: View, *, unchanged_kept: int, kept_before: datetime | None
) -> ExpirableFetches:
    """Some of the unneeded payloads beyond the newest `unchanged_kept` of each feed.

    With `kept_before`, an operator also has older payloads deleted that did bring entries.
    """
    unneeded = await view.rows(
        "SELECT fetch_id FROM (SELECT fetch_id, row_number() OVER"
        " (PARTITION BY feed_id ORDER BY fetched_at DESC) AS place"
        " FROM raw_fetches WHERE expired_at IS NULL AND NOT keep) ranked WHERE place > ?"
        " LIMIT 5000",
        unchanged_kept,
    )
    old: Sequence[Row] = ()
    if kept_before is not None:
        old = await view.rows(
            "SELECT fetch_id FROM raw_fetches WHERE expired_at IS NULL AND fetched_at < ?"
            " LIMIT 5000",
            to_micros(kept_before),
        )
    return ExpirableFetches([row.fetch_id for row in unneeded], [row.fetch_id for row in old])


async def set_expired(tx: Transaction, expirable: ExpirableFetches, now: datetime) -> None:
    """A payload that has brought an entry since, because it was parsed again, stays."""
    moment = to_micros(now)
    await tx.run_many(
        "UPDATE raw_fetches SET expired_at = ? WHERE fetch_id = ? AND NOT keep",
        [(moment, fetch_id) for fetch_id in expirable.unneeded],
    )
    await tx.run_many(
        "UPDATE raw_fetches SET expired_at = ? WHERE fetch_id = ?",
        [(moment, fetch_id) for fetch_id in expirable.old],
    )


_UNUSED = (
    "NOT EXISTS (SELECT 1 FROM raw_fetches r WHERE r.body_sha256 = b.body_sha256"
    " AND r.expired_at IS NULL)"
)


async def list_unused_blobs(view: View) -> list[str]:
    """Some of the contents to which no unexpired raw fetch refers."""
    rows = await view.rows(
        f"SELECT body_sha256 FROM blobs b WHERE dying_since IS NULL AND {_UNUSED} LIMIT 1000"
    )
    return [row.body_sha256 for row in rows]


async def mark_blobs_dying(tx: Transaction, digests: Sequence[str], now: datetime) -> list[str]:
    """Mark the blobs that are still unused and return their keys.

    They are locked first, so that no reference is added meanwhile.
    """
    if tx.dialect == "postgresql":
        await tx.rows(
            f"SELECT 1 FROM blobs WHERE body_sha256 IN ({placeholders(len(digests))})"
            " ORDER BY body_sha256 FOR UPDATE",
            *digests,
        )
    rows = await tx.rows(
        f"UPDATE blobs AS b SET dying_since = ? WHERE body_sha256 IN ({placeholders(len(digests))})"
        f" AND dying_since IS NULL AND {_UNUSED} RETURNING body_sha256, generation",
        to_micros(now),
        *digests,
    )
    return [blob_key(row.body_sha256, row.generation) for row in rows]


async def list_dying_blobs(view: View) -> list[str]:
    """Keys of blobs that were marked before, the newest first: a crash may have kept them."""
    rows = await view.rows(
        "SELECT body_sha256, generation FROM blobs WHERE dying_since IS NOT NULL"
        " ORDER BY dying_since DESC LIMIT 5000"
    )
    return [blob_key(row.body_sha256, row.generation) for row in rows]


async def delete_dying_blobs(tx: Transaction, dying_before: datetime) -> None:
    """Tombstones stay a while, so that a reader from before the deletion finds out after it."""
    await tx.run("DELETE FROM blobs WHERE dying_since < ?", to_micros(dying_before))


async def upsert_parser_death(tx: Transaction, body_sha256: str, error: str, now: datetime) -> None:
    await tx.run(
        "INSERT INTO quarantine (body_sha256, crashes, last_error, last_at) VALUES (?, 1, ?, ?)"
        " ON CONFLICT (body_sha256) DO UPDATE SET crashes = quarantine.crashes + 1,"
        " last_error = excluded.last_error, last_at = excluded.last_at",
        body_sha256,
        error,
        to_micros(now),
    )


async def count_parser_deaths(tx: Transaction, digests: Sequence[str]) -> dict[str, int]:
    """By digest, how often each of these bodies has killed its parse process."""
    unique = sorted(set(digests))
    rows = await tx.rows(
        f"SELECT body_sha256, crashes FROM quarantine WHERE body_sha256 IN "
        f"({placeholders(len(unique))})",
        *unique,
    )
    return {row.body_sha256: row.crashes for row in rows}


def headers_json(headers: Headers) -> str:
    return orjson.dumps(headers).decode()


_IN_ONE_QUERY = 400


@dataclass(frozen=True, slots=True)
class ArchivedFetch:
    """A raw fetch as it is stored; `expired_at` is when retention deleted the bytes."""

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


async def get_raw_fetch(view: View, fetch_id: str) -> ArchivedFetch:
    row = await view.row(
        "SELECT r.*, f.feed_id AS public_id FROM raw_fetches r JOIN feeds f ON f.id = r.feed_id"
        " WHERE r.fetch_id = ?",
        fetch_id,
    )
    if row is None:
        raise NotFound("There is no such raw fetch.", what="raw_fetch")
    return _archived_of(row)


async def list_unexpired(view: View, fetch_ids: Sequence[str]) -> set[str]:
    """The raw fetches among these whose bytes can still be had."""
    unique, unexpired = sorted(set(fetch_ids)), set[str]()
    for start in range(0, len(unique), _IN_ONE_QUERY):
        batch = unique[start : start + _IN_ONE_QUERY]
        rows = await view.rows(
            "SELECT fetch_id FROM raw_fetches WHERE expired_at IS NULL"
            f" AND fetch_id IN ({placeholders(len(batch))})",
            *batch,
        )
        unexpired.update(row.fetch_id for row in rows)
    return unexpired


@dataclass(frozen=True, slots=True)
class KeptBody:
    """The place of a raw fetch's bytes; `expired` when retention has deleted them."""

    blob_key: str
    sha256: str
    size: int
    expired: bool


async def find_bodies(view: View, fetch_ids: Collection[str]) -> dict[str, KeptBody]:
    """The bodies by fetch id; an unknown one is left out."""
    unique, bodies = list(dict.fromkeys(fetch_ids)), dict[str, KeptBody]()
    for start in range(0, len(unique), _IN_ONE_QUERY):
        batch = unique[start : start + _IN_ONE_QUERY]
        rows = await view.rows(
            "SELECT fetch_id, blob_key, body_sha256, content_length, expired_at FROM raw_fetches"
            f" WHERE fetch_id IN ({placeholders(len(batch))})",
            *batch,
        )
        for fetch_id, key, sha256, size, expired_at in rows:
            bodies[fetch_id] = KeptBody(key, sha256, size, expired_at is not None)
    return bodies


_A_DOCUMENT = "r.error IS NULL AND NOT r.truncated AND r.http_status BETWEEN 200 AND 299"
"""A whole answer with success: a visit would have read it."""


async def find_document_before(view: View, raw: ArchivedFetch) -> ArchivedFetch | None:
    """The newest payload of the same feed, older than this one, whose bytes can be had."""
    row = await view.row(
        "SELECT r.*, f.feed_id AS public_id FROM raw_fetches r JOIN feeds f ON f.id = r.feed_id"
        f" WHERE f.feed_id = ? AND r.fetch_id < ? AND r.expired_at IS NULL AND {_A_DOCUMENT}"
        " ORDER BY r.fetch_id DESC LIMIT 1",
        raw.feed_id,
        raw.fetch_id,
    )
    return None if row is None else _archived_of(row)


async def list_documents(
    view: View, feed: FeedPk, *, after: str | None, limit: int
) -> list[ArchivedFetch]:
    """Payloads of a feed, oldest first. Of the expired ones, those that entries came from."""
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


async def count_raw_fetches(view: View) -> int:
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
    """As an object. A field that came several times is joined, as HTTP allows."""
    joined: dict[str, str] = {}
    for name, value in orjson.loads(stored):
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined

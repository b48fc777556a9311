"""Raw fetches and the blobs behind them: rows first promised, then kept."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import orjson

from headwater.fetch.raw import RawFetch, blob_key
from headwater.ports import Reader, Row, Transaction, marks
from headwater.values.instant import to_micros
from headwater.values.response import Headers


async def blob_keys(view: Reader, digests: Sequence[str], generation: int) -> dict[str, str]:
    """The key under which each body is; for a body that is not there, or going, a new one."""
    wanted = sorted(set(digests))
    rows = await view.rows(
        "SELECT body_sha256, generation FROM blobs WHERE dying_since IS NULL"
        f" AND body_sha256 IN ({marks(len(wanted))})",
        *wanted,
    )
    new = {digest: blob_key(digest, generation) for digest in wanted}
    return new | {row.body_sha256: blob_key(row.body_sha256, row.generation) for row in rows}


async def hold_blobs(tx: Transaction, digests: Sequence[str], generation: int) -> dict[str, str]:
    """The keys again, now safe from deletion: a dying blob is never used, its content moves on.

    When they differ from what `blob_keys` said, somebody came between: put the bodies again.
    """
    wanted = sorted(set(digests))
    await tx.run_many(
        "INSERT INTO blobs (body_sha256, generation) VALUES (?, ?)"
        " ON CONFLICT (body_sha256) DO UPDATE SET dying_since = NULL, generation = CASE"
        " WHEN blobs.dying_since IS NULL THEN blobs.generation ELSE excluded.generation END",
        [(digest, generation) for digest in wanted],
    )
    return await blob_keys(tx, wanted, generation)


async def save_raw(
    tx: Transaction, raws: Sequence[RawFetch], keys: Mapping[str, str], storage: str
) -> None:
    """Only after the blobs are durable: a row is a promise that its bytes can be had (R1)."""
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


async def keep_for_ever(tx: Transaction, fetch_ids: Sequence[str]) -> None:
    """These payloads brought or changed an entry."""
    await tx.run_many(
        "UPDATE raw_fetches SET keep = ? WHERE fetch_id = ?", [(True, each) for each in fetch_ids]
    )


class Surplus(NamedTuple):
    """Raw fetches that retention lets go. Those that are `unneeded` may be needed by now."""

    unneeded: list[str]
    old: list[str]

    def __bool__(self) -> bool:
        return bool(self.unneeded or self.old)


async def surplus(view: Reader, *, unchanged_kept: int, kept_before: datetime | None) -> Surplus:
    """Some of the unneeded payloads beyond the newest N of each feed.

    `kept_before` also lets go of payloads that did bring entries, when an operator says so.
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
    return Surplus([row.fetch_id for row in unneeded], [row.fetch_id for row in old])


async def expire(tx: Transaction, found: Surplus, now: datetime) -> None:
    """One that has brought an entry since, by being read again, stays."""
    moment = to_micros(now)
    await tx.run_many(
        "UPDATE raw_fetches SET expired_at = ? WHERE fetch_id = ? AND NOT keep",
        [(moment, each) for each in found.unneeded],
    )
    await tx.run_many(
        "UPDATE raw_fetches SET expired_at = ? WHERE fetch_id = ?",
        [(moment, each) for each in found.old],
    )


_UNUSED = (
    "NOT EXISTS (SELECT 1 FROM raw_fetches r WHERE r.body_sha256 = b.body_sha256"
    " AND r.expired_at IS NULL)"
)


async def unused_blobs(view: Reader) -> list[str]:
    """Some of the contents that no living raw fetch refers to."""
    rows = await view.rows(
        f"SELECT body_sha256 FROM blobs b WHERE dying_since IS NULL AND {_UNUSED} LIMIT 1000"
    )
    return [row.body_sha256 for row in rows]


async def doom(tx: Transaction, digests: Sequence[str], now: datetime) -> list[str]:
    """Mark those that are still unused, locked first, lest a reference slips in; their keys."""
    if tx.dialect == "postgresql":
        await tx.rows(
            f"SELECT 1 FROM blobs WHERE body_sha256 IN ({marks(len(digests))})"
            " ORDER BY body_sha256 FOR UPDATE",
            *digests,
        )
    rows = await tx.rows(
        f"UPDATE blobs AS b SET dying_since = ? WHERE body_sha256 IN ({marks(len(digests))})"
        f" AND dying_since IS NULL AND {_UNUSED} RETURNING body_sha256, generation",
        to_micros(now),
        *digests,
    )
    return [blob_key(row.body_sha256, row.generation) for row in rows]


async def dying_blobs(view: Reader) -> list[str]:
    """Keys of blobs that were marked before, the newest first: a crash may have come between."""
    rows = await view.rows(
        "SELECT body_sha256, generation FROM blobs WHERE dying_since IS NOT NULL"
        " ORDER BY dying_since DESC LIMIT 5000"
    )
    return [blob_key(row.body_sha256, row.generation) for row in rows]


async def forget_blobs(tx: Transaction, dying_before: datetime) -> None:
    """Tombstones stay a while: whoever looked before the deletion must find out after it."""
    await tx.run("DELETE FROM blobs WHERE dying_since < ?", to_micros(dying_before))


async def note_parser_death(tx: Transaction, body_sha256: str, error: str, now: datetime) -> None:
    await tx.run(
        "INSERT INTO quarantine (body_sha256, crashes, last_error, last_at) VALUES (?, 1, ?, ?)"
        " ON CONFLICT (body_sha256) DO UPDATE SET crashes = quarantine.crashes + 1,"
        " last_error = excluded.last_error, last_at = excluded.last_at",
        body_sha256,
        error,
        to_micros(now),
    )


async def parser_deaths(tx: Transaction, digests: Sequence[str]) -> dict[str, int]:
    """How often each of these bodies has killed its parse process."""
    wanted = sorted(set(digests))
    rows = await tx.rows(
        f"SELECT body_sha256, crashes FROM quarantine WHERE body_sha256 IN ({marks(len(wanted))})",
        *wanted,
    )
    return {row.body_sha256: row.crashes for row in rows}


def headers_json(headers: Headers) -> str:
    return orjson.dumps(headers).decode()

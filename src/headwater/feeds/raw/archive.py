"""Archive raw fetches: their bytes are safe before anything refers to them.

This is the first of a visit's two commits. Reading the bytes back, and proving that they are the
same, is here too.
"""

from dataclasses import dataclass
from functools import partial
from hashlib import sha256

from headwater.core.concurrency import split_on_refusal
from headwater.core.errors import BlobDamaged, DatabaseRefused, RawExpired
from headwater.core.ports import Database
from headwater.core.values.instant import to_micros
from headwater.feeds.metrics import observe_commit
from headwater.feeds.ports import Blobs
from headwater.feeds.raw import raw_rows
from headwater.feeds.raw.raw_fetch import RawFetch
from headwater.feeds.raw.raw_rows import ArchivedFetch


@dataclass(frozen=True, slots=True)
class ArchivedBody:
    """A raw fetch that is safe now. `deaths` counts how often this very body killed a parser."""

    fetch_id: str
    body_sha256: str
    deaths: int


async def archive_group(
    database: Database, blobs: Blobs, group: list[RawFetch]
) -> list[ArchivedBody | DatabaseRefused]:
    """Archive a group together; a feed that was deleted meanwhile is refused alone."""
    observe_commit("archive", len(group))
    return await split_on_refusal(partial(_archive, database, blobs), group, DatabaseRefused)


async def _archive(database: Database, blobs: Blobs, group: list[RawFetch]) -> list[ArchivedBody]:
    """Blobs first, rows second: a row promises that its bytes can be had."""
    async with database.read() as view:
        generation = to_micros(view.now)
        keys = await raw_rows.list_blob_keys(view, [raw.body_sha256 for raw in group], generation)
    while True:
        await blobs.put_many([(keys[raw.body_sha256], raw.body) for raw in group])
        archived, locked_keys = await _insert_raw_rows(
            database, group, keys, generation, blobs.storage
        )
        if locked_keys == keys:
            return archived
        # Retention has just deleted one of these blobs, or another commit stored the same content.
        keys = locked_keys


async def _insert_raw_rows(
    database: Database,
    group: list[RawFetch],
    keys: dict[str, str],
    generation: int,
    storage: str,
) -> tuple[list[ArchivedBody], dict[str, str]]:
    digests = [raw.body_sha256 for raw in group]
    async with database.write() as tx:
        locked_keys = await raw_rows.lock_blobs(tx, digests, generation)
        if locked_keys != keys:
            return [], locked_keys
        await raw_rows.insert_raw_fetches(tx, group, keys, storage)
        deaths = await raw_rows.count_parser_deaths(tx, digests)
    return [
        ArchivedBody(raw.fetch_id, raw.body_sha256, deaths.get(raw.body_sha256, 0)) for raw in group
    ], locked_keys


async def read_archived_body(database: Database, blobs: Blobs, raw: ArchivedFetch) -> bytes:
    """The body of a raw fetch, proved to be as served; else RawExpired or BlobDamaged."""
    _check_not_expired(raw)
    body = await blobs.get(raw.blob_key)
    if body is None:
        # Retention may have deleted it since the row was read; otherwise this is damage.
        async with database.read() as view:
            _check_not_expired(await raw_rows.get_raw_fetch(view, raw.fetch_id))
    if body is None or sha256(body).hexdigest() != raw.body_sha256:
        raise BlobDamaged(
            "The stored bytes are missing or no longer what was served.", fetch_id=raw.fetch_id
        )
    return body


def _check_not_expired(raw: ArchivedFetch) -> None:
    if raw.expired_at is not None:
        raise RawExpired(
            "The bytes of this fetch were let go by retention; its record is there (?meta=1).",
            fetch_id=raw.fetch_id,
        )

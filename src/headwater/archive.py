"""The first of a visit's two commits: bytes as served, safe before anything refers to them.

And the way back: the bytes of a raw fetch, proved to be the same.
"""

from dataclasses import dataclass
from functools import partial
from hashlib import sha256

from headwater.engine import Engine
from headwater.errors import BlobDamaged, RawExpired, Refused
from headwater.fetch import queries
from headwater.fetch import store as raws
from headwater.fetch.queries import ArchivedFetch
from headwater.fetch.raw import RawFetch
from headwater.telemetry import metrics
from headwater.together import in_halves
from headwater.values.instant import to_micros


@dataclass(frozen=True, slots=True)
class Archived:
    """A raw fetch that is safe now; `deaths` is how often this very body killed a parser."""

    fetch_id: str
    body_sha256: str
    deaths: int


async def archive_group(engine: Engine, group: list[RawFetch]) -> list[Archived | Refused]:
    """Safe together; a feed that was deleted meanwhile is refused alone."""
    metrics.committed("archive", len(group))
    return await in_halves(partial(_archive, engine), group, Refused)


async def _archive(engine: Engine, group: list[RawFetch]) -> list[Archived]:
    """Blobs first, rows second: a row is a promise that its bytes can be had."""
    generation = to_micros(engine.clock.now())
    async with engine.database.read() as view:
        keys = await raws.blob_keys(view, [raw.body_sha256 for raw in group], generation)
    while True:
        await engine.blobs.put_many([(keys[raw.body_sha256], raw.body) for raw in group])
        archived, held = await _promise(engine, group, keys, generation)
        if held == keys:
            return archived
        # Retention deleted one of these blobs just now, or a neighbour stored the same content.
        keys = held


async def _promise(
    engine: Engine, group: list[RawFetch], keys: dict[str, str], generation: int
) -> tuple[list[Archived], dict[str, str]]:
    digests = [raw.body_sha256 for raw in group]
    async with engine.database.write() as tx:
        held = await raws.hold_blobs(tx, digests, generation)
        if held != keys:
            return [], held
        await raws.save_raw(tx, group, keys, engine.blobs.storage)
        deaths = await raws.parser_deaths(tx, digests)
    return [Archived(r.fetch_id, r.body_sha256, deaths.get(r.body_sha256, 0)) for r in group], held


async def as_served(engine: Engine, raw: ArchivedFetch) -> bytes:
    """The body of a raw fetch, proved to be what was served; else RawExpired or BlobDamaged."""
    _refuse_expired(raw)
    body = await engine.blobs.get(raw.blob_key)
    if body is None:
        # Retention may have come between the two looks; only then is this no damage.
        async with engine.database.read() as view:
            _refuse_expired(await queries.raw_fetch(view, raw.fetch_id))
    if body is None or sha256(body).hexdigest() != raw.body_sha256:
        raise BlobDamaged(
            "The stored bytes are missing or no longer what was served.", fetch_id=raw.fetch_id
        )
    return body


def _refuse_expired(raw: ArchivedFetch) -> None:
    if raw.expired_at is not None:
        raise RawExpired(
            "The bytes of this fetch were let go by retention; its record is there (?meta=1).",
            fetch_id=raw.fetch_id,
        )

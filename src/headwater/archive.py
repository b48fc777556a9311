"""The first of a visit's two commits: bytes as served, safe before anything refers to them."""

from dataclasses import dataclass
from functools import partial

from headwater.engine import Engine
from headwater.errors import Refused
from headwater.fetch import store as raws
from headwater.fetch.raw import RawFetch
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

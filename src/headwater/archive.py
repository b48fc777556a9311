"""The first of a visit's two commits: bytes as served, safe before anything refers to them."""

from dataclasses import dataclass
from functools import partial

from headwater.engine import Engine
from headwater.errors import Refused
from headwater.fetch import store as raws
from headwater.fetch.raw import RawFetch
from headwater.together import in_halves


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
    async with engine.database.read() as view:
        keys = await raws.blob_keys(view, [raw.body_sha256 for raw in group])
    while True:
        await engine.blobs.put_many([(keys[raw.body_sha256], raw.body) for raw in group])
        archived, held = await _promise(engine, group, keys)
        if held == keys:
            return archived
        # Retention was deleting one of these blobs just now: its content has moved to a new key.
        keys = held


async def _promise(
    engine: Engine, group: list[RawFetch], keys: dict[str, str]
) -> tuple[list[Archived], dict[str, str]]:
    digests = [raw.body_sha256 for raw in group]
    async with engine.database.write() as tx:
        held = await raws.hold_blobs(tx, digests)
        if held != keys:
            return [], held
        await raws.save_raw(tx, group, keys, engine.blobs.storage)
        deaths = await raws.parser_deaths(tx, digests)
    return [Archived(r.fetch_id, r.body_sha256, deaths.get(r.body_sha256, 0)) for r in group], held

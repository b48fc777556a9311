"""What people ask of downloads: to be tried again, or to go."""

from headwater.access.store import remember_resource
from headwater.collect.download import Download
from headwater.collect.downloads import queries, store
from headwater.collect.shows import queries as shows
from headwater.engine import Engine
from headwater.errors import Conflict
from headwater.losing import retire
from headwater.ports import Transaction

_ENDED = ("retiring", "retired", "dropped")


async def retry(engine: Engine, download_id: int, *, idempotency: bytes | None = None) -> Download:
    """The next step now, with all its tries. One that failed begins again, and finds what it has
    done before."""
    async with engine.database.write() as tx:
        download = await _held(tx, download_id)
        if download.state in ("retired", "dropped", "done"):
            said = "It is done." if download.state == "done" else "It is gone; take its release."
            raise Conflict(said, download_id=download_id, state=download.state)
        state = "intended" if download.state == "failed" else download.state
        woken = await store.wake(
            tx, download_id, state, engine.clock.now(), ends_as=download.ends_as
        )
        assert woken is not None, "its row is held"
        if idempotency is not None:
            await remember_resource(tx, idempotency, str(download_id))
    return woken


async def drop(engine: Engine, download_id: int, *, idempotency: bytes | None = None) -> Download:
    """Out of the library and out of the client, where it is ours. It does not come again by
    itself."""
    async with engine.database.write() as tx:
        download = await _held(tx, download_id)
        if download.state not in _ENDED:
            files = await queries.files(tx, download_id)
            is_coming = download.state == "verified" and any(f.state == "wanted" for f in files)
            if is_coming and await queries.is_held(tx, download_id, engine.clock.now()):
                raise Conflict(
                    "It is coming into the library this moment: drop it when it is there.",
                    download_id=download_id,
                    state=download.state,
                )
            await retire(tx, download, "dropped", "A person dropped it.", engine.clock.now())
        if idempotency is not None:
            await remember_resource(tx, idempotency, str(download_id))
        return await queries.download(tx, download_id)


async def _held(tx: Transaction, download_id: int) -> Download:
    """Its show first: nobody decides anything for it until we are done."""
    await shows.show(tx, (await queries.download(tx, download_id)).show_id, lock=True)
    return await queries.download(tx, download_id, lock=True)

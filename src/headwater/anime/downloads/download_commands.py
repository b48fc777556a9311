"""Commands on downloads: try one again, or drop it."""

from headwater.anime.downloads import download_rows
from headwater.anime.downloads.download import Download
from headwater.anime.downloads.remove_files import retire_download
from headwater.anime.shows import show_rows
from headwater.core.errors import ConflictError
from headwater.core.idempotency_rows import set_key_resource
from headwater.core.ports import Database, Transaction

_ENDED = ("retiring", "retired", "dropped")


async def retry_download(
    database: Database, download_id: int, *, idempotency: bytes | None = None
) -> Download:
    """The next step now, with all its tries. One that failed begins again, and finds what it has
    done before."""
    async with database.write() as tx:
        download = await _lock_download(tx, download_id)
        if download.state in ("retired", "dropped", "done"):
            said = "It is done." if download.state == "done" else "It is gone; take its release."
            raise ConflictError(said, download_id=download_id, state=download.state)
        state = "intended" if download.state == "failed" else download.state
        woken = await download_rows.set_download_due(
            tx, download_id, state, tx.now, ends_as=download.ends_as
        )
        assert woken is not None, "its row is held"
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(download_id))
    return woken


async def drop_download(
    database: Database, download_id: int, *, idempotency: bytes | None = None
) -> Download:
    """Out of the library and out of the client, where it is ours. It does not come again by
    itself."""
    async with database.write() as tx:
        download = await _lock_download(tx, download_id)
        if download.state not in _ENDED:
            files = await download_rows.list_library_files(tx, download_id)
            is_coming = download.state == "verified" and any(f.state == "wanted" for f in files)
            if is_coming and await download_rows.is_claimed(tx, download_id, tx.now):
                raise ConflictError(
                    "It is coming into the library this moment: drop it when it is there.",
                    download_id=download_id,
                    state=download.state,
                )
            await retire_download(tx, download, "dropped", "A person dropped it.", tx.now)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(download_id))
        return await download_rows.get_download(tx, download_id)


async def _lock_download(tx: Transaction, download_id: int) -> Download:
    """Its show first: nobody decides anything for it until we are done."""
    await show_rows.get_show(
        tx, (await download_rows.get_download(tx, download_id)).show_id, lock=True
    )
    return await download_rows.get_download(tx, download_id, lock=True)

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
    """Take the next step now, with all its tries. A download that failed begins again, and finds
    the results of its earlier steps."""
    async with database.write() as tx:
        download = await _lock_download(tx, download_id)
        if download.state in ("retired", "dropped", "done"):
            message = "It is done." if download.state == "done" else "It is gone; take its release."
            raise ConflictError(message, download_id=download_id, state=download.state)
        state = "intended" if download.state == "failed" else download.state
        retried = await download_rows.set_download_due(
            tx, download_id, state, tx.now, ends_as=download.ends_as
        )
        assert retried is not None, "its row is locked"
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(download_id))
    return retried


async def drop_download(
    database: Database, download_id: int, *, idempotency: bytes | None = None
) -> Download:
    """Remove a download from the library, and from the client where the torrent is ours. It does
    not come again by itself."""
    async with database.write() as tx:
        download = await _lock_download(tx, download_id)
        if download.state not in _ENDED:
            files = await download_rows.list_library_files(tx, download_id)
            is_being_placed = download.state == "verified" and any(
                file.state == "wanted" for file in files
            )
            if is_being_placed and await download_rows.is_claimed(tx, download_id, tx.now):
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
    """Lock its show first: nobody decides anything for it until we are done."""
    await show_rows.get_show(
        tx, (await download_rows.get_download(tx, download_id)).show_id, lock=True
    )
    return await download_rows.get_download(tx, download_id, lock=True)

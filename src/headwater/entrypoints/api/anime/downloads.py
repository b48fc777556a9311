"""Downloads over HTTP: list them with their progress, retry one, drop one."""

from typing import Annotated

from fastapi import Query

from headwater.anime.downloads import download_commands, download_rows
from headwater.anime.downloads.download import DownloadState
from headwater.core.ports import View as DatabaseView
from headwater.entrypoints.api.anime.download_records import (
    DownloadPage,
    DownloadRecord,
    WholeDownloadRecord,
)
from headwater.entrypoints.api.dependencies import LARGEST_ID, App, DownloadId, View
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.models import NothingIn
from headwater.entrypoints.api.paging import Page, paging
from headwater.entrypoints.api.router import Router

router = Router(tags=["downloads"])
IdFilter = Annotated[int | None, Query(ge=1, le=LARGEST_ID)]
States = Annotated[
    list[DownloadState] | None, Query(description="Only in this state; may be repeated.")
]


@router.get("/downloads", right="read")
async def list_downloads(
    app: App,
    view: View,
    page: Annotated[Page, paging("downloads")],
    show: IdFilter = None,
    state: States = None,
) -> DownloadPage:
    """The newest first."""
    downloads = await download_rows.list_downloads(
        view, show_id=show, states=state or (), before=page.before, limit=page.size + 1
    )
    shown, next_cursor = page.cut(downloads)
    titles = await download_rows.list_release_titles(view, [download.id for download in shown])
    return DownloadPage(
        downloads=[DownloadRecord.of(download, title=titles[download.id]) for download in shown],
        client=app.settings.media_client,
        next_cursor=next_cursor,
    )


@router.get("/downloads/{download_id}", right="read")
async def show_download(download_id: DownloadId, view: View) -> WholeDownloadRecord:
    """One download, with its files in the library."""
    return await _record(view, download_id)


@router.post("/downloads/{download_id}/retry", right="admin", again=show_download)
async def retry_download(
    download_id: DownloadId, app: App, key: IdempotencyKey, body: NothingIn | None = None
) -> WholeDownloadRecord:
    """Its next step is taken now, and it has all its tries again. 409 for one that is done or
    gone."""
    await download_commands.retry_download(app.database, download_id, idempotency=key)
    async with app.database.read() as view:
        return await _record(view, download_id)


@router.post("/downloads/{download_id}/drop", right="admin", again=show_download)
async def drop_download(
    download_id: DownloadId, app: App, key: IdempotencyKey, body: NothingIn | None = None
) -> WholeDownloadRecord:
    """Out of the library, into the recycle folder, and out of the client if we added it there. It
    does not come again by itself."""
    await download_commands.drop_download(app.database, download_id, idempotency=key)
    async with app.database.read() as view:
        return await _record(view, download_id)


async def _record(view: DatabaseView, download_id: int) -> WholeDownloadRecord:
    download = await download_rows.get_download(view, download_id)
    titles = await download_rows.list_release_titles(view, [download_id])
    files = await download_rows.list_library_files(view, download_id)
    return WholeDownloadRecord.of(download, title=titles[download_id], files=files)

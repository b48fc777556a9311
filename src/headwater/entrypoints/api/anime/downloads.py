"""Downloads over HTTP: how far they are, trying again, and letting go."""

from typing import Annotated

from fastapi import Query
from pydantic import Field
from starlette.responses import Response

from headwater.anime.downloads import download_commands, download_rows
from headwater.anime.downloads.download import Download, DownloadState, LostSlots
from headwater.anime.downloads.download_rows import LibraryFile, LibraryFileState
from headwater.core.ports import View as DatabaseView
from headwater.entrypoints.api.anime.releases import SlotRecord
from headwater.entrypoints.api.dependencies import (
    LARGEST_ID,
    App,
    Cursor,
    DownloadId,
    Limit,
    RouteContext,
    View,
    json_response,
)
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.models import NothingIn
from headwater.entrypoints.api.paging import cursor, decode_cursor
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.router import Router
from headwater.settings.releases import DownloadClientName


class ReplacedDownloadRecord(Record):
    """Places that another download lost to this one. `whole`: it had no others."""

    download_id: int
    slots: list[SlotRecord]
    whole: bool

    @classmethod
    def of(cls, loss: LostSlots) -> "ReplacedDownloadRecord":
        slots = [SlotRecord.of(slot) for slot in loss.slots]
        return cls(download_id=loss.download_id, slots=slots, whole=loss.is_whole)


class LibraryFileRecord(Record):
    """A file in the library, or one that was there."""

    path: str = Field(description="Below the library.")
    length: int
    slots: list[SlotRecord]
    state: LibraryFileState
    recycled_to: str | None = Field(description="Where it is now, when it was replaced.")

    @classmethod
    def of(cls, file: LibraryFile) -> "LibraryFileRecord":
        return cls(
            path=file.path,
            length=file.length,
            slots=[SlotRecord.of(slot) for slot in file.slots],
            state=file.state,
            recycled_to=file.recycled_to,
        )


class DownloadRecord(Record):
    """A release on its way to the library, in it, or out of it. `error` and `detail` say why the
    last step did not succeed, `attempts` how often; `next_step_at` is when it is tried again."""

    id: int
    show_id: int
    release_id: int
    title: str
    state: DownloadState
    slots: list[SlotRecord]
    infohash: str | None
    size: int | None
    progress: float = Field(description="From 0 to 1.")
    attempts: int
    error: str | None
    detail: str | None
    replaces: list[ReplacedDownloadRecord]
    intended_at: Moment
    added_at: Moment | None
    completed_at: Moment | None
    linked_at: Moment | None
    ended_at: Moment | None
    next_step_at: Moment | None

    @classmethod
    def of(cls, download: Download, title: str) -> "DownloadRecord":
        return cls(
            id=download.id,
            show_id=download.show_id,
            release_id=download.release_id,
            title=title,
            state=download.state,
            slots=[SlotRecord.of(slot) for slot in download.slots],
            infohash=download.infohash,
            size=download.size,
            progress=download.progress / 1_000,
            attempts=download.attempts,
            error=download.error,
            detail=download.detail,
            replaces=[ReplacedDownloadRecord.of(loss) for loss in download.replaces],
            intended_at=download.intended_at,
            added_at=download.added_at,
            completed_at=download.completed_at,
            linked_at=download.linked_at,
            ended_at=download.ended_at,
            next_step_at=download.next_step_at,
        )


class WholeDownloadRecord(DownloadRecord):
    """With its files."""

    files: list[LibraryFileRecord]


class DownloadPage(Record):
    """`client`: whether downloads are made here at all."""

    downloads: list[DownloadRecord]
    client: DownloadClientName
    next_cursor: str | None


router = Router(tags=["downloads"])
IdFilter = Annotated[int | None, Query(ge=1, le=LARGEST_ID)]
States = Annotated[
    list[DownloadState] | None, Query(description="Only in this state; may be repeated.")
]


@router.get("/downloads", right="read", response_model=DownloadPage)
async def list_downloads(
    at: RouteContext,
    show: IdFilter = None,
    state: States = None,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """The newest first."""
    size = at.page_size(limit)
    before = decode_cursor(cursor_, "downloads", 1)[0] if cursor_ else None
    async with at.database.read() as view:
        found = await download_rows.list_downloads(
            view, show_id=show, states=state or (), before=before, limit=size + 1
        )
        titles = await download_rows.list_release_titles(view, [each.id for each in found[:size]])
    more = cursor("downloads", found[size - 1].id) if len(found) > size else None
    records = [DownloadRecord.of(each, titles[each.id]) for each in found[:size]]
    client = at.settings.media_client
    return json_response(DownloadPage(downloads=records, client=client, next_cursor=more))


@router.get("/downloads/{download_id}", right="read")
async def show_download(download_id: DownloadId, view: View) -> WholeDownloadRecord:
    """One download, with its files in the library."""
    return await _record(view, download_id)


@router.post("/downloads/{download_id}/retry", right="admin", again=show_download)
async def retry_download(
    download_id: DownloadId, app: App, key: IdempotencyKey, body: NothingIn | None = None
) -> WholeDownloadRecord:
    """Its next step now, with all its tries. 409 for one that is done or gone."""
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
    plain = DownloadRecord.of(download, titles[download_id])
    listed = [LibraryFileRecord.of(file) for file in files]
    return WholeDownloadRecord(**plain.model_dump(), files=listed)

"""Downloads over HTTP: how far they are, trying again, and letting go."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from headwater import download_wishes
from headwater.collect.download import Download, State
from headwater.collect.downloads import queries
from headwater.entrypoints.api.asking import REFUSALS, At, Cursor, Limit, told
from headwater.entrypoints.api.cursors import cursor, numbers_of
from headwater.entrypoints.api.download_records import (
    DownloadPage,
    DownloadRecord,
    LibraryFileRecord,
    WholeDownloadRecord,
)
from headwater.entrypoints.api.models import NothingIn
from headwater.entrypoints.api.numbers import LARGEST, number
from headwater.entrypoints.api.once import Told, once

router = APIRouter(tags=["downloads"], responses=REFUSALS)

Number = Annotated[int | None, Query(ge=1, le=LARGEST)]
States = Annotated[list[State] | None, Query(description="Only in this state; may be repeated.")]


@router.get("/downloads", response_model=DownloadPage)
async def list_downloads(
    at: At,
    show: Number = None,
    state: States = None,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """The newest first."""
    size = at.page_size(limit)
    before = numbers_of(cursor_, "downloads", 1)[0] if cursor_ else None
    async with at.engine.database.read() as view:
        found = await queries.downloads(
            view, show_id=show, states=state or (), before=before, limit=size + 1
        )
        titles = await queries.titles(view, [each.id for each in found[:size]])
    more = cursor("downloads", found[size - 1].id) if len(found) > size else None
    records = [DownloadRecord.of(each, titles[each.id]) for each in found[:size]]
    client = at.settings.media_client
    return told(DownloadPage(downloads=records, client=client, next_cursor=more))


@router.get("/downloads/{download_id}", response_model=WholeDownloadRecord)
async def show_download(download_id: str, at: At) -> Response:
    """One download, with its files in the library."""
    return told(await _record(at, number(download_id, "download")))


@router.post("/downloads/{download_id}/retry", response_model=WholeDownloadRecord)
async def retry_download(
    download_id: str, request: Request, at: At, body: NothingIn | None = None
) -> Response:
    """Its next step now, with all its tries. 409 for one that is done or gone."""

    async def wish(known: int, key: bytes | None) -> Download:
        return await download_wishes.retry(at.engine, known, idempotency=key)

    return await _wished(request, at, number(download_id, "download"), wish)


@router.post("/downloads/{download_id}/drop", response_model=WholeDownloadRecord)
async def drop_download(
    download_id: str, request: Request, at: At, body: NothingIn | None = None
) -> Response:
    """Out of the library, into the recycle folder, and out of the client if we added it there. It
    does not come again by itself."""

    async def wish(known: int, key: bytes | None) -> Download:
        return await download_wishes.drop(at.engine, known, idempotency=key)

    return await _wished(request, at, number(download_id, "download"), wish)


Wish = Callable[[int, bytes | None], Awaitable[Download]]


async def _wished(request: Request, at: At, known: int, wish: Wish) -> Response:
    async def effect(key: bytes | None) -> str:
        return str((await wish(known, key)).id)

    async def tell(_: str) -> Told:
        return Told(200, await _record(at, known))

    return await once(request, at.engine, effect, tell)


async def _record(at: At, download_id: int) -> WholeDownloadRecord:
    async with at.engine.database.read() as view:
        download = await queries.download(view, download_id)
        titles = await queries.titles(view, [download_id])
        files = await queries.files(view, download_id)
    plain = DownloadRecord.of(download, titles[download_id])
    listed = [LibraryFileRecord.of(file) for file in files]
    return WholeDownloadRecord(**plain.model_dump(), files=listed)

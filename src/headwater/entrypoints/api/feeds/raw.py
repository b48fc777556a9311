"""Raw fetches over HTTP: the bytes exactly as served, and never as anything a browser would run."""

from typing import Annotated, Any

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from headwater.entrypoints.api.dependencies import (
    ApiContext,
    App,
    FeedId,
    RawFetchId,
    parse_public_id,
)
from headwater.entrypoints.api.feeds.raw_records import (
    BlobRefRecord,
    ComparisonRecord,
    RawFetchRecord,
    ReparsedRecord,
    ReparseIn,
)
from headwater.entrypoints.api.idempotency import keep_no_answer
from headwater.entrypoints.api.router import Router
from headwater.feeds.raw import raw_rows
from headwater.feeds.raw.archive import read_archived_body
from headwater.feeds.raw.compare_payloads import compare_payloads
from headwater.feeds.raw.raw_rows import ArchivedFetch
from headwater.feeds.raw.reparse import reparse

RAW_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The body as served, still in its content coding; with `meta=1` the record.",
        "content": {
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            "application/json": {"schema": {"$ref": "#/components/schemas/RawFetchRecord"}},
        },
    }
}

router = Router(tags=["raw"])


async def raw_fetch(app: ApiContext, fetch_id: str) -> ArchivedFetch:
    """The record of one answer; its bytes are read by `archive.read_archived_body`."""
    public_id = parse_public_id(fetch_id, "raw_fetch")
    async with app.database.read() as view:
        return await raw_rows.get_raw_fetch(view, public_id)


def raw_fetch_record(raw: ArchivedFetch) -> RawFetchRecord:
    return RawFetchRecord.of(raw, body_ref=BlobRefRecord.of(raw))


@router.get("/raw/{fetch_id}", right="read", response_class=Response, responses=RAW_RESPONSES)
async def show_raw(fetch_id: str, app: App, meta: bool = False) -> Response:
    """410 `raw_expired` when retention let the bytes go, 500 `blob_damaged` when they changed."""
    raw = await raw_fetch(app, fetch_id)
    if meta:
        return Response(raw_fetch_record(raw).model_dump_json(), media_type="application/json")
    body = await read_archived_body(app.database, app.feeds.blobs, raw)
    # The name is ours: nothing that a publisher wrote gets into a header.
    headers = {
        "content-disposition": f'attachment; filename="{raw.fetch_id}.bin"',
        "content-security-policy": "default-src 'none'; sandbox",
    }
    return Response(body, media_type="application/octet-stream", headers=headers)


@router.get("/raw/{fetch_id}/diff", right="read")
async def compare_raw(
    fetch_id: RawFetchId,
    app: App,
    other: Annotated[
        str | None, Query(alias="with", description="Another payload; else the one before.")
    ] = None,
) -> ComparisonRecord:
    """The changes that a publisher made between two payloads of a feed."""
    other_id = None if other is None else parse_public_id(other, "raw_fetch")
    return ComparisonRecord.of(await compare_payloads(app.feeds, fetch_id, other_id))


@router.post("/feeds/{feed_id}/reparse", right="admin")
async def reparse_feed(
    feed_id: FeedId, request: Request, app: App, body: ReparseIn | None = None
) -> ReparsedRecord:
    """Entries made anew from the archive, without a request. Doing it twice changes nothing more.

    Events announce new and changed entries, as after a visit.
    """
    # Doing it again after a crash does no harm, so the effect is not tied to the request's key.
    body = body or ReparseIn()
    after = None if body.after is None else parse_public_id(body.after, "raw_fetch")
    if body.dry_run:
        keep_no_answer(request)
    result = await reparse(app.feeds, feed_id, after=after, limit=body.limit, dry_run=body.dry_run)
    return ReparsedRecord.of(feed_id, result, dry_run=body.dry_run)

"""Raw fetches over HTTP: the bytes exactly as served, and never as anything a browser would run."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from headwater.archive import as_served
from headwater.entrypoints.api.asking import REFUSALS, At, told
from headwater.entrypoints.api.pages import raw_fetch
from headwater.entrypoints.api.records import RawFetchRecord
from headwater.fetch.queries import ArchivedFetch

router = APIRouter(tags=["raw"], responses=REFUSALS)

BYTES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The body as served, still in its content coding; with `meta=1` the record.",
        "content": {
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            "application/json": {"schema": {"$ref": "#/components/schemas/RawFetchRecord"}},
        },
    }
}


@router.get("/raw/{fetch_id}", response_class=Response, responses=BYTES)
async def show_raw(fetch_id: str, at: At, meta: bool = False) -> Response:
    """410 `raw_expired` when retention let the bytes go, 500 `blob_damaged` when they changed."""
    raw = await raw_fetch(at, fetch_id)
    if meta:
        return told(RawFetchRecord.of(raw))
    body = await as_served(at.engine, raw)
    return Response(body, media_type="application/octet-stream", headers=_headers(raw))


def _headers(raw: ArchivedFetch) -> dict[str, str]:
    """The name is ours: nothing a publisher wrote gets into a header."""
    return {
        "content-disposition": f'attachment; filename="{raw.fetch_id}.bin"',
        "content-security-policy": "default-src 'none'; sandbox",
    }

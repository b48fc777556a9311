"""Raw fetches over HTTP: the bytes exactly as served, and never as anything a browser would run."""

from hashlib import sha256
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from headwater.entrypoints.api.asking import REFUSALS, At, public_id, told
from headwater.entrypoints.api.records import RawFetchRecord
from headwater.errors import BlobDamaged, RawExpired
from headwater.fetch import queries
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
    known = public_id(fetch_id, "raw_fetch")
    async with at.engine.database.read() as view:
        raw = await queries.raw_fetch(view, known)
    if meta:
        return told(RawFetchRecord.of(raw))
    _refuse_expired(raw)
    body = await at.engine.blobs.get(raw.blob_key)
    if body is None:
        # Retention may have come between the two looks; only then is this no damage.
        async with at.engine.database.read() as view:
            _refuse_expired(await queries.raw_fetch(view, known))
    if body is None or sha256(body).hexdigest() != raw.body_sha256:
        raise BlobDamaged(
            "The stored bytes are missing or no longer what was served.", fetch_id=raw.fetch_id
        )
    return Response(body, media_type="application/octet-stream", headers=_headers(raw))


def _headers(raw: ArchivedFetch) -> dict[str, str]:
    """The name is ours: nothing a publisher wrote gets into a header."""
    return {
        "content-disposition": f'attachment; filename="{raw.fetch_id}.bin"',
        "content-security-policy": "default-src 'none'; sandbox",
    }


def _refuse_expired(raw: ArchivedFetch) -> None:
    if raw.expired_at is not None:
        raise RawExpired(
            "The bytes of this fetch were let go by retention; its record is there (?meta=1).",
            fetch_id=raw.fetch_id,
        )

"""Raw fetches over HTTP: the bytes exactly as served, and never as anything a browser would run."""

from typing import Annotated, Any

from fastapi import Query
from pydantic import Field, StrictBool, StrictInt, StrictStr
from starlette.requests import Request
from starlette.responses import Response

from headwater.entrypoints.api.dependencies import (
    ApiContext,
    App,
    FeedId,
    RouteContext,
    json_response,
    parse_public_id,
)
from headwater.entrypoints.api.idempotency import keep_no_answer
from headwater.entrypoints.api.models import Strict
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.router import Router
from headwater.feeds.entries.diff_entries import Difference, FieldChange
from headwater.feeds.raw import raw_rows
from headwater.feeds.raw.archive import read_archived_body
from headwater.feeds.raw.compare_payloads import Comparison, compare_payloads
from headwater.feeds.raw.raw_rows import ArchivedFetch
from headwater.feeds.raw.reparse import ReparseResult, reparse


class BlobRefRecord(Record):
    storage: str
    key: str


class RawFetchRecord(Record):
    fetch_id: str
    feed_id: str
    fetched_at: Moment
    url: str
    http_status: int
    request_headers: dict[str, str]
    response_headers: dict[str, str]
    body_ref: BlobRefRecord
    body_sha256: str
    content_type: str | None
    content_length: int | None
    truncated: bool
    error: str | None
    expired_at: Moment | None

    @classmethod
    def of(cls, raw: ArchivedFetch) -> "RawFetchRecord":
        return cls(
            fetch_id=raw.fetch_id,
            feed_id=raw.feed_id,
            fetched_at=raw.fetched_at,
            url=raw.url,
            http_status=raw.http_status,
            request_headers=dict(raw.request_headers),
            response_headers=dict(raw.response_headers),
            body_ref=BlobRefRecord(storage=raw.storage, key=raw.blob_key),
            body_sha256=raw.body_sha256,
            content_type=raw.content_type,
            content_length=raw.content_length,
            truncated=raw.truncated,
            error=raw.error,
            expired_at=raw.expired_at,
        )


async def raw_fetch(at: ApiContext, fetch_id: str) -> ArchivedFetch:
    """What is kept of one answer; its bytes are `archive.read_archived_body`."""
    known = parse_public_id(fetch_id, "raw_fetch")
    async with at.database.read() as view:
        return await raw_rows.get_raw_fetch(view, known)


router = Router(tags=["raw"])
RAW_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The body as served, still in its content coding; with `meta=1` the record.",
        "content": {
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            "application/json": {"schema": {"$ref": "#/components/schemas/RawFetchRecord"}},
        },
    }
}


@router.get("/raw/{fetch_id}", right="read", response_class=Response, responses=RAW_RESPONSES)
async def show_raw(fetch_id: str, at: RouteContext, meta: bool = False) -> Response:
    """410 `raw_expired` when retention let the bytes go, 500 `blob_damaged` when they changed."""
    raw = await raw_fetch(at, fetch_id)
    if meta:
        return json_response(RawFetchRecord.of(raw))
    body = await read_archived_body(at.database, at.feeds.blobs, raw)
    return Response(body, media_type="application/octet-stream", headers=_headers(raw))


def _headers(raw: ArchivedFetch) -> dict[str, str]:
    """The name is ours: nothing a publisher wrote gets into a header."""
    return {
        "content-disposition": f'attachment; filename="{raw.fetch_id}.bin"',
        "content-security-policy": "default-src 'none'; sandbox",
    }


MOST_PAYLOADS = 100
MOST_SHOWN = 1_000


class FieldChangeRecord(Record):
    name: str
    before: str | None
    after: str | None

    @classmethod
    def of(cls, change: FieldChange) -> "FieldChangeRecord":
        return cls(name=change.name, before=change.before, after=change.after)


class DifferenceRecord(Record):
    entry_uid: str
    kind: str = Field(description="`added`, `removed` or `changed`.")
    title: str | None
    silent: bool = Field(description="Changed, while its own dates stayed the same.")
    fields: list[FieldChangeRecord]
    fetch_id: str | None = Field(description="The payload that shows it, where there are several.")

    @classmethod
    def of(cls, found: Difference, fetch_id: str | None = None) -> "DifferenceRecord":
        return cls(
            entry_uid=found.uid,
            kind=found.kind,
            title=found.title,
            silent=found.silent,
            fields=[FieldChangeRecord.of(each) for each in found.fields],
            fetch_id=fetch_id,
        )


class PayloadRecord(Record):
    fetch_id: str
    fetched_at: Moment
    body_sha256: str
    content_length: int

    @classmethod
    def of(cls, raw: ArchivedFetch) -> "PayloadRecord":
        return cls(
            fetch_id=raw.fetch_id,
            fetched_at=raw.fetched_at,
            body_sha256=raw.body_sha256,
            content_length=raw.content_length,
        )


class ComparisonRecord(Record):
    """What changed from the older payload to the newer one."""

    feed_id: str
    before: PayloadRecord
    after: PayloadRecord
    same_bytes: bool
    feed: list[FieldChangeRecord]
    entries: list[DifferenceRecord]
    cut: int = Field(description="How many more entries differ than are shown.")

    @classmethod
    def of(cls, said: Comparison) -> "ComparisonRecord":
        return cls(
            feed_id=said.after.feed_id,
            before=PayloadRecord.of(said.before),
            after=PayloadRecord.of(said.after),
            same_bytes=said.same_bytes,
            feed=[FieldChangeRecord.of(each) for each in said.feed],
            entries=[DifferenceRecord.of(each) for each in said.entries[:MOST_SHOWN]],
            cut=max(0, len(said.entries) - MOST_SHOWN),
        )


class UnreadPayloadRecord(Record):
    fetch_id: str
    error: str
    detail: str


class ReparsedRecord(Record):
    """`removed` entries are told of, never deleted. Ask again with `after` = `next`."""

    feed_id: str
    dry_run: bool
    payloads: int
    same: int
    added: int
    changed: int
    removed: int
    differences: list[DifferenceRecord]
    cut: int = Field(description="How many more entries differ than are shown.")
    unread: list[UnreadPayloadRecord]
    next: str | None

    @classmethod
    def of(cls, feed_id: str, said: ReparseResult, *, dry_run: bool) -> "ReparsedRecord":
        kinds = [found.kind for _, found in said.differences]
        return cls(
            feed_id=feed_id,
            dry_run=dry_run,
            payloads=said.payloads,
            same=said.same,
            added=kinds.count("added"),
            changed=kinds.count("changed"),
            removed=kinds.count("removed"),
            differences=[
                DifferenceRecord.of(found, fetch_id)
                for fetch_id, found in said.differences[:MOST_SHOWN]
            ],
            cut=max(0, len(kinds) - MOST_SHOWN),
            unread=[
                UnreadPayloadRecord(fetch_id=each.fetch_id, error=each.code, detail=each.detail)
                for each in said.unread
            ],
            next=said.next,
        )


class ReparseIn(Strict):
    dry_run: StrictBool = Field(False, description="Only say what would change.")
    after: StrictStr | None = Field(None, description="`next` of the answer before.")
    limit: Annotated[StrictInt, Field(ge=1, le=MOST_PAYLOADS)] = Field(
        MOST_PAYLOADS, description="How many payloads at most."
    )


@router.get("/raw/{fetch_id}/diff", right="read", response_model=ComparisonRecord)
async def compare_raw(
    fetch_id: str,
    at: RouteContext,
    other: Annotated[
        str | None, Query(alias="with", description="Another payload; else the one before.")
    ] = None,
) -> Response:
    """What a publisher changed between two payloads of a feed."""
    one = parse_public_id(fetch_id, "raw_fetch")
    second = None if other is None else parse_public_id(other, "raw_fetch")
    return json_response(ComparisonRecord.of(await compare_payloads(at.feeds, one, second)))


@router.post("/feeds/{feed_id}/reparse", right="admin")
async def reparse_feed(
    feed_id: FeedId, request: Request, app: App, body: ReparseIn | None = None
) -> ReparsedRecord:
    """Entries made anew from the archive, without a request. Doing it twice changes nothing more.

    New and changed entries are told of by events, as after a visit.
    """
    # Doing it again after a crash does no harm, so the effect is not tied to the request's key.
    asked = body or ReparseIn()
    after = None if asked.after is None else parse_public_id(asked.after, "raw_fetch")
    if asked.dry_run:
        keep_no_answer(request)
    result = await reparse(
        app.feeds, feed_id, after=after, limit=asked.limit, dry_run=asked.dry_run
    )
    return ReparsedRecord.of(feed_id, result, dry_run=asked.dry_run)

"""Everything that is kept, page by page, for exports that go on where the last one ended."""

from datetime import timedelta
from typing import Annotated, Any

from fastapi import Query
from pydantic import Field
from starlette.responses import Response

from headwater.entrypoints.api.dependencies import (
    Limit,
    RouteContext,
    json_response,
    parse_public_id,
)
from headwater.entrypoints.api.feeds.entries import EnclosureRecord, PersonRecord
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.router import Router
from headwater.events.event_filter import EventFilter
from headwater.events.event_rows import read_wire_events
from headwater.feeds.entries.entry_version import ENTRY_EVENTS
from headwater.publish import export_rows
from headwater.publish.export_rows import FIRST, ExportedFetch, first_id_at

router = Router(tags=["export"])

MOST_PAGE_BYTES = 8 * 1024 * 1024
_LARGEST = 2**63 - 1
_ENTRY_TYPES = tuple(sorted(ENTRY_EVENTS))


class ExportedRawRefRecord(Record):
    fetch_id: str
    offset: int | None
    length: int | None


class ExportedEntryRecord(Record):
    """An entry as the event `seq` told of it: nothing in it changes later."""

    seq: int
    entry_uid: str
    feed_id: str
    canonical_link: str | None
    title: str | None
    summary: str | None
    content: str | None
    authors: list[PersonRecord]
    categories: list[str]
    enclosures: list[EnclosureRecord]
    published: Moment | None
    updated: Moment | None
    first_seen: Moment
    raw_refs: list[ExportedRawRefRecord]
    content_hash: str
    version: int
    details: dict[str, Any]


class ExportedEntryPage(Record):
    """Go on with `after` = `next` and the same `until`, to where they are equal."""

    entries: list[ExportedEntryRecord]
    until: int
    next: int
    last_seq: int
    unreadable: int = Field(description="Events of this page whose row is damaged.")


class ExportedRawRecord(Record):
    fetch_id: str
    feed_id: str
    fetched_at: Moment
    url: str
    http_status: int
    request_headers: list[tuple[str, str]]
    response_headers: list[tuple[str, str]]
    body_sha256: str
    content_length: int
    truncated: bool
    error: str | None
    expired_at: Moment | None

    @classmethod
    def of(cls, raw: ExportedFetch) -> "ExportedRawRecord":
        return cls(
            fetch_id=raw.fetch_id,
            feed_id=raw.feed_id,
            fetched_at=raw.fetched_at,
            url=raw.url,
            http_status=raw.http_status,
            request_headers=list(raw.request_headers),
            response_headers=list(raw.response_headers),
            body_sha256=raw.body_sha256,
            content_length=raw.content_length,
            truncated=raw.truncated,
            error=raw.error,
            expired_at=raw.expired_at,
        )


class ExportedRawPage(Record):
    """Go on with `after` = `next` and the same `before`, until `next` is null."""

    fetches: list[ExportedRawRecord]
    before: str
    next: str | None


@router.get("/export/entries", right="read", response_model=ExportedEntryPage)
async def export_entries(
    at: RouteContext,
    after: Annotated[int, Query(ge=0, le=_LARGEST, description="The last number you have.")] = 0,
    until: Annotated[
        int | None, Query(ge=0, le=_LARGEST, description="`until` of the first page.")
    ] = None,
    limit: Limit = None,
    feed_id: Annotated[str | None, Query(description="Only entries of this feed.")] = None,
) -> Response:
    """Each entry once, at the last event up to `until` that speaks of it, in the log's order."""
    feeds = () if feed_id is None else (parse_public_id(feed_id, "feed"),)
    async with at.database.read() as view:
        page = await read_wire_events(
            view,
            after,
            limit=at.page_size(limit),
            wanted=EventFilter(types=_ENTRY_TYPES, feeds=feeds),
        )
        end = page.last_seq if until is None else min(until, page.last_seq)
        parcels = [parcel for parcel in page.parcels if parcel.seq <= end]
        found = await export_rows.list_latest_entries(
            view, parcels, until=end, most_bytes=MOST_PAGE_BYTES
        )
    reached = min(page.next, found.reached, end)
    unreadable = sum(each.seq <= end for each in page.unreadable)
    # Already JSON: reading it again only to write it again would double the work.
    lines = b",".join(b'{"seq":%d,' % seq + entry[1:] for seq, entry in found.entries)
    facts = b'"until":%d,"next":%d,"last_seq":%d,"unreadable":%d' % (
        end,
        reached,
        page.last_seq,
        unreadable,
    )
    return Response(b'{"entries":[' + lines + b"]," + facts + b"}", media_type="application/json")


@router.get("/export/raw", right="read", response_model=ExportedRawPage)
async def export_raw(
    at: RouteContext,
    after: Annotated[str | None, Query(description="The last fetch id you have.")] = None,
    before: Annotated[str | None, Query(description="`before` of the first page.")] = None,
    limit: Limit = None,
    feed_id: Annotated[str | None, Query(description="Only payloads of this feed.")] = None,
) -> Response:
    """Raw fetches by id, oldest first, up to a moment ago: a visit makes its id a little before it
    commits. The bytes are at `/raw/{fetch_id}`."""
    size = at.page_size(limit)
    settled = at.clock.now() - timedelta(seconds=at.settings.export_hold_back_sec)
    horizon = first_id_at(settled)
    end = horizon if before is None else min(parse_public_id(before, "raw_fetch"), horizon)
    async with at.database.read() as view:
        found = await export_rows.list_raw_fetches_after(
            view,
            FIRST if after is None else parse_public_id(after, "raw_fetch"),
            before=end,
            limit=size + 1,
            feed_id=None if feed_id is None else parse_public_id(feed_id, "feed"),
        )
    shown = found[:size]
    more = shown[-1].fetch_id if len(found) > size else None
    return json_response(
        ExportedRawPage(fetches=[ExportedRawRecord.of(raw) for raw in shown], before=end, next=more)
    )

"""The export over HTTP: everything that is kept, in pages; each export goes on after the last."""

from datetime import timedelta
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from headwater.entrypoints.api.dependencies import App, Limit, View, parse_public_id
from headwater.entrypoints.api.feeds.export_records import (
    ExportedEntryPage,
    ExportedRawPage,
    ExportedRawRecord,
)
from headwater.entrypoints.api.router import Router
from headwater.events.event_filter import EventFilter
from headwater.events.event_rows import read_wire_events
from headwater.feeds.entries.entry_version import ENTRY_EVENTS
from headwater.publish import export_rows
from headwater.publish.export_rows import FIRST, first_id_at

router = Router(tags=["export"])

MOST_PAGE_BYTES = 8 * 1024 * 1024
_LARGEST = 2**63 - 1
_ENTRY_TYPES = tuple(sorted(ENTRY_EVENTS))


@router.get("/export/entries", right="read", response_model=ExportedEntryPage)
async def export_entries(
    app: App,
    view: View,
    after: Annotated[int, Query(ge=0, le=_LARGEST, description="The last number you have.")] = 0,
    until: Annotated[
        int | None, Query(ge=0, le=_LARGEST, description="`until` of the first page.")
    ] = None,
    limit: Limit = None,
    feed_id: Annotated[str | None, Query(description="Only entries of this feed.")] = None,
) -> Response:
    """Each entry once, at the last event up to `until` that speaks of it, in the log's order."""
    feeds = () if feed_id is None else (parse_public_id(feed_id, "feed"),)
    page = await read_wire_events(
        view,
        after,
        limit=app.page_size(limit),
        wanted=EventFilter(types=_ENTRY_TYPES, feeds=feeds),
    )
    end = page.last_seq if until is None else min(until, page.last_seq)
    events = [event for event in page.parcels if event.seq <= end]
    latest = await export_rows.list_latest_entries(
        view, events, until=end, most_bytes=MOST_PAGE_BYTES
    )
    reached = min(page.next, latest.reached, end)
    unreadable = sum(event.seq <= end for event in page.unreadable)
    # Already JSON: reading it again only to write it again would double the work.
    lines = b",".join(b'{"seq":%d,' % seq + entry[1:] for seq, entry in latest.entries)
    facts = b'"until":%d,"next":%d,"last_seq":%d,"unreadable":%d' % (
        end,
        reached,
        page.last_seq,
        unreadable,
    )
    return Response(b'{"entries":[' + lines + b"]," + facts + b"}", media_type="application/json")


@router.get("/export/raw", right="read")
async def export_raw(
    app: App,
    view: View,
    after: Annotated[str | None, Query(description="The last fetch id you have.")] = None,
    before: Annotated[str | None, Query(description="`before` of the first page.")] = None,
    limit: Limit = None,
    feed_id: Annotated[str | None, Query(description="Only payloads of this feed.")] = None,
) -> ExportedRawPage:
    """Raw fetches by id, oldest first, up to a moment ago: a visit makes its id a little before it
    commits. The bytes are at `/raw/{fetch_id}`."""
    size = app.page_size(limit)
    horizon = first_id_at(app.clock.now() - timedelta(seconds=app.settings.export_hold_back_sec))
    end = horizon if before is None else min(parse_public_id(before, "raw_fetch"), horizon)
    fetches = await export_rows.list_raw_fetches_after(
        view,
        FIRST if after is None else parse_public_id(after, "raw_fetch"),
        before=end,
        limit=size + 1,
        feed_id=None if feed_id is None else parse_public_id(feed_id, "feed"),
    )
    shown = fetches[:size]
    return ExportedRawPage(
        fetches=[ExportedRawRecord.of(raw) for raw in shown],
        before=end,
        next=shown[-1].fetch_id if len(fetches) > size else None,
    )

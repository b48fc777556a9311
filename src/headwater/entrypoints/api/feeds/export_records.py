"""Records of exports: entries as their events had them, and raw fetches."""

from typing import Any

from pydantic import Field

from headwater.entrypoints.api.feeds.entry_records import EnclosureRecord, PersonRecord
from headwater.entrypoints.api.records import Moment, NounRecord, Record


class ExportedRawRefRecord(Record):
    fetch_id: str
    offset: int | None
    length: int | None


class ExportedEntryRecord(Record):
    """An entry as it stands in the event `seq`: nothing in it changes later."""

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


class ExportedRawRecord(NounRecord):
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


class ExportedRawPage(Record):
    """Go on with `after` = `next` and the same `before`, until `next` is null."""

    fetches: list[ExportedRawRecord]
    before: str
    next: str | None

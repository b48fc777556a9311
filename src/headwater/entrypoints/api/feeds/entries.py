"""Entries over HTTP: by feed, time, category and text; one with its history; drifted uids."""

from dataclasses import dataclass
from typing import Annotated, Any

import orjson
from fastapi import Query
from pydantic import ConfigDict, Field
from starlette.responses import Response

from headwater.entrypoints.api.dependencies import (
    ApiContext,
    Cursor,
    Limit,
    MomentIn,
    RouteContext,
    TextWithoutNul,
    json_response,
    parse_public_id,
)
from headwater.entrypoints.api.models import parse_moment
from headwater.entrypoints.api.paging import PageRequest, cursor, decode_entry_cursor
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.router import Router
from headwater.feeds import change_feed, feed_rows
from headwater.feeds.entries import entry_search_rows
from headwater.feeds.entries.entry_search_rows import (
    EntryAlias,
    EntrySearch,
    EntryVersion,
    KeptEntry,
    RawRef,
)


class RawRefRecord(Record):
    fetch_id: str
    offset: int | None
    length: int | None
    note: str | None

    @classmethod
    def of(cls, ref: RawRef) -> "RawRefRecord":
        return cls(fetch_id=ref.fetch_id, offset=ref.offset, length=ref.length, note=ref.note)


class PersonRecord(Record):
    name: str | None
    email: str | None
    uri: str | None


class EnclosureRecord(Record):
    """Beside the three fields, `duration`, `title` and `medium` where the publisher gave them."""

    model_config = ConfigDict(extra="allow", frozen=True)

    url: str
    type: str | None
    length: int | None


class VersionRecord(Record):
    """What an entry said before an edit."""

    version: int
    replaced_at: Moment
    content_hash: str
    raw_ref: RawRefRecord
    entry: dict[str, Any] = Field(description="The replaced fields, as they were stored.")

    @classmethod
    def of(cls, version: EntryVersion) -> "VersionRecord":
        return cls(
            version=version.version,
            replaced_at=version.replaced_at,
            content_hash=version.content_hash,
            raw_ref=RawRefRecord.of(version.raw_ref),
            entry=_decode_snapshot(version.snapshot),
        )


class EntryRecord(Record):
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
    last_seen: Moment
    seen_count: int
    raw_refs: list[RawRefRecord]
    content_hash: str
    version: int
    is_present: bool = Field(description="It is in the newest document of its feed.")
    details: dict[str, Any] = Field(description="What has no field of its own.")
    versions: list[VersionRecord] | None = Field(None, description="Only with ?versions=1.")

    @classmethod
    def of(cls, entry: KeptEntry, versions: list[EntryVersion] | None = None) -> "EntryRecord":
        return cls(
            entry_uid=entry.uid,
            feed_id=entry.feed_id,
            canonical_link=entry.canonical_link,
            title=entry.title,
            summary=entry.summary,
            content=entry.content,
            authors=orjson.loads(entry.authors),
            categories=orjson.loads(entry.categories),
            enclosures=orjson.loads(entry.enclosures),
            published=entry.published,
            updated=entry.updated,
            first_seen=entry.first_seen,
            last_seen=entry.last_seen,
            seen_count=entry.seen_count,
            raw_refs=[RawRefRecord.of(ref) for ref in entry.raw_refs],
            content_hash=entry.content_hash,
            version=entry.version,
            is_present=entry.is_present,
            details=orjson.loads(entry.details),
            versions=None if versions is None else [VersionRecord.of(each) for each in versions],
        )


class AliasRecord(Record):
    alias_uid: str
    entry_uid: str
    fetch_id: str
    made_at: Moment
    undone_at: Moment | None

    @classmethod
    def of(cls, alias: EntryAlias) -> "AliasRecord":
        return cls(
            alias_uid=alias.alias_uid,
            entry_uid=alias.entry_uid,
            fetch_id=alias.fetch_id,
            made_at=alias.made_at,
            undone_at=alias.undone_at,
        )


def _decode_snapshot(snapshot: str) -> dict[str, Any]:
    """Stored lists are JSON text inside the snapshot's JSON; moments are microseconds."""
    said: dict[str, Any] = orjson.loads(snapshot)
    lists = ("authors", "categories", "enclosures", "details")
    opened = {name: orjson.loads(said[name]) for name in lists if isinstance(said.get(name), str)}
    return said | opened


class EntryPage(Record):
    entries: list[EntryRecord]
    next_cursor: str | None


class AliasPage(Record):
    aliases: list[AliasRecord]


class UndoneAliasRecord(Record):
    feed_id: str
    alias_uid: str
    undone: bool


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """Moments are RFC 3339: `since` inclusive, `until` exclusive."""

    feed_id: str | None = None
    since: str | None = None
    until: str | None = None
    category: str | None = None
    text: str | None = None


async def entry_page(at: ApiContext, piece: PageRequest, asked: EntryFilter) -> EntryPage:
    """Newest first by `first_seen`."""
    since, until = parse_moment(asked.since, "since"), parse_moment(asked.until, "until")
    after = decode_entry_cursor(piece.cursor) if piece.cursor else None
    async with at.database.read() as view:
        feed = None
        if asked.feed_id is not None:
            feed = (await feed_rows.get_feed(view, parse_public_id(asked.feed_id, "feed"))).pk
        search = EntrySearch(feed, since, until, asked.category, asked.text)
        page = await entry_search_rows.search_entries(
            view, search, after=after, limit=at.page_size(piece.limit)
        )
    more = cursor("entries", *page.next) if page.next else None
    return EntryPage(entries=[EntryRecord.of(entry) for entry in page.entries], next_cursor=more)


async def entry_record(
    at: ApiContext, entry_uid: str, feed_id: str | None, *, versions: bool
) -> EntryRecord:
    """AmbiguousEntry names the feeds when several have this uid."""
    known = None if feed_id is None else parse_public_id(feed_id, "feed")
    async with at.database.read() as view:
        entry = await entry_search_rows.get_entry(view, entry_uid, known)
        older = await entry_search_rows.list_versions(view, entry) if versions else None
    return EntryRecord.of(entry, older)


LONGEST_TEXT = 200
router = Router(tags=["entries"])
SearchWords = Annotated[
    TextWithoutNul | None,
    Query(max_length=LONGEST_TEXT, description="All of these words, in title, summary or content."),
]
InCategory = Annotated[
    TextWithoutNul | None, Query(max_length=1_000, description="Exactly this one.")
]


@router.get("/feeds/{feed_id}/entries", right="read", response_model=EntryPage)
async def list_entries_of_feed(
    feed_id: str,
    at: RouteContext,
    since: MomentIn = None,
    until: MomentIn = None,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
    category: InCategory = None,
    q: SearchWords = None,
) -> Response:
    """Newest first by `first_seen`: `since` inclusive, `until` exclusive."""
    asked = EntryFilter(feed_id, since, until, category, q)
    return json_response(await entry_page(at, PageRequest(limit, cursor_), asked))


@router.get("/entries", right="read", response_model=EntryPage)
async def list_entries(
    at: RouteContext,
    feed_id: str | None = None,
    since: MomentIn = None,
    until: MomentIn = None,
    category: InCategory = None,
    q: SearchWords = None,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """Newest first by `first_seen`: `since` inclusive, `until` exclusive."""
    asked = EntryFilter(feed_id, since, until, category, q)
    return json_response(await entry_page(at, PageRequest(limit, cursor_), asked))


@router.get("/entries/{entry_uid:path}", right="read", response_model=EntryRecord)
async def show_entry(
    entry_uid: str, at: RouteContext, feed_id: str | None = None, versions: bool = False
) -> Response:
    """By its uid, percent-encoded. 409 `ambiguous_entry` names the feeds when several have it."""
    return json_response(await entry_record(at, entry_uid, feed_id, versions=versions))


@router.get("/feeds/{feed_id}/aliases", right="read", response_model=AliasPage)
async def list_aliases(feed_id: str, at: RouteContext) -> Response:
    """Uids that changed while link and content stayed, and the entry each is taken for."""
    async with at.database.read() as view:
        feed = await feed_rows.get_feed(view, parse_public_id(feed_id, "feed"))
        aliases = await entry_search_rows.list_aliases(view, feed.pk)
    return json_response(AliasPage(aliases=[AliasRecord.of(alias) for alias in aliases]))


@router.delete(
    "/feeds/{feed_id}/aliases/{alias_uid:path}", right="admin", response_model=UndoneAliasRecord
)
async def undo_alias(feed_id: str, alias_uid: str, at: RouteContext) -> Response:
    """From now on the drifted uid is an entry of its own."""
    known = parse_public_id(feed_id, "feed")
    await change_feed.undo_alias(known, alias_uid, at.database)
    return json_response(UndoneAliasRecord(feed_id=known, alias_uid=alias_uid, undone=True))

"""Entries over HTTP: by feed, time, category and text; one with its history; drifted uids."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Query

from headwater.entrypoints.api.dependencies import (
    ApiContext,
    App,
    FeedId,
    MomentIn,
    TextWithoutNul,
    View,
    parse_public_id,
)
from headwater.entrypoints.api.feeds.entry_records import (
    AliasPage,
    AliasRecord,
    EntryPage,
    EntryRecord,
    UndoneAliasRecord,
)
from headwater.entrypoints.api.models import parse_moment
from headwater.entrypoints.api.paging import Page, decode_entry_cursor, paging
from headwater.entrypoints.api.router import Router
from headwater.feeds import change_feed, feed_rows
from headwater.feeds.entries import entry_search_rows
from headwater.feeds.entries.entry_search_rows import EntrySearch

LONGEST_TEXT = 200
SearchWords = Annotated[
    TextWithoutNul | None,
    Query(max_length=LONGEST_TEXT, description="All of these words, in title, summary or content."),
]
InCategory = Annotated[
    TextWithoutNul | None, Query(max_length=1_000, description="Exactly this one.")
]
EntriesPage = Annotated[Page, paging("entries", decode_entry_cursor)]

router = Router(tags=["entries"])


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """Moments are RFC 3339: `since` inclusive, `until` exclusive."""

    feed_id: str | None = None
    since: str | None = None
    until: str | None = None
    category: str | None = None
    text: str | None = None


async def entry_page(app: ApiContext, page: Page, entry_filter: EntryFilter) -> EntryPage:
    """Newest first by `first_seen`."""
    since = parse_moment(entry_filter.since, "since")
    until = parse_moment(entry_filter.until, "until")
    async with app.database.read() as view:
        feed_pk = None
        if entry_filter.feed_id is not None:
            feed_id = parse_public_id(entry_filter.feed_id, "feed")
            feed_pk = (await feed_rows.get_feed(view, feed_id)).pk
        search = EntrySearch(feed_pk, since, until, entry_filter.category, entry_filter.text)
        result = await entry_search_rows.search_entries(
            view, search, after=page.position, limit=page.size
        )
    next_cursor = page.cursor_after(*result.next) if result.next else None
    return EntryPage(
        entries=[EntryRecord.of(entry) for entry in result.entries], next_cursor=next_cursor
    )


async def entry_record(
    app: ApiContext, entry_uid: str, feed_id: str | None, *, versions: bool
) -> EntryRecord:
    """AmbiguousEntry names the feeds when several have this uid."""
    public_id = None if feed_id is None else parse_public_id(feed_id, "feed")
    async with app.database.read() as view:
        entry = await entry_search_rows.get_entry(view, entry_uid, public_id)
        older = await entry_search_rows.list_versions(view, entry) if versions else None
    return EntryRecord.of(entry, versions=older)


@router.get("/feeds/{feed_id}/entries", right="read")
async def list_entries_of_feed(
    feed_id: str,
    app: App,
    page: EntriesPage,
    since: MomentIn = None,
    until: MomentIn = None,
    category: InCategory = None,
    q: SearchWords = None,
) -> EntryPage:
    """Newest first by `first_seen`: `since` inclusive, `until` exclusive."""
    return await entry_page(app, page, EntryFilter(feed_id, since, until, category, q))


@router.get("/entries", right="read")
async def list_entries(
    app: App,
    page: EntriesPage,
    feed_id: str | None = None,
    since: MomentIn = None,
    until: MomentIn = None,
    category: InCategory = None,
    q: SearchWords = None,
) -> EntryPage:
    """Newest first by `first_seen`: `since` inclusive, `until` exclusive."""
    return await entry_page(app, page, EntryFilter(feed_id, since, until, category, q))


@router.get("/entries/{entry_uid:path}", right="read")
async def show_entry(
    entry_uid: str, app: App, feed_id: str | None = None, versions: bool = False
) -> EntryRecord:
    """By its uid, percent-encoded. 409 `ambiguous_entry` names the feeds when several have it."""
    return await entry_record(app, entry_uid, feed_id, versions=versions)


@router.get("/feeds/{feed_id}/aliases", right="read")
async def list_aliases(feed_id: FeedId, view: View) -> AliasPage:
    """Uids that changed while link and content stayed, and the entry each is taken for."""
    feed = await feed_rows.get_feed(view, feed_id)
    aliases = await entry_search_rows.list_aliases(view, feed.pk)
    return AliasPage(aliases=[AliasRecord.of(alias) for alias in aliases])


@router.delete("/feeds/{feed_id}/aliases/{alias_uid:path}", right="admin")
async def undo_alias(feed_id: FeedId, alias_uid: str, app: App) -> UndoneAliasRecord:
    """From now on the drifted uid is an entry of its own."""
    await change_feed.undo_alias(feed_id, alias_uid, app.database)
    return UndoneAliasRecord(feed_id=feed_id, alias_uid=alias_uid, undone=True)

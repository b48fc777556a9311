"""Entries over HTTP: by feed, time, category and text; one with its history; drifted uids."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from headwater import wishes
from headwater.entrypoints.api.asking import (
    REFUSALS,
    At,
    Cursor,
    Limit,
    MomentIn,
    Text,
    public_id,
    told,
)
from headwater.entrypoints.api.cursors import cursor, entry_place_of
from headwater.entrypoints.api.journal import AliasPage, EntryPage, UndoneRecord
from headwater.entrypoints.api.moments import micros_of
from headwater.entrypoints.api.records import AliasRecord, EntryRecord
from headwater.merge import queries
from headwater.merge.search import Search
from headwater.schedule import queries as feeds

LONGEST_TEXT = 200

router = APIRouter(tags=["entries"], responses=REFUSALS)

Words = Annotated[
    Text | None,
    Query(max_length=LONGEST_TEXT, description="In title, summary or content, in any case."),
]
InCategory = Annotated[Text | None, Query(max_length=1_000, description="Exactly this one.")]


@router.get("/feeds/{feed_id}/entries", response_model=EntryPage)
async def list_entries_of_feed(
    feed_id: str,
    at: At,
    since: MomentIn = None,
    until: MomentIn = None,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
    category: InCategory = None,
    q: Words = None,
) -> Response:
    """Newest first by `first_seen`: `since` inclusive, `until` exclusive."""
    return await _page(at, feed_id, (since, until), (category, q), limit, cursor_)


@router.get("/entries", response_model=EntryPage)
async def list_entries(
    at: At,
    feed_id: str | None = None,
    since: MomentIn = None,
    until: MomentIn = None,
    category: InCategory = None,
    q: Words = None,
    limit: Limit = None,
    cursor_: Annotated[Cursor, Query(alias="cursor")] = None,
) -> Response:
    """Newest first by `first_seen`: `since` inclusive, `until` exclusive."""
    return await _page(at, feed_id, (since, until), (category, q), limit, cursor_)


@router.get("/entries/{entry_uid:path}", response_model=EntryRecord)
async def show_entry(
    entry_uid: str, at: At, feed_id: str | None = None, versions: bool = False
) -> Response:
    """By its uid, percent-encoded. 409 `ambiguous_entry` names the feeds when several have it."""
    known = None if feed_id is None else public_id(feed_id, "feed")
    async with at.engine.database.read() as view:
        entry = await queries.entry(view, entry_uid, known)
        older = await queries.versions(view, entry) if versions else None
    return told(EntryRecord.of(entry, older))


@router.get("/feeds/{feed_id}/aliases", response_model=AliasPage)
async def list_aliases(feed_id: str, at: At) -> Response:
    """Uids that changed while link and content stayed, and the entry each is taken for."""
    async with at.engine.database.read() as view:
        feed = await feeds.feed(view, public_id(feed_id, "feed"))
        aliases = await queries.aliases(view, feed.pk)
    return told(AliasPage(aliases=[AliasRecord.of(alias) for alias in aliases]))


@router.delete("/feeds/{feed_id}/aliases/{alias_uid:path}", response_model=UndoneRecord)
async def undo_alias(feed_id: str, alias_uid: str, at: At) -> Response:
    """From now on the drifted uid is an entry of its own."""
    known = public_id(feed_id, "feed")
    await wishes.undo_alias(known, alias_uid, at.engine)
    return told(UndoneRecord(feed_id=known, alias_uid=alias_uid, undone=True))


async def _page(
    at: At,
    feed_id: str | None,
    times: tuple[str | None, str | None],
    words: tuple[str | None, str | None],
    limit: int | None,
    cursor_: str | None,
) -> Response:
    since, until = micros_of(times[0], "since"), micros_of(times[1], "until")
    after = entry_place_of(cursor_) if cursor_ else None
    async with at.engine.database.read() as view:
        feed = None
        if feed_id is not None:
            feed = (await feeds.feed(view, public_id(feed_id, "feed"))).pk
        search = Search(feed, since, until, *words)
        page = await queries.entries(view, search, after=after, limit=at.page_size(limit))
    more = cursor("entries", *page.next) if page.next else None
    return told(
        EntryPage(entries=[EntryRecord.of(entry) for entry in page.entries], next_cursor=more)
    )

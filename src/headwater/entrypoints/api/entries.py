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
from headwater.entrypoints.api.journal import AliasPage, EntryPage, UndoneRecord
from headwater.entrypoints.api.pages import EntryQuestion, Piece, entry_page, entry_record
from headwater.entrypoints.api.records import AliasRecord, EntryRecord
from headwater.merge import queries
from headwater.schedule import queries as feeds

LONGEST_TEXT = 200

router = APIRouter(tags=["entries"], responses=REFUSALS)

Words = Annotated[
    Text | None,
    Query(max_length=LONGEST_TEXT, description="All of these words, in title, summary or content."),
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
    asked = EntryQuestion(feed_id, since, until, category, q)
    return told(await entry_page(at, Piece(limit, cursor_), asked))


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
    asked = EntryQuestion(feed_id, since, until, category, q)
    return told(await entry_page(at, Piece(limit, cursor_), asked))


@router.get("/entries/{entry_uid:path}", response_model=EntryRecord)
async def show_entry(
    entry_uid: str, at: At, feed_id: str | None = None, versions: bool = False
) -> Response:
    """By its uid, percent-encoded. 409 `ambiguous_entry` names the feeds when several have it."""
    return told(await entry_record(at, entry_uid, feed_id, versions=versions))


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

"""What may be read, whatever the way in: pages of feeds, entries and events, one of each, raw."""

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.announce import queries as log
from headwater.announce.event import EVENT_TYPES
from headwater.entrypoints.api.asking import Desk, public_id
from headwater.entrypoints.api.cursors import cursor, entry_place_of, numbers_of
from headwater.entrypoints.api.journal import EntryPage, EventPage, FeedPage
from headwater.entrypoints.api.moments import micros_of
from headwater.entrypoints.api.records import EntryRecord, FeedRecord
from headwater.errors import BadInput
from headwater.fetch import queries as raws
from headwater.fetch.queries import ArchivedFetch
from headwater.merge import queries as entries
from headwater.merge.search import Search
from headwater.schedule import queries as feeds
from headwater.subscribe.feed import STATES, State

_NOT_REMOVED = tuple(state for state in STATES if state != "removed")


@dataclass(frozen=True, slots=True)
class Piece:
    """Which part of a list is wanted: how many at most, and from where."""

    limit: int | None = None
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class EntryQuestion:
    """Moments are RFC 3339: `since` inclusive, `until` exclusive."""

    feed_id: str | None = None
    since: str | None = None
    until: str | None = None
    category: str | None = None
    text: str | None = None


async def feed_page(at: Desk, piece: Piece, state: State | None, url: str | None) -> FeedPage:
    """In the order they were added. Removed feeds are listed only when asked for by state."""
    size = at.page_size(piece.limit)
    (after,) = numbers_of(piece.cursor, "feeds", 1) if piece.cursor else (0,)
    states = (state,) if state else _NOT_REMOVED
    async with at.engine.database.read() as view:
        found = await feeds.feeds(view, after=after, limit=size + 1, states=states, url=url)
    shown = found[:size]
    records = [FeedRecord.of(feed, at.engine.schedule) for feed in shown]
    more = cursor("feeds", shown[-1].pk) if len(found) > size else None
    return FeedPage(feeds=records, next_cursor=more)


async def feed_record(at: Desk, feed_id: str) -> FeedRecord:
    async with at.engine.database.read() as view:
        feed = await feeds.feed(view, public_id(feed_id, "feed"))
    return FeedRecord.of(feed, at.engine.schedule)


async def entry_page(at: Desk, piece: Piece, asked: EntryQuestion) -> EntryPage:
    """Newest first by `first_seen`."""
    since, until = micros_of(asked.since, "since"), micros_of(asked.until, "until")
    after = entry_place_of(piece.cursor) if piece.cursor else None
    async with at.engine.database.read() as view:
        feed = None
        if asked.feed_id is not None:
            feed = (await feeds.feed(view, public_id(asked.feed_id, "feed"))).pk
        search = Search(feed, since, until, asked.category, asked.text)
        page = await entries.entries(view, search, after=after, limit=at.page_size(piece.limit))
    more = cursor("entries", *page.next) if page.next else None
    return EntryPage(entries=[EntryRecord.of(entry) for entry in page.entries], next_cursor=more)


async def entry_record(
    at: Desk, entry_uid: str, feed_id: str | None, *, versions: bool
) -> EntryRecord:
    """AmbiguousEntry names the feeds when several have this uid."""
    known = None if feed_id is None else public_id(feed_id, "feed")
    async with at.engine.database.read() as view:
        entry = await entries.entry(view, entry_uid, known)
        older = await entries.versions(view, entry) if versions else None
    return EntryRecord.of(entry, older)


async def event_page(
    at: Desk, after: int, limit: int | None, types: Sequence[str], feeds: Sequence[str]
) -> EventPage:
    """In order, without gaps: whoever saw number n never later meets a new event before it."""
    if not EVENT_TYPES.keys() >= set(types):
        raise BadInput("There is no such type of event.", known=sorted(EVENT_TYPES))
    known = [public_id(feed_id, "feed") for feed_id in feeds]
    async with at.engine.database.read() as view:
        telling = await log.events_after(
            view, after, limit=at.page_size(limit), types=types, feeds=known
        )
    return EventPage.of(telling)


async def raw_fetch(at: Desk, fetch_id: str) -> ArchivedFetch:
    """What is kept of one answer; its bytes are `archive.as_served`."""
    known = public_id(fetch_id, "raw_fetch")
    async with at.engine.database.read() as view:
        return await raws.raw_fetch(view, known)

"""Calls with one answer: the same questions, pages and cursors as the REST API."""

from collections.abc import Awaitable, Callable
from datetime import UTC
from typing import Any

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from headwater.entrypoints.api import pages
from headwater.entrypoints.api.asking import Desk
from headwater.entrypoints.api.entries import LONGEST_TEXT
from headwater.entrypoints.api.pages import EntryQuestion, Piece
from headwater.entrypoints.api.refusals import BadMoment
from headwater.entrypoints.rpc import headwater_pb2 as pb
from headwater.entrypoints.rpc.filling import events_of, filled, fitting
from headwater.errors import BadInput
from headwater.subscribe.feed import STATES
from headwater.values.instant import rfc3339

LONGEST_CATEGORY = 1_000
LONGEST_UID = 100_000

Work = Callable[[Desk, Any], Awaitable[Message]]


async def list_feeds(at: Desk, asked: pb.ListFeedsRequest) -> Message:
    state, url = text(asked, "state", 100), text(asked, "url")
    if state is not None and state not in STATES:
        raise BadInput("There is no such state.", field="state", known=list(STATES))

    async def page(limit: int) -> pb.ListFeedsResponse:
        piece = Piece(limit, asked.cursor or None)
        found = await pages.feed_page(at, piece, state, url)
        return filled(pb.ListFeedsResponse, found)

    return await fitting(size(at, asked.limit), room(at), page)


async def get_feed(at: Desk, asked: pb.GetFeedRequest) -> Message:
    return filled(pb.Feed, await pages.feed_record(at, asked.id))


async def list_entries(at: Desk, asked: pb.ListEntriesRequest) -> Message:
    question = EntryQuestion(
        feed_id=text(asked, "feed_id", 100),
        since=_moment(asked, "since"),
        until=_moment(asked, "until"),
        category=text(asked, "category", LONGEST_CATEGORY),
        text=text(asked, "q", LONGEST_TEXT),
    )

    async def page(limit: int) -> pb.ListEntriesResponse:
        piece = Piece(limit, asked.cursor or None)
        return filled(pb.ListEntriesResponse, await pages.entry_page(at, piece, question))

    return await fitting(size(at, asked.limit), room(at), page)


async def get_entry(at: Desk, asked: pb.GetEntryRequest) -> Message:
    uid = text(asked, "entry_uid", LONGEST_UID) or ""

    async def found(_: int) -> pb.Entry:
        feed_id = text(asked, "feed_id", 100)
        record = await pages.entry_record(at, uid, feed_id, versions=asked.versions)
        return filled(pb.Entry, record)

    return await fitting(1, room(at), found)


async def list_events(at: Desk, asked: pb.ListEventsRequest) -> Message:
    if asked.after < 0:
        raise BadInput("after is the number of an event.", field="after")
    type, feed_id = text(asked, "type", 100), text(asked, "feed_id", 100)
    types, feeds = [] if type is None else [type], [] if feed_id is None else [feed_id]

    async def page(limit: int) -> pb.ListEventsResponse:
        return events_of(await pages.event_page(at, asked.after, limit, types, feeds))

    return await fitting(size(at, asked.limit), room(at), page)


def room(at: Desk) -> int:
    return at.settings.grpc_max_message_bytes


def size(at: Desk, limit: int) -> int:
    if limit < 0:
        raise BadInput("limit is how many at most, 0 for the usual page.", field="limit")
    return at.page_size(limit or None)


def text(asked: Any, field: str, longest: int | None = None) -> str | None:
    """A field's text, if it is there; no database has a NUL in it."""
    optional = asked.DESCRIPTOR.fields_by_name[field].has_presence
    if optional and not asked.HasField(field):
        return None
    given: str = getattr(asked, field)
    if "\x00" in given:
        raise BadInput(f"{field} must not have a NUL in it.", field=field)
    if longest is not None and len(given) > longest:
        raise BadInput(f"{field} has at most {longest} characters.", field=field)
    return given


def _moment(asked: Any, field: str) -> str | None:
    if not asked.HasField(field):
        return None
    given: Timestamp = getattr(asked, field)
    try:
        return rfc3339(given.ToDatetime(tzinfo=UTC))
    except (ValueError, OverflowError) as trouble:
        raise BadMoment(f"{field} is no moment that can be written.", field=field) from trouble

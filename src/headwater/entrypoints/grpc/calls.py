"""The calls of the gRPC service: the pages of the REST API, raw bytes, a stream of events."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from pydantic import BaseModel

from headwater.auth.tokens import Credential
from headwater.client.grpc import headwater_pb2
from headwater.core.errors import BadInput, HeadwaterError, Unauthorized
from headwater.core.values.instant import from_micros, rfc3339
from headwater.entrypoints.api.dependencies import ApiContext
from headwater.entrypoints.api.errors import BadMoment, RateLimited
from headwater.entrypoints.api.events import events
from headwater.entrypoints.api.events.event_records import EventPage, EventRecord
from headwater.entrypoints.api.events.stream import PING_SECONDS, TOKEN_SECONDS
from headwater.entrypoints.api.feeds import entries, feeds
from headwater.entrypoints.api.feeds import raw as feeds_raw
from headwater.entrypoints.api.feeds.entries import LONGEST_TEXT, EntryFilter
from headwater.entrypoints.api.paging import decode_entry_cursor, page_of
from headwater.entrypoints.grpc.errors import NEXT_KEY, CallContext, CallEnded
from headwater.events import event_rows
from headwater.events.event_filter import EventFilter, parse_event_filter
from headwater.events.event_json import WireEvent, encode_event
from headwater.events.event_rows import DamagedEvent, LogPage
from headwater.events.log_watch import LogWaiter
from headwater.feeds.feed import STATES
from headwater.feeds.raw.archive import read_archived_body

M = TypeVar("M", bound=Message)


class MessageTooLarge(HeadwaterError):
    """One record that is larger than a message may be."""

    code = "message_too_large"
    status = 413


def to_message(kind: type[M], record: BaseModel) -> M:
    message: M = kind(**_fields(record))
    return message


def _fields(record: BaseModel) -> dict[str, Any]:
    """What is null is left out: a field that is not there."""
    return {name: _plain(value) for name, value in record if value is not None}


def _plain(value: Any) -> Any:
    match value:
        case BaseModel():
            return _fields(value)
        case list():
            return [_plain(each) for each in value]
        case _:
            return value


def events_message(page: EventPage) -> headwater_pb2.ListEventsResponse:
    events = [_event_message_of(each) for each in page.events]
    return headwater_pb2.ListEventsResponse(events=events, last_seq=page.last_seq, next=page.next)


def _event_message_of(told: EventRecord) -> headwater_pb2.Event:
    return headwater_pb2.Event(
        seq=told.seq,
        id=told.id,
        type=told.type,
        at=told.at,
        feed_id=told.feed_id,
        body=encode_event(told.seq, told.id, told.type, told.at, told.feed_id, told.payload),
    )


def event_message(parcel: WireEvent) -> headwater_pb2.Event:
    return headwater_pb2.Event(
        seq=parcel.seq,
        id=parcel.event_id,
        type=parcel.type,
        at=from_micros(parcel.at),
        feed_id=parcel.feed_id,
        body=parcel.body,
    )


async def fit_page(size: int, most_bytes: int, ask: Callable[[int], Awaitable[M]]) -> M:
    """A page that fits into one message; asked again for fewer while it does not."""
    while (found := (page := await ask(size)).ByteSize()) > most_bytes:
        if size == 1:
            raise MessageTooLarge(
                f"One record has {found} bytes; a message may have {most_bytes}."
                " HEADWATER_GRPC_MAX_MESSAGE_BYTES sets that.",
                bytes=found,
            )
        size = max(1, min(size - 1, size * most_bytes // found))
    return page


LONGEST_CATEGORY = 1_000
LONGEST_UID = 100_000
UnaryHandler = Callable[[ApiContext, Any], Awaitable[Message]]


async def list_feeds(at: ApiContext, asked: headwater_pb2.ListFeedsRequest) -> Message:
    state, url = text_field(asked, "state", 100), text_field(asked, "url")
    if state is not None and state not in STATES:
        raise BadInput("There is no such state.", field="state", known=list(STATES))

    async def page(limit: int) -> headwater_pb2.ListFeedsResponse:
        piece = page_of("feeds", limit, asked.cursor or None)
        found = await feeds.feed_page(at, piece, state, url)
        return to_message(headwater_pb2.ListFeedsResponse, found)

    return await fit_page(page_size(at, asked.limit), most_message_bytes(at), page)


async def get_feed(at: ApiContext, asked: headwater_pb2.GetFeedRequest) -> Message:
    return to_message(headwater_pb2.Feed, await feeds.feed_record(at, asked.id))


async def list_entries(at: ApiContext, asked: headwater_pb2.ListEntriesRequest) -> Message:
    question = EntryFilter(
        feed_id=text_field(asked, "feed_id", 100),
        since=_moment(asked, "since"),
        until=_moment(asked, "until"),
        category=text_field(asked, "category", LONGEST_CATEGORY),
        text=text_field(asked, "q", LONGEST_TEXT),
    )

    async def page(limit: int) -> headwater_pb2.ListEntriesResponse:
        piece = page_of("entries", limit, asked.cursor or None, decode_entry_cursor)
        return to_message(
            headwater_pb2.ListEntriesResponse, await entries.entry_page(at, piece, question)
        )

    return await fit_page(page_size(at, asked.limit), most_message_bytes(at), page)


async def get_entry(at: ApiContext, asked: headwater_pb2.GetEntryRequest) -> Message:
    uid = text_field(asked, "entry_uid", LONGEST_UID) or ""

    async def found(_: int) -> headwater_pb2.Entry:
        feed_id = text_field(asked, "feed_id", 100)
        record = await entries.entry_record(at, uid, feed_id, versions=asked.versions)
        return to_message(headwater_pb2.Entry, record)

    return await fit_page(1, most_message_bytes(at), found)


async def list_events(at: ApiContext, asked: headwater_pb2.ListEventsRequest) -> Message:
    if asked.after < 0:
        raise BadInput("after is the number of an event.", field="after")
    type, feed_id = text_field(asked, "type", 100), text_field(asked, "feed_id", 100)
    types, feeds = [] if type is None else [type], [] if feed_id is None else [feed_id]

    async def page(limit: int) -> headwater_pb2.ListEventsResponse:
        return events_message(await events.event_page(at, asked.after, limit, types, feeds))

    return await fit_page(page_size(at, asked.limit), most_message_bytes(at), page)


def most_message_bytes(at: ApiContext) -> int:
    return at.settings.grpc_max_message_bytes


def page_size(at: ApiContext, limit: int) -> int:
    if limit < 0:
        raise BadInput("limit is how many at most, 0 for the usual page.", field="limit")
    return at.page_size(limit or None)


def text_field(asked: Any, field: str, longest: int | None = None) -> str | None:
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


CHUNK_BYTES = 64 * 1024
PAGE_EVENTS = 500
RETRY_SECONDS = 10


async def send_raw(
    at: ApiContext, asked: headwater_pb2.GetRawRequest, context: CallContext
) -> None:
    raw = await feeds_raw.raw_fetch(at, text_field(asked, "fetch_id", 100) or "")
    body = b"" if asked.meta_only else await read_archived_body(at.database, at.feeds.blobs, raw)
    record = to_message(headwater_pb2.RawFetch, feeds_raw.raw_fetch_record(raw))
    await context.write(headwater_pb2.GetRawResponse(record=record))
    for start in range(0, len(body), CHUNK_BYTES):
        await context.write(headwater_pb2.GetRawResponse(chunk=body[start : start + CHUNK_BYTES]))


class EventStreams:
    """All streams of events over gRPC. `open` counts them."""

    def __init__(self, at: ApiContext) -> None:
        self._at = at
        self.open = 0

    async def send(
        self,
        asked: headwater_pb2.StreamEventsRequest,
        context: CallContext,
        credential: Credential,
        waiting: LogWaiter,
    ) -> None:
        """BadInput and RateLimited before the first message, as the API does."""
        wanted = parse_event_filter(asked.types, asked.feed_ids, asked.categories)
        after = asked.after if asked.HasField("after") else None
        if after is not None and after < 0:
            raise BadInput("after is the number of an event.", field="after")
        if self.open >= self._at.settings.grpc_streams_max:
            raise RateLimited(
                "There are too many streams; try again in a while.", retry_after_sec=RETRY_SECONDS
            )
        self.open += 1
        try:
            begin = await self._at.live.beginning(after, None)
            reader = _EventStreamCall(self._at, context, wanted, credential.token_id, waiting)
            await reader.tell_from(begin)
        finally:
            self.open -= 1


class _EventStreamCall:
    """One stream under way: everything up to `_seen` was told."""

    def __init__(
        self,
        at: ApiContext,
        context: CallContext,
        wanted: EventFilter,
        token_id: int | None,
        waiting: LogWaiter,
    ) -> None:
        self._at, self._context, self._wanted, self._token_id = at, context, wanted, token_id
        self._waiting = waiting
        self._seen = 0
        self._said_at = 0.0
        self._end = self._now() + at.settings.grpc_stream_seconds

    async def tell_from(self, after: int) -> None:
        """However it ends, its reader learns where to go on."""
        self._seen = after
        try:
            await self._tell_until_the_end()
        finally:
            self._context.set_trailing_metadata(((NEXT_KEY, str(self._seen)),))

    async def _tell_until_the_end(self) -> None:
        # At once, so that a reader knows that it is connected, and where it is.
        await self._say(position=headwater_pb2.Position(seq=self._seen))
        while await self._goes_on():
            page = await self._page()
            await self._tell(page)
            await self._ping_when_due()
            if page.next >= page.last_seq:
                await self._until_it_grows()

    async def _page(self) -> LogPage:
        async with self._at.database.read() as view:
            return await event_rows.read_wire_events(
                view, self._seen, limit=PAGE_EVENTS, wanted=self._wanted
            )

    async def _tell(self, page: LogPage) -> None:
        if page.last_seq < self._seen:
            self._seen = page.last_seq
            await self._say(log_reset=headwater_pb2.LogReset(last_seq=page.last_seq))
        told: list[WireEvent | DamagedEvent] = sorted(
            [*page.parcels, *page.unreadable], key=lambda each: each.seq
        )
        for each in told:
            if isinstance(each, WireEvent):
                await self._say(event=event_message(each))
            else:
                await self._say(unreadable=_unreadable(each))
            self._seen = each.seq
        self._seen = page.next

    async def _until_it_grows(self) -> None:
        pause = PING_SECONDS if self._token_id is None else TOKEN_SECONDS
        while await self._goes_on():
            until = min(self._now() + pause, self._said_at + PING_SECONDS, self._end)
            if await self._at.live.watch.beyond(self._waiting, self._seen, until):
                return
            await self._ping_when_due()

    async def _ping_when_due(self) -> None:
        """Also while nothing of a long log is wanted: who comes back need not look at it again."""
        if self._now() >= self._said_at + PING_SECONDS:
            await self._say(position=headwater_pb2.Position(seq=self._seen))

    async def _goes_on(self) -> bool:
        """False at the stream's own end. A stop, or a token that was revoked, breaks it off."""
        if self._at.closing.is_set():
            stopping = "Headwater is stopping; come back with the last number you have."
            raise CallEnded(grpc.StatusCode.UNAVAILABLE, "stopping", stopping)
        if await self._at.live.is_revoked(self._token_id):
            raise Unauthorized("This token was revoked.")
        return self._now() < self._end and not self._waiting.is_over

    async def _say(self, **told: Any) -> None:
        self._said_at = self._now()
        try:
            async with asyncio.timeout(self._at.settings.stream_slow_seconds):
                await self._context.write(headwater_pb2.StreamEventsResponse(**told))
        except TimeoutError as trouble:
            # It learns of it when it reads on: what was sent before comes first.
            slow = "You read too slowly; come back with the last number you have."
            exhausted = grpc.StatusCode.RESOURCE_EXHAUSTED
            raise CallEnded(exhausted, "too_slow", slow) from trouble

    def _now(self) -> float:
        return self._at.clock.monotonic()


def _unreadable(told: DamagedEvent) -> headwater_pb2.UnreadableEvent:
    return headwater_pb2.UnreadableEvent(
        seq=told.seq, id=told.event_id, type=told.type, error="bad_payload"
    )

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
    """The fields of a message. Null is left out: that is a field which is not there."""
    return {name: _plain(value) for name, value in record if value is not None}


def _plain(value: Any) -> Any:
    match value:
        case BaseModel():
            return _fields(value)
        case list():
            return [_plain(item) for item in value]
        case _:
            return value


def events_message(page: EventPage) -> headwater_pb2.ListEventsResponse:
    events = [_event_message_of(event) for event in page.events]
    return headwater_pb2.ListEventsResponse(events=events, last_seq=page.last_seq, next=page.next)


def _event_message_of(event: EventRecord) -> headwater_pb2.Event:
    return headwater_pb2.Event(
        seq=event.seq,
        id=event.id,
        type=event.type,
        at=event.at,
        feed_id=event.feed_id,
        body=encode_event(event.seq, event.id, event.type, event.at, event.feed_id, event.payload),
    )


def event_message(event: WireEvent) -> headwater_pb2.Event:
    return headwater_pb2.Event(
        seq=event.seq,
        id=event.event_id,
        type=event.type,
        at=from_micros(event.at),
        feed_id=event.feed_id,
        body=event.body,
    )


async def fit_page(size: int, most_bytes: int, ask: Callable[[int], Awaitable[M]]) -> M:
    """A page that fits into one message: while it does not, ask again for fewer records."""
    while (page_bytes := (page := await ask(size)).ByteSize()) > most_bytes:
        if size == 1:
            raise MessageTooLarge(
                f"One record has {page_bytes} bytes; a message may have {most_bytes}."
                " HEADWATER_GRPC_MAX_MESSAGE_BYTES sets that.",
                bytes=page_bytes,
            )
        size = max(1, min(size - 1, size * most_bytes // page_bytes))
    return page


LONGEST_CATEGORY = 1_000
LONGEST_UID = 100_000
UnaryHandler = Callable[[ApiContext, Any], Awaitable[Message]]


async def list_feeds(app: ApiContext, request: headwater_pb2.ListFeedsRequest) -> Message:
    state, url = text_field(request, "state", 100), text_field(request, "url")
    if state is not None and state not in STATES:
        raise BadInput("There is no such state.", field="state", known=list(STATES))

    async def page_message(limit: int) -> headwater_pb2.ListFeedsResponse:
        page = page_of("feeds", limit, request.cursor or None)
        record = await feeds.feed_page(app, page, state, url)
        return to_message(headwater_pb2.ListFeedsResponse, record)

    return await fit_page(page_size(app, request.limit), most_message_bytes(app), page_message)


async def get_feed(app: ApiContext, request: headwater_pb2.GetFeedRequest) -> Message:
    return to_message(headwater_pb2.Feed, await feeds.feed_record(app, request.id))


async def list_entries(app: ApiContext, request: headwater_pb2.ListEntriesRequest) -> Message:
    entry_filter = EntryFilter(
        feed_id=text_field(request, "feed_id", 100),
        since=_moment(request, "since"),
        until=_moment(request, "until"),
        category=text_field(request, "category", LONGEST_CATEGORY),
        text=text_field(request, "q", LONGEST_TEXT),
    )

    async def page_message(limit: int) -> headwater_pb2.ListEntriesResponse:
        page = page_of("entries", limit, request.cursor or None, decode_entry_cursor)
        return to_message(
            headwater_pb2.ListEntriesResponse, await entries.entry_page(app, page, entry_filter)
        )

    return await fit_page(page_size(app, request.limit), most_message_bytes(app), page_message)


async def get_entry(app: ApiContext, request: headwater_pb2.GetEntryRequest) -> Message:
    uid = text_field(request, "entry_uid", LONGEST_UID) or ""

    async def entry_message(_: int) -> headwater_pb2.Entry:
        feed_id = text_field(request, "feed_id", 100)
        record = await entries.entry_record(app, uid, feed_id, versions=request.versions)
        return to_message(headwater_pb2.Entry, record)

    return await fit_page(1, most_message_bytes(app), entry_message)


async def list_events(app: ApiContext, request: headwater_pb2.ListEventsRequest) -> Message:
    if request.after < 0:
        raise BadInput("after is the number of an event.", field="after")
    type, feed_id = text_field(request, "type", 100), text_field(request, "feed_id", 100)
    types, feeds = [] if type is None else [type], [] if feed_id is None else [feed_id]

    async def page_message(limit: int) -> headwater_pb2.ListEventsResponse:
        return events_message(await events.event_page(app, request.after, limit, types, feeds))

    return await fit_page(page_size(app, request.limit), most_message_bytes(app), page_message)


def most_message_bytes(app: ApiContext) -> int:
    return app.settings.grpc_max_message_bytes


def page_size(app: ApiContext, limit: int) -> int:
    if limit < 0:
        raise BadInput("limit is how many at most, 0 for the usual page.", field="limit")
    return app.page_size(limit or None)


def text_field(request: Any, field: str, longest: int | None = None) -> str | None:
    """The text of a field, None when the field is not there. No database takes a NUL."""
    optional = request.DESCRIPTOR.fields_by_name[field].has_presence
    if optional and not request.HasField(field):
        return None
    text: str = getattr(request, field)
    if "\x00" in text:
        raise BadInput(f"{field} must not have a NUL in it.", field=field)
    if longest is not None and len(text) > longest:
        raise BadInput(f"{field} has at most {longest} characters.", field=field)
    return text


def _moment(request: Any, field: str) -> str | None:
    if not request.HasField(field):
        return None
    timestamp: Timestamp = getattr(request, field)
    try:
        return rfc3339(timestamp.ToDatetime(tzinfo=UTC))
    except (ValueError, OverflowError) as trouble:
        raise BadMoment(f"{field} is no moment that can be written.", field=field) from trouble


CHUNK_BYTES = 64 * 1024
PAGE_EVENTS = 500
RETRY_SECONDS = 10


async def send_raw(
    app: ApiContext, request: headwater_pb2.GetRawRequest, context: CallContext
) -> None:
    raw = await feeds_raw.raw_fetch(app, text_field(request, "fetch_id", 100) or "")
    body = (
        b"" if request.meta_only else await read_archived_body(app.database, app.feeds.blobs, raw)
    )
    record = to_message(headwater_pb2.RawFetch, feeds_raw.raw_fetch_record(raw))
    await context.write(headwater_pb2.GetRawResponse(record=record))
    for start in range(0, len(body), CHUNK_BYTES):
        await context.write(headwater_pb2.GetRawResponse(chunk=body[start : start + CHUNK_BYTES]))


class EventStreams:
    """All streams of events over gRPC. `open` is their number."""

    def __init__(self, app: ApiContext) -> None:
        self._app = app
        self.open = 0

    async def send(
        self,
        request: headwater_pb2.StreamEventsRequest,
        context: CallContext,
        credential: Credential,
        waiter: LogWaiter,
    ) -> None:
        """BadInput and RateLimited before the first message, as the API does."""
        event_filter = parse_event_filter(request.types, request.feed_ids, request.categories)
        after = request.after if request.HasField("after") else None
        if after is not None and after < 0:
            raise BadInput("after is the number of an event.", field="after")
        if self.open >= self._app.settings.grpc_streams_max:
            raise RateLimited(
                "There are too many streams; try again in a while.", retry_after_sec=RETRY_SECONDS
            )
        self.open += 1
        try:
            begin = await self._app.live.beginning(after, None)
            stream = _EventStreamCall(self._app, context, event_filter, credential.token_id, waiter)
            await stream.send_after(begin)
        finally:
            self.open -= 1


class _EventStreamCall:
    """One stream under way: everything up to `_seen` was sent."""

    def __init__(
        self,
        app: ApiContext,
        context: CallContext,
        event_filter: EventFilter,
        token_id: int | None,
        waiter: LogWaiter,
    ) -> None:
        self._app, self._context, self._token_id = app, context, token_id
        self._filter, self._waiter = event_filter, waiter
        self._seen = 0
        self._sent_at = 0.0
        self._end = self._now() + app.settings.grpc_stream_seconds

    async def send_after(self, after: int) -> None:
        """Send the events after this number. However it ends, its reader learns where to go on."""
        self._seen = after
        try:
            await self._send_until_the_end()
        finally:
            self._context.set_trailing_metadata(((NEXT_KEY, str(self._seen)),))

    async def _send_until_the_end(self) -> None:
        # Sent at once, so that a reader knows that it is connected, and at which number it is.
        await self._send(position=headwater_pb2.Position(seq=self._seen))
        while await self._goes_on():
            page = await self._page()
            await self._send_page(page)
            await self._ping_when_due()
            if page.next >= page.last_seq:
                await self._wait_for_events()

    async def _page(self) -> LogPage:
        async with self._app.database.read() as view:
            return await event_rows.read_wire_events(
                view, self._seen, limit=PAGE_EVENTS, wanted=self._filter
            )

    async def _send_page(self, page: LogPage) -> None:
        if page.last_seq < self._seen:
            self._seen = page.last_seq
            await self._send(log_reset=headwater_pb2.LogReset(last_seq=page.last_seq))
        events: list[WireEvent | DamagedEvent] = sorted(
            [*page.parcels, *page.unreadable], key=lambda event: event.seq
        )
        for event in events:
            if isinstance(event, WireEvent):
                await self._send(event=event_message(event))
            else:
                await self._send(unreadable=_unreadable(event))
            self._seen = event.seq
        self._seen = page.next

    async def _wait_for_events(self) -> None:
        pause = PING_SECONDS if self._token_id is None else TOKEN_SECONDS
        while await self._goes_on():
            until = min(self._now() + pause, self._sent_at + PING_SECONDS, self._end)
            if await self._app.live.watch.beyond(self._waiter, self._seen, until):
                return
            await self._ping_when_due()

    async def _ping_when_due(self) -> None:
        """Also while a filter hides a long stretch of the log: a reader that comes back need not go
        through it again."""
        if self._now() >= self._sent_at + PING_SECONDS:
            await self._send(position=headwater_pb2.Position(seq=self._seen))

    async def _goes_on(self) -> bool:
        """False at the stream's own end. It raises at a stop and for a revoked token."""
        if self._app.closing.is_set():
            stopping = "Headwater is stopping; come back with the last number you have."
            raise CallEnded(grpc.StatusCode.UNAVAILABLE, "stopping", stopping)
        if await self._app.live.is_revoked(self._token_id):
            raise Unauthorized("This token was revoked.")
        return self._now() < self._end and not self._waiter.is_over

    async def _send(self, **message: Any) -> None:
        self._sent_at = self._now()
        try:
            async with asyncio.timeout(self._app.settings.stream_slow_seconds):
                await self._context.write(headwater_pb2.StreamEventsResponse(**message))
        except TimeoutError as trouble:
            # The reader learns of this when it reads on: what was sent before comes first.
            slow = "You read too slowly; come back with the last number you have."
            exhausted = grpc.StatusCode.RESOURCE_EXHAUSTED
            raise CallEnded(exhausted, "too_slow", slow) from trouble

    def _now(self) -> float:
        return self._app.clock.monotonic()


def _unreadable(event: DamagedEvent) -> headwater_pb2.UnreadableEvent:
    return headwater_pb2.UnreadableEvent(
        seq=event.seq, id=event.event_id, type=event.type, error="bad_payload"
    )

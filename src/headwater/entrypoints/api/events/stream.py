"""The stream of server-sent events: many readers share its pages, and it has an end."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from headwater.auth import token_rows
from headwater.core.errors import DatabaseError
from headwater.core.ports import Database
from headwater.core.telemetry.log import get_logger
from headwater.entrypoints.api.errors import BadRequest
from headwater.events.event_filter import EventFilter
from headwater.events.event_json import WireEvent
from headwater.events.event_rows import DamagedEvent, LogPage, get_last_seq
from headwater.events.log_watch import LogPageCache, LogWaiter, LogWatch

STREAM_SECONDS = 3_600.0
"""A stream ends after an hour and is taken up again."""
PING_SECONDS = 15.0
TOKEN_SECONDS = 5.0
"""How often a stream checks whether its reader's token was revoked."""
RETRY_MILLISECONDS = 3_000
PIECE_BYTES = 64 * 1024
"""A reader takes this much within `stream_slow_seconds`, or it is dropped."""

logger = get_logger("headwater.api")


def encode_frames(page: LogPage) -> bytes:
    """The page as it is sent. A damaged event is sent as `unreadable`: no number is left out."""
    events: list[WireEvent | DamagedEvent] = [*page.parcels]
    if page.unreadable:
        events = sorted([*events, *page.unreadable], key=lambda event: event.seq)
    return b"".join(map(_encode_frame, events))


def _encode_frame(event: WireEvent | DamagedEvent) -> bytes:
    if isinstance(event, WireEvent):
        return b"id: %d\nevent: %b\ndata: %b\n\n" % (event.seq, event.type.encode(), event.body)
    fields = {"seq": event.seq, "id": event.event_id, "type": event.type, "error": "bad_payload"}
    return b"id: %d\nevent: unreadable\ndata: %b\n\n" % (event.seq, orjson.dumps(fields))


class SharedStreams:
    """The parts that all streams of one process share: the watch, the pages, the revoked tokens."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.closing = asyncio.Event()
        """Set when the service stops."""
        self.watch = LogWatch(database, self.closing)
        self.pages = LogPageCache(database, encode_frames)
        self.open = 0
        """The number of open streams of the log. Streams of fetchers are counted apart."""
        self._revoked: frozenset[int] = frozenset()
        self._looked_at = float("-inf")

    async def beginning(self, after: int | None, last_event_id: str | None) -> int:
        """The number after which a stream begins: the last one its reader has, else the one it asks
        for, else the newest."""
        if last_event_id is not None:
            return _parse_event_id(last_event_id)
        if after is not None:
            return after
        async with self.database.read() as view:
            return await get_last_seq(view)

    async def is_revoked(self, token_id: int | None) -> bool:
        """Read once for all readers, every few seconds. An unknown token is not revoked."""
        if token_id is None:
            return False
        now = self.database.clock.monotonic()
        if now - self._looked_at >= TOKEN_SECONDS:
            self._looked_at = now
            async with self.database.read() as view:
                tokens = await token_rows.list_tokens(view)
            self._revoked = frozenset(t.id for t in tokens if t.revoked_at is not None)
        return token_id in self._revoked

    def count(self, change: int) -> None:
        self.open += change

    async def end(self) -> None:
        """End every stream. On return none of them reads the database any more."""
        self.closing.set()
        await self.watch.end()
        await self.pages.end()


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """The request of one reader. `count` is called when its stream begins (1) and ends (-1)."""

    after: int
    wanted: EventFilter
    token_id: int | None
    count: Callable[[int], None]


class EventStream(Response):
    """An answer that goes on until its reader leaves, its time is over, its token is revoked, or
    the service stops."""

    media_type = "text/event-stream"

    def __init__(self, streams: SharedStreams, request: StreamRequest) -> None:
        self.status_code, self.background = 200, None
        # Proxies that buffer answers would hold the events back.
        self.init_headers({"x-accel-buffering": "no"})
        self._streams, self._request = streams, request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        waiter = LogWaiter()
        gone = asyncio.create_task(_wait_for_disconnect(receive))
        gone.add_done_callback(lambda _: waiter.leave())
        self._request.count(1)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await _EventStreamWriter(self._streams, self._request, waiter, send).write()
            if not waiter.is_over:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._request.count(-1)
            gone.cancel()


@dataclass(slots=True)
class _EventStreamWriter:
    """One stream under way. The listener closes the connection of a reader that is too slow."""

    streams: SharedStreams
    request: StreamRequest
    waiter: LogWaiter
    send: Send
    end: float = 0.0
    sent_at: float = 0.0

    async def write(self) -> None:
        self.end = self._now() + STREAM_SECONDS
        after = self.request.after
        # Sent at once, so that a reader knows that it is connected, and at which number it is.
        await self._write(b": Headwater\nretry: %d\nid: %d\n\n" % (RETRY_MILLISECONDS, after))
        try:
            while await self._goes_on():
                after = await self._write_after(after)
        except DatabaseError as trouble:
            # The reader comes back with the last number it has.
            logger.error("stream_broken", error=trouble.code, detail=trouble.message)

    async def _write_after(self, after: int) -> int:
        """Send the next page, or wait for one. Returns the number that the reader is at then."""
        page = await self.streams.pages.after(after, self.request.wanted)
        if page.last_seq < after:
            reset = orjson.dumps({"last_seq": page.last_seq})
            await self._write(b"id: %d\nevent: log_reset\ndata: %b\n\n" % (page.last_seq, reset))
        for start in range(0, len(page.sent), PIECE_BYTES):
            await self._write(page.sent[start : start + PIECE_BYTES])
        await self._ping_when_due(page.next)
        if page.is_the_end:
            await self._wait_for_events(page.next)
        return page.next

    async def _wait_for_events(self, seen: int) -> None:
        pause = PING_SECONDS if self.request.token_id is None else TOKEN_SECONDS
        while await self._goes_on():
            until = min(self._now() + pause, self.sent_at + PING_SECONDS, self.end)
            if await self.streams.watch.beyond(self.waiter, seen, until):
                return
            await self._ping_when_due(seen)

    async def _goes_on(self) -> bool:
        if self.waiter.is_over or self.streams.closing.is_set() or self._now() >= self.end:
            return False
        return not await self.streams.is_revoked(self.request.token_id)

    async def _ping_when_due(self, seen: int) -> None:
        """A ping has the number up to which the log was read: a filter may have hidden the last
        events."""
        if self._now() - self.sent_at >= PING_SECONDS:
            await self._write(b": ping\nid: %d\n\n" % seen)

    async def _write(self, text: bytes) -> None:
        self.sent_at = self._now()
        await self.send({"type": "http.response.body", "body": text, "more_body": True})

    def _now(self) -> float:
        return self.streams.database.clock.monotonic()


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _parse_event_id(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise BadRequest("Last-Event-ID is the number of an event.")
    return int(text)

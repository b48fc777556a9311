"""Server-sent events to many readers at once: pages as one piece each, pings, an end in time."""

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
"""How often it is looked whether a reader's token was revoked."""
RETRY_MILLISECONDS = 3_000
PIECE_BYTES = 64 * 1024
"""A reader takes that much within `stream_slow_seconds`, or it is dropped."""

logger = get_logger("headwater.api")


def encode_frames(page: LogPage) -> bytes:
    """The page as it is sent. What cannot be read is told as such: no number is left out."""
    told: list[WireEvent | DamagedEvent] = [*page.parcels]
    if page.unreadable:
        told = sorted([*told, *page.unreadable], key=lambda each: each.seq)
    return b"".join(map(_encode_frame, told))


def _encode_frame(told: WireEvent | DamagedEvent) -> bytes:
    if isinstance(told, WireEvent):
        return b"id: %d\nevent: %b\ndata: %b\n\n" % (told.seq, told.type.encode(), told.body)
    said = {"seq": told.seq, "id": told.event_id, "type": told.type, "error": "bad_payload"}
    return b"id: %d\nevent: unreadable\ndata: %b\n\n" % (told.seq, orjson.dumps(said))


class SharedStreams:
    """What all streams of one process share: the watch, the pages, and which tokens are revoked."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.closing = asyncio.Event()
        """Set when the service stops."""
        self.watch = LogWatch(database, self.closing)
        self.pages = LogPageCache(database, encode_frames)
        self.open = 0
        """How many read the log now; fetchers that read their news are counted apart."""
        self._revoked: frozenset[int] = frozenset()
        self._looked_at = float("-inf")

    async def beginning(self, after: int | None, last_event_id: str | None) -> int:
        """Where a reader goes on: after what it has, or else what it asks for, or else now."""
        if last_event_id is not None:
            return _parse_event_id(last_event_id)
        if after is not None:
            return after
        async with self.database.read() as view:
            return await get_last_seq(view)

    async def is_revoked(self, token_id: int | None) -> bool:
        """One look for all readers, every few seconds; unknown means not revoked."""
        if token_id is None:
            return False
        now = self.database.clock.monotonic()
        if now - self._looked_at >= TOKEN_SECONDS:
            self._looked_at = now
            async with self.database.read() as view:
                every = await token_rows.list_tokens(view)
            self._revoked = frozenset(each.id for each in every if each.revoked_at is not None)
        return token_id in self._revoked

    def count(self, change: int) -> None:
        self.open += change

    async def end(self) -> None:
        """Every stream comes to its end; on return none of them reads the database any more."""
        self.closing.set()
        await self.watch.end()
        await self.pages.end()


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """What one reader wants. `count` is told when it begins (1) and when it is over (-1)."""

    after: int
    wanted: EventFilter
    token_id: int | None
    count: Callable[[int], None]


class EventStream(Response):
    """The answer: it goes on until its reader leaves, or one of the reasons to end it comes."""

    media_type = "text/event-stream"

    def __init__(self, streams: SharedStreams, reading: StreamRequest) -> None:
        self.status_code, self.background = 200, None
        # Proxies that gather answers would hold the events back.
        self.init_headers({"x-accel-buffering": "no"})
        self._streams, self._reading = streams, reading

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        waiting = LogWaiter()
        gone = asyncio.create_task(_wait_for_disconnect(receive))
        gone.add_done_callback(lambda _: waiting.leave())
        self._reading.count(1)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await _EventStreamWriter(self._streams, self._reading, waiting, send).tell()
            if not waiting.is_over:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._reading.count(-1)
            gone.cancel()


@dataclass(slots=True)
class _EventStreamWriter:
    """One stream under way. A reader that is too slow is hung up on by the listener."""

    streams: SharedStreams
    reading: StreamRequest
    waiting: LogWaiter
    send: Send
    end: float = 0.0
    sent_at: float = 0.0

    async def tell(self) -> None:
        self.end = self._now() + STREAM_SECONDS
        after = self.reading.after
        # At once, so that a reader knows that it is connected, and where it is.
        await self._say(b": Headwater\nretry: %d\nid: %d\n\n" % (RETRY_MILLISECONDS, after))
        try:
            while await self._goes_on():
                after = await self._told_after(after)
        except DatabaseError as trouble:
            # The reader comes back with the last number it has.
            logger.error("stream_broken", error=trouble.code, detail=trouble.message)

    async def _told_after(self, after: int) -> int:
        """Sends the next page, or waits for one; how far the reader is then."""
        told = await self.streams.pages.after(after, self.reading.wanted)
        if told.last_seq < after:
            said = orjson.dumps({"last_seq": told.last_seq})
            await self._say(b"id: %d\nevent: log_reset\ndata: %b\n\n" % (told.last_seq, said))
        for start in range(0, len(told.sent), PIECE_BYTES):
            await self._say(told.sent[start : start + PIECE_BYTES])
        await self._ping_when_due(told.next)
        if told.is_the_end:
            await self._until_it_grows(told.next)
        return told.next

    async def _until_it_grows(self, seen: int) -> None:
        pause = PING_SECONDS if self.reading.token_id is None else TOKEN_SECONDS
        while await self._goes_on():
            until = min(self._now() + pause, self.sent_at + PING_SECONDS, self.end)
            if await self.streams.watch.beyond(self.waiting, seen, until):
                return
            await self._ping_when_due(seen)

    async def _goes_on(self) -> bool:
        if self.waiting.is_over or self.streams.closing.is_set() or self._now() >= self.end:
            return False
        return not await self.streams.is_revoked(self.reading.token_id)

    async def _ping_when_due(self, seen: int) -> None:
        """With the number up to which everything was told: a filter may have hidden the last."""
        if self._now() - self.sent_at >= PING_SECONDS:
            await self._say(b": ping\nid: %d\n\n" % seen)

    async def _say(self, text: bytes) -> None:
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

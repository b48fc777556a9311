"""The async client: the same calls as `client.py`, for asyncio."""

import asyncio
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import datetime
from typing import Any, TypeVar

import orjson

from headwater.client import requests
from headwater.client.conversation import PIECE
from headwater.client.cursor import Cursor, EventProgress
from headwater.client.errors import Refusal, Unexpected, Unreachable
from headwater.client.events import Event
from headwater.client.follow_events import After, EventFollower, StreamFilter
from headwater.client.http_answer import ResponseHead, ResponseParser
from headwater.client.records import Entry, Feed, page_records
from headwater.client.requests import (
    GetRequest,
    check_event_stream,
    check_response,
    decode_response,
)
from headwater.client.service_address import Patience, Query, ServiceAddress
from headwater.client.sse_frames import FrameParser
from headwater.core.errors import HeadwaterError

R = TypeVar("R")


class AsyncClient:
    """A client of one Headwater. Calls may run at once: each has a connection of its own."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        patience: Patience | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """The `token` needs the scope `read`. `tls` trusts a private authority."""
        self._address = ServiceAddress.of(url, token, tls=tls)
        self._patience = patience or Patience()

    def events(
        self,
        after: After = None,
        types: Sequence[str] = (),
        feeds: Sequence[str] = (),
        categories: Sequence[str] = (),
        *,
        reconnect: bool = True,
        cursor: Cursor | None = None,
        by_hand: bool = False,
    ) -> AsyncGenerator[Event, None]:
        """The same as `Client.events`. When you leave the loop early, `aclosing` ends it at once.

        A cursor is saved between two events, in the loop's own thread; a `FileCursor` takes a few
        milliseconds for that, once a second at most (`Patience.save_every`).
        """
        progress = EventProgress(cursor, time.monotonic, self._patience.save_every)
        stream_filter = StreamFilter(tuple(types), tuple(feeds), tuple(categories))
        follower = EventFollower(stream_filter, after, progress, self._patience, by_hand=by_hand)
        return self._follow(follower, reconnect)

    def feeds(
        self, state: str | None = None, *, page_size: int | None = None
    ) -> AsyncIterator[Feed]:
        """All feeds, in the order they were added."""
        return self._list(requests.feeds_request(state, page_size))

    async def feed(self, feed_id: str) -> Feed:
        return await self._get(requests.feed_request(feed_id))

    def entries(
        self,
        feed: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        *,
        category: str | None = None,
        words: str | None = None,
        page_size: int | None = None,
    ) -> AsyncIterator[Entry]:
        """Newest first by `first_seen`: `since` inclusive, `until` exclusive."""
        request = requests.entries_request(feed, since, until, category, words, page_size)
        return self._list(request)

    async def entry(self, uid: str, feed: str | None = None) -> Entry:
        """Refusal `ambiguous_entry` when several feeds have the entry and `feed` is None."""
        return await self._get(requests.entry_request(uid, feed))

    async def raw(self, fetch_id: str) -> bytes:
        """The body of a fetch exactly as served, still in its content coding."""
        request = self._address.request("GET", requests.raw_path(fetch_id))
        return check_response(*await self._send(request))

    async def ask(
        self,
        method: str,
        path: str,
        said: Mapping[str, Any] | None = None,
        query: Query = (),
    ) -> Any:
        """Send any other request, with `said` as its JSON body, and return the JSON of the answer.
        Raises Refusal or Unreachable."""
        body = None if said is None else orjson.dumps(said)
        request = self._address.request(method, path, query, body=body)
        return decode_response(*await self._send(request))

    async def _get(self, request: GetRequest[R]) -> R:
        return request.record(await self.ask("GET", request.path, query=request.query))

    async def _list(self, request: GetRequest[R]) -> AsyncGenerator[R, None]:
        page_request = request
        while True:
            page = await self.ask("GET", page_request.path, query=page_request.query)
            records, cursor = page_records(page, request.name)
            for record in records:
                yield request.record(record)
            if cursor is None:
                return
            page_request = request.after(cursor)

    async def _send(self, request: bytes) -> tuple[ResponseHead, bytes]:
        deadline = time.monotonic() + self._patience.ask
        async with _open_async_connection(self._address, self._patience.connect) as connection:
            head, first = await connection.ask(request, deadline)
            return head, await connection.whole_body(first, deadline, self._patience.most_bytes)

    async def _follow(
        self, follower: EventFollower, reconnect: bool
    ) -> AsyncGenerator[Event, None]:
        try:
            while True:
                trouble: HeadwaterError | None = None
                try:
                    async with aclosing(self._read_stream(follower)) as events:
                        async for event in events:
                            yield event
                except Refusal as refusal:
                    trouble = refusal
                    if not refusal.may_pass:
                        raise
                except Unreachable as unreachable:
                    trouble = unreachable
                if not reconnect:
                    if trouble is not None:
                        raise trouble
                    return
                await asyncio.sleep(follower.rest_after(trouble))
        finally:
            follower.progress.save(now=True)

    async def _read_stream(self, follower: EventFollower) -> AsyncGenerator[Event, None]:
        async with _open_async_connection(self._address, self._patience.connect) as connection:
            deadline = self._stream_deadline()
            head, received = await connection.ask(follower.request(self._address), deadline)
            if head.status >= 400:
                most_bytes = self._patience.most_bytes
                check_response(head, await connection.whole_body(received, deadline, most_bytes))
            check_event_stream(head)
            parser = FrameParser(self._patience.longest_event)
            while received or (received := await connection.next_piece(deadline)):
                if frames := parser.feed(received):
                    for event in follower.read_events(frames):
                        yield event
                    deadline = self._stream_deadline()
                received = b""

    def _stream_deadline(self) -> float:
        """The time by which the next frame must come. A single byte is no sign of life."""
        return time.monotonic() + self._patience.stream


class _AsyncConnection:
    """The same as `SocketConnection`, on an event loop."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._parser = ResponseParser()

    async def ask(self, request: bytes, deadline: float) -> tuple[ResponseHead, bytes]:
        self._writer.write(request)
        body = b""
        while self._parser.head is None:
            body = await self._receive(deadline)
        return self._parser.head, body

    async def next_piece(self, deadline: float) -> bytes:
        body = b""
        while not body and not self._parser.ended:
            body = await self._receive(deadline)
        return body

    async def whole_body(self, first: bytes, deadline: float, most: int) -> bytes:
        pieces, size = [first], len(first)
        while piece := await self.next_piece(deadline):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                raise Unexpected(f"The answer is larger than {most} bytes.")
        return b"".join(pieces)

    async def _receive(self, deadline: float) -> bytes:
        try:
            async with asyncio.timeout(max(deadline - time.monotonic(), 0.0)):
                received = await self._reader.read(PIECE)
        except TimeoutError as trouble:
            raise Unreachable("Headwater was too slow.") from trouble
        except OSError as trouble:
            raise Unreachable(f"Headwater fell silent: {trouble}") from trouble
        return self._parser.feed(received)


@asynccontextmanager
async def _open_async_connection(
    address: ServiceAddress, seconds: float
) -> AsyncGenerator[_AsyncConnection, None]:
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection(
                address.host,
                address.port,
                ssl=address.tls,
                server_hostname=address.host if address.tls else None,
                limit=PIECE,
            )
    except OSError as trouble:  # a timeout is one too
        raise Unreachable(f"Headwater does not answer: {trouble}") from trouble
    try:
        yield _AsyncConnection(reader, writer)
    finally:
        writer.transport.abort()  # nothing is left to send, and nobody waits for an orderly end

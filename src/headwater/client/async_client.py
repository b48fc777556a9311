"""The client for asyncio: the same, without a thread."""

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
    """One Headwater. Any number of calls at once: each has a connection of its own."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        patience: Patience | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`token` is one with the scope `read`. `tls` trusts a private authority."""
        self._place = ServiceAddress.of(url, token, tls=tls)
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
        """As `Client.events`. When you leave its loop early, `aclosing` ends it at once.

        A cursor is saved between two events, in the loop's own thread; a `FileCursor` takes a few
        milliseconds for that, once a second at most (`Patience.save_every`).
        """
        bookmark = EventProgress(cursor, time.monotonic, self._patience.save_every)
        wanted = StreamFilter(tuple(types), tuple(feeds), tuple(categories))
        following = EventFollower(wanted, after, bookmark, self._patience, by_hand=by_hand)
        return self._followed(following, reconnect)

    def feeds(
        self, state: str | None = None, *, page_size: int | None = None
    ) -> AsyncIterator[Feed]:
        """In the order they were added."""
        return self._listed(requests.feeds_request(state, page_size))

    async def feed(self, feed_id: str) -> Feed:
        return await self._asked(requests.feed_request(feed_id))

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
        asked = requests.entries_request(feed, since, until, category, words, page_size)
        return self._listed(asked)

    async def entry(self, uid: str, feed: str | None = None) -> Entry:
        """Refusal `ambiguous_entry` when several feeds have it and none was named."""
        return await self._asked(requests.entry_request(uid, feed))

    async def raw(self, fetch_id: str) -> bytes:
        """The body of a fetch exactly as served, still in its content coding."""
        request = self._place.request("GET", requests.raw_path(fetch_id))
        return check_response(*await self._whole(request))

    async def ask(
        self,
        method: str,
        path: str,
        said: Mapping[str, Any] | None = None,
        query: Query = (),
    ) -> Any:
        """Any other request, answered with JSON. Refusal or Unreachable otherwise."""
        body = None if said is None else orjson.dumps(said)
        return decode_response(
            *await self._whole(self._place.request(method, path, query, body=body))
        )

    async def _asked(self, question: GetRequest[R]) -> R:
        return question.record(await self.ask("GET", question.path, query=question.query))

    async def _listed(self, question: GetRequest[R]) -> AsyncGenerator[R, None]:
        asked = question
        while True:
            page = await self.ask("GET", asked.path, query=asked.query)
            records, cursor = page_records(page, question.name)
            for record in records:
                yield question.record(record)
            if cursor is None:
                return
            asked = question.after(cursor)

    async def _whole(self, request: bytes) -> tuple[ResponseHead, bytes]:
        deadline = time.monotonic() + self._patience.ask
        async with _open_async_connection(self._place, self._patience.connect) as talk:
            head, first = await talk.ask(request, deadline)
            return head, await talk.rest(first, deadline, self._patience.most_bytes)

    async def _followed(
        self, following: EventFollower, reconnect: bool
    ) -> AsyncGenerator[Event, None]:
        try:
            while True:
                trouble: HeadwaterError | None = None
                try:
                    async with aclosing(self._told(following)) as told:
                        async for event in told:
                            yield event
                except Refusal as refusal:
                    trouble = refusal
                    if not refusal.may_pass:
                        raise
                except Unreachable as broken:
                    trouble = broken
                if not reconnect:
                    if trouble is not None:
                        raise trouble
                    return
                await asyncio.sleep(following.rest_after(trouble))
        finally:
            following.bookmark.save(now=True)

    async def _told(self, following: EventFollower) -> AsyncGenerator[Event, None]:
        async with _open_async_connection(self._place, self._patience.connect) as talk:
            deadline = self._sign_of_life()
            head, came = await talk.ask(following.request(self._place), deadline)
            if head.status >= 400:
                check_response(head, await talk.rest(came, deadline, self._patience.most_bytes))
            check_event_stream(head)
            frames = FrameParser(self._patience.longest_event)
            while came or (came := await talk.more(deadline)):
                if found := frames.feed(came):
                    for event in following.told(found):
                        yield event
                    deadline = self._sign_of_life()
                came = b""

    def _sign_of_life(self) -> float:
        """When the next one must have come. A byte now and then is none."""
        return time.monotonic() + self._patience.stream


class _AsyncConnection:
    """As `SocketConnection`, on a loop."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._incoming = ResponseParser()

    async def ask(self, request: bytes, deadline: float) -> tuple[ResponseHead, bytes]:
        self._writer.write(request)
        body = b""
        while self._incoming.head is None:
            body = await self._received(deadline)
        return self._incoming.head, body

    async def more(self, deadline: float) -> bytes:
        body = b""
        while not body and not self._incoming.ended:
            body = await self._received(deadline)
        return body

    async def rest(self, first: bytes, deadline: float, most: int) -> bytes:
        pieces, size = [first], len(first)
        while piece := await self.more(deadline):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                raise Unexpected(f"The answer is larger than {most} bytes.")
        return b"".join(pieces)

    async def _received(self, deadline: float) -> bytes:
        try:
            async with asyncio.timeout(max(deadline - time.monotonic(), 0.0)):
                came = await self._reader.read(PIECE)
        except TimeoutError as trouble:
            raise Unreachable("Headwater was too slow.") from trouble
        except OSError as trouble:
            raise Unreachable(f"Headwater fell silent: {trouble}") from trouble
        return self._incoming.feed(came)


@asynccontextmanager
async def _open_async_connection(
    place: ServiceAddress, seconds: float
) -> AsyncGenerator[_AsyncConnection, None]:
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection(
                place.host,
                place.port,
                ssl=place.tls,
                server_hostname=place.host if place.tls else None,
                limit=PIECE,
            )
    except OSError as trouble:  # a timeout is one too
        raise Unreachable(f"Headwater does not answer: {trouble}") from trouble
    try:
        yield _AsyncConnection(reader, writer)
    finally:
        writer.transport.abort()  # nothing is left to be said, and nobody waits for a farewell

"""Calls with many answers: raw bytes in pieces, and the event log without an end."""

import asyncio
from typing import Any

import grpc

from headwater.access.tokens import Credential
from headwater.announce import queries
from headwater.announce.queries import Page, Unreadable
from headwater.announce.wanted import Wanted, checked_wanted
from headwater.archive import as_served
from headwater.entrypoints.api import pages
from headwater.entrypoints.api.asking import Desk
from headwater.entrypoints.api.records import RawFetchRecord
from headwater.entrypoints.api.refusals import RateLimited
from headwater.entrypoints.api.streaming import PING_SECONDS, TOKEN_SECONDS
from headwater.entrypoints.rpc import headwater_pb2 as pb
from headwater.entrypoints.rpc.filling import event_of, filled
from headwater.entrypoints.rpc.reading import text
from headwater.entrypoints.rpc.refusing import NEXT, BrokenOff, Context
from headwater.errors import BadInput, Unauthorized
from headwater.log_watch import Waiting
from headwater.ports import Parcel

CHUNK_BYTES = 64 * 1024
PAGE_EVENTS = 500
RETRY_SECONDS = 10


async def send_raw(at: Desk, asked: pb.GetRawRequest, context: Context) -> None:
    raw = await pages.raw_fetch(at, text(asked, "fetch_id", 100) or "")
    body = b"" if asked.meta_only else await as_served(at.engine, raw)
    record = filled(pb.RawFetch, RawFetchRecord.of(raw))
    await context.write(pb.GetRawResponse(record=record))
    for start in range(0, len(body), CHUNK_BYTES):
        await context.write(pb.GetRawResponse(chunk=body[start : start + CHUNK_BYTES]))


class EventStreams:
    """All streams of events over gRPC. `open` counts them."""

    def __init__(self, at: Desk) -> None:
        self._at = at
        self.open = 0

    async def send(
        self,
        asked: pb.StreamEventsRequest,
        context: Context,
        credential: Credential,
        waiting: Waiting,
    ) -> None:
        """BadInput and RateLimited before the first message, as the API does."""
        wanted = checked_wanted(asked.types, asked.feed_ids, asked.categories)
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
            reader = _Reader(self._at, context, wanted, credential.token_id, waiting)
            await reader.tell_from(begin)
        finally:
            self.open -= 1


class _Reader:
    """One stream under way: everything up to `_seen` was told."""

    def __init__(
        self,
        at: Desk,
        context: Context,
        wanted: Wanted,
        token_id: int | None,
        waiting: Waiting,
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
            self._context.set_trailing_metadata(((NEXT, str(self._seen)),))

    async def _tell_until_the_end(self) -> None:
        # At once, so that a reader knows that it is connected, and where it is.
        await self._say(position=pb.Position(seq=self._seen))
        while await self._goes_on():
            page = await self._page()
            await self._tell(page)
            await self._ping_when_due()
            if page.next >= page.last_seq:
                await self._until_it_grows()

    async def _page(self) -> Page:
        async with self._at.engine.database.read() as view:
            return await queries.parcels_after(
                view, self._seen, limit=PAGE_EVENTS, wanted=self._wanted
            )

    async def _tell(self, page: Page) -> None:
        if page.last_seq < self._seen:
            self._seen = page.last_seq
            await self._say(log_reset=pb.LogReset(last_seq=page.last_seq))
        told: list[Parcel | Unreadable] = sorted(
            [*page.parcels, *page.unreadable], key=lambda each: each.seq
        )
        for each in told:
            if isinstance(each, Parcel):
                await self._say(event=event_of(each))
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
            await self._say(position=pb.Position(seq=self._seen))

    async def _goes_on(self) -> bool:
        """False at the stream's own end. A stop, or a token that was revoked, breaks it off."""
        if self._at.closing.is_set():
            stopping = "Headwater is stopping; come back with the last number you have."
            raise BrokenOff(grpc.StatusCode.UNAVAILABLE, "stopping", stopping)
        if await self._at.live.is_revoked(self._token_id):
            raise Unauthorized("This token was revoked.")
        return self._now() < self._end and not self._waiting.is_over

    async def _say(self, **told: Any) -> None:
        self._said_at = self._now()
        try:
            async with asyncio.timeout(self._at.settings.stream_slow_seconds):
                await self._context.write(pb.StreamEventsResponse(**told))
        except TimeoutError as trouble:
            # It learns of it when it reads on: what was sent before comes first.
            slow = "You read too slowly; come back with the last number you have."
            exhausted = grpc.StatusCode.RESOURCE_EXHAUSTED
            raise BrokenOff(exhausted, "too_slow", slow) from trouble

    def _now(self) -> float:
        return self._at.engine.clock.monotonic()


def _unreadable(told: Unreadable) -> pb.UnreadableEvent:
    return pb.UnreadableEvent(seq=told.seq, id=told.event_id, type=told.type, error="bad_payload")

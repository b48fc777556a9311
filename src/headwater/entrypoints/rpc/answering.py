"""One call from its first byte to its status: let in, answered, ended, whoever leaves meanwhile."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import unquote

import grpc
from google.protobuf.message import DecodeError, Message

from headwater.access.tokens import Credential, opens
from headwater.entrypoints.api.asking import Desk
from headwater.entrypoints.api.gate import Gate, bearer
from headwater.entrypoints.api.refusals import BadRequest, RateLimited
from headwater.entrypoints.rpc import headwater_pb2 as pb
from headwater.entrypoints.rpc import reading
from headwater.entrypoints.rpc.reading import Work
from headwater.entrypoints.rpc.refusing import (
    BrokenOff,
    Context,
    break_off,
    log,
    refuse,
    refuse_internal,
)
from headwater.entrypoints.rpc.streaming import EventStreams, send_raw
from headwater.errors import Forbidden, HeadwaterError
from headwater.log_watch import Waiting

ONE_ANSWER: Mapping[str, tuple[type[Message], Work]] = {
    "ListFeeds": (pb.ListFeedsRequest, reading.list_feeds),
    "GetFeed": (pb.GetFeedRequest, reading.get_feed),
    "ListEntries": (pb.ListEntriesRequest, reading.list_entries),
    "GetEntry": (pb.GetEntryRequest, reading.get_entry),
    "ListEvents": (pb.ListEventsRequest, reading.list_events),
}
"""Every call needs the right to read."""

LATE = BrokenOff(
    grpc.StatusCode.DEADLINE_EXCEEDED, "deadline_exceeded", "This took longer than a call may."
)

Rest = Callable[[bytes, Context, Waiting], Awaitable[Any]]
"""What a call does. It is over when its caller has left: then `Waiting` says so."""


class Calls:
    """All calls of one server. Each works in a task of its own, which nobody cancels.

    gRPC cancels whatever its caller does not wait for any more; in the middle of a query that would
    cost a connection to the database. So a caller that leaves is told to the work instead.
    """

    def __init__(self, at: Desk) -> None:
        self._at = at
        self._gate = Gate(at.engine, at.settings)
        self._working: set[asyncio.Task[Any]] = set()
        self.streams = EventStreams(at)

    def handlers(self) -> dict[str, Any]:
        deadline = self._at.settings.grpc_deadline_seconds
        found = {
            name: grpc.unary_unary_rpc_method_handler(
                self._ended(name, self._answering(kind, work), deadline),
                response_serializer=_as_bytes,
            )
            for name, (kind, work) in ONE_ANSWER.items()
        }
        for name, rest, seconds in (
            ("GetRaw", self._raw, deadline),
            ("StreamEvents", self._events, None),
        ):
            found[name] = grpc.unary_stream_rpc_method_handler(
                self._ended(name, rest, seconds), response_serializer=_as_bytes
            )
        return found

    async def end(self, seconds: float) -> None:
        """What is still at work may finish; then even it is cancelled."""
        if self._working:
            await asyncio.wait(set(self._working), timeout=seconds)
        for task in self._working:
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)

    def _answering(self, kind: type[Message], work: Work) -> Rest:
        async def answer(sent: bytes, context: Context, _: Waiting) -> Message:
            await self._let_in(context)
            return await work(self._at, _read(kind, sent))

        return answer

    async def _raw(self, sent: bytes, context: Context, _: Waiting) -> None:
        await self._let_in(context)
        await send_raw(self._at, _read(pb.GetRawRequest, sent), context)

    async def _events(self, sent: bytes, context: Context, waiting: Waiting) -> None:
        credential = await self._let_in(context)
        asked = _read(pb.StreamEventsRequest, sent)
        await self.streams.send(asked, context, credential, waiting)

    def _ended(
        self, name: str, rest: Rest, seconds: float | None
    ) -> Callable[[bytes, Context], Awaitable[Any]]:
        """Whatever goes wrong inside leaves as a status; the log has a line per call."""

        async def call(sent: bytes, context: Context) -> Any:
            began = time.monotonic()
            try:
                return await self._worked(rest, sent, context, seconds)
            except HeadwaterError as trouble:
                await refuse(context, trouble)
            except BrokenOff as end:
                await break_off(context, end)
            except Exception:  # noqa: BLE001 -- the last place that can answer at all
                log.exception("call_crashed", call=name)
                await refuse_internal(context)
            finally:
                took = round((time.monotonic() - began) * 1000, 1)
                log.debug("call", call=name, ms=took)

        return call

    async def _worked(
        self, rest: Rest, sent: bytes, context: Context, seconds: float | None
    ) -> Any:
        if len(self._working) >= 2 * self._at.settings.grpc_calls_max:
            raise RateLimited("There are too many calls under way.", retry_after_sec=1)
        waiting = Waiting()
        task = asyncio.create_task(_awaited(rest(sent, context, waiting)))
        self._working.add(task)
        task.add_done_callback(self._over)
        try:
            await asyncio.wait({task}, timeout=seconds)
        finally:
            waiting.leave()
        if not task.done():
            raise LATE
        return task.result()

    def _over(self, task: asyncio.Task[Any]) -> None:
        """Nobody may be there to hear how it ended."""
        self._working.discard(task)
        if not task.cancelled():
            task.exception()

    async def _let_in(self, context: Context) -> Credential:
        fields = [value for name, value in context.invocation_metadata() if name == "authorization"]
        credential = await self._gate.let_in(bearer(fields), peer_address(context.peer()))
        if not opens(credential.scope, "read"):
            raise Forbidden(f"This token has the scope {credential.scope}; read is needed.")
        return credential


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work


def peer_address(peer: str) -> str:
    """`ipv4:127.0.0.1:5000` and `ipv6:%5B::1%5D:5000` → the address alone."""
    kind, _, rest = unquote(peer).partition(":")
    return rest.rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else ""


def _read(kind: type[Message], sent: bytes) -> Any:
    try:
        return kind.FromString(sent)
    except DecodeError as trouble:
        raise BadRequest("The request is no message of this call.") from trouble


def _as_bytes(message: Message) -> bytes:
    sent: bytes = message.SerializeToString()
    return sent

"""The gRPC server: it takes its port first, checks the token of each call, and ends in order."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import grpc
from google.protobuf.message import DecodeError, Message

from headwater.auth.tokens import Credential, has_right
from headwater.client.grpc import headwater_pb2
from headwater.core.errors import BadSettings, Forbidden, HeadwaterError
from headwater.entrypoints.api.auth import Authenticator, bearer_token
from headwater.entrypoints.api.dependencies import ApiContext
from headwater.entrypoints.api.errors import BadRequest, RateLimited
from headwater.entrypoints.grpc import calls
from headwater.entrypoints.grpc.calls import EventStreams, UnaryHandler, send_raw
from headwater.entrypoints.grpc.errors import (
    CallContext,
    CallEnded,
    abort_ended_call,
    abort_with_error,
    abort_with_internal_error,
    logger,
)
from headwater.entrypoints.server.binding import check_safe_bind
from headwater.entrypoints.server.listener import PortTaken
from headwater.events.log_watch import LogWaiter
from headwater.settings import Settings

UNARY_CALLS: Mapping[str, tuple[type[Message], UnaryHandler]] = {
    "ListFeeds": (headwater_pb2.ListFeedsRequest, calls.list_feeds),
    "GetFeed": (headwater_pb2.GetFeedRequest, calls.get_feed),
    "ListEntries": (headwater_pb2.ListEntriesRequest, calls.list_entries),
    "GetEntry": (headwater_pb2.GetEntryRequest, calls.get_entry),
    "ListEvents": (headwater_pb2.ListEventsRequest, calls.list_events),
}
"""Every call needs the right to read."""
DEADLINE_EXCEEDED = CallEnded(
    grpc.StatusCode.DEADLINE_EXCEEDED, "deadline_exceeded", "This took longer than a call may."
)

CallHandler = Callable[[bytes, CallContext, LogWaiter], Awaitable[Any]]
"""The work of a call. When its caller has left, `LogWaiter` says so, and the work ends."""


class GrpcCalls:
    """All calls of one server. Each works in a task of its own, which nobody cancels.

    gRPC cancels a call when its caller does not wait for it any more. In the middle of a query that
    would cost a connection to the database. So the task is not cancelled: its `LogWaiter` says that
    the caller has left.
    """

    def __init__(self, app: ApiContext) -> None:
        self._app = app
        self._authenticator = Authenticator(app.database, app.settings)
        self._working: set[asyncio.Task[Any]] = set()
        self.streams = EventStreams(app)

    def handlers(self) -> dict[str, Any]:
        deadline = self._app.settings.grpc_deadline_seconds
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(
                self._ended(name, self._answering(kind, work), deadline),
                response_serializer=_encode_message,
            )
            for name, (kind, work) in UNARY_CALLS.items()
        }
        for name, work, seconds in (
            ("GetRaw", self._raw, deadline),
            ("StreamEvents", self._events, None),
        ):
            handlers[name] = grpc.unary_stream_rpc_method_handler(
                self._ended(name, work, seconds), response_serializer=_encode_message
            )
        return handlers

    async def end(self, seconds: float) -> None:
        """Calls under way may finish within `seconds`; then they are cancelled."""
        if self._working:
            await asyncio.wait(set(self._working), timeout=seconds)
        for task in self._working:
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)

    def _answering(self, kind: type[Message], work: UnaryHandler) -> CallHandler:
        async def answer(sent: bytes, context: CallContext, _: LogWaiter) -> Message:
            await self._let_in(context)
            return await work(self._app, _parse_message(kind, sent))

        return answer

    async def _raw(self, sent: bytes, context: CallContext, _: LogWaiter) -> None:
        await self._let_in(context)
        await send_raw(self._app, _parse_message(headwater_pb2.GetRawRequest, sent), context)

    async def _events(self, sent: bytes, context: CallContext, waiter: LogWaiter) -> None:
        credential = await self._let_in(context)
        request = _parse_message(headwater_pb2.StreamEventsRequest, sent)
        await self.streams.send(request, context, credential, waiter)

    def _ended(
        self, name: str, work: CallHandler, seconds: float | None
    ) -> Callable[[bytes, CallContext], Awaitable[Any]]:
        """Every error of a call becomes a status. The log has a line for each call."""

        async def call(sent: bytes, context: CallContext) -> Any:
            began = time.monotonic()
            try:
                return await self._worked(work, sent, context, seconds)
            except HeadwaterError as trouble:
                await abort_with_error(context, trouble)
            except CallEnded as end:
                await abort_ended_call(context, end)
            except Exception:  # noqa: BLE001 -- the last place that can answer at all
                logger.exception("call_crashed", call=name)
                await abort_with_internal_error(context)
            finally:
                took = round((time.monotonic() - began) * 1000, 1)
                logger.debug("call", call=name, ms=took)

        return call

    async def _worked(
        self, work: CallHandler, sent: bytes, context: CallContext, seconds: float | None
    ) -> Any:
        if len(self._working) >= 2 * self._app.settings.grpc_calls_max:
            raise RateLimited("There are too many calls under way.", retry_after_sec=1)
        waiter = LogWaiter()
        task = asyncio.create_task(_awaited(work(sent, context, waiter)))
        self._working.add(task)
        task.add_done_callback(self._over)
        try:
            await asyncio.wait({task}, timeout=seconds)
        finally:
            waiter.leave()
        if not task.done():
            raise DEADLINE_EXCEEDED
        return task.result()

    def _over(self, task: asyncio.Task[Any]) -> None:
        """The exception is read here, as its caller may have left."""
        self._working.discard(task)
        if not task.cancelled():
            task.exception()

    async def _let_in(self, context: CallContext) -> Credential:
        fields = [value for name, value in context.invocation_metadata() if name == "authorization"]
        credential = await self._authenticator.let_in(
            bearer_token(fields), peer_address(context.peer())
        )
        if not has_right(credential.scope, "read"):
            raise Forbidden(f"This token has the scope {credential.scope}; read is needed.")
        return credential


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work


def peer_address(peer: str) -> str:
    """`ipv4:127.0.0.1:5000` and `ipv6:%5B::1%5D:5000` → the address alone."""
    kind, _, rest = unquote(peer).partition(":")
    return rest.rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else ""


def _parse_message(kind: type[Message], sent: bytes) -> Any:
    try:
        return kind.FromString(sent)
    except DecodeError as trouble:
        raise BadRequest("The request is no message of this call.") from trouble


def _encode_message(message: Message) -> bytes:
    sent: bytes = message.SerializeToString()
    return sent


SERVICE = "headwater.v1.Headwater"
HEALTH = "grpc.health.v1.Health"
KEEPALIVE_MILLISECONDS = 30_000
LEAST_PING_MILLISECONDS = 10_000
METADATA_BYTES = 16 * 1024

EXTRA_AGE_MILLISECONDS = 600_000
"""How many milliseconds a connection may live beyond the length of a stream."""
# The health service in its own wire format, which has one field each way: the name of a service
# (the empty one means all of it), and 1 for "serving".
_SERVING = b"\x08\x01"
_HEALTHY = frozenset({b"", b"\n\x00", b"\n" + bytes([len(SERVICE)]) + SERVICE.encode()})


class GrpcListener:
    """The port of the server, taken before anything else is opened. `address` is where it is."""

    def __init__(self, settings: Settings) -> None:
        check_safe_bind(settings)
        self.server = grpc.aio.server(
            options=_options(settings), maximum_concurrent_rpcs=settings.grpc_calls_max
        )
        host = settings.grpc_host.strip("[]")
        shown = f"[{host}]" if ":" in host else host
        self.address = f"{shown}:{_bind(self.server, shown, settings)}"

    async def close(self) -> None:
        """For a start that failed. After a run there is nothing left to stop."""
        await self.server.stop(None)


def _bind(server: Any, host: str, settings: Settings) -> int:
    address = f"{host}:{settings.grpc_port}"
    secret = _read_certificate(settings)
    try:
        port: int = (
            server.add_insecure_port(address)
            if secret is None
            else server.add_secure_port(address, grpc.ssl_server_credentials([secret]))
        )
    except RuntimeError as trouble:
        raise _port_taken(settings) from trouble
    if port == 0:
        raise _port_taken(settings)
    return port


def _port_taken(settings: Settings) -> PortTaken:
    return PortTaken(
        f"Cannot listen for gRPC on {settings.grpc_host} port {settings.grpc_port}: it is taken,"
        " or no address of this machine. Choose another one with --grpc HOST:PORT.",
        host=settings.grpc_host,
        port=settings.grpc_port,
    )


def _read_certificate(settings: Settings) -> tuple[bytes, bytes] | None:
    """Key and certificate, or neither."""
    key, certificate = settings.grpc_tls_key, settings.grpc_tls_certificate
    if key is None and certificate is None:
        return None
    if key is None or certificate is None:
        raise BadSettings("grpc_tls_certificate and grpc_tls_key go together: one is missing.")
    if key.exists() and key.stat().st_mode & 0o077:
        raise BadSettings(f"{key} can be read by others; run `chmod 600 {key}`.")
    return _pem(key), _pem(certificate)


def _pem(path: Path) -> bytes:
    try:
        text = path.read_bytes()
    except OSError as trouble:
        raise BadSettings(f"{path} cannot be read: {trouble.strerror}.") from trouble
    if b"-----BEGIN " not in text:
        raise BadSettings(f"{path} is no PEM file.")
    return text


def _options(settings: Settings) -> list[tuple[str, int]]:
    return [
        ("grpc.so_reuseport", 0),  # a second server on the same port is a mistake
        ("grpc.max_receive_message_length", settings.api_max_body_bytes),
        ("grpc.max_send_message_length", settings.grpc_max_message_bytes),
        ("grpc.max_metadata_size", METADATA_BYTES),
        ("grpc.keepalive_time_ms", KEEPALIVE_MILLISECONDS),
        ("grpc.keepalive_timeout_ms", KEEPALIVE_MILLISECONDS),
        # A caller that holds calls open without reading is disconnected in the end.
        (
            "grpc.max_connection_age_ms",
            round(settings.grpc_stream_seconds * 1_000) + EXTRA_AGE_MILLISECONDS,
        ),
        ("grpc.max_connection_age_grace_ms", KEEPALIVE_MILLISECONDS),
        # Readers of an idle stream may ping us now and then.
        ("grpc.http2.min_ping_interval_without_data_ms", LEAST_PING_MILLISECONDS),
    ]


class GrpcServer:
    """The part of the service that answers over gRPC, until it is told to stop."""

    def __init__(self, listener: GrpcListener, app: ApiContext) -> None:
        self._listener, self._app = listener, app
        self.calls = GrpcCalls(app)
        self._stop = asyncio.Event()

    async def run(self) -> None:
        server, seconds = self._listener.server, self._app.settings.stop_seconds * 0.6
        handlers = grpc.method_handlers_generic_handler(SERVICE, self.calls.handlers())
        server.add_generic_rpc_handlers((handlers, _health()))
        await server.start()
        try:
            await self._stop.wait()
        finally:
            await server.stop(seconds)
            await self.calls.end(seconds)

    def stop(self) -> None:
        self._app.closing.set()
        self._stop.set()


def _health() -> Any:
    """The health check. It needs no token, as with /healthz."""

    async def check(sent: bytes, context: CallContext) -> bytes:
        if sent not in _HEALTHY:
            await context.abort(grpc.StatusCode.NOT_FOUND, "There is no such service.")
        return _SERVING

    return grpc.method_handlers_generic_handler(
        HEALTH, {"Check": grpc.unary_unary_rpc_method_handler(check)}
    )

"""The listening end: uvicorn in our own loop, with the time limits and caps it does not have."""

import asyncio
import contextlib
import ipaddress
import socket
import time
from collections.abc import Iterator

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from headwater.core.errors import BadSettings, ConflictError
from headwater.core.telemetry.log import get_logger
from headwater.entrypoints.server.binding import MOST_CONNECTIONS, check_safe_bind
from headwater.entrypoints.server.binding import is_loopback as is_loopback
from headwater.entrypoints.server.in_process import AsgiApp, Message, Receive, Send
from headwater.settings import Settings

logger = get_logger("headwater.api")

HEAD_SECONDS = 10.0
"""From the first moment of a connection (or the end of the last answer) to a whole request head."""
BODY_SECONDS = 30.0
"""From the head to the last byte of the body."""
UNREAD_SECONDS = 30.0
"""How long an answer may wait for a peer that does not read it."""
HEAD_BYTES = 32_768
IDLE_SECONDS = 5
PIPELINED = 16


class PortTaken(ConflictError):
    code = "port_taken"


class TimeLimitedConfig(uvicorn.Config):
    """`unread_seconds` is how long an answer may wait for a peer that does not read it."""

    unread_seconds = UNREAD_SECONDS


class TimeLimitedProtocol(HttpToolsProtocol):
    """A peer that dawdles, floods or sends an endless head is hung up on (slowloris and kin)."""

    config: TimeLimitedConfig
    _patience: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > 2 * (self.limit_concurrency or MOST_CONNECTIONS):
            transport.abort()
            return
        self._wait_for(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        self._is_read_again()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._unread is None:
            # Also one that is closing already: it waits for that same peer.
            self._unread = self.loop.call_later(self.config.unread_seconds, self._drop)

    def resume_writing(self) -> None:
        self._is_read_again()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        # Also for bytes that begin no request (blank lines): they end uvicorn's idle limit.
        if self._patience is None and (self.cycle is None or self.cycle.response_complete):
            self._wait_for(HEAD_SECONDS)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES and not _ends_a_head(data):
                self._hang_up()
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        if self._patience is None:
            self._wait_for(HEAD_SECONDS)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head_bytes = 0
        self._wait_for(BODY_SECONDS)
        if len(self.pipeline) >= PIPELINED:
            self._hang_up()
            return
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_head = True
        self._wait_no_more()
        super().on_message_complete()

    def _wait_for(self, seconds: float) -> None:
        self._wait_no_more()
        self._patience = self.loop.call_later(seconds, self._hang_up)

    def _wait_no_more(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _is_read_again(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _drop(self) -> None:
        path = self.scope["path"] if self.scope else None
        logger.info("slow_reader_dropped", path=path, seconds=self.config.unread_seconds)
        self.transport.abort()

    def _hang_up(self) -> None:
        self._wait_no_more()
        if not self.transport.is_closing():
            self.transport.abort()


def _ends_a_head(data: bytes) -> bool:
    """A large body may come in one piece with the end of its head."""
    return b"\r\n\r\n" in data[:HEAD_BYTES]


class RequestLogMiddleware:
    """One line per request at debug level. Never the query: it may hold a token."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 0

        async def noted(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            took = round((time.monotonic() - began) * 1000, 1)
            logger.debug(
                "request", method=scope["method"], path=scope["path"], status=status, ms=took
            )


class SignalFreeServer(uvicorn.Server):
    """Signals are the service's business, not uvicorn's."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def build_server(
    app: AsgiApp, *, stop_seconds: float, streams: int = 0, unread_seconds: float | None = None
) -> SignalFreeServer:
    """`streams` is how many answers without an end may be under way beside the ordinary ones."""
    config = TimeLimitedConfig(
        RequestLogMiddleware(app),
        interface="asgi3",
        http=TimeLimitedProtocol,
        ws="none",
        lifespan="off",  # ours: uvicorn's does not end when a stop is forced
        log_config=None,
        access_log=False,  # its lines would hold tokens from query strings
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS + streams,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=max(1, int(stop_seconds)),
    )
    config.unread_seconds = UNREAD_SECONDS if unread_seconds is None else unread_seconds
    return SignalFreeServer(config)


def listening_socket(settings: Settings) -> socket.socket:
    """Bound and listening, so that the real port is known before anything else is started."""
    check_safe_bind(settings)
    try:
        found = socket.getaddrinfo(
            settings.host.strip("[]"),
            settings.port,
            type=socket.SOCK_STREAM,
            flags=socket.AI_PASSIVE,
        )
    except socket.gaierror as trouble:
        raise BadSettings(
            f"The host {settings.host} is not known: {trouble.strerror}."
        ) from trouble
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(1024)
    except OSError as trouble:
        listener.close()
        raise PortTaken(
            f"Cannot listen on {settings.host} port {settings.port}: {trouble.strerror}."
            " Choose another port with --port (0 takes any free one).",
            host=settings.host,
            port=settings.port,
        ) from trouble
    listener.setblocking(False)
    return listener


def url_of_socket(listener: socket.socket) -> str:
    """A URL that reaches this socket from this machine."""
    host, port = listener.getsockname()[:2]
    address = ipaddress.ip_address(host)
    if address.is_unspecified:
        address = ipaddress.ip_address("127.0.0.1" if address.version == 4 else "::1")
    return f"http://[{address}]:{port}" if address.version == 6 else f"http://{address}:{port}"

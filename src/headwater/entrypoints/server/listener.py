"""The listener: uvicorn in our own loop, with time limits and caps that it does not have."""

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
"""From the begin of a connection (or the end of the last answer) to a whole request head."""
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
    """Closes a connection that is too slow, floods us or sends an endless head (as slowloris)."""

    config: TimeLimitedConfig
    _deadline: asyncio.TimerHandle | None = None
    _unread_timer: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > 2 * (self.limit_concurrency or MOST_CONNECTIONS):
            transport.abort()
            return
        self._start_deadline(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_deadline()
        self._stop_unread_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._unread_timer is None:
            # Also for a connection that is closing already: it waits for the same peer.
            self._unread_timer = self.loop.call_later(
                self.config.unread_seconds, self._drop_slow_reader
            )

    def resume_writing(self) -> None:
        self._stop_unread_timer()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        # Also for bytes that begin no request (blank lines), as they end the idle limit of uvicorn.
        if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._start_deadline(HEAD_SECONDS)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES and not _ends_a_head(data):
                self._hang_up()
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        if self._deadline is None:
            self._start_deadline(HEAD_SECONDS)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head_bytes = 0
        self._start_deadline(BODY_SECONDS)
        if len(self.pipeline) >= PIPELINED:
            self._hang_up()
            return
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_head = True
        self._stop_deadline()
        super().on_message_complete()

    def _start_deadline(self, seconds: float) -> None:
        self._stop_deadline()
        self._deadline = self.loop.call_later(seconds, self._hang_up)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _stop_unread_timer(self) -> None:
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None

    def _drop_slow_reader(self) -> None:
        path = self.scope["path"] if self.scope else None
        logger.info("slow_reader_dropped", path=path, seconds=self.config.unread_seconds)
        self.transport.abort()

    def _hang_up(self) -> None:
        self._stop_deadline()
        if not self.transport.is_closing():
            self.transport.abort()


def _ends_a_head(data: bytes) -> bool:
    """True when the head ends here: a large body may come in one piece with that end."""
    return b"\r\n\r\n" in data[:HEAD_BYTES]


class RequestLogMiddleware:
    """Logs one line per request at debug level, never with the query: it may hold a token."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.monotonic(), 0

        async def note_status(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, note_status)
        finally:
            took = round((time.monotonic() - started) * 1000, 1)
            logger.debug(
                "request", method=scope["method"], path=scope["path"], status=status, ms=took
            )


class SignalFreeServer(uvicorn.Server):
    """Leaves signals to the service."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def build_server(
    app: AsgiApp, *, stop_seconds: float, streams: int = 0, unread_seconds: float | None = None
) -> SignalFreeServer:
    """Build the server. `streams` is the number of endless answers beside the ordinary ones."""
    config = TimeLimitedConfig(
        RequestLogMiddleware(app),
        interface="asgi3",
        http=TimeLimitedProtocol,
        ws="none",
        lifespan="off",  # we run our own, as that of uvicorn does not end when a stop is forced
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
    """Open a socket that listens, so that the real port is known before all else starts."""
    check_safe_bind(settings)
    try:
        addresses = socket.getaddrinfo(
            settings.host.strip("[]"),
            settings.port,
            type=socket.SOCK_STREAM,
            flags=socket.AI_PASSIVE,
        )
    except socket.gaierror as trouble:
        raise BadSettings(
            f"The host {settings.host} is not known: {trouble.strerror}."
        ) from trouble
    family, kind, protocol, _, address = addresses[0]
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
    """Return a URL that reaches this socket from this machine."""
    host, port = listener.getsockname()[:2]
    address = ipaddress.ip_address(host)
    if address.is_unspecified:
        address = ipaddress.ip_address("127.0.0.1" if address.version == 4 else "::1")
    return f"http://[{address}]:{port}" if address.version == 6 else f"http://{address}:{port}"

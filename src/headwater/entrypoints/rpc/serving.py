"""The gRPC server: a port that is taken at once, calls behind the gate, an end in order."""

import asyncio
from pathlib import Path
from typing import Any

import grpc

from headwater.entrypoints.api.asking import Desk
from headwater.entrypoints.binding import require_safe_bind
from headwater.entrypoints.listener import PortTaken
from headwater.entrypoints.rpc.answering import Calls
from headwater.entrypoints.rpc.refusing import Context
from headwater.errors import BadSettings
from headwater.settings import Settings

SERVICE = "headwater.v1.Headwater"
HEALTH = "grpc.health.v1.Health"

KEEPALIVE_MILLISECONDS = 30_000
LEAST_PING_MILLISECONDS = 10_000
METADATA_BYTES = 16 * 1024
AGE = 600_000
"""How many milliseconds a connection may live beyond the length of a stream."""

# The health service in its own wire format, which has one field each way: the name of a service
# (the empty one means all of it), and 1 for "serving".
_SERVING = b"\x08\x01"
_HEALTHY = frozenset({b"", b"\n\x00", b"\n" + bytes([len(SERVICE)]) + SERVICE.encode()})


class Door:
    """A port of our own before anything else is opened; `address` is where it can be reached."""

    def __init__(self, settings: Settings) -> None:
        require_safe_bind(settings)
        self.server = grpc.aio.server(
            options=_options(settings), maximum_concurrent_rpcs=settings.grpc_calls_max
        )
        host = settings.grpc_host.strip("[]")
        shown = f"[{host}]" if ":" in host else host
        self.address = f"{shown}:{_bound(self.server, shown, settings)}"

    async def close(self) -> None:
        """For a start that failed; after a run there is nothing left to stop."""
        await self.server.stop(None)


def _bound(server: Any, host: str, settings: Settings) -> int:
    wanted = f"{host}:{settings.grpc_port}"
    secret = _certificate(settings)
    try:
        port: int = (
            server.add_insecure_port(wanted)
            if secret is None
            else server.add_secure_port(wanted, grpc.ssl_server_credentials([secret]))
        )
    except RuntimeError as trouble:
        raise _taken(settings) from trouble
    if port == 0:
        raise _taken(settings)
    return port


def _taken(settings: Settings) -> PortTaken:
    return PortTaken(
        f"Cannot listen for gRPC on {settings.grpc_host} port {settings.grpc_port}: it is taken,"
        " or no address of this machine. Choose another one with --grpc HOST:PORT.",
        host=settings.grpc_host,
        port=settings.grpc_port,
    )


def _certificate(settings: Settings) -> tuple[bytes, bytes] | None:
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
        # Whoever holds calls open without reading is hung up on in the end.
        ("grpc.max_connection_age_ms", round(settings.grpc_stream_seconds * 1_000) + AGE),
        ("grpc.max_connection_age_grace_ms", KEEPALIVE_MILLISECONDS),
        # Readers of an idle stream may ask now and then whether we are still there.
        ("grpc.http2.min_ping_interval_without_data_ms", LEAST_PING_MILLISECONDS),
    ]


class Rpc:
    """The part of the service that answers over gRPC, until it is told to stop."""

    def __init__(self, door: Door, at: Desk) -> None:
        self._door, self._at = door, at
        self.calls = Calls(at)
        self._stop = asyncio.Event()

    async def run(self) -> None:
        server, seconds = self._door.server, self._at.settings.stop_seconds * 0.6
        handlers = grpc.method_handlers_generic_handler(SERVICE, self.calls.handlers())
        server.add_generic_rpc_handlers((handlers, _health()))
        await server.start()
        try:
            await self._stop.wait()
        finally:
            await server.stop(seconds)
            await self.calls.end(seconds)

    def stop(self) -> None:
        self._at.closing.set()
        self._stop.set()


def _health() -> Any:
    """For those who look whether we are there: no token is asked for, as with /healthz."""

    async def check(sent: bytes, context: Context) -> bytes:
        if sent not in _HEALTHY:
            await context.abort(grpc.StatusCode.NOT_FOUND, "There is no such service.")
        return _SERVING

    return grpc.method_handlers_generic_handler(
        HEALTH, {"Check": grpc.unary_unary_rpc_method_handler(check)}
    )

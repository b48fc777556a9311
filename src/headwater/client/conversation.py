"""A conversation: one request and its answer over a socket of its own, every wait with an end."""

import socket
import time
from collections.abc import Generator
from types import TracebackType
from typing import Self

from headwater.client.errors import Unexpected, Unreachable
from headwater.client.http_answer import ResponseHead, ResponseParser
from headwater.client.requests import check_event_stream, check_response
from headwater.client.service_address import Patience, ServiceAddress
from headwater.client.sse_frames import Frame, FrameParser

PIECE = 256 * 1024


def send_request(
    address: ServiceAddress, patience: Patience, request: bytes
) -> tuple[ResponseHead, bytes]:
    """Send a request, and return the head and the whole body, whatever the status is."""
    deadline = time.monotonic() + patience.ask
    with SocketConnection(address, patience.connect) as connection:
        head, first = connection.ask(request, deadline)
        return head, connection.whole_body(first, deadline, patience.most_bytes)


def stream_frames(
    address: ServiceAddress, patience: Patience, request: bytes
) -> Generator[list[Frame], None, None]:
    """Frames as they come, until the stream ends. A single byte now and then is no sign of life."""
    with SocketConnection(address, patience.connect) as connection:
        deadline = time.monotonic() + patience.stream
        head, received = connection.ask(request, deadline)
        if head.status >= 400:
            check_response(head, connection.whole_body(received, deadline, patience.most_bytes))
        check_event_stream(head)
        parser = FrameParser(patience.longest_event)
        while received or (received := connection.next_piece(deadline)):
            if frames := parser.feed(received):
                yield frames
                deadline = time.monotonic() + patience.stream
            received = b""


class SocketConnection:
    """A connection that is open inside a `with`. Each step ends by its deadline, whatever the other
    side does."""

    def __init__(self, address: ServiceAddress, connect_seconds: float) -> None:
        self._address, self._seconds = address, connect_seconds
        self._socket: socket.socket | None = None
        self._parser = ResponseParser()

    def __enter__(self) -> Self:
        address, deadline = self._address, time.monotonic() + self._seconds
        try:
            plain = socket.create_connection((address.host, address.port), self._seconds)
        except OSError as trouble:
            raise Unreachable(f"Headwater does not answer: {trouble}") from trouble
        self._socket = plain
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if address.tls is not None:
                plain.settimeout(_left(deadline))
                self._socket = address.tls.wrap_socket(plain, server_hostname=address.host)
        except OSError as trouble:
            plain.close()
            raise Unreachable(f"No secure way to Headwater: {trouble}") from trouble
        except BaseException:
            plain.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        trouble: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if self._socket is not None:
            self._socket.close()

    def ask(self, request: bytes, deadline: float) -> tuple[ResponseHead, bytes]:
        """Send a request, and return the head and the part of the body that came with it."""
        try:
            self._open.settimeout(_left(deadline))
            self._open.sendall(request)
        except (BrokenPipeError, ConnectionResetError) as trouble:
            return self._answer_before_close(trouble, deadline)
        except OSError as trouble:
            raise _send_failed(trouble) from trouble
        return self._answer(deadline)

    def _answer(self, deadline: float) -> tuple[ResponseHead, bytes]:
        body = b""
        while self._parser.head is None:
            body = self._receive(deadline)
        return self._parser.head, body

    def _answer_before_close(self, trouble: OSError, deadline: float) -> tuple[ResponseHead, bytes]:
        """A request that is too large is refused before its end: read the refusal."""
        try:
            return self._answer(deadline)
        except Unreachable:
            raise _send_failed(trouble) from trouble

    def next_piece(self, deadline: float) -> bytes:
        """Read the next piece of the body; b"" at its end."""
        body = b""
        while not body and not self._parser.ended:
            body = self._receive(deadline)
        return body

    def whole_body(self, first: bytes, deadline: float, most: int) -> bytes:
        """Read the rest of the body, and return all of it with its `first` piece."""
        pieces, size = [first], len(first)
        while piece := self.next_piece(deadline):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                raise Unexpected(f"The answer is larger than {most} bytes.")
        return b"".join(pieces)

    def _receive(self, deadline: float) -> bytes:
        try:
            self._open.settimeout(_left(deadline))
            received = self._open.recv(PIECE)
        except TimeoutError as trouble:
            raise Unreachable("Headwater was too slow.") from trouble
        except OSError as trouble:
            raise Unreachable(f"Headwater fell silent: {trouble}") from trouble
        return self._parser.feed(received)

    @property
    def _open(self) -> socket.socket:
        assert self._socket is not None, "a connection is used inside its with"
        return self._socket


def _send_failed(trouble: OSError) -> Unreachable:
    return Unreachable(f"Headwater does not listen: {trouble}")


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise Unreachable("Headwater was too slow.")
    return left

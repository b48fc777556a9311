"""Requests and answers over sockets, each with one of its own, every wait with an end."""

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
    place: ServiceAddress, patience: Patience, request: bytes
) -> tuple[ResponseHead, bytes]:
    """The head and the whole body, whatever the status is."""
    deadline = time.monotonic() + patience.ask
    with SocketConnection(place, patience.connect) as talk:
        head, first = talk.ask(request, deadline)
        return head, talk.rest(first, deadline, patience.most_bytes)


def stream_frames(
    place: ServiceAddress, patience: Patience, request: bytes
) -> Generator[list[Frame], None, None]:
    """Frames as they come, until the stream ends. A byte now and then is no sign of life."""
    with SocketConnection(place, patience.connect) as talk:
        deadline = time.monotonic() + patience.stream
        head, came = talk.ask(request, deadline)
        if head.status >= 400:
            check_response(head, talk.rest(came, deadline, patience.most_bytes))
        check_event_stream(head)
        frames = FrameParser(patience.longest_event)
        while came or (came := talk.more(deadline)):
            if found := frames.feed(came):
                yield found
                deadline = time.monotonic() + patience.stream
            came = b""


class SocketConnection:
    """Open inside a `with`. Whatever the other side does, each step ends by its deadline."""

    def __init__(self, place: ServiceAddress, connect_seconds: float) -> None:
        self._place, self._seconds = place, connect_seconds
        self._socket: socket.socket | None = None
        self._incoming = ResponseParser()

    def __enter__(self) -> Self:
        place, deadline = self._place, time.monotonic() + self._seconds
        try:
            plain = socket.create_connection((place.host, place.port), self._seconds)
        except OSError as trouble:
            raise Unreachable(f"Headwater does not answer: {trouble}") from trouble
        self._socket = plain
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if place.tls is not None:
                plain.settimeout(_left(deadline))
                self._socket = place.tls.wrap_socket(plain, server_hostname=place.host)
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
        """The head, and what of the body came with it."""
        try:
            self._open.settimeout(_left(deadline))
            self._open.sendall(request)
        except (BrokenPipeError, ConnectionResetError) as trouble:
            return self._said_before_hanging_up(trouble, deadline)
        except OSError as trouble:
            raise _send_failed(trouble) from trouble
        return self._answer(deadline)

    def _answer(self, deadline: float) -> tuple[ResponseHead, bytes]:
        body = b""
        while self._incoming.head is None:
            body = self._received(deadline)
        return self._incoming.head, body

    def _said_before_hanging_up(
        self, trouble: OSError, deadline: float
    ) -> tuple[ResponseHead, bytes]:
        """A request that is too large is refused before its end: the refusal is what counts."""
        try:
            return self._answer(deadline)
        except Unreachable:
            raise _send_failed(trouble) from trouble

    def more(self, deadline: float) -> bytes:
        """The next piece of the body; b"" at its end."""
        body = b""
        while not body and not self._incoming.ended:
            body = self._received(deadline)
        return body

    def rest(self, first: bytes, deadline: float, most: int) -> bytes:
        """All of the body, when its first piece is here already."""
        pieces, size = [first], len(first)
        while piece := self.more(deadline):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                raise Unexpected(f"The answer is larger than {most} bytes.")
        return b"".join(pieces)

    def _received(self, deadline: float) -> bytes:
        try:
            self._open.settimeout(_left(deadline))
            came = self._open.recv(PIECE)
        except TimeoutError as trouble:
            raise Unreachable("Headwater was too slow.") from trouble
        except OSError as trouble:
            raise Unreachable(f"Headwater fell silent: {trouble}") from trouble
        return self._incoming.feed(came)

    @property
    def _open(self) -> socket.socket:
        assert self._socket is not None, "a conversation is held inside its with"
        return self._socket


def _send_failed(trouble: OSError) -> Unreachable:
    return Unreachable(f"Headwater does not listen: {trouble}")


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise Unreachable("Headwater was too slow.")
    return left

"""Parse an HTTP/1.1 answer as its bytes come in: strict, bounded, for threads and event loops."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headwater.client.errors import Garbled, Unexpected, Unreachable

HEAD_BYTES = 65_536
"""The longest head, and the longest trailers, in bytes."""
SIZE_LINE_BYTES = 1_024
_HEX = frozenset(b"0123456789abcdefABCDEF")


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """Header names are in lower case; the values of a repeated header are joined by a comma."""

    status: int
    headers: Mapping[str, str]

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class ResponseParser:
    """Feed it the bytes as they come: `head` is set when the head is complete, `ended` when the
    body is."""

    def __init__(self) -> None:
        self.head: ResponseHead | None = None
        self.ended = False
        self._buffer = bytearray()
        self._left = 0
        self._step: Callable[[], bytes | None] = self._read_head

    def feed(self, received: bytes) -> bytes:
        """The part of the body in these bytes. b"" as input means that the other end closed."""
        if not received:
            if self._step == self._read_until_closed:
                self.ended = True
            if not self.ended:
                raise Unreachable("The answer broke off.")
            return b""
        self._buffer += received
        body: list[bytes] = []
        while not self.ended and (piece := self._step()) is not None:
            body.append(piece)
        return b"".join(body)

    # Each step returns a piece of the body, b"" when it read something else, None when it needs
    # more bytes.

    def _read_head(self) -> bytes | None:
        lines = self._lines_until_blank("head")
        if lines is None:
            return None
        status = _status_of(lines[0])
        if 100 <= status < 200 and status != 101:  # interim: the real one follows
            return b""
        headers = _headers_of(lines[1:])
        self.head = ResponseHead(status, headers)
        self._step = self._step_for(status, headers)
        return b""

    def _step_for(self, status: int, headers: Mapping[str, str]) -> Callable[[], bytes | None]:
        coding, length = headers.get("transfer-encoding"), headers.get("content-length")
        if coding is not None:
            if coding.lower() != "chunked" or length is not None:
                raise Unexpected("The answer does not say how long it is.")
            return self._read_size
        if status in (204, 304):
            length = "0"
        if length is None:
            return self._read_until_closed
        self._left = _length_of(length)
        self.ended = self._left == 0
        return self._read_length

    def _read_length(self) -> bytes | None:
        piece = self._taken(self._left)
        self._left -= len(piece)
        self.ended = self._left == 0
        return piece or None

    def _read_until_closed(self) -> bytes | None:
        return self._taken(len(self._buffer)) or None

    def _read_size(self) -> bytes | None:
        end = self._buffer.find(b"\r\n", 0, SIZE_LINE_BYTES)
        if end < 0:
            if len(self._buffer) >= SIZE_LINE_BYTES:
                raise Garbled("A chunk of the answer has no size.")
            return None
        digits = bytes(self._buffer[:end]).partition(b";")[0].strip()
        if not digits or len(digits) > 15 or not _HEX.issuperset(digits):
            raise Garbled("A chunk of the answer has no size.")
        del self._buffer[: end + 2]
        self._left = int(digits, 16)
        self._step = self._read_chunk if self._left else self._read_trailers
        return b""

    def _read_chunk(self) -> bytes | None:
        if self._left:
            piece = self._taken(self._left)
            self._left -= len(piece)
            return piece or None
        if len(self._buffer) < 2:
            return None
        if self._taken(2) != b"\r\n":
            raise Garbled("A chunk of the answer is longer than its size.")
        self._step = self._read_size
        return b""

    def _read_trailers(self) -> bytes | None:
        if not self._buffer.startswith(b"\r\n") and self._lines_until_blank("end") is None:
            return None
        self.ended = True
        return b""

    def _lines_until_blank(self, what: str) -> list[bytes] | None:
        end = self._buffer.find(b"\r\n\r\n", 0, HEAD_BYTES)
        if end < 0:
            if len(self._buffer) >= HEAD_BYTES:
                raise Garbled(f"The {what} of the answer has no end.")
            return None
        lines = bytes(self._buffer[:end]).split(b"\r\n")
        del self._buffer[: end + 4]
        return lines

    def _taken(self, most: int) -> bytes:
        piece = bytes(self._buffer[:most])
        del self._buffer[: len(piece)]
        return piece


def _status_of(line: bytes) -> int:
    """`HTTP/1.1 200 OK` → 200."""
    parts = line.split(b" ", 2)
    if len(parts) < 2 or parts[0] not in (b"HTTP/1.1", b"HTTP/1.0"):
        raise Unexpected("This is not an HTTP answer.")
    if len(parts[1]) != 3 or not parts[1].isdigit() or parts[1] < b"100":
        raise Unexpected("The answer has no status.")
    return int(parts[1])


def _headers_of(lines: list[bytes]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon or not name or name != name.strip():
            raise Unexpected("The answer has a header that is none.")
        name, value = name.lower(), value.strip(" \t")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _length_of(text: str) -> int:
    """A repeated length must be the same each time."""
    lengths = {part.strip() for part in text.split(",")}
    (digits, *others) = lengths
    if others or not (digits.isascii() and digits.isdigit()) or len(digits) > 15:
        raise Unexpected("The answer's length is no number.")
    return int(digits)

"""Parse the frames of server-sent events as bytes come in, each with its id, name and data."""

from dataclasses import dataclass

from headwater.client.errors import Garbled

_BOM = b"\xef\xbb\xbf"
_LONGEST_RETRY = 9


@dataclass(frozen=True, slots=True)
class Frame:
    """`data` is None for a comment, or for an id alone, which moves the reader on.

    `retry_ms` is the time that the server asks a reader to wait before it comes back.
    """

    id: bytes | None
    event: bytes
    data: bytes | None
    retry_ms: int | None = None


class FrameParser:
    """Keeps half a frame until the other half comes. A frame without an end is Garbled."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._rest = bytearray()
        self._after_cr = False
        self._begun = False

    def feed(self, received: bytes) -> list[Frame]:
        received = self._with_plain_ends(received)
        # Only new bytes can end a frame: an endless frame must not be searched again and again.
        ends = b"\n\n" in received or (self._rest.endswith(b"\n") and received.startswith(b"\n"))
        self._rest += received
        blocks: list[bytes] = []
        if ends:
            *blocks, rest = bytes(self._rest).split(b"\n\n")
            self._rest = bytearray(rest)
        if len(self._rest) > self._longest:
            raise Garbled("An event of the stream has no end.")
        return [_parse_frame(block) for block in blocks if block.strip(b"\n")]

    def _with_plain_ends(self, received: bytes) -> bytes:
        """Make all lines end with LF; the standard also allows CRLF and CR."""
        if self._after_cr and received.startswith(b"\n"):
            received = received[1:]
            self._after_cr = False
        if received:
            self._after_cr = received.endswith(b"\r")
        if b"\r" in received:
            received = received.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not self._begun and received:
            self._begun = True
            received = received.removeprefix(_BOM)
        return received


def _parse_frame(block: bytes) -> Frame:
    number: bytes | None = None
    retry: int | None = None
    event, data = b"", list[bytes]()
    for line in block.split(b"\n"):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data.append(value)
        elif name == b"id":
            number = value
        elif name == b"event":
            event = value
        elif name == b"retry" and value.isdigit() and len(value) <= _LONGEST_RETRY:
            retry = int(value)
    return Frame(number, event, b"\n".join(data) if data else None, retry)

"""Server-sent events as their bytes come in: frames, each with its id, its name and its data."""

from dataclasses import dataclass

from headwater.client.errors import Garbled

_BOM = b"\xef\xbb\xbf"
_LONGEST_RETRY = 9


@dataclass(frozen=True, slots=True)
class Frame:
    """`data` is None when there was none: a comment, or an id alone that moves the reader on.

    `retry_ms` is how long the server wants to be left alone before a reader comes back.
    """

    id: bytes | None
    event: bytes
    data: bytes | None
    retry_ms: int | None = None


class FrameParser:
    """Half a frame is kept until the other half comes; one that has no end is Garbled."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._rest = bytearray()
        self._after_cr = False
        self._begun = False

    def feed(self, came: bytes) -> list[Frame]:
        came = self._with_plain_ends(came)
        # Only what is new can end a frame: an endless one must not be searched again and again.
        ends = b"\n\n" in came or (self._rest.endswith(b"\n") and came.startswith(b"\n"))
        self._rest += came
        blocks: list[bytes] = []
        if ends:
            *blocks, rest = bytes(self._rest).split(b"\n\n")
            self._rest = bytearray(rest)
        if len(self._rest) > self._longest:
            raise Garbled("An event of the stream has no end.")
        return [_frame_of(block) for block in blocks if block.strip(b"\n")]

    def _with_plain_ends(self, came: bytes) -> bytes:
        """Lines end with LF from here on; the standard also allows CRLF and CR."""
        if self._after_cr and came.startswith(b"\n"):
            came = came[1:]
            self._after_cr = False
        if came:
            self._after_cr = came.endswith(b"\r")
        if b"\r" in came:
            came = came.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not self._begun and came:
            self._begun = True
            came = came.removeprefix(_BOM)
        return came


def _frame_of(block: bytes) -> Frame:
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

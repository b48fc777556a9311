"""Decode bencoding, with a bound on everything: a torrent is a stranger's file."""

from dataclasses import dataclass
from typing import Literal

from headwater.core.errors import BadInput

Bencoded = int | bytes | list["Bencoded"] | dict[bytes, "Bencoded"]

DEEPEST = 32
MOST_VALUES = 500_000
_LONGEST_NUMBER = 20
_DIGITS = frozenset(b"0123456789")


class BadBencoding(BadInput):
    """The bytes are no valid bencoding. Facts: `at`, the position of the first wrong byte."""

    code = "bad_bencoding"


@dataclass(frozen=True, slots=True)
class DecodedBencoding:
    """A decoded value. `spans` are the first and last byte (exclusive) of each value of the
    outermost dictionary, as it was written: hashes are taken of these bytes."""

    value: Bencoded
    spans: dict[bytes, tuple[int, int]]


def decode_bencoding(
    body: bytes, *, deepest: int = DEEPEST, most_values: int = MOST_VALUES
) -> DecodedBencoding:
    """Decode one whole value, else BadBencoding. Keys may be in any order, but not twice."""
    reader = _BencodeReader(body, deepest, most_values)
    value = reader.value(0)
    if reader.at != len(body):
        raise reader.trouble("there is something after the end")
    return DecodedBencoding(value, reader.spans)


class _BencodeReader:
    __slots__ = ("at", "body", "deepest", "left", "spans")

    def __init__(self, body: bytes, deepest: int, most_values: int) -> None:
        self.body, self.deepest, self.left = body, deepest, most_values
        self.at = 0
        self.spans: dict[bytes, tuple[int, int]] = {}

    def trouble(self, why: str) -> BadBencoding:
        return BadBencoding(f"This is not a torrent: {why} (byte {self.at}).", at=self.at)

    def value(self, depth: int) -> Bencoded:
        self.left -= 1
        if self.left < 0:
            raise self.trouble("there are too many values")
        match self._peek():
            case b"i":
                return self._number()
            case b"l":
                return self._list(self._deeper(depth))
            case b"d":
                return self._dictionary(self._deeper(depth))
            case _:
                return self.text()

    def text(self) -> bytes:
        length = self._digits(b":")
        end = self.at + length
        if end > len(self.body):
            raise self.trouble("a text is longer than the file")
        text = self.body[self.at : end]
        self.at = end
        return text

    def _deeper(self, depth: int) -> int:
        if depth >= self.deepest:
            raise self.trouble("values are nested too deep")
        self.at += 1
        return depth + 1

    def _peek(self) -> bytes:
        if self.at >= len(self.body):
            raise self.trouble("it ends too early")
        return self.body[self.at : self.at + 1]

    def _number(self) -> int:
        self.at += 1
        is_negative = self._peek() == b"-"
        self.at += is_negative
        number = self._digits(b"e")
        if is_negative and number == 0:
            raise self.trouble("there is no such number as -0")
        return -number if is_negative else number

    def _digits(self, end: Literal[b"e", b":"]) -> int:
        """Canonical only: a second spelling of one number would be a second torrent."""
        stop = self.body.find(end, self.at, self.at + _LONGEST_NUMBER + 1)
        digits = self.body[self.at : stop] if stop >= 0 else b""
        if not digits or not _DIGITS.issuperset(digits):
            raise self.trouble("a number is missing or too long")
        if digits[0] == b"0"[0] and len(digits) > 1:
            raise self.trouble("a number begins with 0")
        self.at = stop + 1
        return int(digits)

    def _list(self, depth: int) -> list[Bencoded]:
        values = []
        while self._peek() != b"e":
            values.append(self.value(depth))
        self.at += 1
        return values

    def _dictionary(self, depth: int) -> dict[bytes, Bencoded]:
        values: dict[bytes, Bencoded] = {}
        while self._peek() != b"e":
            key = self.text()
            if key in values:
                raise self.trouble("a key stands there twice")
            start = self.at
            values[key] = self.value(depth)
            if depth == 1:
                self.spans[key] = (start, self.at)
        self.at += 1
        return values

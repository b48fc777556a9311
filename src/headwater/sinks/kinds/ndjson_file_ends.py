"""The ends of NDJSON files: where a file is still sound after a crash, and its last lines."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import zstandard

LOOKED_AT = 8 * 1024 * 1024
"""Bytes at the end of a file that are searched for the traces of a power cut."""

_BLOCK = 1024 * 1024
_MAGIC = b"\x28\xb5\x2f\xfd"
_HEADER, _BLOCK_HEADER, _CHECKSUM = 18, 3, 4
_CHECKSUM_FLAG = 0b100
_RLE, _RESERVED = 1, 3
_LEVEL = 3


@dataclass(frozen=True, slots=True)
class OpenFile:
    """An open file, read in pieces. (A memory map would crash us if the file became shorter.)"""

    descriptor: int
    size: int

    def part(self, start: int, end: int) -> bytes:
        return os.pread(self.descriptor, max(0, end - start), start)

    def find(self, byte: bytes, start: int) -> int:
        """-1 when it is not there."""
        for at in range(start, self.size, _BLOCK):
            place = self.part(at, min(at + _BLOCK, self.size)).find(byte)
            if place >= 0:
                return at + place
        return -1

    def rfind(self, byte: bytes, end: int) -> int:
        """The last one before `end`."""
        for at in range(end, 0, -_BLOCK):
            start = max(0, at - _BLOCK)
            place = self.part(start, at).rfind(byte)
            if place >= 0:
                return start + place
        return -1


class LineCoding(Protocol):
    """The coding of lines in a file, a batch at a time. `begins`: the first bytes of each batch."""

    suffix: str
    begins: bytes

    def coded(self, lines: bytes) -> bytes: ...

    def sound_end(self, file: OpenFile) -> int:
        """The length of the sound part. Bytes after it were never acknowledged."""

    def lines_from_end(self, file: OpenFile, end: int) -> Iterator[bytes]:
        """Lines without their line ends, the last one first."""


class PlainLines:
    """Lines as they are."""

    suffix = ".ndjson"
    begins = b'{"seq":'

    def coded(self, lines: bytes) -> bytes:
        return lines

    def sound_end(self, file: OpenFile) -> int:
        """A torn line has no line end. After a power cut a file may also have zeros in place of its
        last bytes; JSON never has one, so nothing after the first of them was acknowledged."""
        start = max(0, file.size - LOOKED_AT)
        zero = file.find(b"\0", start)
        while zero == start > 0:
            start = max(0, start - LOOKED_AT)
            zero = file.find(b"\0", start)
        return file.rfind(b"\n", file.size if zero < 0 else zero) + 1

    def lines_from_end(self, file: OpenFile, end: int) -> Iterator[bytes]:
        rest = b""
        for at in range(end, 0, -_BLOCK):
            start = max(0, at - _BLOCK)
            first, *lines = (file.part(start, at) + rest).split(b"\n")
            if lines:
                yield from reversed(lines[:-1])
                rest = first + b"\n"
            else:
                rest = first  # one long line, which begins further ahead
        if rest:
            yield rest.rstrip(b"\n")


class ZstdLines:
    """Lines compressed by zstd. Every batch is a frame: a crash can tear only the last one."""

    suffix = ".ndjson.zst"
    begins = _MAGIC

    def __init__(self) -> None:
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)

    def coded(self, lines: bytes) -> bytes:
        return self._compressor.compress(lines)

    def sound_end(self, file: OpenFile) -> int:
        frames = list(_frames(file))
        while frames and _decompress(file.part(*frames[-1])) is None:
            frames.pop()
        return frames[-1][1] if frames else 0

    def lines_from_end(self, file: OpenFile, end: int) -> Iterator[bytes]:
        for start, stop in reversed(list(_frames(file))):
            if stop <= end:
                lines = _decompress(file.part(start, stop)) or b""
                yield from reversed(lines.split(b"\n")[:-1])


def _frames(file: OpenFile) -> Iterator[tuple[int, int]]:
    """Start and end of every complete frame, found without decompressing anything."""
    start = 0
    while (end := _frame_end(file, start)) is not None:
        yield start, end
        start = end


def _frame_end(file: OpenFile, start: int) -> int | None:
    """By RFC 8878: a header, blocks with their lengths, a checksum."""
    header = file.part(start, start + _HEADER)
    if not header.startswith(_MAGIC):
        return None
    try:
        at = start + zstandard.frame_header_size(header)
    except zstandard.ZstdError:
        return None
    is_last = False
    while not is_last:
        head = file.part(at, at + _BLOCK_HEADER)
        block = int.from_bytes(head, "little")
        is_last, kind, size = bool(block & 1), block >> 1 & 3, block >> 3
        if len(head) < _BLOCK_HEADER or kind == _RESERVED:
            return None
        at += _BLOCK_HEADER + (1 if kind == _RLE else size)
    at += _CHECKSUM if header[4] & _CHECKSUM_FLAG else 0
    return at if at <= file.size else None


def _decompress(frame: bytes) -> bytes | None:
    """None when its checksum is wrong."""
    try:
        return zstandard.ZstdDecompressor().decompress(frame)
    except zstandard.ZstdError:
        return None

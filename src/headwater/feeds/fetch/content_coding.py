"""Undo a content coding, with a bound on every call: a bomb costs no more than the limit."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import brotli
import zstandard
from isal import isal_zlib

ACCEPTED = "gzip, deflate, br, zstd"
LONGEST_LABEL = 256
MOST_MEMBERS = 256

_Damaged = cast(type[Exception], isal_zlib.error)
_GZIP_MAGIC = b"\x1f\x8b"
_PIECE = 65_536
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"  # after a first byte of 0x50 to 0x5f
_ZSTD_WINDOW = 8 * 1024 * 1024  # what RFC 9659 lets a server assume


@dataclass(frozen=True, slots=True)
class DecodedBody:
    """The bytes of a document, or the error of its coding."""

    body: bytes = b""
    error: str | None = None
    detail: str = ""


def decode_body(body: bytes, content_encoding: str | None, *, max_bytes: int) -> DecodedBody:
    """Decode the body; never more than `max_bytes` come out."""
    coding = _coding(content_encoding)
    if isinstance(coding, DecodedBody):
        return coding
    if coding == "":
        return _bounded(body, max_bytes)
    undo = _UNDO.get(coding)
    if undo is None:
        return DecodedBody(error="unsupported_coding", detail=f"content coding {coding[:40]!r}")
    try:
        return _bounded(undo(body, max_bytes), max_bytes)
    except (zlib.error, brotli.error, zstandard.ZstdError, _BadCoding) as error:
        return DecodedBody(error="bad_coding", detail=f"{coding}: {error}")


class _BadCoding(Exception):
    """The stream does not have the coding that its label names."""


def _coding(label: str | None) -> str | DecodedBody:
    """The coding to undo, "" for none; identity does not count."""
    if label is None:
        return ""
    if len(label) > LONGEST_LABEL:
        return DecodedBody(error="too_many_codings", detail=f"{len(label)} characters of codings")
    codings = [part for raw in label.split(",") if (part := raw.strip().lower())]
    applied = [coding for coding in codings if coding != "identity"]
    if len(applied) > 1 or len(codings) > 2:
        return DecodedBody(error="too_many_codings", detail=f"{len(codings)} content codings")
    return applied[0] if applied else ""


def _bounded(body: bytes, max_bytes: int) -> DecodedBody:
    if len(body) > max_bytes:
        return DecodedBody(
            error="body_too_large", detail=f"more than {max_bytes} bytes once decoded"
        )
    return DecodedBody(body)


def _ungzipped(body: bytes, max_bytes: int) -> bytes:
    """All members. Rubbish after the last one is ignored, as every gzip tool does."""
    whole = _one_clean_member(body, max_bytes)
    if whole is not None:
        return whole
    member = zlib.decompressobj(zlib.MAX_WBITS | 16)
    document = member.decompress(body, max_bytes + 1)
    if len(document) > max_bytes:
        return document
    _expect_end(member)
    if not member.unused_data.startswith(_GZIP_MAGIC):
        return document
    return _with_more_members(document, member.unused_data, max_bytes)


def _one_clean_member(body: bytes, max_bytes: int) -> bytes | None:
    """Nearly every body is one clean member: isal reads it at three times the speed.

    None for anything odd, which zlib then decides.
    """
    member = isal_zlib.decompressobj(isal_zlib.MAX_WBITS | 16)
    try:
        document = member.decompress(body, max_bytes + 1)
    except _Damaged:
        return None
    is_clean = member.eof and not member.unused_data and len(document) <= max_bytes
    return document if is_clean else None


def _with_more_members(document: bytes, rest: bytes, max_bytes: int) -> bytes:
    """The rest is fed in pieces: many tiny members must not copy the whole of it each time."""
    parts, room, at = [document], max_bytes + 1 - len(document), 0
    for _ in range(MOST_MEMBERS):
        if room <= 0 or not rest.startswith(_GZIP_MAGIC, at):
            return b"".join(parts)
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        while at < len(rest) and not member.eof and room > 0:
            piece = rest[at : at + _PIECE]
            plain = member.decompress(piece, room)
            at += len(piece) - len(member.unused_data) - len(member.unconsumed_tail)
            parts.append(plain)
            room -= len(plain)
        if room > 0:
            _expect_end(member)
    raise _BadCoding(f"more than {MOST_MEMBERS} gzip members")


def _inflated(body: bytes, max_bytes: int) -> bytes:
    """By the RFC `deflate` is zlib, but half of the servers send raw deflate."""
    try:
        return _inflated_as(zlib.MAX_WBITS, body, max_bytes)
    except (zlib.error, _BadCoding):
        return _inflated_as(-zlib.MAX_WBITS, body, max_bytes)


def _inflated_as(window: int, body: bytes, max_bytes: int) -> bytes:
    stream = zlib.decompressobj(window)
    document = stream.decompress(body, max_bytes + 1)
    if len(document) <= max_bytes:
        _expect_end(stream)
    return document


def _unbrotlied(body: bytes, max_bytes: int) -> bytes:
    stream = brotli.Decompressor()
    parts = [stream.process(body, output_buffer_limit=max_bytes + 1)]
    room = max_bytes + 1 - len(parts[0])
    while room > 0 and not stream.is_finished():
        if stream.can_accept_more_data():
            raise _BadCoding("the stream ends too early")
        parts.append(stream.process(b"", output_buffer_limit=room))
        room -= len(parts[-1])
    return b"".join(parts)


def _unzstded(body: bytes, max_bytes: int) -> bytes:
    """All frames, as RFC 8878 says. Rubbish after the last one is ignored, as with gzip."""
    parts, room, at = list[bytes](), max_bytes, 0
    for _ in range(MOST_MEMBERS):
        if at and not _begins_zstd(body, at):
            return b"".join(parts)
        if body[at + 1 : at + 4] == _ZSTD_SKIPPABLE:
            at += 8 + int.from_bytes(body[at + 4 : at + 8], "little")
            continue
        end = _end_of_frame(body, at)
        parts.append(_one_frame(body[at:end], room))
        at, room = end, room - len(parts[-1])
        if room < 0:
            return b"".join(parts)
    raise _BadCoding(f"more than {MOST_MEMBERS} zstd frames")


def _begins_zstd(body: bytes, at: int) -> bool:
    return body[at : at + 4] == zstandard.FRAME_HEADER or (
        body[at + 1 : at + 4] == _ZSTD_SKIPPABLE and body[at] >> 4 == 5
    )


def _end_of_frame(body: bytes, at: int) -> int:
    """The end of a frame's last block and its checksum; beyond the body when it is cut."""
    head = body[at : at + 18]
    end = at + zstandard.frame_header_size(head)
    last = False
    while not last and end + 3 <= len(body):
        block = int.from_bytes(body[end : end + 3], "little")
        last, kind, size = bool(block & 1), block >> 1 & 3, block >> 3
        end += 3 + (1 if kind == 1 else size)
    return end + 4 * zstandard.get_frame_parameters(head).has_checksum


def _one_frame(body: bytes, max_bytes: int) -> bytes:
    """In one call when it fits; else in a bounded stream, which tells too large from broken."""
    stream = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    if zstandard.frame_content_size(body) > max_bytes:
        return _bounded_stream(stream, body, max_bytes)
    try:
        return stream.decompress(body, max_output_size=max_bytes + 1)
    except zstandard.ZstdError:
        start = _bounded_stream(stream, body, max_bytes)
        if len(start) > max_bytes:
            return start
        raise


def _bounded_stream(stream: zstandard.ZstdDecompressor, body: bytes, max_bytes: int) -> bytes:
    with stream.stream_reader(body) as reader:
        return reader.read(max_bytes + 1)


def _expect_end(stream: "zlib._Decompress") -> None:
    if not stream.eof:
        raise _BadCoding("the stream ends too early")


_UNDO: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _ungzipped,
    "x-gzip": _ungzipped,
    "deflate": _inflated,
    "br": _unbrotlied,
    "zstd": _unzstded,
}

"""Cursors: where a page ended, opaque to the reader, refused when anybody touched it."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson

from headwater.entrypoints.api.errors import BadCursor

LONGEST = 512
_CHECK_BYTES = 6
_LARGEST = 2**63 - 1


def cursor(kind: str, *place: int | bytes) -> str:
    plain = orjson.dumps([kind, *(p.hex() if isinstance(p, bytes) else p for p in place)])
    return urlsafe_b64encode(_checksum(plain) + plain).rstrip(b"=").decode()


def decode_cursor(text: str, kind: str, count: int) -> tuple[int, ...]:
    """The numbers a cursor of this kind holds."""
    place = _decode_parts(text, kind)
    if len(place) != count or not all(_is_number(part) for part in place):
        raise _bad()
    return tuple(place)


def decode_entry_cursor(text: str) -> tuple[int, int, int, bytes]:
    place = _decode_parts(text, "entries")
    if len(place) != 4 or not all(_is_number(part) for part in place[:3]):
        raise _bad()
    try:
        return place[0], place[1], place[2], bytes.fromhex(place[3])
    except (TypeError, ValueError) as trouble:
        raise _bad() from trouble


def _decode_parts(text: str, kind: str) -> list[Any]:
    if len(text) > LONGEST:
        raise _bad()
    try:
        packed = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        plain = packed[_CHECK_BYTES:]
        said = orjson.loads(plain) if packed[:_CHECK_BYTES] == _checksum(plain) else None
    except ValueError as trouble:
        raise _bad() from trouble
    if not isinstance(said, list) or said[:1] != [kind]:
        raise _bad()
    return said[1:]


def _is_number(part: object) -> bool:
    return type(part) is int and -_LARGEST <= part <= _LARGEST


def _checksum(plain: bytes) -> bytes:
    """Against mistakes and tinkering, not a secret: a cursor opens nothing that is not open."""
    return sha256(b"headwater cursor 1" + plain).digest()[:_CHECK_BYTES]


def _bad() -> BadCursor:
    return BadCursor("This cursor is not one of ours; begin again without it.")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which part of a list is wanted: how many at most, and from where."""

    limit: int | None = None
    cursor: str | None = None

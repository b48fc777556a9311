"""Paging of lists: which page is asked for, and the cursor that leads to the next one.

A cursor is opaque to the caller, and refused when anybody touched it.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from operator import attrgetter
from typing import Any, TypeVar

import orjson
from fastapi import Depends

from headwater.entrypoints.api.dependencies import App, Cursor, Limit
from headwater.entrypoints.api.errors import BadCursor

T = TypeVar("T")

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
class Page:
    """Which part of a list is wanted: how many at most, and from where.

    `position` is where the page before ended; None on the first page.
    """

    kind: str
    size: int
    position: tuple[Any, ...] | None = None

    @property
    def after(self) -> int:
        """The number after which a list begins that counts upwards."""
        return self.position[0] if self.position else 0

    @property
    def before(self) -> int | None:
        """The number before which a list begins that has the newest first."""
        return self.position[0] if self.position else None

    def cut(
        self, rows: Sequence[T], *, key: Callable[[T], Any] = attrgetter("id")
    ) -> tuple[Sequence[T], str | None]:
        """The rows of this page, and the cursor of the next one. Ask for `size + 1` rows: one more
        than is shown says that there is a next page. `key` is a row's position in the list."""
        shown = rows[: self.size]
        if len(rows) <= self.size:
            return shown, None
        position = key(shown[-1])
        return shown, cursor(self.kind, *(position if isinstance(position, tuple) else (position,)))


DecodePosition = Callable[[str], tuple[Any, ...]]


def page_of(kind: str, size: int, cursor: str | None, decode: DecodePosition | None = None) -> Page:
    """BadCursor when the cursor is none of this kind. Without `decode` it holds one number."""
    decode = decode or partial(decode_cursor, kind=kind, count=1)
    return Page(kind, size, decode(cursor) if cursor else None)


def paging(kind: str, decode: DecodePosition | None = None) -> Any:
    """The dependency that reads `limit` and `cursor`: `page: Annotated[Page, paging("groups")]`.

    A cursor of one kind is refused everywhere else.
    """

    def page(app: App, limit: Limit = None, cursor: Cursor = None) -> Page:
        return page_of(kind, app.page_size(limit), cursor, decode)

    return Depends(page)


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which part of a list is wanted: how many at most, and from where."""

    limit: int | None = None
    cursor: str | None = None

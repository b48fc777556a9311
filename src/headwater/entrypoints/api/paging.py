"""Paging of lists: the page that a caller asks for, and the cursor that leads to the next one.

A cursor is opaque to callers. One that anybody changed is refused.
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


def cursor(kind: str, *position: int | bytes) -> str:
    parts = (part.hex() if isinstance(part, bytes) else part for part in position)
    plain = orjson.dumps([kind, *parts])
    return urlsafe_b64encode(_checksum(plain) + plain).rstrip(b"=").decode()


def decode_cursor(text: str, kind: str, count: int) -> tuple[int, ...]:
    """The numbers that a cursor of this kind holds."""
    parts = _decode_parts(text, kind)
    if len(parts) != count or not all(_is_number(part) for part in parts):
        raise _bad_cursor()
    return tuple(parts)


def decode_entry_cursor(text: str) -> tuple[int, int, int, bytes]:
    parts = _decode_parts(text, "entries")
    if len(parts) != 4 or not all(_is_number(part) for part in parts[:3]):
        raise _bad_cursor()
    try:
        return parts[0], parts[1], parts[2], bytes.fromhex(parts[3])
    except (TypeError, ValueError) as trouble:
        raise _bad_cursor() from trouble


def _decode_parts(text: str, kind: str) -> list[Any]:
    if len(text) > LONGEST:
        raise _bad_cursor()
    try:
        packed = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        plain = packed[_CHECK_BYTES:]
        parts = orjson.loads(plain) if packed[:_CHECK_BYTES] == _checksum(plain) else None
    except ValueError as trouble:
        raise _bad_cursor() from trouble
    if not isinstance(parts, list) or parts[:1] != [kind]:
        raise _bad_cursor()
    return parts[1:]


def _is_number(part: object) -> bool:
    return type(part) is int and -_LARGEST <= part <= _LARGEST


def _checksum(plain: bytes) -> bytes:
    """This guards against mistakes and tinkering. It is no secret: a cursor opens nothing."""
    return sha256(b"headwater cursor 1" + plain).digest()[:_CHECK_BYTES]


def _bad_cursor() -> BadCursor:
    return BadCursor("This cursor is not one of ours; begin again without it.")


@dataclass(frozen=True, slots=True)
class Page:
    """The part of a list that a caller asks for: at most `size` rows after `position`.

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
        return shown, self.cursor_after(*(position if isinstance(position, tuple) else (position,)))

    def cursor_after(self, *position: int | bytes) -> str:
        """The cursor of the page that begins after this position."""
        return cursor(self.kind, *position)


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

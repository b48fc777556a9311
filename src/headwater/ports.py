"""What may be asked of the outside world. Adapters answer; wiring introduces them."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from headwater.values.response import Answer, Headers

Row = Any
"""A database row: columns are attributes. Stores turn rows into nouns at once."""

Value = str | int | float | bytes | bool | None


class Clock(Protocol):
    """Time and luck, so that tests can own both."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...

    def luck(self) -> float:
        """Uniform in [-1, 1]."""

    async def sleep(self, seconds: float) -> None: ...


class Web(Protocol):
    """One GET of one URL: no redirects, no decoding, every limit kept, every address checked."""

    async def get(
        self, url: str, headers: Headers, *, deadline: float, verify_tls: bool = True
    ) -> Answer:
        """`deadline` is seconds from now for everything. Trouble is in the answer, never raised."""

    async def close(self) -> None: ...


class Blobs(Protocol):
    """Bytes by key. What `put_many` returned from is on disk, whatever happens next."""

    storage: str

    async def put_many(self, blobs: Sequence[tuple[str, bytes]]) -> None: ...

    async def get(self, key: str) -> bytes | None: ...

    async def delete(self, keys: Sequence[str]) -> None: ...


@dataclass(frozen=True, slots=True)
class Reading:
    """What a parse process answered: JSON made by `merge.reading`, or why there is none.

    `error` is one of `parser_crashed`, `parser_timeout`, `parser_memory`, and `parser_unavailable`
    when no process could be started: then it says nothing about the document.
    """

    payload: bytes = b""
    error: str | None = None
    detail: str = ""


class Parsers(Protocol):
    """Parsing in killable processes: a job is `merge.reading` JSON header plus the raw body."""

    async def read(self, job: bytes, body: bytes) -> Reading: ...

    async def close(self) -> None: ...


class Reader(Protocol):
    """A consistent view of the database. `?` marks stand for values, in order."""

    dialect: Literal["sqlite", "postgresql"]

    async def rows(self, sql: str, *values: Value) -> Sequence[Row]: ...

    async def row(self, sql: str, *values: Value) -> Row | None: ...


class Transaction(Reader, Protocol):
    """All or nothing."""

    async def run(self, sql: str, *values: Value) -> int:
        """Rows touched."""

    async def run_many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None: ...


class Database(Protocol):
    def read(self) -> AbstractAsyncContextManager[Reader]: ...

    def write(self) -> AbstractAsyncContextManager[Transaction]: ...


def marks(count: int) -> str:
    """`?, ?, ?` for an IN list of that many values."""
    return ", ".join("?" * count)

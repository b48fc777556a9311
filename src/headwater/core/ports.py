"""What may be asked of the outside world. Adapters answer; wiring introduces them."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Literal, Protocol

Row = Any
"""A database row: columns are attributes. Stores turn rows into nouns at once."""
SqlValue = str | int | float | bytes | bool | None
Sleeper = Literal["feeds"]
"""Who may wait for a change: workers for feeds that are due earlier than planned."""


class Clock(Protocol):
    """Time and luck, so that tests can own both."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...

    def luck(self) -> float:
        """Uniform in [-1, 1]."""

    async def sleep(self, seconds: float) -> None: ...


class Vault(Protocol):
    """Secrets at rest. `about` names the row a secret belongs to, such as `subscription:12`:
    sealed for one row, it opens for no other."""

    def seal(self, plain: bytes, *, about: str) -> bytes:
        """BadSettings when there is no key to seal with."""

    def open(self, sealed: bytes, *, about: str) -> bytes:
        """SecretUnreadable when it was sealed with another key, for another row, or changed."""

    def mark(self) -> bytes:
        """What begins everything that is sealed with the present key; empty while there is none."""


class View(Protocol):
    """A consistent view of the database. `?` marks stand for values, in order."""

    dialect: Literal["sqlite", "postgresql"]
    now: datetime
    """When it began."""

    async def rows(self, sql: str, *values: SqlValue) -> Sequence[Row]: ...

    async def row(self, sql: str, *values: SqlValue) -> Row | None: ...


class Transaction(View, Protocol):
    """All or nothing."""

    async def run(self, sql: str, *values: SqlValue) -> int:
        """Rows touched."""

    async def run_many(self, sql: str, rows: Sequence[Sequence[SqlValue]]) -> None:
        """Done before whatever comes next; a refusal may be told only then, or at the commit."""

    def wake(self, who: Sleeper) -> None:
        """Wakes them in this process, after the commit."""


class Database(Protocol):
    clock: Clock

    def woken(self, who: Sleeper) -> asyncio.Event:
        """Set when a transaction woke them; whoever waits clears it."""

    def read(self) -> AbstractAsyncContextManager[View]: ...

    def write(self) -> AbstractAsyncContextManager[Transaction]: ...


def placeholders(count: int) -> str:
    """`?, ?, ?` for an IN list of that many values."""
    return ", ".join("?" * count)

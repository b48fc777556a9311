"""Ports that all areas share: clock, vault and database. Adapters implement them."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Literal, Protocol

Row = Any
"""A database row: columns are attributes. Modules of SQL turn rows into nouns at once."""
SqlValue = str | int | float | bytes | bool | None
Sleeper = Literal["feeds"]
"""Who may wait for a change: workers wait for feeds that are due earlier than planned."""


class Clock(Protocol):
    """Time and chance, so that tests can set both."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...

    def luck(self) -> float:
        """A random number, uniform in [-1, 1]."""

    async def sleep(self, seconds: float) -> None: ...


class Vault(Protocol):
    """Seals secrets at rest. `about` names the row of a secret, such as `subscription:12`: a
    secret that is sealed for one row opens for no other."""

    def seal(self, plain: bytes, *, about: str) -> bytes:
        """Raise BadSettings when there is no key to seal with."""

    def open(self, sealed: bytes, *, about: str) -> bytes:
        """Raise SecretUnreadable when its key or its row is another, or it was changed."""

    def mark(self) -> bytes:
        """The first bytes of every secret that the present key seals; empty without a key."""


class View(Protocol):
    """A consistent view of the database. `?` marks stand for values, in order."""

    dialect: Literal["sqlite", "postgresql"]
    now: datetime
    """The moment when the view began."""

    async def rows(self, sql: str, *values: SqlValue) -> Sequence[Row]: ...

    async def row(self, sql: str, *values: SqlValue) -> Row | None: ...


class Transaction(View, Protocol):
    """A transaction: all of it is written, or nothing."""

    async def run(self, sql: str, *values: SqlValue) -> int:
        """Run one statement, and return how many rows it touched."""

    async def run_many(self, sql: str, rows: Sequence[Sequence[SqlValue]]) -> None:
        """Done before the next statement. A refusal may be raised only then, or at the commit."""

    def wake(self, sleeper: Sleeper) -> None:
        """Wake those who wait in this process, after the commit."""


class Database(Protocol):
    clock: Clock

    def woken(self, sleeper: Sleeper) -> asyncio.Event:
        """The event that a transaction sets to wake them; whoever waits clears it."""

    def read(self) -> AbstractAsyncContextManager[View]: ...

    def write(self) -> AbstractAsyncContextManager[Transaction]: ...


def placeholders(count: int) -> str:
    """Return `?, ?, ?` for an IN list of that many values."""
    return ", ".join("?" * count)

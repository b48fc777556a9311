"""What may be asked of the outside world. Adapters answer; wiring introduces them."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from headwater.values.personal import (
    Added,
    FeedReader,
    Holder,
    KeptItem,
    PersonalChanges,
    ReaderToken,
    Shelf,
)
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

    async def address_of(self, host: str) -> str | None:
        """Where a name leads to first; nobody is asked there. None for what is no name, or is not
        found in time."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class FetcherAnswer:
    """What a fetcher said to "can you handle this source?".

    `code` says why it is a no (`no`, `no_content`) or a silence: trouble on the way (`timeout`,
    `connect_error`, `blocked_address`, …), `http_NNN`, or an answer that is none (`bad_json`,
    `bad_answer`, `too_deep`, `body_too_large`).
    """

    verdict: Literal["yes", "no", "silent"]
    code: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back for something posted. `trouble` is None for a complete answer."""

    status: int | None
    body: bytes = b""
    trouble: str | None = None
    detail: str = ""


class Fetchers(Protocol):
    """Registered fetchers over HTTP: signed, small, never redirected, every address checked.

    `signing_key` None means unsigned. `deadline` is seconds from now for everything. Trouble is in
    the answer, never raised.
    """

    async def can_handle(
        self,
        base_url: str,
        signing_key: bytes | None,
        source_url: str,
        source_type: str,
        deadline: float,
    ) -> FetcherAnswer: ...

    async def post(
        self,
        url: str,
        signing_key: bytes | None,
        body: bytes,
        deadline: float,
        message_id: str | None = None,
    ) -> Reply:
        """JSON. A message sent again keeps its `message_id`; without one a new one is made."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Parcel:
    """One event on its way to a sink. `body` is JSON, byte for byte the same each time.

    `at` is in microseconds. `payload` is the event's own part of `body`, already read.
    """

    seq: int
    event_id: str
    type: str
    at: int
    feed_id: str | None
    payload: Mapping[str, Any]
    body: bytes


@dataclass(frozen=True, slots=True)
class Receipt:
    """The first `taken` parcels are safe at the sink. `trouble` says why the next one is not;
    without it whoever took some wants the others next.

    `about` the event: nothing is wrong with the sink, it will not have this one. `gone`: the sink
    does not want anything any more. `retry_after` is how many seconds it asked to be left alone.
    """

    taken: int
    trouble: str | None = None
    detail: str = ""
    about: Literal["sink", "event"] = "sink"
    gone: bool = False
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class OutletPlan:
    """What a sink is made of: its kind, what everybody may know of it, and its secrets."""

    name: str
    kind: str
    options: Mapping[str, Any]
    secrets: Mapping[str, str]


class Outlet(Protocol):
    """The way to one sink, open while there is something to deliver."""

    async def deliver(self, parcels: Sequence[Parcel], *, replay: int) -> Receipt:
        """In order. Trouble is in the receipt, never raised. `replay` counts how often the cursor
        was moved back: what was taken under the same number need not be taken twice."""

    async def close(self) -> None: ...


class Outlets(Protocol):
    """Every kind of sink there is."""

    def checked(self, plan: OutletPlan) -> OutletPlan:
        """With defaults filled in; BadInput names the field that is wrong. Nothing is opened."""

    async def open(self, plan: OutletPlan) -> Outlet: ...


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


class Vault(Protocol):
    """Secrets at rest. `about` names the row a secret belongs to, such as `subscription:12`:
    sealed for one row, it opens for no other."""

    def seal(self, plain: bytes, *, about: str) -> bytes:
        """BadSettings when there is no key to seal with."""

    def open(self, sealed: bytes, *, about: str) -> bytes:
        """SecretUnreadable when it was sealed with another key, for another row, or changed."""

    def mark(self) -> bytes:
        """What begins everything that is sealed with the present key; empty while there is none."""


class Reader(Protocol):
    """A consistent view of the database. `?` marks stand for values, in order."""

    dialect: Literal["sqlite", "postgresql"]

    async def rows(self, sql: str, *values: Value) -> Sequence[Row]: ...

    async def row(self, sql: str, *values: Value) -> Row | None: ...


class Transaction(Reader, Protocol):
    """All or nothing."""

    async def run(self, sql: str, *values: Value) -> int:
        """Rows touched."""

    async def run_many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Done before whatever comes next; a refusal may be told only then, or at the commit."""


class Database(Protocol):
    def read(self) -> AbstractAsyncContextManager[Reader]: ...

    def write(self) -> AbstractAsyncContextManager[Transaction]: ...


def marks(count: int) -> str:
    """`?, ?, ?` for an IN list of that many values."""
    return ", ".join("?" * count)


class PersonalStore(Protocol):
    """Where readers, tokens and items are kept: the database or Redis, the same promises.

    Moments are microseconds. Every change raises one counter, the version. ConnectionLost when
    the place cannot be reached. Nothing in the name of a category or a reader is a pattern.
    """

    storage: str
    """`database` or `redis`."""

    async def readers(self) -> list[FeedReader]:
        """All, by name."""

    async def reader(self, reader_id: str) -> FeedReader | None: ...

    async def reader_named(self, name: str) -> FeedReader | None: ...

    async def add_reader(self, reader: FeedReader, *, most: int) -> FeedReader:
        """Conflict when the name or the id is taken, or when there are `most` already."""

    async def change_reader(
        self, reader_id: str, *, name: str | None, categories: Sequence[str] | None, now: int
    ) -> FeedReader | None:
        """None: as it was. The answer is None when there is no such reader."""

    async def remove_reader(self, reader_id: str, now: int) -> bool:
        """With all tokens."""

    async def add_token(self, token: ReaderToken, token_hash: bytes, *, most: int) -> None:
        """NotFound without the reader; Conflict when `most` open ones exist."""

    async def tokens(self, reader_id: str) -> list[ReaderToken]:
        """Oldest first, ended ones too."""

    async def end_token(self, token_id: str, *, until: int, revoked: bool, now: int) -> bool:
        """Never later than it would have ended anyway. False when there is none."""

    async def holder(self, token_hash: bytes, plain: str, now: int) -> Holder | None:
        """None for a token that is unknown, ended or revoked. `plain` is for a store that may hold
        tokens as another tool wrote them: it is kept nowhere."""

    async def note_used(self, used: Mapping[str, int]) -> None:
        """Token id → moment."""

    async def add(self, items: Sequence[KeptItem]) -> list[Added]:
        """All or none of them. One that is there already (by guid, or by caller_id, in its
        category; earlier in `items` counts) stays as it is. Expired ones are answered as not new,
        and not kept; what has expired is in nobody's way."""

    async def revise(self, items: Sequence[KeptItem]) -> int:
        """The words of those that are there (by guid, or by caller_id, in their category) become
        these; their guid, caller_id, arrival and expiry stay. One that is not there stays out: an
        edit of an old entry is no news. Words that are older by `changed_at`, or the same ones,
        change nothing. How many were there."""

    async def places(self, caller_ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """caller_id → the categories that have an item of it; for some of them it may have expired
        since. Those without any are left out."""

    async def newest(self, categories: Sequence[str], limit: int, now: int) -> Shelf:
        """Of the `limit` newest guids, every item in these categories."""

    async def changes(self, after: int) -> PersonalChanges:
        """-1 for somebody who knows nothing yet: the version, and `everything`. The same for a
        version that is not reached any more, as after a restore."""

    async def upkeep(self, now: int) -> None:
        """What is done every few seconds by one process: expired rows go, what other tools wrote is
        found."""

    async def tokens_with_hashes(self, reader_id: str) -> list[tuple[ReaderToken, bytes]]:
        """For a copy into another store."""

    async def items_after(
        self, after: tuple[str, str] | None, limit: int, now: int
    ) -> list[KeptItem]:
        """For a copy: all living items by category and guid, those after that pair."""

    async def trouble(self) -> str | None:
        """For the doctor: what would lose data, in words."""

    async def close(self) -> None: ...

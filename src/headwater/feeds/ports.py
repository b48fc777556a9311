"""What feeds ask of others: blobs, parsers, and the keys of private feeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from headwater.core.values.ids import FeedPk
from headwater.feeds.keyring import Keyring


class Blobs(Protocol):
    """Bytes by key. What `put_many` returned from is on disk, whatever happens next."""

    storage: str

    async def put_many(self, blobs: Sequence[tuple[str, bytes]]) -> None: ...

    async def get(self, key: str) -> bytes | None: ...

    async def delete(self, keys: Sequence[str]) -> None: ...


@dataclass(frozen=True, slots=True)
class ParserReply:
    """What a parse process answered: JSON made by `read_document`, or why there is none.

    `error` is one of `parser_crashed`, `parser_timeout`, `parser_memory`, and `parser_unavailable`
    when no process could be started: then it says nothing about the document.
    """

    payload: bytes = b""
    error: str | None = None
    detail: str = ""


class Parsers(Protocol):
    """Parsing in killable processes: a job is a JSON header for `read_document` and the body."""

    async def read(self, job: bytes, body: bytes) -> ParserReply: ...

    async def close(self) -> None: ...


class Keyrings(Protocol):
    async def open(self, feed: FeedPk, url: str) -> Keyring:
        """What this feed may be shown; SecretUnreadable when a secret does not open."""

"""Ports of feeds: blobs, parsers, and the keyrings of private feeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from headwater.core.values.ids import FeedPk
from headwater.feeds.keyring import Keyring


class Blobs(Protocol):
    """Bytes by key. When `put_many` has returned, the bytes are on disk, whatever happens next."""

    storage: str

    async def put_many(self, blobs: Sequence[tuple[str, bytes]]) -> None: ...

    async def get(self, key: str) -> bytes | None: ...

    async def delete(self, keys: Sequence[str]) -> None: ...


@dataclass(frozen=True, slots=True)
class ParserReply:
    """The answer of a parse process: JSON made by `read_document`, or why there is none.

    `error` is one of `parser_crashed`, `parser_timeout`, `parser_memory`, and `parser_unavailable`
    when no process could be started: then it says nothing about the document.
    """

    payload: bytes = b""
    error: str | None = None
    detail: str = ""


class Parsers(Protocol):
    """Parsing in processes that can be killed.

    A job is JSON from `read_document`, beside the body.
    """

    async def read(self, job: bytes, body: bytes) -> ParserReply: ...

    async def close(self) -> None: ...


class Keyrings(Protocol):
    async def open(self, feed: FeedPk, url: str) -> Keyring:
        """The credentials of a feed; SecretUnreadable when one cannot be decrypted."""

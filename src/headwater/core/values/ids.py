"""Ids: each kind has a type of its own, so that two cannot be swapped unnoticed."""

from hashlib import sha256
from typing import NewType

FeedPk = NewType("FeedPk", int)
"""A feed's 64-bit number inside the database."""

FeedId = NewType("FeedId", str)
"""A feed's public UUID."""

FetchId = NewType("FetchId", str)
"""A raw fetch's public UUID."""

EntryUid = NewType("EntryUid", str)
"""An entry's name, made of the publisher's id or else of a hash."""

WorkerId = NewType("WorkerId", str)

FetcherId = NewType("FetcherId", int)
"""A fetcher's number: the smaller, the older."""


def index_key(text: str) -> bytes:
    """Make 16 bytes that stand for a text of any length in an index (long URLs, long guids)."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]

"""Names of things: each id has a type of its own, so that two cannot be swapped unnoticed."""

from hashlib import sha256
from typing import NewType

FeedPk = NewType("FeedPk", int)
"""A feed's 64-bit number inside the database."""

FeedId = NewType("FeedId", str)
"""A feed's public UUID."""

FetchId = NewType("FetchId", str)
"""A raw fetch's public UUID."""

EntryUid = NewType("EntryUid", str)
"""What the publisher (or, failing that, a hash) calls an entry."""
WorkerId = NewType("WorkerId", str)


def index_key(text: str) -> bytes:
    """16 bytes that stand for a text of any length in an index (long URLs, long guids)."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


FetcherId = NewType("FetcherId", int)
"""A fetcher's number: the smaller, the older."""

"""The names of keys in Redis. Other tools know the first ones too.

Nothing in a name is a pattern: a category or a reader's id is at the end of a key, or is the rest
when a known beginning and a known end are removed.
"""

from dataclasses import dataclass
from typing import Self

PLAIN_TOKEN_PREFIX = "rss:token:"  # noqa: S105
"""+ token → reader id, as another tool wrote it. Upgraded to the next one when it is first used."""

HASHED_TOKEN_PREFIX = "rss:token:sha256:"  # noqa: S105
"""+ the hash in hex → reader id. Here while the token is not revoked."""

CATEGORIES_KEY_PARTS = ("rss:user:", ":categories")
"""Before and after a reader's id → JSON list of the categories that the reader follows."""

ITEM_PREFIX = "rss:category:"
"""+ category + : + guid → JSON of an item. The guid is after the last colon."""

HASHED_TOKEN_MARK = "sha256:"  # noqa: S105
"""A token with this beginning is never looked for in plain: it would be another token's hash."""


def plain_token_key(token: str) -> bytes:
    """The key where another tool would store it; empty for one that is never stored in plain."""
    return b"" if token.startswith(HASHED_TOKEN_MARK) else encode_name(PLAIN_TOKEN_PREFIX + token)


def parse_item_key(key: bytes) -> tuple[str, str] | None:
    """(category, guid) of an item's key; None when it is not text, or has no category."""
    category, colon, guid = key[len(ITEM_PREFIX) :].rpartition(b":")
    names = decode_name(category), decode_name(guid)
    return (names[0], names[1]) if colon and names[0] and names[1] else None


def encode_name(text: str) -> bytes:
    """A lone surrogate is kept as it came."""
    return text.encode("utf-8", "surrogatepass")


def decode_name(name: bytes) -> str | None:
    try:
        return name.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None


def printable_name(name: bytes) -> str:
    """A name for people, even where another tool wrote bytes that are no text."""
    text = decode_name(name)
    return name.decode("utf-8", "replace") if text is None else text


_ASIDE = "!"


@dataclass(frozen=True, slots=True)
class ForeignItemNote:
    """A note about an item of another tool. `words` is the SHA-1 of its JSON."""

    words: str
    arrived_at: int
    changed_at: int

    def written(self) -> str:
        return f"{self.words}:{self.arrived_at}:{self.changed_at}"

    @classmethod
    def read(cls, written: bytes) -> Self | None:
        """None for one that is set aside."""
        if written.startswith(_ASIDE.encode()):
            return None
        words, arrived_at, changed_at = written.decode("ascii").split(":")
        return cls(words, int(arrived_at), int(changed_at))


def set_aside_note(words: str) -> str:
    return f"{_ASIDE}{words}"

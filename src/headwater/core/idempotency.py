"""Idempotency: the request that a key stands for, and its outcome."""

from dataclasses import dataclass
from hashlib import sha256

LONGEST_KEY = 255


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request under one key. Both are hashes: neither is stored in the clear."""

    key_hash: bytes
    request_hash: bytes


@dataclass(frozen=True, slots=True)
class Fresh:
    """Nobody did this request yet (or whoever tried died without effect): do it."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The request was done and answered: send the same answer again."""

    status: int
    body: str
    location: str | None


@dataclass(frozen=True, slots=True)
class DoneBefore:
    """The request was done, but its process died before it answered: answer with the resource."""

    resource: str


@dataclass(frozen=True, slots=True)
class InProgress:
    """Somebody is doing the request now."""

    seconds_left: float


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The key was used for another request."""


KeyState = Fresh | Answered | DoneBefore | InProgress | Mismatch


def attempt_of(key: str, credential: str, method: str, path: str, body: bytes) -> Attempt:
    """Make an attempt whose key counts for this caller alone.

    The key goes into the hash of the request too: somebody who reads the table but does not know
    the key cannot find a short secret in a body by trying.
    """
    key_bytes = key.encode("utf-8", "surrogatepass")
    return Attempt(
        key_hash=_digest(credential.encode(), key_bytes),
        request_hash=_digest(
            key_bytes, method.encode(), path.encode("utf-8", "surrogatepass"), body
        ),
    )


def _digest(*parts: bytes) -> bytes:
    """Each part has its length in front, so that no two lists of parts join to the same bytes."""
    joined = b"".join(len(part).to_bytes(8) + part for part in parts)
    return sha256(joined).digest()

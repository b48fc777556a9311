"""Idempotency keys: which request a key stands for, and what became of it."""

from dataclasses import dataclass
from hashlib import sha256

LONGEST_KEY = 255


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request under one key, both as hashes: neither is kept in the clear."""

    key_hash: bytes
    request_hash: bytes


@dataclass(frozen=True, slots=True)
class Fresh:
    """Nobody did this yet (or who tried is dead without effect): do it."""


@dataclass(frozen=True, slots=True)
class Answered:
    """Done and answered: say the same again."""

    status: int
    body: str
    location: str | None


@dataclass(frozen=True, slots=True)
class DoneBefore:
    """Done, but whoever did it died before the answer was written: tell of the resource."""

    resource: str


@dataclass(frozen=True, slots=True)
class InProgress:
    """Somebody is doing it now."""

    seconds_left: float


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The key was used for another request."""


KeyState = Fresh | Answered | DoneBefore | InProgress | Mismatch


def attempt_of(key: str, credential: str, method: str, path: str, body: bytes) -> Attempt:
    """One caller's keys mean nothing to another caller.

    The key goes into the request's hash too: who reads the table but does not know the key cannot
    find out a short secret in a body by trying.
    """
    kept = key.encode("utf-8", "surrogatepass")
    return Attempt(
        key_hash=_digest(credential.encode(), kept),
        request_hash=_digest(kept, method.encode(), path.encode("utf-8", "surrogatepass"), body),
    )


def _digest(*parts: bytes) -> bytes:
    """Lengths first, so that no two lists of parts run together alike."""
    joined = b"".join(len(part).to_bytes(8) + part for part in parts)
    return sha256(joined).digest()

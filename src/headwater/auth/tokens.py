"""API tokens: their form, their hash, and the rights of each scope."""

import hmac
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Literal

Scope = Literal["read", "admin", "publish", "register", "fetcher"]
GrantableScope = Literal["read", "admin", "publish", "register"]
"""Scopes a person may give. A `fetcher` token comes from joining, and belongs to one fetcher."""

PREFIX = "hw_"
SECRET_BYTES = 32

_OPENS: dict[Scope, frozenset[Scope]] = {
    "read": frozenset({"read"}),
    "admin": frozenset({"read", "admin", "publish", "register", "fetcher"}),
    "publish": frozenset({"publish"}),
    "register": frozenset({"register"}),
    "fetcher": frozenset({"fetcher"}),
}


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A token as it is stored, without its secret."""

    id: int
    name: str
    scope: Scope
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class Credential:
    """A caller that was let in. `name` is for rate limits and idempotency keys.

    `fetcher_id` is the fetcher whose own token this is: it may act for that one and no other.
    `token_id` is None for a caller without a token that could be revoked.
    """

    name: str
    scope: Scope
    fetcher_id: int | None = None
    token_id: int | None = None

    @property
    def is_admin(self) -> bool:
        return self.scope == "admin"


def has_right(scope: Scope, *needed: Scope) -> bool:
    """True when the scope has one of the needed rights."""
    return not _OPENS[scope].isdisjoint(needed)


def token_text(secret: bytes) -> str:
    """The token as text. By its prefix people and scanners recognise a leaked one."""
    return PREFIX + urlsafe_b64encode(secret).rstrip(b"=").decode()


def token_hash(text: str) -> bytes:
    """SHA-256 is enough, as the secret has 256 random bits: a slow hash adds nothing."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def same_token(token: str, expected: str) -> bool:
    """Compare in a time that does not depend on either."""
    return hmac.compare_digest(token_hash(token), token_hash(expected))

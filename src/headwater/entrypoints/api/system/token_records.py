"""Records of API tokens: what callers send about them, and what they get."""

from typing import Annotated

from pydantic import AfterValidator, Field

from headwater.auth.tokens import GrantableScope, Scope
from headwater.entrypoints.api.idempotency import ShownOnce
from headwater.entrypoints.api.models import Strict, check_printable
from headwater.entrypoints.api.records import Moment, NounRecord, Record


class TokenRecord(NounRecord):
    id: int
    name: str
    scope: Scope
    created_at: Moment
    last_used_at: Moment | None
    revoked_at: Moment | None


class NewTokenRecord(TokenRecord):
    token: Annotated[str | None, ShownOnce] = Field(
        description="Shown once. Null when the request was a repeated one."
    )


class TokenPage(Record):
    tokens: list[TokenRecord]


class NewToken(Strict):
    name: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(check_printable)]
    scope: GrantableScope = "read"

"""API tokens over HTTP: made once, shown once, kept as a hash, revoked at any time."""

import secrets
from typing import Annotated

from pydantic import AfterValidator, Field
from starlette.requests import Request
from starlette.responses import Response

from headwater.auth import token_rows
from headwater.auth.tokens import (
    SECRET_BYTES,
    ApiToken,
    GrantableScope,
    Scope,
    token_hash,
    token_text,
)
from headwater.core import idempotency_rows
from headwater.entrypoints.api.dependencies import (
    RouteContext,
    json_response,
    parse_number,
)
from headwater.entrypoints.api.idempotency import RouteAnswer, answer_idempotently
from headwater.entrypoints.api.models import Strict, check_printable
from headwater.entrypoints.api.records import Moment, Record
from headwater.entrypoints.api.router import Router


class TokenRecord(Record):
    id: int
    name: str
    scope: Scope
    created_at: Moment
    last_used_at: Moment | None
    revoked_at: Moment | None

    @classmethod
    def of(cls, token: ApiToken) -> "TokenRecord":
        return cls(
            id=token.id,
            name=token.name,
            scope=token.scope,
            created_at=token.created_at,
            last_used_at=token.last_used_at,
            revoked_at=token.revoked_at,
        )


class NewTokenRecord(TokenRecord):
    token: str | None = Field(description="Shown once. Null when the request was a repeated one.")


class TokenPage(Record):
    tokens: list[TokenRecord]


class NewToken(Strict):
    name: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(check_printable)]
    scope: GrantableScope = "read"


router = Router(tags=["tokens"])


@router.get("/tokens", right="admin", response_model=TokenPage)
async def list_tokens(at: RouteContext) -> Response:
    """Names, scopes and last use; never a secret."""
    async with at.engine.database.read() as view:
        found = await token_rows.list_tokens(view)
    return json_response(TokenPage(tokens=[TokenRecord.of(token) for token in found]))


@router.post("/tokens", right="admin", response_model=NewTokenRecord, status_code=201)
async def make_token(body: NewToken, request: Request, at: RouteContext) -> Response:
    """The secret is in this answer and nowhere else. A repeated request gets `token: null`."""
    secret = token_text(secrets.token_bytes(SECRET_BYTES))

    async def effect(key: bytes | None) -> str:
        async with at.engine.database.write() as tx:
            made = await token_rows.insert_token(
                tx, body.name, body.scope, token_hash(secret), at.engine.clock.now()
            )
            if key is not None:
                await idempotency_rows.set_key_resource(tx, key, str(made.id))
        return str(made.id)

    async def tell(token_id: str) -> RouteAnswer:
        silent = await _record_without_secret(at, token_id)
        return RouteAnswer(201, silent.model_copy(update={"token": secret}), kept=silent)

    async def tell_again(token_id: str) -> RouteAnswer:
        return RouteAnswer(201, await _record_without_secret(at, token_id))

    return await answer_idempotently(request, at.engine, effect, tell, tell_again)


@router.delete("/tokens/{token_id}", right="admin", response_model=TokenRecord)
async def revoke_token(token_id: str, at: RouteContext) -> Response:
    """From this moment it opens nothing. Revoking twice is revoking once."""
    known = parse_number(token_id, "token")
    async with at.engine.database.write() as tx:
        revoked = await token_rows.revoke_token(tx, known, at.engine.clock.now())
    return json_response(TokenRecord.of(revoked))


async def _record_without_secret(at: RouteContext, token_id: str) -> NewTokenRecord:
    async with at.engine.database.read() as view:
        token = await token_rows.get_token(view, int(token_id))
    return NewTokenRecord(**TokenRecord.of(token).model_dump(), token=None)

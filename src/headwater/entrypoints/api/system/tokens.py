"""API tokens over HTTP: made once, shown once, kept as a hash, revoked at any time."""

import secrets
from typing import Annotated

from pydantic import AfterValidator, Field
from starlette.responses import Response

from headwater.auth import token_rows
from headwater.auth.tokens import (
    SECRET_BYTES,
    GrantableScope,
    Scope,
    token_hash,
    token_text,
)
from headwater.core import idempotency_rows
from headwater.entrypoints.api.dependencies import (
    App,
    RouteContext,
    TokenId,
    View,
    json_response,
    parse_number,
)
from headwater.entrypoints.api.idempotency import IdempotencyKey, ShownOnce
from headwater.entrypoints.api.models import Strict, check_printable
from headwater.entrypoints.api.records import Moment, NounRecord, Record
from headwater.entrypoints.api.router import Router


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


router = Router(tags=["tokens"])


@router.get("/tokens", right="admin", response_model=TokenPage)
async def list_tokens(at: RouteContext) -> Response:
    """Names, scopes and last use; never a secret."""
    async with at.database.read() as view:
        found = await token_rows.list_tokens(view)
    return json_response(TokenPage(tokens=[TokenRecord.of(token) for token in found]))


async def show_token_without_secret(token_id: TokenId, view: View) -> NewTokenRecord:
    """The secret was in the answer that was lost."""
    return NewTokenRecord.of(await token_rows.get_token(view, token_id), token=None)


@router.post("/tokens", right="admin", status_code=201, again=show_token_without_secret)
async def make_token(body: NewToken, app: App, key: IdempotencyKey) -> NewTokenRecord:
    """The secret is in this answer and nowhere else. A repeated request gets `token: null`."""
    secret = token_text(secrets.token_bytes(SECRET_BYTES))
    async with app.database.write() as tx:
        token = await token_rows.insert_token(tx, body.name, body.scope, token_hash(secret), tx.now)
        if key is not None:
            await idempotency_rows.set_key_resource(tx, key, str(token.id))
    return NewTokenRecord.of(token, token=secret)


@router.delete("/tokens/{token_id}", right="admin", response_model=TokenRecord)
async def revoke_token(token_id: str, at: RouteContext) -> Response:
    """From this moment it opens nothing. Revoking twice is revoking once."""
    known = parse_number(token_id, "token")
    async with at.database.write() as tx:
        revoked = await token_rows.revoke_token(tx, known, tx.now)
    return json_response(TokenRecord.of(revoked))

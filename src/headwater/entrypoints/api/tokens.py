"""API tokens over HTTP: made once, shown once, kept as a hash, revoked at any time."""

import secrets

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from headwater.access import store
from headwater.access.tokens import SECRET_BYTES, token_hash, token_text
from headwater.entrypoints.api.asking import REFUSALS, At, told
from headwater.entrypoints.api.journal import NewTokenRecord, TokenPage, TokenRecord
from headwater.entrypoints.api.models import NewToken
from headwater.entrypoints.api.numbers import number
from headwater.entrypoints.api.once import Told, once

router = APIRouter(tags=["tokens"], responses=REFUSALS)


@router.get("/tokens", response_model=TokenPage)
async def list_tokens(at: At) -> Response:
    """Names, scopes and last use; never a secret."""
    async with at.engine.database.read() as view:
        found = await store.tokens(view)
    return told(TokenPage(tokens=[TokenRecord.of(token) for token in found]))


@router.post("/tokens", response_model=NewTokenRecord, status_code=201)
async def make_token(body: NewToken, request: Request, at: At) -> Response:
    """The secret is in this answer and nowhere else. A repeated request gets `token: null`."""
    secret = token_text(secrets.token_bytes(SECRET_BYTES))

    async def effect(key: bytes | None) -> str:
        async with at.engine.database.write() as tx:
            made = await store.add_token(
                tx, body.name, body.scope, token_hash(secret), at.engine.clock.now()
            )
            if key is not None:
                await store.remember_resource(tx, key, str(made.id))
        return str(made.id)

    async def tell(token_id: str) -> Told:
        silent = await _silent(at, token_id)
        return Told(201, silent.model_copy(update={"token": secret}), kept=silent)

    async def tell_again(token_id: str) -> Told:
        return Told(201, await _silent(at, token_id))

    return await once(request, at.engine, effect, tell, tell_again)


@router.delete("/tokens/{token_id}", response_model=TokenRecord)
async def revoke_token(token_id: str, at: At) -> Response:
    """From this moment it opens nothing. Revoking twice is revoking once."""
    known = number(token_id, "token")
    async with at.engine.database.write() as tx:
        revoked = await store.revoke_token(tx, known, at.engine.clock.now())
    return told(TokenRecord.of(revoked))


async def _silent(at: At, token_id: str) -> NewTokenRecord:
    async with at.engine.database.read() as view:
        token = await store.token(view, int(token_id))
    return NewTokenRecord(**TokenRecord.of(token).model_dump(), token=None)

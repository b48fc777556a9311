"""API tokens over HTTP: made once, shown once, kept as a hash, revoked at any time."""

from headwater.auth import token_commands, token_rows
from headwater.entrypoints.api.dependencies import App, TokenId, View
from headwater.entrypoints.api.idempotency import IdempotencyKey
from headwater.entrypoints.api.router import Router
from headwater.entrypoints.api.system.token_records import (
    NewToken,
    NewTokenRecord,
    TokenPage,
    TokenRecord,
)

router = Router(tags=["tokens"])


@router.get("/tokens", right="admin")
async def list_tokens(view: View) -> TokenPage:
    """Names, scopes and last use; never a secret."""
    tokens = await token_rows.list_tokens(view)
    return TokenPage(tokens=[TokenRecord.of(token) for token in tokens])


async def show_token_without_secret(token_id: TokenId, view: View) -> NewTokenRecord:
    """The secret was in the answer that was lost."""
    return NewTokenRecord.of(await token_rows.get_token(view, token_id), token=None)


@router.post("/tokens", right="admin", status_code=201, again=show_token_without_secret)
async def make_token(body: NewToken, app: App, key: IdempotencyKey) -> NewTokenRecord:
    """The secret is in this answer and nowhere else. A repeated request gets `token: null`."""
    created = await token_commands.create_token(
        app.database, body.name, body.scope, idempotency=key
    )
    return NewTokenRecord.of(created.token, token=created.secret)


@router.delete("/tokens/{token_id}", right="admin")
async def revoke_token(token_id: TokenId, app: App) -> TokenRecord:
    """From this moment it opens nothing. Revoking twice is revoking once."""
    return TokenRecord.of(await token_commands.revoke_token(app.database, token_id))

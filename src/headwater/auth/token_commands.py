"""Commands on API tokens: create one, and revoke one."""

import secrets
from dataclasses import dataclass, field

from headwater.auth import token_rows
from headwater.auth.tokens import SECRET_BYTES, ApiToken, GrantableScope, token_hash, token_text
from headwater.core.idempotency_rows import set_key_resource
from headwater.core.ports import Database


@dataclass(frozen=True, slots=True)
class CreatedToken:
    """`secret` can be shown this once: only its hash is kept."""

    token: ApiToken
    secret: str = field(repr=False)


async def create_token(
    database: Database, name: str, scope: GrantableScope, *, idempotency: bytes | None = None
) -> CreatedToken:
    secret = token_text(secrets.token_bytes(SECRET_BYTES))
    async with database.write() as tx:
        token = await token_rows.insert_token(tx, name, scope, token_hash(secret), tx.now)
        if idempotency is not None:
            await set_key_resource(tx, idempotency, str(token.id))
    return CreatedToken(token, secret)


async def revoke_token(database: Database, token_id: int) -> ApiToken:
    """From this moment it opens nothing. Revoking twice is revoking once."""
    async with database.write() as tx:
        return await token_rows.revoke_token(tx, token_id, tx.now)

"""Who is asking, by any way in: a token that is known, or somebody on this machine."""

import binascii
from base64 import b64decode
from collections.abc import Sequence
from datetime import timedelta

from headwater.access import store
from headwater.access.tokens import Credential, same_token, token_hash
from headwater.engine import Engine
from headwater.entrypoints.api.rates import Rates
from headwater.entrypoints.listener import is_loopback
from headwater.errors import Forbidden, Unauthorized
from headwater.settings import Settings
from headwater.settings.written import LONGEST_TOKEN
from headwater.subscribe.fetchers import store as fetchers

LONGEST_LOGIN = 2_048
"""The longest token, and a name as long as anybody's, in base64."""

_NOTED_EVERY = timedelta(minutes=1)


class Gate:
    """Without an admin token everything is open, to this machine alone."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine = engine
        self._admin = settings.admin_secret
        self._rates = Rates(settings.api_rate_per_minute)

    async def let_in(self, given: str | None, peer: str) -> Credential:
        """`peer` is the address of the socket's other end: no header can say otherwise."""
        if self._admin is None:
            return _somebody_on_this_machine(peer)
        credential = await self._known(given) if given else None
        now = self._engine.clock.monotonic()
        if credential is None:
            self._rates.spend(f"refused {peer}", now)
            raise Unauthorized("A valid token is needed: Authorization: Bearer …")
        self._rates.spend(credential.name, now)
        return credential

    async def _known(self, given: str) -> Credential | None:
        if self._admin is not None and same_token(given, self._admin):
            return Credential("admin", "admin")
        async with self._engine.database.read() as view:
            token = await store.living_token(view, token_hash(given))
            if token is None:
                return None
            own = await fetchers.by_token(view, token.id) if token.scope == "fetcher" else None
        now = self._engine.clock.now()
        used = token.last_used_at
        if used is None or not timedelta() <= now - used < _NOTED_EVERY:  # a clock may be set back
            async with self._engine.database.write() as tx:
                await store.note_use(tx, token.id, now)
                if own is not None:
                    await fetchers.seen(tx, own.id, now)
        fetcher_id = None if own is None else own.id
        return Credential(f"token {token.id}", token.scope, fetcher_id, token.id)


def bearer(fields: Sequence[str]) -> str | None:
    """The token in the `Authorization` fields of a request; several fields are none."""
    token = _said("bearer", fields)
    return token if 0 < len(token) <= LONGEST_TOKEN else None


def password(fields: Sequence[str]) -> str | None:
    """The token that came as the password of HTTP Basic (RFC 7617); the name may be any."""
    login = _said("basic", fields)
    if len(login) > LONGEST_LOGIN:
        return None
    try:
        _, _, token = b64decode(login, validate=True).decode("utf-8").partition(":")
    except (binascii.Error, ValueError):
        return None
    return token if 0 < len(token) <= LONGEST_TOKEN else None


def _said(scheme: str, fields: Sequence[str]) -> str:
    """What stands behind the scheme; nothing where another one is used."""
    if len(fields) != 1:
        return ""
    kind, _, said = fields[0].partition(" ")
    return said.strip() if kind.lower() == scheme else ""


def _somebody_on_this_machine(peer: str) -> Credential:
    if not is_loopback(peer):
        raise Forbidden("Without an admin token Headwater answers this machine only.")
    return Credential("loopback", "admin")

"""Authentication: find out who calls, whether they may use the route, and how often they may."""

import binascii
from base64 import b64decode
from collections.abc import Sequence
from datetime import timedelta

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from headwater.auth import token_rows
from headwater.auth.tokens import Credential, has_right, same_token, token_hash
from headwater.core.errors import Forbidden, NotFound, Unauthorized
from headwater.core.ports import Database
from headwater.entrypoints.api.errors import LoginNeeded, MethodNotAllowed
from headwater.entrypoints.api.rate_limit import RateLimiter
from headwater.entrypoints.api.router import RouteMatch, RouteRules
from headwater.entrypoints.server.listener import is_loopback
from headwater.settings import Settings
from headwater.settings.parsing import LONGEST_TOKEN
from headwater.subscriptions.fetchers import fetcher_rows

LONGEST_LOGIN = 2_048
"""The longest token and a long name, in base64."""
_RECORD_USE_EVERY = timedelta(minutes=1)


class Authenticator:
    """Finds the credential of a caller. Without an admin token, callers on this machine may do
    everything and others nothing."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._admin = settings.admin_secret
        self._rates = RateLimiter(settings.api_rate_per_minute)

    async def let_in(self, token: str | None, peer: str) -> Credential:
        """`peer` is the address of the socket's other end: no header can change it."""
        if self._admin is None:
            return _loopback_credential(peer)
        credential = await self._find_credential(token) if token else None
        now = self._database.clock.monotonic()
        if credential is None:
            self._rates.spend(f"refused {peer}", now)
            raise Unauthorized("A valid token is needed: Authorization: Bearer …")
        self._rates.spend(credential.name, now)
        return credential

    async def _find_credential(self, text: str) -> Credential | None:
        if self._admin is not None and same_token(text, self._admin):
            return Credential("admin", "admin")
        async with self._database.read() as view:
            token = await token_rows.find_valid_token(view, token_hash(text))
            if token is None:
                return None
            fetcher = (
                await fetcher_rows.find_fetcher_by_token(view, token.id)
                if token.scope == "fetcher"
                else None
            )
        now = self._database.clock.now()
        used_at = token.last_used_at  # in the future when a clock was set back
        if used_at is None or not timedelta() <= now - used_at < _RECORD_USE_EVERY:
            async with self._database.write() as tx:
                await token_rows.set_last_used(tx, token.id, now)
                if fetcher is not None:
                    await fetcher_rows.set_last_seen(tx, fetcher.id, now)
        fetcher_id = None if fetcher is None else fetcher.id
        return Credential(f"token {token.id}", token.scope, fetcher_id, token.id)


def bearer_token(fields: Sequence[str]) -> str | None:
    """The token in the `Authorization` field of a request. Several such fields give no token."""
    token = _value_of_scheme("bearer", fields)
    return token if 0 < len(token) <= LONGEST_TOKEN else None


def basic_password(fields: Sequence[str]) -> str | None:
    """The token that came as the password of HTTP Basic (RFC 7617), with any name."""
    login = _value_of_scheme("basic", fields)
    if len(login) > LONGEST_LOGIN:
        return None
    try:
        _, _, token = b64decode(login, validate=True).decode("utf-8").partition(":")
    except (binascii.Error, ValueError):
        return None
    return token if 0 < len(token) <= LONGEST_TOKEN else None


def _value_of_scheme(scheme: str, fields: Sequence[str]) -> str:
    """The value after the scheme; nothing when the field has another scheme."""
    if len(fields) != 1:
        return ""
    field_scheme, _, value = fields[0].partition(" ")
    return value.strip() if field_scheme.lower() == scheme else ""


def _loopback_credential(peer: str) -> Credential:
    if not is_loopback(peer):
        raise Forbidden("Without an admin token Headwater answers this machine only.")
    return Credential("loopback", "admin")


class AuthMiddleware:
    """Lets a request pass whose caller has the right that its route needs, and no other."""

    def __init__(self, app: ASGIApp, database: Database, settings: Settings) -> None:
        self._app = app
        self._authenticator = Authenticator(database, settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not _is_open(scope):
            match: RouteMatch = scope["route_match"]
            credential = await self._credential_of(scope, match)
            _check_right(credential, match)
            _check_own_fetcher(credential, match)
            scope["credential"] = credential
        await self._app(scope, receive, send)

    async def _credential_of(self, scope: Scope, match: RouteMatch) -> Credential:
        """A bearer token, or a token as the password of a login: browsers can only log in."""
        fields = Headers(scope=scope).getlist("authorization")
        try:
            return await self._authenticator.let_in(
                bearer_token(fields) or basic_password(fields), _peer(scope)
            )
        except Unauthorized as trouble:
            if match.rules is not None and match.rules.asks_browser:
                raise LoginNeeded(
                    "A valid token is needed: log in with any name, and the token as password."
                ) from trouble
            raise


def _is_open(scope: Scope) -> bool:
    """Open to everybody, or to a reader whose token was checked before."""
    rules: RouteRules | None = scope["route_match"].rules
    if "holder" in scope:
        return rules is None or rules.reader_token
    return rules is not None and rules.rights is None


def _check_right(credential: Credential, match: RouteMatch) -> None:
    """Only callers with a credential learn that a route or a method does not exist."""
    if match.rules is None:
        if not match.methods:
            raise NotFound("There is nothing here.", what="route")
        raise MethodNotAllowed("This method does not work here.", allowed=list(match.methods))
    needed = match.rules.rights
    if needed is not None and not has_right(credential.scope, *needed):
        names = " or ".join(needed)
        raise Forbidden(f"This token has the scope {credential.scope}; {names} is needed.")


def _check_own_fetcher(credential: Credential, match: RouteMatch) -> None:
    """A fetcher's own token opens the routes under its own id, and none of another fetcher."""
    if credential.scope != "fetcher":
        return
    if credential.fetcher_id is None:  # it would speak for whomever it names
        raise Forbidden("This token belongs to no fetcher any more.")
    fetcher_id = match.path_params.get("fetcher_id")
    if fetcher_id is not None and fetcher_id != str(credential.fetcher_id):
        raise Forbidden("This token belongs to another fetcher.")


def _peer(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""

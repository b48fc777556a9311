"""Who is asking, whether they may, and how often: closed to all but those the table names."""

import binascii
from base64 import b64decode
from collections.abc import Sequence
from datetime import timedelta

from starlette.datastructures import Headers
from starlette.routing import compile_path
from starlette.types import ASGIApp, Receive, Scope, Send

from headwater.auth import token_rows
from headwater.auth.tokens import Credential, has_right, same_token, token_hash
from headwater.auth.tokens import Scope as Right
from headwater.core.engine import Engine
from headwater.core.errors import Forbidden, NotFound, Unauthorized
from headwater.entrypoints.api.errors import LoginNeeded, MethodNotAllowed
from headwater.entrypoints.api.failing import failure_facts_of_path
from headwater.entrypoints.api.rate_limit import RateLimiter
from headwater.entrypoints.server.listener import is_loopback
from headwater.settings import Settings
from headwater.settings.parsing import LONGEST_TOKEN
from headwater.subscriptions.fetchers import fetcher_rows

LONGEST_LOGIN = 2_048
"""The longest token, and a name as long as anybody's, in base64."""
_NOTED_EVERY = timedelta(minutes=1)


class Authenticator:
    """Without an admin token everything is open, to this machine alone."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine = engine
        self._admin = settings.admin_secret
        self._rates = RateLimiter(settings.api_rate_per_minute)

    async def let_in(self, given: str | None, peer: str) -> Credential:
        """`peer` is the address of the socket's other end: no header can say otherwise."""
        if self._admin is None:
            return _loopback_credential(peer)
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
            token = await token_rows.find_valid_token(view, token_hash(given))
            if token is None:
                return None
            own = (
                await fetcher_rows.find_fetcher_by_token(view, token.id)
                if token.scope == "fetcher"
                else None
            )
        now = self._engine.clock.now()
        used = token.last_used_at
        if used is None or not timedelta() <= now - used < _NOTED_EVERY:  # a clock may be set back
            async with self._engine.database.write() as tx:
                await token_rows.set_last_used(tx, token.id, now)
                if own is not None:
                    await fetcher_rows.set_last_seen(tx, own.id, now)
        fetcher_id = None if own is None else own.id
        return Credential(f"token {token.id}", token.scope, fetcher_id, token.id)


def bearer_token(fields: Sequence[str]) -> str | None:
    """The token in the `Authorization` fields of a request; several fields are none."""
    token = _value_of_scheme("bearer", fields)
    return token if 0 < len(token) <= LONGEST_TOKEN else None


def basic_password(fields: Sequence[str]) -> str | None:
    """The token that came as the password of HTTP Basic (RFC 7617); the name may be any."""
    login = _value_of_scheme("basic", fields)
    if len(login) > LONGEST_LOGIN:
        return None
    try:
        _, _, token = b64decode(login, validate=True).decode("utf-8").partition(":")
    except (binascii.Error, ValueError):
        return None
    return token if 0 < len(token) <= LONGEST_TOKEN else None


def _value_of_scheme(scheme: str, fields: Sequence[str]) -> str:
    """What stands behind the scheme; nothing where another one is used."""
    if len(fields) != 1:
        return ""
    kind, _, said = fields[0].partition(" ")
    return said.strip() if kind.lower() == scheme else ""


def _loopback_credential(peer: str) -> Credential:
    if not is_loopback(peer):
        raise Forbidden("Without an admin token Headwater answers this machine only.")
    return Credential("loopback", "admin")


RIGHTS: dict[tuple[str, str], Right | tuple[Right, ...] | None] = {
    ("GET", "/"): "read",
    ("GET", "/console/{name}"): "read",
    ("GET", "/healthz"): None,
    ("GET", "/rss"): None,
    ("GET", "/atom"): None,
    ("GET", "/feed.json"): None,
    ("GET", "/opml"): None,
    ("GET", "/openapi.json"): "read",
    ("GET", "/docs"): "read",
    ("GET", "/status"): "admin",
    ("GET", "/feeds"): "read",
    ("POST", "/feeds"): "admin",
    ("GET", "/feeds/{feed_id}"): "read",
    ("PATCH", "/feeds/{feed_id}"): "admin",
    ("DELETE", "/feeds/{feed_id}"): "admin",
    ("POST", "/feeds/{feed_id}/refetch"): "admin",
    ("GET", "/feeds/{feed_id}/entries"): "read",
    ("GET", "/feeds/{feed_id}/visits"): "read",
    ("GET", "/feeds/{feed_id}/schedule"): "read",
    ("GET", "/feeds/{feed_id}/aliases"): "read",
    ("DELETE", "/feeds/{feed_id}/aliases/{alias_uid:path}"): "admin",
    ("GET", "/subscriptions/{subscription_id}/stats"): "read",
    ("GET", "/stats/worst"): "read",
    ("GET", "/feeds/{feed_id}/stats"): "read",
    ("GET", "/slo"): "read",
    ("GET", "/metrics"): "read",
    ("GET", "/entries"): "read",
    ("GET", "/entries/{entry_uid:path}"): "read",
    ("GET", "/export/entries"): "read",
    ("GET", "/export/raw"): "read",
    ("GET", "/meta/{name:path}.xml"): "read",
    ("GET", "/meta/{name:path}.json"): "read",
    ("GET", "/raw/{fetch_id}"): "read",
    ("GET", "/raw/{fetch_id}/diff"): "read",
    ("POST", "/feeds/{feed_id}/reparse"): "admin",
    ("GET", "/events"): "read",
    ("GET", "/events/stream"): "read",
    ("GET", "/sinks"): "read",
    ("POST", "/sinks"): "admin",
    ("GET", "/sinks/{name}"): "read",
    ("PATCH", "/sinks/{name}"): "admin",
    ("DELETE", "/sinks/{name}"): "admin",
    ("POST", "/sinks/{name}/replay"): "admin",
    ("POST", "/sinks/{name}/test"): "admin",
    ("POST", "/sinks/{name}/rotate-secret"): "admin",
    ("GET", "/sinks/{name}/dead-letters"): "read",
    ("POST", "/sinks/{name}/dead-letters/retry"): "admin",
    ("DELETE", "/sinks/{name}/dead-letters"): "admin",
    ("POST", "/internal/rss/item"): "publish",
    ("POST", "/internal/rss/items"): "publish",
    ("GET", "/readers"): "admin",
    ("POST", "/readers"): "admin",
    ("GET", "/readers/{reader_id}"): "admin",
    ("PATCH", "/readers/{reader_id}"): "admin",
    ("DELETE", "/readers/{reader_id}"): "admin",
    ("GET", "/readers/{reader_id}/tokens"): "admin",
    ("POST", "/readers/{reader_id}/tokens"): "admin",
    ("POST", "/readers/{reader_id}/tokens/{token_id}/rotate"): "admin",
    ("DELETE", "/readers/{reader_id}/tokens/{token_id}"): "admin",
    ("GET", "/readers/{reader_id}/opml"): "admin",
    ("GET", "/downloads"): "read",
    ("GET", "/downloads/{download_id}"): "read",
    ("POST", "/downloads/{download_id}/retry"): "admin",
    ("POST", "/downloads/{download_id}/drop"): "admin",
    ("GET", "/releases"): "read",
    ("GET", "/releases/{release_id}"): "read",
    ("POST", "/releases/{release_id}/take"): "admin",
    ("POST", "/releases/{release_id}/refuse"): "admin",
    ("GET", "/shows"): "read",
    ("POST", "/shows"): "admin",
    ("GET", "/shows/{show_id}"): "read",
    ("PATCH", "/shows/{show_id}"): "admin",
    ("DELETE", "/shows/{show_id}"): "admin",
    ("GET", "/shows/{show_id}/episodes"): "read",
    ("GET", "/trackings"): "read",
    ("POST", "/trackings"): "admin",
    ("GET", "/trackings/proposal"): "read",
    ("GET", "/trackings/missing"): "read",
    ("GET", "/trackings/calendar"): "read",
    ("GET", "/trackings/calendar.ics"): "read",
    ("GET", "/trackings/{tracking_id}"): "read",
    ("PATCH", "/trackings/{tracking_id}"): "admin",
    ("DELETE", "/trackings/{tracking_id}"): "admin",
    ("GET", "/trackings/{tracking_id}/preview"): "read",
    ("POST", "/trackings/{tracking_id}/preview"): "admin",
    ("POST", "/trackings/{tracking_id}/backfill"): "admin",
    ("POST", "/trackings/{tracking_id}/decide"): "admin",
    ("POST", "/fetcher-modules/{fetcher_id}/claims"): "fetcher",
    ("POST", "/fetcher-modules/{fetcher_id}/claims/renew"): "fetcher",
    ("GET", "/fetcher-modules/{fetcher_id}/events"): "fetcher",
    ("POST", "/fetcher-results"): "fetcher",
    ("POST", "/services/register"): ("register", "fetcher"),
    ("GET", "/fetcher-modules"): "read",
    ("GET", "/fetcher-modules/{fetcher_id}"): ("read", "fetcher"),
    ("PATCH", "/fetcher-modules/{fetcher_id}"): "admin",
    ("POST", "/fetcher-modules/{fetcher_id}/heartbeat"): "fetcher",
    ("GET", "/fetcher-modules/{fetcher_id}/subscriptions"): ("read", "fetcher"),
    ("GET", "/subscriptions"): "read",
    ("POST", "/subscriptions"): "admin",
    ("GET", "/subscriptions/{subscription_id}"): "read",
    ("PATCH", "/subscriptions/{subscription_id}"): "admin",
    ("DELETE", "/subscriptions/{subscription_id:path}"): "admin",
    ("GET", "/subscriptions/{subscription_id}/history"): "read",
    ("PUT", "/subscriptions/{subscription_id}/credentials"): "admin",
    ("DELETE", "/subscriptions/{subscription_id}/credentials"): "admin",
    ("GET", "/groups"): "read",
    ("POST", "/groups"): "admin",
    ("GET", "/groups/{group_id}"): "read",
    ("PATCH", "/groups/{group_id}"): "admin",
    ("DELETE", "/groups/{group_id}"): "admin",
    ("GET", "/groups/{group_id}/subscriptions"): "read",
    ("PUT", "/groups/{group_id}/subscriptions/{subscription_id}"): "admin",
    ("DELETE", "/groups/{group_id}/subscriptions/{subscription_id}"): "admin",
    ("POST", "/groups/{group_id}/actions"): "admin",
    ("PUT", "/groups/{group_id}/credentials"): "admin",
    ("DELETE", "/groups/{group_id}/credentials"): "admin",
    ("GET", "/conflicts"): "read",
    ("POST", "/conflicts"): "admin",
    ("GET", "/conflicts/{conflict_id}"): "read",
    ("POST", "/conflicts/{conflict_id}/resolve"): "admin",
    ("GET", "/tokens"): "admin",
    ("POST", "/tokens"): "admin",
    ("DELETE", "/tokens/{token_id}"): "admin",
}
"""Route → the right it needs, or several of which one is enough; None needs no API token: it is
open to everybody, or to a reader's own token. What is not here is not served at all."""

BROWSER_PATHS = ("/", "/console/{name}")
"""Where a browser is asked for a token, as it shows none by itself."""
_PATTERNS = {path: compile_path(path)[0] for _, path in RIGHTS}

RightsByMethod = dict[str, tuple[Right, ...] | None]
"""Method → rights of which one is needed, for one path."""


class AuthMiddleware:
    """The gate, and the table of rights behind it."""

    def __init__(self, app: ASGIApp, engine: Engine, settings: Settings) -> None:
        self._app = app
        self._gate = Authenticator(engine, settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and "holder" not in scope:  # a reader, who was let in before
            rights = rights_at(scope["path"])
            if rights.get(scope["method"], ()) is not None:
                with failure_facts_of_path(scope["method"], scope["path"]):
                    credential = await self._credential_of(scope)
                _check_right(credential, scope["method"], rights)
                _check_own_fetcher(credential, scope["path"])
                scope["credential"] = credential
        await self._app(scope, receive, send)

    async def _credential_of(self, scope: Scope) -> Credential:
        """A token, or a token as the password of a login: a browser knows no other way."""
        fields = Headers(scope=scope).getlist("authorization")
        try:
            return await self._gate.let_in(
                bearer_token(fields) or basic_password(fields), _peer(scope)
            )
        except Unauthorized as trouble:
            if any(_PATTERNS[path].match(scope["path"]) for path in BROWSER_PATHS):
                raise LoginNeeded(
                    "A valid token is needed: log in with any name, and the token as password."
                ) from trouble
            raise


def rights_at(path: str) -> RightsByMethod:
    """For everything that is served at this path; empty when nothing is."""
    return {
        method: (right,) if isinstance(right, str) else right
        for (method, template), right in RIGHTS.items()
        if _PATTERNS[template].match(path)
    }


def _check_right(credential: Credential, method: str, rights: RightsByMethod) -> None:
    """What is not there, and what cannot be done there, is told only to those who were let in."""
    if not rights:
        raise NotFound("There is nothing here.", what="route")
    if method not in rights:
        raise MethodNotAllowed("This method does not work here.", allowed=_methods(rights))
    needed = rights[method]
    if needed is not None and not has_right(credential.scope, *needed):
        wanted = " or ".join(needed)
        raise Forbidden(f"This token has the scope {credential.scope}; {wanted} is needed.")


def _methods(rights: RightsByMethod) -> list[str]:
    """HEAD works wherever GET does."""
    return sorted({*rights, "HEAD"} if "GET" in rights else rights)


def _check_own_fetcher(credential: Credential, path: str) -> None:
    """A fetcher's own token opens what stands under its own number, and nothing of another."""
    if credential.scope != "fetcher":
        return
    if credential.fetcher_id is None:  # it would speak for whomever it names
        raise Forbidden("This token belongs to no fetcher any more.")
    for template, pattern in _PATTERNS.items():
        found = pattern.match(path) if "{fetcher_id}" in template else None
        if found and found["fetcher_id"] != str(credential.fetcher_id):
            raise Forbidden("This token belongs to another fetcher.")


def _peer(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""

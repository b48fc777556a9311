"""Who is asking, whether they may, and how often: closed to all but those the table names."""

from datetime import timedelta

from starlette.datastructures import Headers
from starlette.routing import compile_path
from starlette.types import ASGIApp, Receive, Scope, Send

from headwater.access import store
from headwater.access.tokens import Credential, opens, same_token, token_hash
from headwater.access.tokens import Scope as Right
from headwater.engine import Engine
from headwater.entrypoints.api.failing import asked_for
from headwater.entrypoints.api.rates import Rates
from headwater.entrypoints.api.refusals import MethodNotAllowed
from headwater.entrypoints.listener import is_loopback
from headwater.errors import Forbidden, NotFound, Unauthorized
from headwater.settings import Settings
from headwater.subscribe.fetchers import store as fetchers

RIGHTS: dict[tuple[str, str], Right | tuple[Right, ...] | None] = {
    ("GET", "/healthz"): None,
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
    ("GET", "/entries"): "read",
    ("GET", "/entries/{entry_uid:path}"): "read",
    ("GET", "/raw/{fetch_id}"): "read",
    ("GET", "/events"): "read",
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
"""Route → the right it needs, or several of which one is enough; None is open to everybody.
What is not here is not served at all."""

LONGEST_TOKEN = 512
_NOTED_EVERY = timedelta(minutes=1)
_PATTERNS = {path: compile_path(path)[0] for _, path in RIGHTS}

Needs = dict[str, tuple[Right, ...] | None]
"""Method → rights of which one is needed, for one path."""


class Auth:
    """Without an admin token everything is open, to this machine alone."""

    def __init__(self, app: ASGIApp, engine: Engine, settings: Settings) -> None:
        self._app = app
        self._engine = engine
        self._admin = settings.admin_secret
        self._rates = Rates(settings.api_rate_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            rights = rights_at(scope["path"])
            if rights.get(scope["method"], ()) is not None:
                with asked_for(scope["method"], scope["path"]):
                    credential = await self._credential_of(scope)
                _refuse_unless_allowed(credential, scope["method"], rights)
                _refuse_another_fetcher(credential, scope["path"])
                scope["credential"] = credential
        await self._app(scope, receive, send)

    async def _credential_of(self, scope: Scope) -> Credential:
        if self._admin is None:
            return _somebody_on_this_machine(scope)
        given = _bearer(Headers(scope=scope))
        credential = await self._known(given) if given else None
        now = self._engine.clock.monotonic()
        if credential is None:
            self._rates.spend(f"refused {_peer(scope)}", now)
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
        if token.last_used_at is None or now - token.last_used_at >= _NOTED_EVERY:
            async with self._engine.database.write() as tx:
                await store.note_use(tx, token.id, now)
                if own is not None:
                    await fetchers.seen(tx, own.id, now)
        return Credential(f"token {token.id}", token.scope, None if own is None else own.id)


def rights_at(path: str) -> Needs:
    """For everything that is served at this path; empty when nothing is."""
    return {
        method: (right,) if isinstance(right, str) else right
        for (method, template), right in RIGHTS.items()
        if _PATTERNS[template].match(path)
    }


def _refuse_unless_allowed(credential: Credential, method: str, rights: Needs) -> None:
    """What is not there, and what cannot be done there, is told only to those who were let in."""
    if not rights:
        raise NotFound("There is nothing here.", what="route")
    if method not in rights:
        raise MethodNotAllowed("This method does not work here.", allowed=sorted(rights))
    needed = rights[method]
    if needed is not None and not opens(credential.scope, *needed):
        wanted = " or ".join(needed)
        raise Forbidden(f"This token has the scope {credential.scope}; {wanted} is needed.")


def _refuse_another_fetcher(credential: Credential, path: str) -> None:
    """A fetcher's own token opens what stands under its own number, and nothing of another."""
    if credential.scope != "fetcher":
        return
    if credential.fetcher_id is None:  # it would speak for whomever it names
        raise Forbidden("This token belongs to no fetcher any more.")
    for template, pattern in _PATTERNS.items():
        found = pattern.match(path) if "{fetcher_id}" in template else None
        if found and found["fetcher_id"] != str(credential.fetcher_id):
            raise Forbidden("This token belongs to another fetcher.")


def _somebody_on_this_machine(scope: Scope) -> Credential:
    """The socket's own peer; no header can say otherwise."""
    if not is_loopback(_peer(scope)):
        raise Forbidden("Without an admin token Headwater answers this machine only.")
    return Credential("loopback", "admin")


def _peer(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def _bearer(headers: Headers) -> str | None:
    given = headers.getlist("authorization")
    if len(given) != 1:
        return None
    kind, _, token = given[0].partition(" ")
    token = token.strip()
    return token if kind.lower() == "bearer" and 0 < len(token) <= LONGEST_TOKEN else None

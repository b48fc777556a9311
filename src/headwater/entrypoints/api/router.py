"""The router of the API: each route states who may call it, how large its body may be, and more.

Middleware looks at a request before its route does, so it must know the rules of that route.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from string import Formatter
from typing import Any, Protocol, TypedDict, TypeVar, Unpack
from urllib.parse import quote

import orjson
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from headwater.auth.tokens import Scope as Right
from headwater.core.errors import DatabaseError
from headwater.entrypoints.api.errors import Problem
from headwater.entrypoints.api.idempotency import (
    JSON,
    KEY_PARAMETER,
    IdempotencyKey,
    IdempotentHandler,
    shown_once_fields,
)
from headwater.entrypoints.api.route_view import Handle, closing_views
from headwater.settings import Settings

LINES = "application/x-ndjson"
"""Many JSON values, one on each line."""
USUAL_BODY_LIMIT = "api_max_body_bytes"
_ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {"model": Problem, "description": "Refused; the envelope says why."}
}
_NOT_MODIFIED_RESPONSE: dict[int | str, dict[str, Any]] = {
    304: {"description": "As it was when the answer had the ETag of If-None-Match."}
}

Rights = Right | tuple[Right, ...] | None
"""The right that a caller needs, or several of which one is enough. None: the route is open to
everybody, or to a reader's own token."""


@dataclass(frozen=True, slots=True)
class Failed:
    """How a route reports that the database failed it.

    `wording` begins the message. `empty` names a list that callers read without looking at the
    status: it is in the error too, empty.
    """

    wording: str
    empty: str | None = None

    @property
    def facts(self) -> dict[str, Any]:
        return {"failed": self.wording} | ({self.empty: []} if self.empty else {})


@dataclass(frozen=True, slots=True)
class RouteRules:
    """The rules of a route that middleware must know. `Router` explains each field."""

    rights: tuple[Right, ...] | None
    reader_token: bool = False
    asks_browser: bool = False
    most_bytes: str = USUAL_BODY_LIMIT
    takes_lines: bool = False
    failed: Failed | None = None

    def __post_init__(self) -> None:
        if self.most_bytes not in Settings.model_fields:
            raise ValueError(f"There is no setting {self.most_bytes}.")


Handler = Callable[..., Any]
HandlerT = TypeVar("HandlerT", bound=Handler)


class Route(APIRoute):
    """A route of FastAPI with its rules."""

    def __init__(self, path: str, endpoint: Handler, *, rules: RouteRules, **more: Any) -> None:
        self.rules = rules
        super().__init__(path, endpoint, **more)

    def get_route_handler(self) -> Handle:
        return closing_views(super().get_route_handler())


class IdempotentRoute(Route):
    """A route that answers the same request with the same Idempotency-Key as it did before."""

    def __init__(
        self,
        path: str,
        endpoint: Handler,
        *,
        again: Handler | None,
        keep: bool,
        location: str | None,
        **more: Any,
    ) -> None:
        parameters = signature(endpoint).parameters.values()
        if again is None and any(
            parameter.annotation == IdempotencyKey for parameter in parameters
        ):
            raise TypeError(f"{path} has an effect that is tied to its key: it needs `again`.")
        self._again, self._keep, self._location = again, keep, location
        self.route_again: APIRoute | None = None
        super().__init__(path, endpoint, **more)

    def get_route_handler(self) -> Handle:
        handle = handle_again = self._located(super().get_route_handler())
        resource = ""
        if self._again is not None:
            resource = next(iter(signature(self._again).parameters))
            self.route_again = self._route_again(self._again, resource)
            handle_again = self._located(closing_views(self.route_again.get_route_handler()))
        return IdempotentHandler(
            handle,
            handle_again,
            resource,
            self._keep,
            shown_once_fields(self.response_model),
            LINES if self.rules.takes_lines else JSON,
        ).__call__

    def _route_again(self, again: Handler, resource: str) -> APIRoute:
        """The first parameter of `again` is the resource; it stands in the path like an id."""
        path = self.path if resource in self.param_convertors else f"{self.path}/{{{resource}}}"
        return APIRoute(
            path,
            again,
            methods=["POST"],
            status_code=self.status_code,
            response_model=self.response_model,
            response_class=self.response_class,
        )

    def _located(self, handle: Handle) -> Handle:
        location = self._location
        if location is None:
            return handle
        names = [name for _, name, _, _ in Formatter().parse(location) if name]

        async def with_location(request: Request) -> Response:
            response = await handle(request)
            fields = orjson.loads(response.body)
            parts = {name: quote(str(fields[name]), safe="") for name in names}
            response.headers["location"] = location.format_map(parts)
            return response

        return with_location


class RouteOptions(TypedDict, total=False):
    """Options that every method has: those of FastAPI, and the wording of a failure."""

    status_code: int
    response_model: Any
    response_class: type[Response]
    responses: dict[int | str, dict[str, Any]]
    openapi_extra: dict[str, Any]
    failed: Failed


class Decorator(Protocol):
    """Makes a route of a function, which stays as it is."""

    def __call__(self, handler: HandlerT, /) -> HandlerT: ...


class Router:
    """The routes of one area. A route without `right` cannot be made."""

    def __init__(self, *, tags: list[str]) -> None:
        self.routes: list[Route] = []
        self._tags = tags

    def get(
        self,
        path: str,
        *,
        right: Rights,
        reader_token: bool = False,
        asks_browser: bool = False,
        etag: bool = True,
        **options: Unpack[RouteOptions],
    ) -> Decorator:
        """`reader_token`: a reader's token in the query is enough. `asks_browser`: a browser asks
        its user for a token. `etag=False`: the answer has no end, or must not be kept."""
        rules = _rules(right, options, reader_token=reader_token, asks_browser=asks_browser)
        not_modified = _NOT_MODIFIED_RESPONSE if etag else {}
        return self._route("GET", path, rules, options, responses=not_modified)

    def post(
        self,
        path: str,
        *,
        right: Rights,
        most_bytes: str = USUAL_BODY_LIMIT,
        takes_lines: bool = False,
        again: Handler | None = None,
        keep: bool = True,
        location: str | None = None,
        **options: Unpack[RouteOptions],
    ) -> Decorator:
        """`most_bytes`: the name of the setting that limits the body. `takes_lines`: the body has
        one JSON value on each line, which the handler checks, and so has the answer.

        Every POST takes an Idempotency-Key; see `idempotency`. `again` is a handler too: its first
        parameter is the resource of an effect whose answer was lost, mostly an id. `keep=False`:
        the same request is answered anew, by `again` or else by the handler itself. `location`:
        where the new thing is, made from the fields of the answer: `/groups/{group_id}`."""
        rules = _rules(right, options, most_bytes=most_bytes, takes_lines=takes_lines)
        make = partial(IdempotentRoute, again=again, keep=keep, location=location)
        return self._route("POST", path, rules, options, parameters=[KEY_PARAMETER], make=make)

    def put(self, path: str, *, right: Rights, **options: Unpack[RouteOptions]) -> Decorator:
        return self._route("PUT", path, _rules(right, options), options)

    def patch(self, path: str, *, right: Rights, **options: Unpack[RouteOptions]) -> Decorator:
        return self._route("PATCH", path, _rules(right, options), options)

    def delete(self, path: str, *, right: Rights, **options: Unpack[RouteOptions]) -> Decorator:
        return self._route("DELETE", path, _rules(right, options), options)

    def _route(
        self,
        method: str,
        path: str,
        rules: RouteRules,
        options: RouteOptions,
        *,
        responses: Mapping[int | str, dict[str, Any]] = {},
        parameters: list[dict[str, Any]] | None = None,
        make: Callable[..., Route] = Route,
    ) -> Decorator:
        for_fastapi: dict[str, Any] = {**options}
        for_fastapi.pop("failed", None)
        for_fastapi["responses"] = {**_ERROR_RESPONSES, **responses, **options.get("responses", {})}
        described = dict(options.get("openapi_extra", {}))
        if rules.rights is None:
            described["security"] = []
        if parameters:
            described["parameters"] = parameters
        for_fastapi["openapi_extra"] = described

        def add(handler: HandlerT) -> HandlerT:
            self.routes.append(
                make(path, handler, rules=rules, methods=[method], tags=self._tags, **for_fastapi)
            )
            return handler

        return add


def _rules(right: Rights, options: RouteOptions, **more: Any) -> RouteRules:
    rights = (right,) if isinstance(right, str) else right
    return RouteRules(rights, failed=options.get("failed"), **more)


@dataclass(frozen=True, slots=True)
class RouteMatch:
    """The route of a request. Without one, `methods` are those that work at its path, if any."""

    route: Route | None
    path_params: Mapping[str, str] = field(default_factory=dict)
    methods: tuple[str, ...] = ()

    @property
    def rules(self) -> RouteRules | None:
        return self.route.rules if self.route else None


class RouteMatchMiddleware:
    """Finds the route of a request for the other middleware, and adds its wording to a failure."""

    def __init__(self, app: ASGIApp, routes: Iterable[Route]) -> None:
        self._app = app
        self._routes = list(routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        match = scope["route_match"] = self._find(scope["method"], scope["path"])
        with _worded(match.rules.failed if match.rules else None):
            await self._app(scope, receive, send)

    def _find(self, method: str, path: str) -> RouteMatch:
        """The first route that fits, as Starlette's router takes it."""
        others: set[str] = set()
        for route in self._routes:
            if matched := route.path_regex.match(path):
                if method in (route.methods or ()):
                    return RouteMatch(route, matched.groupdict())
                others |= route.methods or set()
        if "GET" in others:
            others.add("HEAD")
        return RouteMatch(None, methods=tuple(sorted(others)))


@contextmanager
def _worded(failed: Failed | None) -> Iterator[None]:
    try:
        yield
    except DatabaseError as trouble:
        if failed is not None:
            trouble.facts |= failed.facts
        raise

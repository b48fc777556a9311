"""The app of the API: routes inside, middleware around them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from headwater import __version__
from headwater.core.errors import BadSettings
from headwater.entrypoints.api import collections, sinks
from headwater.entrypoints.api.anime import downloads, preview, releases, shows, trackings
from headwater.entrypoints.api.auth import AuthMiddleware
from headwater.entrypoints.api.dependencies import ApiContext
from headwater.entrypoints.api.errors import field_errors_response, status_response
from headwater.entrypoints.api.events import events
from headwater.entrypoints.api.events.stream import SharedStreams
from headwater.entrypoints.api.feeds import entries, export, feeds, raw
from headwater.entrypoints.api.feeds import stats as feeds_stats
from headwater.entrypoints.api.feeds.raw_records import RawFetchRecord
from headwater.entrypoints.api.middleware import (
    ErrorsAndHeadersMiddleware,
    ETagMiddleware,
    HostAndOriginMiddleware,
    MetricsMiddleware,
)
from headwater.entrypoints.api.personal_feeds import items, personal_feeds, readers
from headwater.entrypoints.api.personal_feeds.feed_middleware import PersonalFeedsMiddleware
from headwater.entrypoints.api.personal_feeds.feed_server import PersonalFeedServer
from headwater.entrypoints.api.request_body import RequestBodyMiddleware
from headwater.entrypoints.api.router import Route, RouteMatchMiddleware
from headwater.entrypoints.api.subscriptions import (
    conflicts,
    credentials,
    fetchers,
    groups,
    stats,
    subscriptions,
    work,
)
from headwater.entrypoints.api.system import docs, metrics, slo, status, tokens
from headwater.entrypoints.api.system.metrics_report import MetricsReport
from headwater.entrypoints.console import pages
from headwater.entrypoints.server.listener import is_loopback
from headwater.settings import Settings
from headwater.wiring.services import Services

API_DESCRIPTION = (
    "Follow feeds, read their entries, the raw bytes behind them and the event log."
    " Times are RFC 3339 UTC. Errors are one envelope: error, message, detail, status_code."
)

ROUTERS = [
    area.router
    for area in (
        feeds,
        entries,
        collections,
        personal_feeds,
        export,
        raw,
        events,
        sinks,
        items,
        readers,
        releases,
        downloads,
        shows,
        preview,  # before the others under /trackings: calendar.ics is no tracking's id
        trackings,
        fetchers,
        work,
        conflicts,
        stats,
        feeds_stats,
        slo,
        metrics,
        groups,
        credentials,
        subscriptions,  # after all others under /subscriptions: a source URL may have any path
        tokens,
        status,
        docs,
        pages,
    )
]

ROUTES: list[Route] = [route for router in ROUTERS for route in router.routes]


def create_app(services: Services, settings: Settings) -> FastAPI:
    """The whole API. BadSettings when it would be open to other machines without a token."""
    _check_bind(settings)
    app = FastAPI(
        title="Headwater",
        version=__version__,
        description=API_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=_end_streams_at_shutdown,
        redirect_slashes=False,
        # Passed on as they are: `include_router` would make each route once more for every app,
        # while the first request waits.
        routes=[*ROUTES],
        # Its spans and logs would carry exception texts to wherever the environment says.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.context = ApiContext(services, settings, SharedStreams(services.database))
    app.state.metrics_report = MetricsReport(services, settings)
    app.state.database_probe = status.database_probe(services.database)
    app.state.feed_server = PersonalFeedServer(services, settings)
    _extend_openapi(app)
    app.add_exception_handler(RequestValidationError, _bad_fields)
    app.add_exception_handler(HTTPException, _router_refused)
    _add_middleware(app, services, settings)
    return app


def _add_middleware(app: FastAPI, services: Services, settings: Settings) -> None:
    """The last one added is the outermost."""
    app.add_middleware(ETagMiddleware)
    app.add_middleware(RequestBodyMiddleware, settings=settings)
    app.add_middleware(AuthMiddleware, database=services.database, settings=settings)
    app.add_middleware(RouteMatchMiddleware, routes=ROUTES)
    app.add_middleware(PersonalFeedsMiddleware, feed_server=app.state.feed_server, routes=ROUTES)
    app.add_middleware(HostAndOriginMiddleware, settings=settings)
    app.add_middleware(MetricsMiddleware)
    app.add_middleware(ErrorsAndHeadersMiddleware)


@asynccontextmanager
async def _end_streams_at_shutdown(app: FastAPI) -> AsyncIterator[None]:
    """The database may be closed after this."""
    yield
    await app.state.context.live.end()


def _check_bind(settings: Settings) -> None:
    if settings.admin_secret is None and not is_loopback(settings.host):
        raise BadSettings(
            f"Without an admin token Headwater listens on loopback only, not on {settings.host}.",
            host=settings.host,
        )


def _extend_openapi(app: FastAPI) -> None:
    """Add to FastAPI's description the token and the record of raw fetches."""
    plain_openapi = app.openapi

    def extended_openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = plain_openapi()
            parts = schema["components"]
            parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            schema["security"] = [{"token": []}]
            record = RawFetchRecord.model_json_schema(
                ref_template="#/components/schemas/{model}", mode="serialization"
            )
            parts["schemas"] |= record.pop("$defs", {}) | {"RawFetchRecord": record}
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = extended_openapi  # type: ignore[method-assign]


async def _bad_fields(_: Request, trouble: Exception) -> Response:
    assert isinstance(trouble, RequestValidationError)
    return field_errors_response(trouble.errors())


async def _router_refused(_: Request, trouble: Exception) -> Response:
    assert isinstance(trouble, HTTPException)
    return status_response(trouble.status_code, trouble.headers)

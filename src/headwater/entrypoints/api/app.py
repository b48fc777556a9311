"""The REST way in, put together: routes inside, rings of checks around them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from headwater import __version__
from headwater.engine import Engine
from headwater.entrypoints.api import (
    conflicts,
    credentials,
    docs,
    downloads,
    entries,
    events,
    evidence,
    export,
    feeds,
    fetchers,
    groups,
    items,
    meta,
    metrics,
    personal,
    raw,
    readers,
    releases,
    remote,
    rereading,
    services,
    shows,
    sinks,
    slo,
    stats,
    status,
    stream,
    subscriptions,
    tokens,
    tracking_views,
    trackings,
)
from headwater.entrypoints.api.asking import Desk
from headwater.entrypoints.api.auth import RIGHTS, Auth
from headwater.entrypoints.api.bodies import Bodies
from headwater.entrypoints.api.doors import Doors
from headwater.entrypoints.api.etags import Etags
from headwater.entrypoints.api.measured import Measured
from headwater.entrypoints.api.newsstand import Newsstand
from headwater.entrypoints.api.once import KEY_PARAMETER
from headwater.entrypoints.api.outermost import Outermost
from headwater.entrypoints.api.personal_ring import PersonalRing
from headwater.entrypoints.api.records import RawFetchRecord
from headwater.entrypoints.api.refusals import refusal_by_status, refusal_of_fields
from headwater.entrypoints.api.streaming import Streams
from headwater.entrypoints.console import files as console
from headwater.entrypoints.listener import is_loopback
from headwater.entrypoints.scrape import Scrape
from headwater.errors import BadSettings
from headwater.settings import Settings
from headwater.visit import Visits

ABOUT = (
    "Follow feeds, read their entries, the raw bytes behind them and the event log."
    " Times are RFC 3339 UTC. Errors are one envelope: error, message, detail, status_code."
)

ROUTERS = [
    room.router
    for room in (
        feeds,
        entries,
        meta,
        personal,
        export,
        raw,
        rereading,
        events,
        stream,
        sinks,
        items,
        readers,
        releases,
        downloads,
        shows,
        tracking_views,  # before the others under /trackings: calendar.ics is no tracking's number
        trackings,
        services,
        fetchers,
        remote,
        conflicts,
        evidence,
        stats,
        slo,
        metrics,
        groups,
        credentials,
        subscriptions,  # after all others under /subscriptions: a source URL may have any path
        tokens,
        status,
        docs,
        console,
    )
]

UNCHANGED = {"description": "As it was when the answer had the ETag of If-None-Match."}
UNTAGGED = frozenset({"/opml", "/events/stream", "/fetcher-modules/{fetcher_id}/events"})
"""GETs without an ETag: a file with a token in it, and what has no end."""


def create_app(engine: Engine, settings: Settings) -> FastAPI:
    """The whole API. BadSettings when it would be open to more than this machine."""
    _refuse_open_bind(settings)
    app = FastAPI(
        title="Headwater",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=_streams_ended,
        redirect_slashes=False,
        # As they are, not included: a router that is included has each of its routes made once
        # more, for every app, while the first request that comes by waits.
        routes=[route for router in ROUTERS for route in router.routes],
        # Its own spans and logs would carry exception texts to wherever the environment says.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.desk = Desk(engine, settings, Visits(engine), Streams(engine))
    app.state.scrape = Scrape(engine, settings)
    app.state.pulse = status.pulse_of(engine)
    app.state.newsstand = Newsstand(engine, settings)
    _refuse_unlisted_routes()
    _describe(app)
    app.add_exception_handler(RequestValidationError, _bad_fields)
    app.add_exception_handler(HTTPException, _router_refused)
    _put_rings_around(app, engine, settings)
    return app


def _put_rings_around(app: FastAPI, engine: Engine, settings: Settings) -> None:
    """The last one added is the outermost."""
    app.add_middleware(Etags)
    own_limits = {
        remote.RESULTS: settings.fetcher_report_max_bytes,
        items.ONE: settings.personal_item_max_bytes,
        items.MANY: settings.personal_batch_max_bytes,
    }
    app.add_middleware(
        Bodies,
        most_bytes=settings.api_max_body_bytes,
        at_paths=own_limits,
        of_lines=frozenset({items.MANY}),
    )
    app.add_middleware(Auth, engine=engine, settings=settings)
    app.add_middleware(PersonalRing, newsstand=app.state.newsstand)
    app.add_middleware(Doors, settings=settings)
    app.add_middleware(Measured)
    app.add_middleware(Outermost)


@asynccontextmanager
async def _streams_ended(app: FastAPI) -> AsyncIterator[None]:
    """The database may be closed after this."""
    yield
    await app.state.desk.live.end()


def _refuse_unlisted_routes() -> None:
    """A route without a line in the table of rights must not exist, and no line without a route."""
    served = {
        (method, route.path)
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }
    if served != set(RIGHTS):
        raise RuntimeError(f"Routes and rights differ: {served ^ set(RIGHTS)}")


def _refuse_open_bind(settings: Settings) -> None:
    if settings.admin_secret is None and not is_loopback(settings.host):
        raise BadSettings(
            f"Without an admin token Headwater listens on loopback only, not on {settings.host}.",
            host=settings.host,
        )


def _describe(app: FastAPI) -> None:
    """Adds to FastAPI's description what it cannot know: token, key, tag, the raw record."""
    plain = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = plain()
            parts = schema["components"]
            parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            schema["security"] = [{"token": []}]
            record = RawFetchRecord.model_json_schema(ref_template="#/components/schemas/{model}")
            parts["schemas"] |= record.pop("$defs", {}) | {"RawFetchRecord": record}
            for (method, path), right in RIGHTS.items():
                # FastAPI writes a path without what says how much of it is matched.
                operation = schema["paths"][path.replace(":path", "")][method.lower()]
                if right is None:
                    operation["security"] = []
                if method == "POST":
                    operation.setdefault("parameters", []).append(KEY_PARAMETER)
                if method == "GET" and path not in UNTAGGED:
                    operation["responses"].setdefault("304", UNCHANGED)
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]


async def _bad_fields(_: Request, trouble: Exception) -> Response:
    assert isinstance(trouble, RequestValidationError)
    return refusal_of_fields(trouble.errors())


async def _router_refused(_: Request, trouble: Exception) -> Response:
    assert isinstance(trouble, HTTPException)
    return refusal_by_status(trouble.status_code, trouble.headers)

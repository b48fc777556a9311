"""Metrics over HTTP, for Prometheus: a route of the API, or an app of its own beside a worker."""

import socket

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.entrypoints.api.auth import AuthMiddleware
from headwater.entrypoints.api.errors import status_response
from headwater.entrypoints.api.middleware import ErrorsAndHeadersMiddleware, HostAndOriginMiddleware
from headwater.entrypoints.api.router import RouteMatchMiddleware, Router
from headwater.entrypoints.api.system.metrics_report import MEDIA_TYPE, MetricsReport
from headwater.entrypoints.server.listener import PortTaken, listening_socket
from headwater.settings import Settings
from headwater.wiring.services import Services

router = Router(tags=["status"])

_SCRAPED = {"content": {"text/plain": {"schema": {"type": "string"}}}}


@router.get("/metrics", right="read", response_class=Response, responses={200: _SCRAPED})
async def metrics(request: Request) -> Response:
    """Counters of this process and figures of the whole engine, in the form Prometheus reads."""
    report: MetricsReport = request.app.state.metrics_report
    return Response(await report.text(), media_type=MEDIA_TYPE)


def metrics_settings(settings: Settings) -> Settings:
    """The settings with the host and port of the listener that shows metrics only."""
    where = {"host": settings.metrics_host, "port": settings.metrics_port}
    return settings.model_copy(update=where)


def metrics_socket(settings: Settings) -> socket.socket:
    """The socket on which a worker shows its metrics, by the same rules as for the API."""
    try:
        return listening_socket(metrics_settings(settings))
    except PortTaken as trouble:
        raise PortTaken(
            f"Cannot show metrics on {settings.metrics_host} port {settings.metrics_port}:"
            " somebody listens there. Choose another with HEADWATER_METRICS_PORT.",
            **trouble.facts,
        ) from trouble


def metrics_app(services: Services, settings: Settings) -> Starlette:
    """An app with nothing but `/metrics`, for the same callers as in the API."""
    app = Starlette(
        routes=[Route("/metrics", metrics)],
        middleware=[
            Middleware(ErrorsAndHeadersMiddleware),
            Middleware(HostAndOriginMiddleware, settings=metrics_settings(settings)),
            Middleware(RouteMatchMiddleware, routes=router.routes),
            Middleware(AuthMiddleware, database=services.database, settings=settings),
        ],
        exception_handlers={HTTPException: _router_refused},
    )
    app.state.metrics_report = MetricsReport(services, settings)
    return app


async def _router_refused(_: Request, trouble: Exception) -> Response:
    assert isinstance(trouble, HTTPException)
    return status_response(trouble.status_code, trouble.headers)

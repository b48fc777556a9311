"""Metrics over HTTP, for Prometheus: beside the rest of the API, or alone beside a worker."""

import socket

from fastapi import APIRouter
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.engine import Engine
from headwater.entrypoints.api.asking import REFUSALS
from headwater.entrypoints.api.auth import Auth
from headwater.entrypoints.api.doors import Doors
from headwater.entrypoints.api.outermost import Outermost
from headwater.entrypoints.api.refusals import refusal_by_status
from headwater.entrypoints.listener import PortTaken, listening_socket
from headwater.entrypoints.scrape import MEDIA_TYPE, Scrape
from headwater.settings import Settings

router = APIRouter(tags=["status"], responses=REFUSALS)

_SCRAPED = {"content": {"text/plain": {"schema": {"type": "string"}}}}


@router.get("/metrics", response_class=Response, responses={200: _SCRAPED})
async def metrics(request: Request) -> Response:
    """Counters of this process and figures of the whole engine, in the form Prometheus reads."""
    scrape: Scrape = request.app.state.scrape
    return Response(await scrape.text(), media_type=MEDIA_TYPE)


def apart(settings: Settings) -> Settings:
    """The same settings as they are for the door that only metrics leave by."""
    where = {"host": settings.metrics_host, "port": settings.metrics_port}
    return settings.model_copy(update=where)


def metrics_socket(settings: Settings) -> socket.socket:
    """Listening where a worker shows its metrics; the same rules as for the API."""
    try:
        return listening_socket(apart(settings))
    except PortTaken as trouble:
        raise PortTaken(
            f"Cannot show metrics on {settings.metrics_host} port {settings.metrics_port}:"
            " somebody listens there. Choose another with HEADWATER_METRICS_PORT.",
            **trouble.facts,
        ) from trouble


def metrics_app(engine: Engine, settings: Settings) -> Starlette:
    """Nothing but `/metrics`, for whom the API would let in too."""
    app = Starlette(
        routes=[Route("/metrics", metrics)],
        middleware=[
            Middleware(Outermost),
            Middleware(Doors, settings=apart(settings)),
            Middleware(Auth, engine=engine, settings=settings),
        ],
        exception_handlers={HTTPException: _router_refused},
    )
    app.state.scrape = Scrape(engine, settings)
    return app


async def _router_refused(_: Request, trouble: Exception) -> Response:
    assert isinstance(trouble, HTTPException)
    return refusal_by_status(trouble.status_code, trouble.headers)

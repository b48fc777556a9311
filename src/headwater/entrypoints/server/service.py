"""The running service: take locks, open services, run API and worker in one loop, stop calmly."""

import asyncio
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from socket import socket
from typing import Any, Protocol

from headwater import __version__
from headwater.anime.tracking_commands import apply_track_policy
from headwater.core.telemetry.log import configure
from headwater.core.values.ids import WorkerId
from headwater.core.values.instant import rfc3339
from headwater.core.values.safe_xml import libxml2_trouble
from headwater.entrypoints.api.app import create_app
from headwater.entrypoints.api.system.metrics import metrics_app, metrics_socket
from headwater.entrypoints.lazy_import import lazy_import
from headwater.entrypoints.server.binding import is_every_address
from headwater.entrypoints.server.data_folder import (
    Role,
    ServiceNotice,
    hold_locks,
    publish_notice,
    stable_worker_id,
)
from headwater.entrypoints.server.event_loop import new_event_loop
from headwater.entrypoints.server.in_process import AsgiApp, Lifespan
from headwater.entrypoints.server.listener import build_server, listening_socket, url_of_socket
from headwater.entrypoints.server.open_files import raise_open_file_limit
from headwater.entrypoints.server.schema import bring_up_to_date, check_clock
from headwater.entrypoints.server.stop import (
    LAST_SECONDS,
    StopSignal,
    forced_exit_after,
    stop_by_signal,
)
from headwater.personal_feeds.own_sink import ensure_personal_sink
from headwater.settings import Settings
from headwater.sinks.from_settings import apply_sink_settings
from headwater.subscriptions.fetchers.fetcher_commands import add_builtin_fetchers
from headwater.wiring.app import open_services
from headwater.wiring.background import (
    build_worker,
    download_loop,
    news_loop,
    personal_loop,
    release_loop,
    sink_loop,
)
from headwater.wiring.policies import sink_definitions, track_policy
from headwater.wiring.services import Services

GRACE_SECONDS = 2.0
"""How long the parts may take beyond their own time to come to an end."""

COMMANDS: dict[tuple[Role, ...], str] = {
    ("serve", "work"): "headwater run",
    ("serve",): "headwater serve",
    ("work",): "headwater work",
}

Say = Callable[[str], None]


class ServicePart(Protocol):
    """A part of the service: it runs until it is stopped."""

    async def run(self) -> None: ...

    def stop(self) -> None: ...


def run_service(settings: Settings, roles: tuple[Role, ...], *, migrate: bool = False) -> bool:
    """Run until a signal comes. Return False when it had to be stopped by force."""
    configure(settings.log_level, settings.log_format)
    raise_open_file_limit()
    with (
        hold_locks(settings.data_dir, roles, COMMANDS[roles], is_service=True),
        forced_exit_after(settings.stop_seconds + LAST_SECONDS, _print_line) as count,
        asyncio.Runner(loop_factory=new_event_loop) as runner,
    ):
        return runner.run(_run_parts(settings, roles, count, migrate=migrate, say=_print_line))


def _worker_id_of(settings: Settings, roles: tuple[Role, ...]) -> WorkerId:
    """A worker finds its own leases by this id after a restart. A server without a worker must not
    share it: a restarting worker would take away the first visit that the server is making."""
    name = stable_worker_id(settings.data_dir)
    return name if "work" in roles else WorkerId(f"{name}/serve")


async def _run_parts(
    settings: Settings,
    roles: tuple[Role, ...],
    count: Callable[[], None],
    *,
    migrate: bool,
    say: Say,
) -> bool:
    stop = stop_by_signal(count)
    async with AsyncExitStack() as stack:
        # Listen before all else is opened, so that a port that is in use costs no start.
        listener = stack.enter_context(listening_socket(settings)) if "serve" in roles else None
        grpc_listener = _open_grpc_listener(settings, stack) if "serve" in roles else None
        metrics_listener = (
            stack.enter_context(metrics_socket(settings))
            if listener is None and settings.metrics_port is not None
            else None
        )
        await bring_up_to_date(settings, allowed=migrate, say=say)
        if "work" in roles:
            await check_clock(settings, time.time)
        worker_id = _worker_id_of(settings, roles)
        services = await stack.enter_async_context(open_services(settings, worker_id))
        await add_builtin_fetchers(services.registry)
        parts: list[ServicePart] = [personal_loop(services, settings)]
        if "work" in roles:
            parts += await _worker_parts(services, settings)
        if listener is not None:
            app = create_app(services, settings)
            closing = app.state.context.closing
            parts.append(HttpServer(app, listener, settings, closing))
            stack.enter_context(publish_notice(settings.data_dir, _notice(url_of_socket(listener))))
            if grpc_listener is not None:
                grpc_server = lazy_import("headwater.entrypoints.grpc.server:GrpcServer")
                parts.append(grpc_server(grpc_listener, app.state.context))
        if metrics_listener is not None:
            parts.append(_metrics_server(services, settings, metrics_listener))
            say(f"metrics on {url_of_socket(metrics_listener)}/metrics")
        url = url_of_socket(listener) if listener else None
        for line in greeting(settings, url, roles, grpc_listener and grpc_listener.address):
            say(line)
        return await _until_stopped(parts, stop, settings.stop_seconds, say)


async def _worker_parts(services: Services, settings: Settings) -> list[ServicePart]:
    await apply_sink_settings(services.sinks, sink_definitions(settings), most=settings.sinks_max)
    await ensure_personal_sink(services.personal, days=settings.personal_days)
    await apply_track_policy(services.releases, track_policy(settings))
    parts: list[ServicePart] = [
        build_worker(services, settings),
        news_loop(services, settings),
        sink_loop(services, settings),
        release_loop(services),
    ]
    if services.releases.downloads is not None:
        parts.append(download_loop(services, services.releases.downloads, settings))
    return parts


def _open_grpc_listener(settings: Settings, stack: AsyncExitStack) -> Any:
    """Open the port of gRPC, if the settings name one. Else nothing of gRPC is loaded."""
    if settings.grpc_port is None:
        return None
    listener = lazy_import("headwater.entrypoints.grpc.server:GrpcListener")(settings)
    stack.push_async_callback(listener.close)
    return listener


class HttpServer:
    """The API on a socket that listens already. `closing` ends its streams."""

    def __init__(
        self, app: AsgiApp, listener: socket, settings: Settings, closing: asyncio.Event
    ) -> None:
        self._app = app
        self._server = build_server(
            app,
            stop_seconds=settings.stop_seconds,
            streams=settings.streams_max + settings.news_streams_max,
            unread_seconds=settings.stream_slow_seconds,
        )
        self._listener = listener
        self._closing = closing

    async def run(self) -> None:
        async with Lifespan(self._app):
            await self._server.serve(sockets=[self._listener])

    def stop(self) -> None:
        self._server.should_exit = True
        self._closing.set()


def _metrics_server(services: Services, settings: Settings, listener: socket) -> ServicePart:
    """Serve the metrics of a worker that has no API."""
    app = metrics_app(services, settings)
    return HttpServer(app, listener, settings, asyncio.Event())


async def _until_stopped(
    parts: Sequence[ServicePart], stop: StopSignal, seconds: float, say: Say
) -> bool:
    """Run all parts until a signal comes or one of them fails; then stop all."""
    running = [asyncio.create_task(part.run()) for part in parts]
    signal = asyncio.create_task(stop.asked.wait())
    await asyncio.wait({signal, *running}, return_when=asyncio.FIRST_COMPLETED)
    signal.cancel()
    failure = _failure(running)
    if failure is None:
        say("Stopping… (Ctrl-C again to stop at once)")
    for part in parts:
        part.stop()
    calm = await _wait_for_end(running, stop, seconds)
    if failure is not None:
        raise failure
    say("stopped" if calm else "stopped at once; work in hand will be taken up again")
    return calm


async def _wait_for_end(
    running: list[asyncio.Task[None]], stop: StopSignal, seconds: float
) -> bool:
    """Return True when every part came to its own end within its time and a little more."""
    ending = asyncio.create_task(_wait_for_all(running))
    hurry = asyncio.create_task(stop.at_once.wait())
    await asyncio.wait(
        {ending, hurry}, timeout=seconds + GRACE_SECONDS, return_when=asyncio.FIRST_COMPLETED
    )
    hurry.cancel()
    calm = ending.done()
    for part in running:
        part.cancel()
    await ending
    return calm


async def _wait_for_all(running: list[asyncio.Task[None]]) -> bool:
    """Wait also for parts that failed or were cancelled: the first failure is raised already."""
    await asyncio.gather(*running, return_exceptions=True)
    return True


def _failure(running: list[asyncio.Task[None]]) -> BaseException | None:
    """Find the failure of a part that ended before it was stopped."""
    for part in running:
        if part.done():
            return part.exception() or RuntimeError("A part of the service ended by itself.")
    return None


def _notice(url: str) -> ServiceNotice:
    return ServiceNotice(url, os.getpid(), rfc3339(datetime.now(UTC).replace(microsecond=0)))


def greeting(
    settings: Settings, url: str | None, roles: tuple[Role, ...], grpc_address: str | None = None
) -> Iterator[str]:
    """Tell where the service listens, where its data is, and what to do next."""
    database = "SQLite" if settings.is_embedded else "PostgreSQL"
    yield f"Headwater {__version__}"
    if url is not None:
        yield f"  listening   {url}   ({_access_in_words(settings)})"
        login = "   (any name, a token as password)" if settings.admin_secret else ""
        yield f"  console     {url}/{login}"
        if not settings.admin_secret:  # a browser is not asked for a token there
            yield f"  explore     {url}/docs"
    if grpc_address is not None:
        yield f"  gRPC        {grpc_address}   ({'TLS' if settings.grpc_tls_key else 'plain text'})"
    yield f"  data        {settings.data_dir.absolute()}   ({database})"
    if "work" not in roles:
        yield "  visits      none from here: `headwater work` makes them"
    if url is not None:
        yield f"  next        {_command_name()} add URL     follow a feed"
        yield f"              {_command_name()} watch       see new entries as they come"
    if (trouble := libxml2_trouble()) is not None:
        yield f"  WARNING     {trouble}"
    yield "  stop        Ctrl-C"


def _command_name() -> str:
    """Return the command as a person types it: `make run` starts one that is not on the path."""
    started_as = Path(sys.argv[0])
    is_reachable = started_as.name != "headwater" or shutil.which("headwater") is not None
    return "headwater" if is_reachable else sys.argv[0]


def _access_in_words(settings: Settings) -> str:
    """Say who may use it: the URL in the greeting is always one for this machine."""
    if not settings.admin_secret:
        return "this machine only, no token needed"
    if is_every_address(settings.host):
        return "on every address of this machine, with a token"
    return "with a token"


def _print_line(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()

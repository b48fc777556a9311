"""Run the app in this process when there is no service, under the locks of the data folder."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext

from headwater.core.telemetry.log import configure
from headwater.entrypoints.api.app import create_app
from headwater.entrypoints.server.binding import is_loopback
from headwater.entrypoints.server.data_folder import (
    BOTH_ROLES,
    DataFolderInUse,
    hold_locks,
    is_locked,
    lock_owner,
    make_folder,
)
from headwater.entrypoints.server.event_loop import new_event_loop
from headwater.entrypoints.server.in_process import AsgiApp, InProcessConnection
from headwater.entrypoints.server.schema import bring_up_to_date, check_schema_known, is_up_to_date
from headwater.settings import Settings
from headwater.subscriptions.fetchers.fetcher_commands import add_builtin_fetchers
from headwater.wiring.app import open_services


@contextmanager
def open_in_process(
    settings: Settings, *, token: str | None, what: str, writes: bool
) -> Iterator[InProcessConnection]:
    configure("error", settings.log_format)
    make_folder(settings.data_dir)
    _migrate_if_embedded(settings, what)
    with _locks(settings, what, writes=writes):
        connection = InProcessConnection(
            _app(settings, writes=writes),
            host=_own_host(settings),
            token=token,
            loop_factory=new_event_loop,
        ).open()
        try:
            yield connection
        finally:
            connection.close()


def _migrate_if_embedded(settings: Settings, what: str) -> None:
    """Bring an embedded database up to date under the locks, and release them again."""
    if settings.is_embedded and not asyncio.run(is_up_to_date(settings)):
        _check_no_worker(settings)
        with hold_locks(settings.data_dir, BOTH_ROLES, what):
            # A short command prints nothing about the schema of its own database.
            asyncio.run(bring_up_to_date(settings, allowed=False, say=lambda _: None))


def _locks(settings: Settings, what: str, *, writes: bool) -> AbstractContextManager[None]:
    """A command that writes works alone on an embedded database. Reading needs no lock."""
    if not writes:
        return nullcontext()
    if not settings.is_embedded:
        return hold_locks(settings.data_dir, ("serve",), what)
    _check_no_worker(settings)
    return hold_locks(settings.data_dir, BOTH_ROLES, what)


def _check_no_worker(settings: Settings) -> None:
    owner = lock_owner(settings.data_dir, "work")
    if owner is None or not owner.is_service or not is_locked(settings.data_dir, "work"):
        return
    raise DataFolderInUse(
        f"A worker (`{owner.what}`, process {owner.pid}) is using {settings.data_dir}, and no"
        " server is running to pass this change on. Start `headwater serve`, or stop the worker.",
        pid=owner.pid,
        url=None,
    )


@asynccontextmanager
async def _app(settings: Settings, *, writes: bool) -> AsyncIterator[AsgiApp]:
    await check_schema_known(settings)
    async with open_services(settings) as services:
        if writes:
            await add_builtin_fetchers(services.registry)
        yield create_app(services, settings)


def _own_host(settings: Settings) -> str:
    name = settings.host if is_loopback(settings.host) else "127.0.0.1"
    return f"[{name}]:{settings.port}" if ":" in name else f"{name}:{settings.port}"

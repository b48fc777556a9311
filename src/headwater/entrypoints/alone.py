"""A command without a service: the same app in this process, under the data folder's locks."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext

from headwater.assigning import introduce_builtins
from headwater.entrypoints.api.app import create_app
from headwater.entrypoints.binding import is_loopback
from headwater.entrypoints.in_process import AsgiApp, InProcess
from headwater.entrypoints.lock import BOTH, InUse, held, holder, is_held, make_folder
from headwater.entrypoints.loop import new_event_loop
from headwater.entrypoints.upkeep import (
    bring_up_to_date,
    is_up_to_date,
    require_known_schema,
)
from headwater.settings import Settings
from headwater.telemetry.log import configure
from headwater.wiring import open_engine


@contextmanager
def alone(settings: Settings, *, token: str | None, what: str, writes: bool) -> Iterator[InProcess]:
    configure("error", settings.log_format)
    make_folder(settings.data_dir)
    _migrated(settings, what)
    with _locks(settings, what, writes=writes):
        here = InProcess(
            _app(settings, writes=writes),
            host=_own_host(settings),
            token=token,
            loop_factory=new_event_loop,
        ).open()
        try:
            yield here
        finally:
            here.close()


def _migrated(settings: Settings, what: str) -> None:
    """An embedded database is brought up to date under the locks, which are then free again."""
    if settings.is_embedded and not asyncio.run(is_up_to_date(settings)):
        _refuse_beside_a_worker(settings)
        with held(settings.data_dir, BOTH, what):
            asyncio.run(bring_up_to_date(settings, allowed=False, say=_nothing))


def _locks(settings: Settings, what: str, *, writes: bool) -> AbstractContextManager[None]:
    """Readers may look beside a worker. A writer works alone on an embedded database."""
    if not writes:
        return nullcontext()
    if not settings.is_embedded:
        return held(settings.data_dir, ("serve",), what)
    _refuse_beside_a_worker(settings)
    return held(settings.data_dir, BOTH, what)


def _refuse_beside_a_worker(settings: Settings) -> None:
    who = holder(settings.data_dir, "work")
    if who is None or not who.is_service or not is_held(settings.data_dir, "work"):
        return
    raise InUse(
        f"A worker (`{who.what}`, process {who.pid}) is using {settings.data_dir}, and no server"
        " is running to pass this change on. Start `headwater serve`, or stop the worker.",
        pid=who.pid,
        url=None,
    )


@asynccontextmanager
async def _app(settings: Settings, *, writes: bool) -> AsyncIterator[AsgiApp]:
    await require_known_schema(settings)
    async with open_engine(settings) as engine:
        if writes:
            await introduce_builtins(engine)
        yield create_app(engine, settings)


def _own_host(settings: Settings) -> str:
    name = settings.host if is_loopback(settings.host) else "127.0.0.1"
    return f"[{name}]:{settings.port}" if ":" in name else f"{name}:{settings.port}"


def _nothing(_: str) -> None:
    """A one-off command needs no word about the schema of its own database."""

"""A worker at work in a test, and waiting for what it does."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from headwater.core.errors import StorageError
from headwater.feeds.worker.worker import Worker
from headwater.settings import Settings
from headwater.wiring.background import build_worker
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts


@asynccontextmanager
async def working(engine: EngineParts, **settings: object) -> AsyncIterator[Worker]:
    """A worker as long as the block lasts; it stops in order."""
    worker = build_worker(engine.services, Settings(**settings))  # type: ignore[arg-type]  # checked by pydantic
    running = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        await running


class PassSeconds(Protocol):
    """Lets time pass, `step` seconds at once: what happens within a step happens at its end."""

    async def __call__(self, seconds: float, *, step: float = 5) -> None: ...


@asynccontextmanager
async def working_in_virtual_time(
    engine: EngineParts, **settings: object
) -> AsyncIterator[PassSeconds]:
    """The worker on a clock of the test's, once it works; yields a way to let time pass."""
    clock = engine.clock
    assert isinstance(clock, VirtualClock)
    worker = build_worker(engine.services, Settings(**settings))  # type: ignore[arg-type]  # checked by pydantic
    running = asyncio.create_task(worker.run())

    async def pass_seconds(seconds: float, *, step: float = 5) -> None:
        for _ in range(round(seconds / step)):
            await asyncio.sleep(0.006)
            await clock.advance(step)
            assert not running.done()

    try:
        async with asyncio.timeout(10):
            await clock.asleep(at_least=5)  # its four keepers, and itself
        yield pass_seconds
    finally:
        worker.stop()
        await asyncio.sleep(0.05)
        await clock.advance(60)
        await running


async def time_passes_until(pass_seconds: PassSeconds, is_so: Callable[[], bool]) -> None:
    """A virtual second at a time; the real world has ten real ones for what it does meanwhile."""
    async with asyncio.timeout(10):
        while not is_so():
            await pass_seconds(1, step=1)


async def until(is_so: Callable[[], bool | Awaitable[bool]], seconds: float = 10) -> None:
    """The real world takes real time and tells nobody when; so many seconds of it at most."""
    async with asyncio.timeout(seconds):
        while not await _answer(is_so()):  # noqa: ASYNC110 (a database sets no event)
            await asyncio.sleep(0.01)


async def _answer(told: bool | Awaitable[bool]) -> bool:
    return told if isinstance(told, bool) else await told


class FullDisk:
    """`ports.Blobs` without any room."""

    storage = "localfs"

    async def put_many(self, blobs: object) -> None:
        raise StorageError("No space left on device")

    async def get(self, key: str) -> bytes | None:
        return None

    async def delete(self, keys: object) -> None:
        return None

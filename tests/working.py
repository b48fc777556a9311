"""A worker at work in a test, and waiting for what it does."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from headwater.engine import Engine
from headwater.entrypoints.worker import Worker
from headwater.errors import StorageError
from headwater.settings import Settings


@asynccontextmanager
async def working(engine: Engine, **settings: object) -> AsyncIterator[Worker]:
    """A worker as long as the block lasts; it stops in order."""
    worker = Worker(engine, Settings(**settings))  # type: ignore[arg-type]  # checked by pydantic
    running = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        await running


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

"""Concurrency: many callers share a piece of work in groups, or one does it while others wait."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from contextvars import Context
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from headwater.core.telemetry.trace import VisitTrace, find_current_trace, share_work

T = TypeVar("T")
R = TypeVar("R")
E = TypeVar("E", bound=Exception)


class BatcherClosed(RuntimeError):
    """A caller joined after `close()`."""


class Batcher(Generic[T, R]):
    """Gathers the items of simultaneous callers and hands them to `work` in groups.

    There is no timer: a lone caller is served at once, and under load groups grow by themselves.
    One group is in progress at a time, so `work` sees the items in the order they came.
    """

    def __init__(self, work: Callable[[list[T]], Awaitable[Sequence[R]]], most: int = 200) -> None:
        if most < 1:
            raise ValueError("a group holds at least one item")
        self._work = work
        self._most = most
        self._waiting: list[tuple[T, asyncio.Future[R], VisitTrace | None]] = []
        self._flush: asyncio.Task[None] | None = None
        self._closed = False

    async def join(self, item: T) -> R:
        """Return this item's result. When `work` fails, its exception reaches the whole group."""
        if self._closed:
            raise BatcherClosed("no more items are taken")
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future, find_current_trace()))
        if self._flush is None:
            # In a context of its own, as it works for the whole group and not for its first caller.
            self._flush = asyncio.create_task(self._flush_until_empty(), context=Context())
        return await future

    async def drain(self) -> None:
        """Return when every item that was taken has its result."""
        if self._flush is not None:
            await asyncio.shield(self._flush)

    async def close(self) -> None:
        """Take no more items, and return when every item that was taken has its result."""
        self._closed = True
        await self.drain()

    async def _flush_until_empty(self) -> None:
        try:
            # One turn of the loop, so that callers who are ready at the same moment come along.
            # Callers who came during a group have waited enough: the next group begins before
            # any other task gets a turn.
            await asyncio.sleep(0)
            while self._waiting:
                group, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
                await self._serve(group)
        finally:
            self._flush = None
            self._abandon()

    async def _serve(self, group: list[tuple[T, asyncio.Future[R], VisitTrace | None]]) -> None:
        """A caller that was cancelled meanwhile loses its result, but its item is worked on."""
        traces = [trace for _, _, trace in group if trace is not None]
        try:
            with share_work(traces, len(group)):
                results = await self._work([item for item, _, _ in group])
            if len(results) != len(group):
                raise RuntimeError(f"{len(results)} results came for {len(group)} items")
        except Exception as error:  # noqa: BLE001 -- not handled here: every caller gets it
            for _, future, _ in group:
                if not future.done():
                    future.set_exception(error)
        except BaseException:
            self._waiting[:0] = group
            raise
        else:
            for (_, future, _), result in zip(group, results, strict=True):
                if not future.done():
                    future.set_result(result)

    def _abandon(self) -> None:
        """No caller may wait for ever after the flush itself was cancelled."""
        for _, future, _ in self._waiting:
            future.cancel()
        self._waiting.clear()


class KeyedLocks:
    """One lock per key: callers of the same key go one after the other, other keys do not wait.

    A holder that fails or is cancelled lets the next one go on.
    """

    def __init__(self) -> None:
        # A lock exists as long as somebody holds it or waits for it.
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def at(self, key: Hashable) -> AsyncIterator[None]:
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        async with lock:
            yield


async def split_on_refusal(
    work: Callable[[list[T]], Awaitable[list[R]]], group: list[T], refusal: type[E]
) -> list[R | E]:
    """Work on the group; when it is refused, on its halves, until the refused item stands alone.

    One item that the database refuses must not hold up the others.
    """
    try:
        return [*await work(group)]
    except refusal as error:
        if len(group) == 1:
            return [error]
        middle = len(group) // 2
        first = await split_on_refusal(work, group[:middle], refusal)
        return [*first, *await split_on_refusal(work, group[middle:], refusal)]


async def wait_for_first(*awaitables: Awaitable[object]) -> None:
    """Return when one of them is done, and cancel the others."""
    tasks = [asyncio.ensure_future(awaitable) for awaitable in awaitables]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

"""Many callers, one piece of work: shared in groups, or done by one while the others wait."""

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
    """Somebody joined after `close()`."""


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
        """This item's result; the exception of `work`, when it failed, reaches the whole group."""
        if self._closed:
            raise BatcherClosed("no more items are taken")
        answer: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer, find_current_trace()))
        if self._flush is None:
            # In a context of its own: what it does, it does not do for its first caller alone.
            self._flush = asyncio.create_task(self._flush_until_empty(), context=Context())
        return await answer

    async def drain(self) -> None:
        """Returns when everything already taken has its answer."""
        if self._flush is not None:
            await asyncio.shield(self._flush)

    async def close(self) -> None:
        """Takes no more items and returns when everything already taken has its answer."""
        self._closed = True
        await self.drain()

    async def _flush_until_empty(self) -> None:
        try:
            # One turn of the loop, so that whoever is ready at the same moment comes along. Those
            # who came during a group have waited enough: the next one begins before it is answered.
            await asyncio.sleep(0)
            while self._waiting:
                group, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
                await self._serve(group)
        finally:
            self._flush = None
            self._abandon()

    async def _serve(self, group: list[tuple[T, asyncio.Future[R], VisitTrace | None]]) -> None:
        """A caller that was cancelled meanwhile loses its answer, not its item."""
        trails = [trail for _, _, trail in group if trail is not None]
        try:
            with share_work(trails, len(group)):
                results = await self._work([item for item, _, _ in group])
            if len(results) != len(group):
                raise RuntimeError(f"{len(group)} items were given, {len(results)} results came")
        except Exception as error:  # noqa: BLE001 -- it is not ours: every caller gets it
            for _, answer, _ in group:
                if not answer.done():
                    answer.set_exception(error)
        except BaseException:
            self._waiting[:0] = group
            raise
        else:
            for (_, answer, _), result in zip(group, results, strict=True):
                if not answer.done():
                    answer.set_result(result)

    def _abandon(self) -> None:
        """When the flush itself was cancelled nobody may wait for ever."""
        for _, answer, _ in self._waiting:
            answer.cancel()
        self._waiting.clear()


class KeyedLocks:
    """Who comes for the same thing waits for whoever is at it; nobody waits for another thing.

    Whoever fails or is cancelled lets the next one go on.
    """

    def __init__(self) -> None:
        # A lock lives as long as somebody holds it or waits for it.
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def at(self, thing: Hashable) -> AsyncIterator[None]:
        lock = self._locks.get(thing)
        if lock is None:
            lock = self._locks[thing] = asyncio.Lock()
        async with lock:
            yield


async def split_on_refusal(
    work: Callable[[list[T]], Awaitable[list[R]]], group: list[T], refusal: type[E]
) -> list[R | E]:
    """The group's results; when it is refused, halves, until the refused one stands alone.

    One item the database will not take must not hold up its neighbours.
    """
    try:
        return [*await work(group)]
    except refusal as refused:
        if len(group) == 1:
            return [refused]
        middle = len(group) // 2
        first = await split_on_refusal(work, group[:middle], refusal)
        return [*first, *await split_on_refusal(work, group[middle:], refusal)]


async def wait_for_first(*happenings: Awaitable[object]) -> None:
    """Returns when one of them has happened; nobody waits for the others any more."""
    tasks = [asyncio.ensure_future(each) for each in happenings]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

"""The log watch: one query finds new events for all readers who wait, and a cache shares pages."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from headwater.core.errors import DatabaseError
from headwater.core.ports import Database
from headwater.core.telemetry.log import get_logger
from headwater.events import event_rows
from headwater.events.event_filter import EventFilter
from headwater.events.event_rows import LogPage

LOOK_EVERY = 0.2
PAGE_EVENTS = 1_000
PAGE_BYTES = 256 * 1024
"""A page ends after so many bytes: each slow reader holds one page."""
AT_ONCE = 2
"""So many pages are made at a time: many readers must not take every database connection."""
KEPT_BYTES = 8 * 1024 * 1024

logger = get_logger("log_watch")


@dataclass(slots=True, eq=False)
class LogWaiter:
    """A reader who has read up to `seen`, and waits until `until` at the latest."""

    seen: int = 0
    until: float = 0.0
    woken: asyncio.Future[bool] | None = None
    is_over: bool = False

    def wake(self, *, grew: bool) -> None:
        if self.woken is not None and not self.woken.done():
            self.woken.set_result(grew)

    def leave(self) -> None:
        """Stop waiting, now and for ever."""
        self.is_over = True
        self.wake(grew=False)


class LogWatch:
    """One per process. While readers wait, it makes one small query each `look_every` for them all.

    `closing` wakes all of them at once.
    """

    def __init__(
        self, database: Database, closing: asyncio.Event, *, look_every: float = LOOK_EVERY
    ) -> None:
        self._database, self._closing, self._look_every = database, closing, look_every
        self._waiters: set[LogWaiter] = set()
        self._looking: asyncio.Task[None] | None = None
        self._sleeps = False
        self._in_trouble = False

    @property
    def waiting(self) -> int:
        """How many readers wait."""
        return len(self._waiters)

    async def beyond(self, waiter: LogWaiter, seen: int, until: float) -> bool:
        """True when the log does not end at `seen` any more; False at `until`, when the waiter
        leaves, and when the service stops."""
        if waiter.is_over or self._closing.is_set():
            return False
        waiter.seen, waiter.until = seen, until
        waiter.woken = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        if self._looking is None:
            self._looking = asyncio.create_task(self._run_looks())
        try:
            return await waiter.woken
        finally:
            self._waiters.discard(waiter)
            self._stop_looking()

    async def end(self) -> None:
        """Return when no look is under way any more. Call this once `closing` is set."""
        if self._looking is not None:
            await asyncio.wait({self._looking})

    def _stop_looking(self) -> None:
        """Stop unless somebody waits. A look that is under way ends by itself."""
        if not self._waiters and self._sleeps and self._looking is not None:
            looking, self._looking = self._looking, None
            looking.cancel()

    async def _run_looks(self) -> None:
        closing = asyncio.create_task(self._closing.wait())
        try:
            while self._waiters:
                await self._rest(closing)
                last = await self._last() if self._waiters else None
                now, stops = self._database.clock.monotonic(), self._closing.is_set()
                for waiter in tuple(self._waiters):
                    grew = last not in (None, waiter.seen)
                    if grew or stops or now >= waiter.until:
                        waiter.wake(grew=grew)
                await asyncio.sleep(0)  # a waiter that was woken leaves the set meanwhile
        finally:
            if self._looking is asyncio.current_task():
                self._looking = None
                for waiter in tuple(self._waiters):  # only after a bug: nobody may wait for ever
                    waiter.wake(grew=True)
            closing.cancel()

    async def _rest(self, closing: asyncio.Task[bool]) -> None:
        sleep = asyncio.create_task(self._database.clock.sleep(self._look_every))
        self._sleeps = True
        try:
            await asyncio.wait({sleep, closing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._sleeps = False
            sleep.cancel()

    async def _last(self) -> int | None:
        """None while the database does not answer: it will, some time."""
        try:
            async with self._database.read() as view:
                last = await event_rows.get_last_seq(view)
        except DatabaseError as trouble:
            if not self._in_trouble:
                logger.error("log_watch_waits", error=trouble.code, detail=trouble.message)
            self._in_trouble = True
            return None
        self._in_trouble = False
        return last


@dataclass(frozen=True, slots=True)
class EncodedLogPage:
    """A page of the log as bytes to send. Everything up to `next` is in it."""

    sent: bytes
    events: int
    last_seq: int
    next: int

    @property
    def is_the_end(self) -> bool:
        return self.next >= self.last_seq


class _PageKey(NamedTuple):
    after: int
    event_filter: EventFilter


@dataclass(slots=True)
class LogPageCache:
    """A cache of pages as `render` makes them. Readers who come to the same place share one.

    The cache keeps only pages that will not grow, the newest ones. A page at the end of the log is
    shared by all who ask while it is being made.
    """

    database: Database
    render: Callable[[LogPage], bytes]
    kept_bytes: int = KEPT_BYTES
    _pages: "OrderedDict[_PageKey, EncodedLogPage]" = field(default_factory=OrderedDict)
    _size: int = 0
    _making: "dict[_PageKey, asyncio.Task[EncodedLogPage]]" = field(default_factory=dict)
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def after(self, seq: int, event_filter: EventFilter) -> EncodedLogPage:
        key = _PageKey(seq, event_filter)
        if (page := self._pages.get(key)) is not None:
            return page
        making = self._making.get(key)
        if making is None:
            making = asyncio.create_task(self._make(key))
            self._making[key] = making
            making.add_done_callback(lambda _: self._making.pop(key))
        # One reader that goes away must not take the page from the others.
        return await asyncio.shield(making)

    async def end(self) -> None:
        """Return when no page is being made any more. Call this once nobody asks for pages."""
        while self._making:
            await asyncio.wait(self._making.values())

    async def _make(self, key: _PageKey) -> EncodedLogPage:
        async with self._turns, self.database.read() as view:
            log_page = await event_rows.read_wire_events(
                view, key.after, limit=PAGE_EVENTS, wanted=key.event_filter
            )
        if log_page.last_seq < key.after:  # restored from a backup: numbers mean other events now
            self._pages.clear()
            self._size = 0
        log_page = _cut(log_page, PAGE_BYTES)
        page = EncodedLogPage(
            self.render(log_page), len(log_page.parcels), log_page.last_seq, log_page.next
        )
        if not page.is_the_end:
            self._keep(key, page)
        return page

    def _keep(self, key: _PageKey, page: EncodedLogPage) -> None:
        self._pages[key] = page
        self._size += len(page.sent)
        while self._size > self.kept_bytes:
            _, oldest = self._pages.popitem(last=False)
            self._size -= len(oldest.sent)


def _cut(page: LogPage, most: int) -> LogPage:
    """As much of the page as fits, one event at least; the rest is the next page."""
    size = 0
    for count, event in enumerate(page.parcels, 1):
        size += len(event.body)
        if size >= most:
            unreadable = tuple(damaged for damaged in page.unreadable if damaged.seq < event.seq)
            return LogPage(page.parcels[:count], unreadable, page.last_seq, event.seq)
    return page

"""One look at the event log for all who wait for news of it, and each page of it made once."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from headwater.core.errors import DatabaseError
from headwater.core.ports import Database
from headwater.core.telemetry.log import get_logger
from headwater.events import event_rows
from headwater.events.event_filter import EventFilter
from headwater.events.event_rows import LogPage

LOOK_EVERY = 0.2
PAGE_EVENTS = 1_000
PAGE_BYTES = 256 * 1024
"""A page ends after so many: each slow reader holds one."""
AT_ONCE = 2
"""Pages made side by side: many readers must not take every connection to the database."""
KEPT_BYTES = 8 * 1024 * 1024

logger = get_logger("log_watch")


@dataclass(slots=True, eq=False)
class LogWaiter:
    """Somebody who has read up to `seen`, and waits until `until` at the latest."""

    seen: int = 0
    until: float = 0.0
    woken: asyncio.Future[bool] | None = None
    is_over: bool = False

    def wake(self, *, grew: bool) -> None:
        if self.woken is not None and not self.woken.done():
            self.woken.set_result(grew)

    def leave(self) -> None:
        """It will not wait any more."""
        self.is_over = True
        self.wake(grew=False)


class LogWatch:
    """One per process. While somebody waits, one small query each `look_every`, for all of them.

    `closing` wakes everybody at once.
    """

    def __init__(
        self, database: Database, closing: asyncio.Event, *, look_every: float = LOOK_EVERY
    ) -> None:
        self._database, self._closing, self._look_every = database, closing, look_every
        self._all: set[LogWaiter] = set()
        self._looking: asyncio.Task[None] | None = None
        self._sleeps = False
        self._in_trouble = False

    @property
    def waiting(self) -> int:
        """How many there are."""
        return len(self._all)

    async def beyond(self, who: LogWaiter, seen: int, until: float) -> bool:
        """True when the log does not end at `seen` any more; False at `until`, when `who` leaves,
        and when the service stops."""
        if who.is_over or self._closing.is_set():
            return False
        who.seen, who.until = seen, until
        who.woken = asyncio.get_running_loop().create_future()
        self._all.add(who)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_again_and_again())
        try:
            return await who.woken
        finally:
            self._all.discard(who)
            self._look_no_more()

    async def end(self) -> None:
        """Once `closing` is set: returns when no look is under way any more."""
        if self._looking is not None:
            await asyncio.wait({self._looking})

    def _look_no_more(self) -> None:
        """Unless somebody waits; a look that is under way ends by itself."""
        if not self._all and self._sleeps and self._looking is not None:
            looking, self._looking = self._looking, None
            looking.cancel()

    async def _look_again_and_again(self) -> None:
        closing = asyncio.create_task(self._closing.wait())
        try:
            while self._all:
                await self._rest(closing)
                last = await self._last() if self._all else None
                now, stops = self._database.clock.monotonic(), self._closing.is_set()
                for each in tuple(self._all):
                    grew = last not in (None, each.seen)
                    if grew or stops or now >= each.until:
                        each.wake(grew=grew)
                await asyncio.sleep(0)  # whoever was woken is gone from the list by then
        finally:
            if self._looking is asyncio.current_task():
                self._looking = None
                for each in tuple(self._all):  # only after a mistake: nobody may wait for ever
                    each.wake(grew=True)
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
        """None while the database cannot say: it will, some time."""
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
    """A page of the log as bytes to be sent. Everything up to `next` is in it."""

    sent: bytes
    events: int
    last_seq: int
    next: int

    @property
    def is_the_end(self) -> bool:
        return self.next >= self.last_seq


_Key = tuple[int, EventFilter]


@dataclass(slots=True)
class LogPageCache:
    """Pages as `render` makes them. Readers who come to the same place share one.

    Only pages that will not grow are kept, the newest ones; those at the end of the log are shared
    by all who ask while it is being made.
    """

    database: Database
    render: Callable[[LogPage], bytes]
    kept_bytes: int = KEPT_BYTES
    _kept: "OrderedDict[_Key, EncodedLogPage]" = field(default_factory=OrderedDict)
    _size: int = 0
    _making: "dict[_Key, asyncio.Task[EncodedLogPage]]" = field(default_factory=dict)
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def after(self, seq: int, wanted: EventFilter) -> EncodedLogPage:
        key = (seq, wanted)
        if (kept := self._kept.get(key)) is not None:
            return kept
        making = self._making.get(key)
        if making is None:
            making = asyncio.create_task(self._make(key))
            self._making[key] = making
            making.add_done_callback(lambda _: self._making.pop(key))
        # One reader that goes away must not take the page from the others.
        return await asyncio.shield(making)

    async def end(self) -> None:
        """Once nobody asks any more: returns when no page is being made for those who left."""
        while self._making:
            await asyncio.wait(self._making.values())

    async def _make(self, key: _Key) -> EncodedLogPage:
        async with self._turns, self.database.read() as view:
            found = await event_rows.read_wire_events(
                view, key[0], limit=PAGE_EVENTS, wanted=key[1]
            )
        if found.last_seq < key[0]:  # restored from a backup: its numbers mean other events now
            self._forget()
        page = _cut(found, PAGE_BYTES)
        told = EncodedLogPage(self.render(page), len(page.parcels), page.last_seq, page.next)
        if not told.is_the_end:
            self._keep(key, told)
        return told

    def _forget(self) -> None:
        self._kept.clear()
        self._size = 0

    def _keep(self, key: _Key, told: EncodedLogPage) -> None:
        self._kept[key] = told
        self._size += len(told.sent)
        while self._size > self.kept_bytes:
            _, oldest = self._kept.popitem(last=False)
            self._size -= len(oldest.sent)


def _cut(page: LogPage, most: int) -> LogPage:
    """As much of it as fits, one event at least; the rest is the next page."""
    size = 0
    for count, parcel in enumerate(page.parcels, 1):
        size += len(parcel.body)
        if size >= most:
            unreadable = tuple(each for each in page.unreadable if each.seq < parcel.seq)
            return LogPage(page.parcels[:count], unreadable, page.last_seq, parcel.seq)
    return page

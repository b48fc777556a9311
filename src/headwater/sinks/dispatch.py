"""Dispatch events to sinks: which are due, one delivery for each, and their open connections."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

import orjson

from headwater.core.errors import DatabaseError, HeadwaterError
from headwater.core.ports import Vault
from headwater.core.telemetry.log import get_logger
from headwater.core.values.instant import maybe_micros, to_micros
from headwater.events.event_rows import get_last_seq, read_wire_events
from headwater.sinks import sink_rows
from headwater.sinks.deliver import Delivery, SinkLease
from headwater.sinks.ports import SinkConfig, SinkConnection
from headwater.sinks.retry_policy import FIRST_BATCH_SIZE
from headwater.sinks.retry_policy import SinkPolicy as SinkPolicy
from headwater.sinks.services import SinkServices
from headwater.sinks.sink import Sink

_FAR = 10_000
"""A cursor is written again when it is so many events behind with none wanted in between."""

_CLOSING_SECONDS = 10.0

logger = get_logger("sinks")


def sink_config_of(vault: Vault, sink: Sink) -> SinkConfig:
    """The config of a sink, with its secrets opened."""
    secrets = {}
    if sink.secrets is not None:
        about = f"sink:{sink.name}"
        secrets = orjson.loads(vault.open(sink.secrets, about=about))
    return SinkConfig(sink.name, sink.kind, sink.options, secrets)


SinkRowState = tuple[int, int | None, datetime]
"""A sink's row as a deliverer left it: the cursor, the next try, and `updated_at`."""


@dataclass(slots=True)
class OpenSink:
    """A sink as this process knows it between two looks, with its open connection."""

    services: SinkServices
    sink: Sink
    reached: int
    """Nothing up to this number is wanted; the row may be behind."""
    letters_seen: datetime | None = None
    """The `updated_at` that had no dead letter to try again."""
    stride: int = FIRST_BATCH_SIZE
    noted: float = 0.0
    """When `reached` was last written, on the monotonic clock."""
    left: SinkRowState | None = None
    began: float = -1.0
    """When its last delivery began, on the same clock."""
    enough: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when its place is needed by others, or because the process stops."""
    _connection: SinkConnection | None = None

    @property
    def is_open(self) -> bool:
        return self._connection is not None

    def see(self, sink: Sink) -> None:
        """Take over the changes of the row since the last look."""
        before, self.sink = self.sink, sink
        is_same = (before.cursor, before.updated_at) == (sink.cursor, sink.updated_at)
        self.reached = self.reached if is_same else sink.cursor

    async def opened(self) -> SinkConnection:
        if self._connection is None:
            config = sink_config_of(self.services.vault, self.sink)
            self._connection = await self.services.kinds.open(config)
        return self._connection

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            async with asyncio.timeout(_CLOSING_SECONDS):
                await connection.close()
        except Exception as trouble:  # it counts as closed, whatever happens
            logger.warning("outlet_not_closed", sink=self.sink.name, exc_info=trouble)


@dataclass(slots=True)
class SinkDeliveries:
    """Deliveries of events, in order for each sink; a slow sink delays no other.

    A sink may get an event twice (after a crash before its cursor was written), but misses none.
    """

    services: SinkServices
    policy: SinkPolicy
    _open_sinks: dict[int, OpenSink] = field(default_factory=dict)
    _running: dict[int, asyncio.Task[None]] = field(default_factory=dict)

    async def look(self) -> None:
        """Begin a delivery for each sink that does not have all events."""
        async with self.services.database.read() as view:
            last = await get_last_seq(view)
            sinks = await sink_rows.list_sinks(view)
        now, without_place = self.services.clock.now(), 0
        for sink in self._idle(sinks):
            open_sink = self._open_sinks.get(sink.id) or OpenSink(
                self.services, sink, sink.cursor, noted=self.services.clock.monotonic()
            )
            self._open_sinks[sink.id] = open_sink
            open_sink.see(sink)
            is_due = sink.is_due(now, self.policy.longest_wait)
            has_work = open_sink.reached != last or open_sink.letters_seen != sink.updated_at
            if is_due and has_work:
                if self._has_room(sink):
                    self._begin(open_sink)
                else:
                    without_place += 1
            elif open_sink.is_open and not sink.runs:
                self._running[sink.id] = asyncio.create_task(self._close(open_sink))
            elif is_due and self._is_behind(open_sink):
                self._running[sink.id] = asyncio.create_task(self._write_cursor(open_sink))
        self._ask_for_places(without_place)
        self._forget_others({sink.id for sink in sinks})

    async def all_done(self) -> None:
        """Wait until every delivery that was begun has ended."""
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def end(self, seconds: float) -> None:
        """Begin no more deliveries; those under way may finish within `seconds`."""
        for open_sink in self._open_sinks.values():
            open_sink.enough.set()
        if self._running:
            await asyncio.wait(set(self._running.values()), timeout=seconds)
        for task in list(self._running.values()):
            task.cancel()
        await self.all_done()
        await asyncio.gather(*(open_sink.close() for open_sink in self._open_sinks.values()))
        self._open_sinks.clear()

    def _idle(self, sinks: Iterable[Sink]) -> list[Sink]:
        """Sinks without a task here: those without failures first, then those that waited
        longest."""
        began = {sink_id: open_sink.began for sink_id, open_sink in self._open_sinks.items()}
        idle = [sink for sink in sinks if sink.id not in self._running]
        return sorted(idle, key=lambda each: (each.failures > 0, began.get(each.id, -1.0), each.id))

    def _has_room(self, sink: Sink) -> bool:
        """Failing sinks share half of the places: they wait longest for an answer."""
        if sink.failures == 0:
            return len(self._running) < self.policy.at_once
        failing = sum(self._open_sinks[busy].sink.failures > 0 for busy in self._running)
        return failing < max(1, self.policy.at_once // 2) and (
            len(self._running) < self.policy.at_once
        )

    def _begin(self, open_sink: OpenSink) -> None:
        open_sink.began, open_sink.enough = self.services.clock.monotonic(), asyncio.Event()
        self._running[open_sink.sink.id] = asyncio.create_task(self._deliver(open_sink))

    def _ask_for_places(self, count: int) -> None:
        """Ask deliveries that have run for long to end: a slow sink may have work without end."""
        if len(self._running) < self.policy.at_once:
            return  # only failing sinks wait, for other failing ones: these end by themselves
        before = self.services.clock.monotonic() - self.policy.turn
        busy = [self._open_sinks[sink_id] for sink_id in self._running]
        longest = sorted((each for each in busy if each.began <= before), key=lambda it: it.began)
        for open_sink in longest[:count]:
            open_sink.enough.set()

    def _forget_others(self, known: set[int]) -> None:
        for sink_id in self._open_sinks.keys() - known - self._running.keys():
            deleted = self._open_sinks[sink_id]
            self._running[sink_id] = asyncio.create_task(self._close(deleted, forget=True))

    async def _close(self, open_sink: OpenSink, *, forget: bool = False) -> None:
        try:
            await open_sink.close()
        finally:
            del self._running[open_sink.sink.id]
            if forget:
                del self._open_sinks[open_sink.sink.id]

    async def _deliver(self, open_sink: OpenSink) -> None:
        """Deliver to one sink.

        One delivery per sink runs here; the lease makes it one everywhere.
        """
        sink = open_sink.sink
        try:
            if await self._has_wanted_event(open_sink):
                await self._deliver_as_holder(open_sink)
        except HeadwaterError as trouble:
            logger.error(
                "delivery_failed", sink=sink.name, error=trouble.code, detail=trouble.message
            )
        except Exception as trouble:  # a bug must not end the deliveries to all others
            logger.error("delivery_crashed", sink=sink.name, exc_info=trouble)
        finally:
            del self._running[sink.id]

    async def _has_wanted_event(self, open_sink: OpenSink) -> bool:
        """Look for the next wanted event.

        While there is none, the cursor is written only seldom.
        """
        noted = self.services.clock.monotonic()
        while not open_sink.enough.is_set():
            sink = open_sink.sink
            async with self.services.database.read() as view:
                page = await read_wire_events(view, open_sink.reached, limit=1, wanted=sink.wanted)
                if open_sink.letters_seen != sink.updated_at:
                    if await sink_rows.list_letters_to_retry(view, sink.id, limit=1):
                        return True
                    open_sink.letters_seen = sink.updated_at
            if page.parcels or page.unreadable:
                return True
            open_sink.reached = page.next
            now = self.services.clock.monotonic()
            if page.is_the_end or now - noted >= self.policy.note_every:
                await self._note_reached(open_sink)
                noted = now
            if page.is_the_end:
                return False
        return False

    def _is_behind(self, open_sink: OpenSink) -> bool:
        """True when the log is quiet, and the cursor in the row has been behind for a while."""
        since = self.services.clock.monotonic() - open_sink.noted
        return open_sink.reached != open_sink.sink.cursor and since >= self.policy.note_idle_every

    async def _write_cursor(self, open_sink: OpenSink) -> None:
        try:
            await self._note_reached(open_sink)
        except DatabaseError as trouble:
            logger.error("delivery_failed", sink=open_sink.sink.name, error=trouble.code)
        finally:
            del self._running[open_sink.sink.id]

    async def _note_reached(self, open_sink: OpenSink) -> None:
        sink = open_sink.sink
        ahead, now = open_sink.reached - sink.cursor, self.services.clock.monotonic()
        is_time = now - open_sink.noted >= self.policy.note_idle_every
        if 0 <= ahead < (1 if is_time else _FAR):
            return
        open_sink.noted = now
        async with self.services.database.write() as tx:
            if await sink_rows.advance_cursor(tx, sink, open_sink.reached):
                open_sink.sink = replace(sink, cursor=open_sink.reached)

    async def _deliver_as_holder(self, open_sink: OpenSink) -> None:
        services, sink = self.services, open_sink.sink
        lease_end = to_micros(services.clock.now()) + round(self.policy.lease * 1_000_000)
        async with services.database.write() as tx:
            claim = await sink_rows.claim_sink(tx, sink, lease_end)
        if claim is None:
            return
        if open_sink.left != (sink.cursor, maybe_micros(sink.next_try_at), sink.updated_at):
            # Another process delivered meanwhile: the connection may be out of date.
            await open_sink.close()
        lease = SinkLease(services.database, services.clock, self.policy.lease, claim)
        delivery = Delivery(
            sink,
            open_sink.reached,
            lease,
            open_sink,
            self.policy,
            open_sink.enough,
            has_letters=open_sink.letters_seen != sink.updated_at,
        )
        await self._run(open_sink, delivery)

    async def _run(self, open_sink: OpenSink, delivery: Delivery) -> None:
        keeper = asyncio.create_task(delivery.lease.keep())
        open_sink.left = None
        try:
            await delivery.run()
        finally:
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)
        if delivery.settled is not None:
            open_sink.left = (*delivery.settled, delivery.sink.updated_at)
        # Events whose progress could not be written, as another process has the lease, are read
        # again: a dead letter may be among them.
        is_noted = delivery.settled is not None and delivery.settled[0] == delivery.cursor
        open_sink.noted = self.services.clock.monotonic()
        open_sink.reached = delivery.cursor if is_noted else delivery.sink.cursor
        if not delivery.has_letters:
            open_sink.letters_seen = delivery.sink.updated_at
        if delivery.is_spent:
            await open_sink.close()

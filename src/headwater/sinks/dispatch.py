"""Events on their way to sinks: who is due, one delivery for each, and the ways kept open."""

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
"""A cursor that lags this much, with nothing wanted in between, is written down anew."""

_CLOSING_SECONDS = 10.0

logger = get_logger("sinks")


def sink_config_of(vault: Vault, sink: Sink) -> SinkConfig:
    """With its secrets opened."""
    secrets = {}
    if sink.secrets is not None:
        about = f"sink:{sink.name}"
        secrets = orjson.loads(vault.open(sink.secrets, about=about))
    return SinkConfig(sink.name, sink.kind, sink.options, secrets)


SinkRowState = tuple[int, int | None, datetime]
"""A sink's row as somebody left it: the cursor, the moment of the next try, the last wish."""


@dataclass(slots=True)
class OpenSink:
    """What this process knows of a sink between two looks, and the way that is open to it."""

    services: SinkServices
    sink: Sink
    reached: int
    """Nothing up to there is wanted; the row may not say so yet."""
    letters_seen: datetime | None = None
    """The `updated_at` that had no dead letter to try again."""
    stride: int = FIRST_BATCH_SIZE
    noted: float = 0.0
    """When the row was last made to say how far we are, on the clock that is never corrected."""
    left: SinkRowState | None = None
    began: float = -1.0
    """When it was last given a place, on the same clock."""
    enough: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when its place is wanted: by others, or because the process stops."""
    _outlet: SinkConnection | None = None

    @property
    def is_open(self) -> bool:
        return self._outlet is not None

    def see(self, sink: Sink) -> None:
        """Whatever was wished, or done by others, since the last look."""
        before, self.sink = self.sink, sink
        is_same = (before.cursor, before.updated_at) == (sink.cursor, sink.updated_at)
        self.reached = self.reached if is_same else sink.cursor

    async def opened(self) -> SinkConnection:
        if self._outlet is None:
            plan = sink_config_of(self.services.vault, self.sink)
            self._outlet = await self.services.kinds.open(plan)
        return self._outlet

    async def close(self) -> None:
        outlet, self._outlet = self._outlet, None
        if outlet is None:
            return
        try:
            async with asyncio.timeout(_CLOSING_SECONDS):
                await outlet.close()
        except Exception as trouble:  # it is closed for us, whatever it says
            logger.warning("outlet_not_closed", sink=self.sink.name, exc_info=trouble)


@dataclass(slots=True)
class SinkDeliveries:
    """Events in order for each sink; who is slow or down delays nobody else.

    A sink may get one event twice (we died before we noted that it has it), never none.
    """

    services: SinkServices
    policy: SinkPolicy
    _memories: dict[int, OpenSink] = field(default_factory=dict)
    _running: dict[int, asyncio.Task[None]] = field(default_factory=dict)

    async def look(self) -> None:
        """Begins a delivery for each sink that has not been told everything."""
        async with self.services.database.read() as view:
            last = await get_last_seq(view)
            sinks = await sink_rows.list_sinks(view)
        now, without_place = self.services.clock.now(), 0
        for sink in self._idle(sinks):
            memory = self._memories.get(sink.id) or self._new_memory(sink)
            self._memories[sink.id] = memory
            memory.see(sink)
            is_due = sink.is_due(now, self.policy.longest_wait)
            if is_due and _has_something(memory, last):
                if self._has_room(sink):
                    self._begin(memory)
                else:
                    without_place += 1
            elif memory.is_open and not sink.runs:
                self._running[sink.id] = asyncio.create_task(self._close(memory))
            elif is_due and self._is_unsaid(memory):
                self._running[sink.id] = asyncio.create_task(self._say(memory))
        self._ask_for_places(without_place)
        self._forget_others({sink.id for sink in sinks})

    async def all_done(self) -> None:
        """When every delivery that was begun has come to its end."""
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def end(self, seconds: float) -> None:
        """No more deliveries; what is on its way may finish within the time given."""
        for memory in self._memories.values():
            memory.enough.set()
        if self._running:
            await asyncio.wait(set(self._running.values()), timeout=seconds)
        for task in list(self._running.values()):
            task.cancel()
        await self.all_done()
        await asyncio.gather(*(memory.close() for memory in self._memories.values()))
        self._memories.clear()

    def _new_memory(self, sink: Sink) -> OpenSink:
        return OpenSink(self.services, sink, sink.cursor, noted=self.services.clock.monotonic())

    def _idle(self, sinks: Iterable[Sink]) -> list[Sink]:
        """Those that nobody is busy with here: the well ones first, then who waited longest."""
        began = {sink_id: memory.began for sink_id, memory in self._memories.items()}
        idle = [sink for sink in sinks if sink.id not in self._running]
        return sorted(idle, key=lambda each: (each.failures > 0, began.get(each.id, -1.0), each.id))

    def _has_room(self, sink: Sink) -> bool:
        """Those that fail share half of the places: they wait longest for an answer."""
        if sink.failures == 0:
            return len(self._running) < self.policy.at_once
        failing = sum(self._memories[busy].sink.failures > 0 for busy in self._running)
        return failing < max(1, self.policy.at_once // 2) and (
            len(self._running) < self.policy.at_once
        )

    def _begin(self, memory: OpenSink) -> None:
        memory.began, memory.enough = self.services.clock.monotonic(), asyncio.Event()
        self._running[memory.sink.id] = asyncio.create_task(self._deliver(memory))

    def _ask_for_places(self, count: int) -> None:
        """Of those who have had theirs for long: a slow sink may have work without end."""
        if len(self._running) < self.policy.at_once:
            return  # only those that fail wait, for others that fail: these end by themselves
        before = self.services.clock.monotonic() - self.policy.turn
        busy = [self._memories[sink_id] for sink_id in self._running]
        longest = sorted((each for each in busy if each.began <= before), key=lambda it: it.began)
        for memory in longest[:count]:
            memory.enough.set()

    def _forget_others(self, known: set[int]) -> None:
        for sink_id in self._memories.keys() - known - self._running.keys():
            gone = self._memories[sink_id]
            self._running[sink_id] = asyncio.create_task(self._close(gone, forget=True))

    async def _close(self, memory: OpenSink, *, forget: bool = False) -> None:
        try:
            await memory.close()
        finally:
            del self._running[memory.sink.id]
            if forget:
                del self._memories[memory.sink.id]

    async def _deliver(self, memory: OpenSink) -> None:
        """One at a time here; the lease makes it one at a time everywhere."""
        sink = memory.sink
        try:
            if await self._is_something_wanted(memory):
                await self._deliver_as_holder(memory)
        except HeadwaterError as trouble:
            logger.error(
                "delivery_failed", sink=sink.name, error=trouble.code, detail=trouble.message
            )
        except Exception as trouble:  # a mistake of ours must not end the others' deliveries
            logger.error("delivery_crashed", sink=sink.name, exc_info=trouble)
        finally:
            del self._running[sink.id]

    async def _is_something_wanted(self, memory: OpenSink) -> bool:
        """Looks on from where we are, and writes nothing while nothing is wanted, but seldom."""
        noted = self.services.clock.monotonic()
        while not memory.enough.is_set():
            sink = memory.sink
            async with self.services.database.read() as view:
                page = await read_wire_events(view, memory.reached, limit=1, wanted=sink.wanted)
                if memory.letters_seen != sink.updated_at:
                    if await sink_rows.list_letters_to_retry(view, sink.id, limit=1):
                        return True
                    memory.letters_seen = sink.updated_at
            if page.parcels or page.unreadable:
                return True
            memory.reached = page.next
            now = self.services.clock.monotonic()
            if page.is_the_end or now - noted >= self.policy.note_every:
                await self._note_reached(memory)
                noted = now
            if page.is_the_end:
                return False
        return False

    def _is_unsaid(self, memory: OpenSink) -> bool:
        """The log rests, and the row has not said for a while how far we are."""
        since = self.services.clock.monotonic() - memory.noted
        return memory.reached != memory.sink.cursor and since >= self.policy.note_idle_every

    async def _say(self, memory: OpenSink) -> None:
        try:
            await self._note_reached(memory)
        except DatabaseError as trouble:
            logger.error("delivery_failed", sink=memory.sink.name, error=trouble.code)
        finally:
            del self._running[memory.sink.id]

    async def _note_reached(self, memory: OpenSink) -> None:
        sink = memory.sink
        ahead, now = memory.reached - sink.cursor, self.services.clock.monotonic()
        is_time = now - memory.noted >= self.policy.note_idle_every
        if 0 <= ahead < (1 if is_time else _FAR):
            return
        memory.noted = now
        async with self.services.database.write() as tx:
            if await sink_rows.advance_cursor(tx, sink, memory.reached):
                memory.sink = replace(sink, cursor=memory.reached)

    async def _deliver_as_holder(self, memory: OpenSink) -> None:
        services, sink = self.services, memory.sink
        lease_end = to_micros(services.clock.now()) + round(self.policy.lease * 1_000_000)
        async with services.database.write() as tx:
            held = await sink_rows.claim_sink(tx, sink, lease_end)
        if held is None:
            return
        if memory.left != (sink.cursor, maybe_micros(sink.next_try_at), sink.updated_at):
            await memory.close()  # somebody else delivered meanwhile: it may know better
        lease = SinkLease(services.database, services.clock, self.policy.lease, held)
        delivery = Delivery(
            sink,
            memory.reached,
            lease,
            memory,
            self.policy,
            memory.enough,
            has_letters=memory.letters_seen != sink.updated_at,
        )
        await self._run(memory, delivery)

    async def _run(self, memory: OpenSink, delivery: Delivery) -> None:
        keeper = asyncio.create_task(delivery.lease.keep())
        memory.left = None
        try:
            await delivery.run()
        finally:
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)
        if delivery.settled is not None:
            memory.left = (*delivery.settled, delivery.sink.updated_at)
        # What could not be written, since somebody else has the lease, is met again: a dead letter
        # may be among it.
        is_noted = delivery.settled is not None and delivery.settled[0] == delivery.cursor
        memory.noted = self.services.clock.monotonic()
        memory.reached = delivery.cursor if is_noted else delivery.sink.cursor
        if not delivery.has_letters:
            memory.letters_seen = delivery.sink.updated_at
        if delivery.is_spent:
            await memory.close()


def _has_something(memory: OpenSink, last: int) -> bool:
    return memory.reached != last or memory.letters_seen != memory.sink.updated_at

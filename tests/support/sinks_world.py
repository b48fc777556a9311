"""An engine with sinks for tests: what is told, who takes it, and time that only the test moves."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from headwater.adapters.database import SqlDatabase
from headwater.events import event_rows
from headwater.events.event import Event
from headwater.events.event_filter import EVERYTHING, EventFilter
from headwater.sinks import sink_rows
from headwater.sinks.dispatch import SinkDeliveries, SinkPolicy
from headwater.sinks.ports import SinkConfig
from headwater.sinks.sink import DeadLetter, NewSink, Sink, SinkPatch
from headwater.sinks.sink_kind import SinkKinds
from tests.support.clock import VirtualClock
from tests.support.engine import opened_engine
from tests.support.engine_parts import EngineParts
from tests.support.sinks_in_memory import Shelf, Shelves

FEED = "01900000-0000-7000-8000-000000000001"
TYPES = ("new_entry", "feed_failing", "updated_entry", "feed_recovered")


@dataclass(slots=True)
class SinkWorld:
    """An engine with sinks, and a clock that only the test moves."""

    engine: EngineParts
    clock: VirtualClock
    shelves: Shelves
    policy: SinkPolicy = field(default_factory=SinkPolicy)

    async def tell(self, count: int, *types: str) -> None:
        """So many events, told now."""
        names = types or TYPES
        events = [
            Event(names[place % len(names)], FEED, {"number": place, "text": f"ä{place}\n"})
            for place in range(count)
        ]
        async with self.engine.database.write() as tx:
            await event_rows.append_events(tx, events, self.engine.clock.now())

    async def told(self) -> list[tuple[str, bytes]]:
        """(event id, body) of the whole log, made without the code under test."""
        async with self.engine.database.read() as view:
            rows = await view.rows(
                "SELECT seq, event_id, type, at, feed_id, payload FROM events ORDER BY seq"
            )
        return [(row.event_id, _body(row)) for row in rows]

    async def add(
        self,
        plan: SinkConfig,
        *,
        wanted: EventFilter = EVERYTHING,
        cursor: int = 0,
        max_attempts: int | None = None,
    ) -> Sink:
        plan = self.engine.outlets.checked(plan)
        sealed = self.engine.vault.seal(orjson.dumps(plan.secrets), about=f"sink:{plan.name}")
        new = NewSink(
            plan.name,
            plan.kind,
            plan.options,
            cursor,
            secrets=sealed if plan.secrets else None,
            wanted=wanted,
            max_attempts=max_attempts,
        )
        async with self.engine.database.write() as tx:
            made = await sink_rows.insert_sink(tx, new, self.engine.clock.now())
        assert made is not None, "the name is taken"
        return made

    async def add_shelf(
        self,
        name: str = "shelf",
        *,
        wanted: EventFilter = EVERYTHING,
        cursor: int = 0,
        max_attempts: int | None = None,
    ) -> Shelf:
        plan = SinkConfig(name, "shelf", {}, {})
        await self.add(plan, wanted=wanted, cursor=cursor, max_attempts=max_attempts)
        return self.shelves.named(name)

    def deliveries(self) -> SinkDeliveries:
        return SinkDeliveries(self.engine.sinks, self.policy)

    async def deliver(self) -> None:
        """A process starts, looks once, delivers what it began, and ends."""
        deliveries = self.deliveries()
        await deliveries.look()
        await deliveries.all_done()
        await deliveries.end(5)

    def seconds_each(self, seconds: float) -> Callable[[], Awaitable[None]]:
        """For a shelf's pace: so much time passes with each parcel."""

        async def pace() -> None:
            await self.clock.advance(seconds)

        return pace

    async def change(self, patch: SinkPatch, name: str = "shelf") -> None:
        sink = await self.sink(name)
        async with self.engine.database.write() as tx:
            await sink_rows.update_sink(tx, sink.id, patch, self.clock.now())

    async def remove(self, name: str = "shelf") -> None:
        sink = await self.sink(name)
        async with self.engine.database.write() as tx:
            assert await sink_rows.delete_sink(tx, sink.id)

    async def sink(self, name: str = "shelf") -> Sink:
        async with self.engine.database.read() as view:
            found = await sink_rows.find_sink(view, name)
        assert found is not None
        return found

    async def dead(self, name: str = "shelf") -> list[DeadLetter]:
        sink = await self.sink(name)
        async with self.engine.database.read() as view:
            return await sink_rows.list_dead_letters(view, sink.id)

    async def rewind(self, name: str, seq: int) -> None:
        sink = await self.sink(name)
        async with self.engine.database.write() as tx:
            await sink_rows.rewind(tx, sink.id, seq, self.clock.now())

    async def forget_progress(self, name: str, cursor: int) -> None:
        """As if we had died after the sink took everything, before we noted it."""
        sink = await self.sink(name)
        async with self.engine.database.write() as tx:
            await tx.run("UPDATE sinks SET cursor = ? WHERE id = ?", cursor, sink.id)

    async def poison(self, seq: int, payload: str = "[1, 2") -> None:
        async with self.engine.database.write() as tx:
            await tx.run("UPDATE events SET payload = ? WHERE seq = ?", payload, seq)

    async def mend(self, seq: int, payload: str) -> None:
        await self.poison(seq, payload)

    async def payload(self, seq: int) -> str:
        async with self.engine.database.read() as view:
            row = await view.row("SELECT payload FROM events WHERE seq = ?", seq)
        assert row is not None
        return str(row.payload)

    async def retry(self, name: str = "shelf", *seqs: int) -> int:
        """Without numbers: all that are dead."""
        sink = await self.sink(name)
        async with self.engine.database.write() as tx:
            return await sink_rows.ask_retry(tx, sink.id, seqs or None, self.clock.now())

    async def reached(self, name: str, cursor: int) -> None:
        """Returns once the sink has come so far."""
        while (await self.sink(name)).cursor < cursor:
            pass

    async def after_the_pause(self, name: str = "shelf") -> float:
        """Time passes until it may be tried again; how many seconds that took."""
        until = (await self.sink(name)).next_try_at
        assert until is not None
        seconds = (until - self.clock.now()).total_seconds()
        await self.clock.advance(seconds)
        return seconds


@asynccontextmanager
async def opened_world(
    database: SqlDatabase, clock: VirtualClock, folder: Path, outlets: SinkKinds | None = None
) -> AsyncIterator[SinkWorld]:
    """`outlets` open the sinks that are no shelves; None: the engine's own."""
    async with opened_engine(database, clock, folder) as engine:
        shelves = Shelves()
        engine.outlets = shelves.beside(outlets or engine.outlets)
        yield SinkWorld(engine, clock, shelves)


def _body(row: Any) -> bytes:
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=row.at)
    return orjson.dumps(
        {
            "seq": row.seq,
            "id": row.event_id,
            "type": row.type,
            "at": at.isoformat().replace("+00:00", "Z"),
            "feed_id": row.feed_id,
            "payload": orjson.loads(row.payload),
        }
    )

"""A desk where sinks can be asked for over the API: a real engine, and a log to tell them of."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.adapters.database import SqlDatabase
from headwater.core.ports import Clock
from headwater.entrypoints.api.app import create_app
from headwater.events import event_rows
from headwater.events.event import Event
from headwater.settings import Settings
from tests.support.api_caller import Api
from tests.support.engine import opened_engine
from tests.support.engine_parts import EngineParts

FEED = "01900000-0000-7000-8000-000000000001"
HOOK = "https://hooks.example.org/in"
SECRET = "whsec_" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldY"
OTHER = "whsec_" + "eHd2dXRzcnFwb25tbGtqaWhnZmVkY2Jh"


@dataclass(slots=True)
class Desk:
    engine: EngineParts
    api: Api
    folder: Path

    def guarded(self, token: str | None, **settings: Any) -> Api:
        given = {"data_dir": self.folder, **settings}
        return Api(create_app(self.engine.services, Settings(**given)), token)

    async def made(self, name: str = "chat", **said: Any) -> dict[str, Any]:
        body = {"name": name, "kind": "webhook", "options": {"url": HOOK}} | said
        answer = await self.api.post("/sinks", body)
        assert answer.status == 201, answer.body
        record: dict[str, Any] = answer.json
        return record

    async def shown(self, name: str = "chat") -> dict[str, Any]:
        answer = await self.api.get(f"/sinks/{name}")
        assert answer.status == 200, answer.body
        record: dict[str, Any] = answer.json
        return record

    async def tell(self, count: int) -> None:
        """So many events, told now."""
        events = [Event("new_entry", FEED, {"number": number}) for number in range(count)]
        async with self.engine.database.write() as tx:
            await event_rows.append_events(tx, events, self.engine.clock.now())

    async def note(self, **columns: str | int | None) -> None:
        """What deliverers would write about all sinks."""
        words = ", ".join(f"{name} = ?" for name in columns)
        async with self.engine.database.write() as tx:
            await tx.run(f"UPDATE sinks SET {words}", *columns.values())

    async def bury(self, *seqs: int) -> None:
        async with self.engine.database.write() as tx:
            await tx.run_many(
                "INSERT INTO dead_letters (sink_id, seq, event_id, type, attempts, error, detail,"
                " died_at, retry_asked) SELECT id, ?, ?, 'new_entry', 3, 'http_422', 'no', 0, FALSE"
                " FROM sinks",
                [(seq, f"event-{seq}") for seq in seqs],
            )

    async def rows(self, table: str) -> list[tuple[Any, ...]]:
        async with self.engine.database.read() as view:
            return [tuple(row) for row in await view.rows(f"SELECT * FROM {table}")]


@asynccontextmanager
async def opened_desk(database: SqlDatabase, clock: Clock, folder: Path) -> AsyncIterator[Desk]:
    """Everything is open: no admin token, loopback."""
    async with opened_engine(database, clock, folder / "blobs") as engine:
        settings = Settings(data_dir=folder)
        yield Desk(engine, Api(create_app(engine.services, settings)), folder)

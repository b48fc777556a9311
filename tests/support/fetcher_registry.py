"""A registry whose fetchers are processes and listeners of the test, on an engine of its own."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from headwater.adapters.database import SqlDatabase
from headwater.core.values.ids import FetcherId
from headwater.subscriptions.fetchers import fetcher_rows
from headwater.subscriptions.fetchers.address import about_fetcher
from headwater.subscriptions.fetchers.fetcher import FetcherPatch, Registration
from headwater.subscriptions.fetchers.rank_candidates import BroadcastPolicy
from tests.support.clock import VirtualClock
from tests.support.engine import opened_engine
from tests.support.engine_parts import EngineParts
from tests.support.fetcher_processes import YES, FetcherProcess, a_fetcher

PATIENT = BroadcastPolicy(timeout=60.0, answer_timeout=3_600.0)
"""Nobody is given up but by the shared limit, and that runs on a clock the test owns."""


@dataclass(slots=True)
class Registry:
    engine: EngineParts
    clock: VirtualClock
    stack: AsyncExitStack

    async def fetcher(
        self, *arguments: str, priority: int = 50, body: str = YES, key: bytes | None = None
    ) -> tuple[FetcherId, FetcherProcess]:
        """A process of its own, registered."""
        process = await self.stack.enter_async_context(a_fetcher(*arguments, body=body))
        return await self.register(process.base_url, priority=priority, key=key), process

    async def register(
        self, base_url: str, *, priority: int = 50, key: bytes | None = None
    ) -> FetcherId:
        async with self.engine.database.write() as tx:
            name = f"fetcher-{len(await fetcher_rows.list_fetchers(tx))}"
            sealed = None
            if key is not None:
                sealed = self.engine.vault.seal(key, about=about_fetcher(name))
            fetcher, _ = await fetcher_rows.upsert_fetcher(
                tx,
                Registration(name, "1.0.0", None, base_url, priority, None, wants_news=False),
                registered_by="tester",
                token_id=None,
                signing_key=sealed,
                now=self.clock.now(),
            )
        return fetcher.id

    async def change(self, fetcher_id: int, patch: FetcherPatch) -> None:
        async with self.engine.database.write() as tx:
            await fetcher_rows.update_fetcher(tx, fetcher_id, patch, self.clock.now())

    async def enable(self, name: str) -> FetcherId:
        async with self.engine.database.read() as view:
            (there,) = [
                each for each in await fetcher_rows.list_fetchers(view) if each.name == name
            ]
        await self.change(there.id, FetcherPatch(is_enabled=True))
        return there.id

    async def disable_builtins(self) -> None:
        async with self.engine.database.read() as view:
            there = await fetcher_rows.list_fetchers(view)
        for each in there:
            if each.is_builtin:
                await self.change(each.id, FetcherPatch(is_enabled=False))


@asynccontextmanager
async def a_registry(
    database: SqlDatabase, clock: VirtualClock, folder: Path
) -> AsyncIterator[Registry]:
    """No built-in fetcher is enabled: those of the test are among themselves."""
    async with (
        opened_engine(database, clock, folder / "blobs") as engine,
        AsyncExitStack() as stack,
    ):
        engine.broadcast = PATIENT
        registry = Registry(engine, clock, stack)
        await registry.disable_builtins()
        yield registry

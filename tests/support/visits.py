"""A river for one test: a scripted origin, a clock of its own, and the real engine between them."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.values.ids import FeedId
from headwater.core.values.instant import to_micros
from headwater.feeds.change_feed import change_feed
from headwater.feeds.commit_visits import CommitResult
from headwater.feeds.feed import FeedOptions, FeedPatch
from headwater.feeds.schedule.due import DueFeed
from headwater.feeds.visit import visit_feed
from headwater.feeds.worker import claim_rows, worker_rows
from headwater.subscriptions.add_feed import add_feed
from tests.support.clock import VirtualClock
from tests.support.engine import opened_engine
from tests.support.engine_parts import EngineParts
from tests.support.origin import Origin

FAR = 2**62


@dataclass
class River:
    """What tests of whole visits keep doing, each in one word."""

    engine: EngineParts
    origin: Origin
    clock: VirtualClock

    async def add(self, url: str) -> FeedId:
        """Followed, and the host has had its rest since."""
        await self.clock.advance(1)
        feed_id = await add_feed(url, FeedOptions(), self.engine.registry)
        await self.clock.advance(1)
        return feed_id

    async def claim(self) -> DueFeed:
        """The one feed there is, as if its time had come."""
        now = to_micros(self.clock.now())
        async with self.engine.database.write() as tx:
            await tx.run(
                "UPDATE feeds SET next_visit_at = ?, scheduled_at = ?"
                " WHERE state = 'active' AND claimed_by IS NULL",
                now,
                now,
            )
            (due,) = await claim_rows.claim_feeds(
                tx, self.engine.worker, now, now + 120_000_000, 10
            )
        return due

    async def visit(self, seconds: float = 3_600) -> CommitResult:
        await self.clock.advance(seconds)
        return await visit_feed(await self.claim(), self.engine.feeds)

    async def change(self, feed_id: FeedId, patch: FeedPatch) -> None:
        await change_feed(feed_id, patch, self.engine.feeds, gap=timedelta())

    async def rows(self, sql: str) -> list[Any]:
        async with self.engine.database.read() as view:
            return list(await view.rows(sql))

    async def count(self, table: str) -> int:
        (row,) = await self.rows(f"SELECT count(*) AS n FROM {table}")
        return int(row.n)

    async def told(self) -> list[str]:
        """The types of all events, in order."""
        return [row.type for row in await self.rows("SELECT type FROM events ORDER BY seq")]


@pytest.fixture
async def river(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> AsyncIterator[River]:
    async with (
        Origin(virtual_clock) as origin,
        opened_engine(database, virtual_clock, tmp_path / "blobs") as engine,
    ):
        async with database.write() as tx:
            await worker_rows.claim_shards(tx, engine.worker, 0, FAR, 1024)
        yield River(engine, origin, virtual_clock)

"""The API, a worker and real origins on loopback, on one database: for tests of whole stories."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.core.values.instant import to_micros
from headwater.feeds.commit_visits import CommitResult
from headwater.feeds.visit import visit_feed
from headwater.feeds.worker import claim_rows
from tests.support.api_caller import Answer, Api
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.origin import Origin

MINUTE = 60_000_000
ADDRESSES = ("127.0.8.1", "127.0.8.2")
"""Hosts that are there from the beginning."""


@dataclass(slots=True)
class World:
    engine: EngineParts
    origin: Origin
    clock: VirtualClock
    api: Api
    blobs: Path

    async def subscribed(self, url: str, **facts: Any) -> dict[str, Any]:
        made = await self.api.post("/subscriptions", {"source_url": url, **facts})
        assert made.status == 201, made.body
        record: dict[str, Any] = made.json
        return record

    async def grouped(self, name: str, **facts: Any) -> dict[str, Any]:
        made = await self.api.post("/groups", {"name": name, **facts})
        assert made.status == 201, made.body
        record: dict[str, Any] = made.json
        return record

    async def visit_all(self, seconds: float = 3_600) -> list[CommitResult]:
        """Time passes, and a worker visits every active feed once."""
        await self.clock.advance(seconds)
        now = to_micros(self.clock.now())
        async with self.engine.database.write() as tx:
            await tx.run(
                "UPDATE feeds SET next_visit_at = ?, scheduled_at = ?"
                " WHERE state = 'active' AND claimed_by IS NULL",
                now,
                now,
            )
            claimed = await claim_rows.claim_feeds(
                tx, self.engine.worker, now, now + 2 * MINUTE, 500
            )
        services = self.engine.feeds
        return [
            await visit_feed(due, services) for due in sorted(claimed, key=lambda due: due.feed)
        ]

    async def feed(self, record: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = (await self.api.get(f"/feeds/{record['feed_id']}")).json
        return found

    async def column(self, table: str, name: str) -> list[Any]:
        async with self.engine.database.read() as view:
            return [row.it for row in await view.rows(f"SELECT {name} AS it FROM {table}")]

    async def everything_stored(self) -> bytes:
        """Every row of every table, and every blob, in one heap of bytes."""
        heap = b""
        async with self.engine.database.read() as view:
            tables = (
                "SELECT name FROM sqlite_master WHERE type = 'table'"
                if view.dialect == "sqlite"
                else "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'"
            )
            for table in await view.rows(tables):
                for row in await view.rows(f'SELECT * FROM "{table.name}"'):
                    heap += b"\n".join(_as_bytes(value) for value in row) + b"\n"
        for path in self.blobs.rglob("*"):
            if path.is_file() and path.name != "secret.key":
                heap += path.read_bytes()
        return heap


def _as_bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def bodies(*answers: Answer) -> bytes:
    """All that callers were told."""
    return b"\n".join(answer.body + repr(answer.headers).encode() for answer in answers)

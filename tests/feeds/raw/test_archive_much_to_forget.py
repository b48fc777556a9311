"""Retention with much to do, and slow at it: everything doomed goes, nothing else does."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from hashlib import sha256
from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.feeds.ports import Blobs
from headwater.feeds.raw.raw_fetch import blob_key
from headwater.feeds.retention import delete_unused_blobs
from tests.support.clock import VirtualClock
from tests.support.engine import opened_engine
from tests.support.engine_parts import EngineParts
from tests.support.origin import Post, Reply
from tests.support.visits import River

MANY = 12_000
HOUR = 3_600.0
DAY = 24 * HOUR
ROUNDS = 40


class Deletions:
    """`ports.Blobs` that only remembers what was to be deleted."""

    storage = "localfs"

    def __init__(self) -> None:
        self.deleted: list[str] = []

    async def put_many(self, blobs: Sequence[tuple[str, bytes]]) -> None:
        raise AssertionError("nothing is archived here")

    async def get(self, key: str) -> bytes | None:
        return None

    async def delete(self, keys: Sequence[str]) -> None:
        self.deleted.extend(keys)


@pytest.fixture
async def engine(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> AsyncIterator[EngineParts]:
    async with opened_engine(database, virtual_clock, tmp_path) as opened:
        yield opened


async def unused(engine: EngineParts, count: int) -> list[str]:
    """So many payloads that no raw fetch refers to; their keys."""
    digests = [sha256(str(number).encode()).hexdigest() for number in range(count)]
    async with engine.database.write() as tx:
        await tx.run_many(
            "INSERT INTO blobs (body_sha256, generation) VALUES (?, 0)",
            [(digest,) for digest in digests],
        )
    return [blob_key(digest, 0) for digest in digests]


async def test_every_unused_payload_is_deleted_however_many_there_are(
    engine: EngineParts, virtual_clock: VirtualClock
) -> None:
    keys, deletions = await unused(engine, MANY), Deletions()
    engine.blobs = deletions
    for _ in range(ROUNDS):
        await delete_unused_blobs(engine.feeds)
        await virtual_clock.advance(HOUR)
    assert set(deletions.deleted) == set(keys)


class SlowDeletions:
    """Blobs whose first deletion takes its time; what it does meanwhile is up to the test."""

    def __init__(self, inner: Blobs) -> None:
        self._inner = inner
        self.storage = inner.storage
        self.put_many, self.get = inner.put_many, inner.get
        self.began, self.may_end = asyncio.Event(), asyncio.Event()

    async def delete(self, keys: Sequence[str]) -> None:
        if not self.began.is_set():
            self.began.set()
            await self.may_end.wait()
        await self._inner.delete(keys)


async def test_a_slow_deletion_never_hits_content_that_came_back(river: River) -> None:
    """Two workers keep house. One is slow while the other forgets the tombstone."""
    feed = river.origin.feed("/feed.xml", [Post("1", "One")])
    await river.add(feed.url)
    page = Reply(500, b"an error page that comes again and again")
    feed.answer_next(page)
    await river.visit()
    await doomed(river)
    await river.clock.advance(DAY - 1)
    slow = river.engine.blobs = SlowDeletions(river.engine.blobs)
    keeper = asyncio.create_task(delete_unused_blobs(river.engine.feeds))
    await slow.began.wait()
    await river.clock.advance(2)
    await delete_unused_blobs(river.engine.feeds)
    feed.answer_next(page)
    await river.visit(0)
    slow.may_end.set()
    await keeper
    (raw,) = await river.rows(
        "SELECT blob_key FROM raw_fetches WHERE http_status = 500 AND expired_at IS NULL"
    )
    assert await river.engine.blobs.get(raw.blob_key) == page.body


async def doomed(river: River) -> None:
    """Retention lets the error page go, and its bytes."""
    async with river.engine.database.write() as tx:
        await tx.run("UPDATE raw_fetches SET expired_at = 1 WHERE http_status = 500")
    await delete_unused_blobs(river.engine.feeds)


async def test_payloads_doomed_hour_after_hour_are_all_deleted(
    engine: EngineParts, virtual_clock: VirtualClock
) -> None:
    """Far more tombstones stand in the table than are deleted at once: 6,000 within a day."""
    deletions = engine.blobs = Deletions()
    digests = [sha256(str(number).encode()).hexdigest() for number in range(12_000)]
    for hour in range(24):
        some = digests[-500:] if hour % 2 else digests[:500]
        digests = digests[:-500] if hour % 2 else digests[500:]
        async with engine.database.write() as tx:
            await tx.run_many(
                "INSERT INTO blobs (body_sha256, generation) VALUES (?, 0)",
                [(digest,) for digest in some],
            )
        await delete_unused_blobs(engine.feeds)
        await virtual_clock.advance(HOUR)
    missed = {blob_key(sha256(str(n).encode()).hexdigest(), 0) for n in range(12_000)} - set(
        deletions.deleted
    )
    assert missed == set()


async def test_retention_keeps_up_with_a_large_instance(
    engine: EngineParts, virtual_clock: VirtualClock
) -> None:
    """1,500 payloads an hour that nobody needs: not a heap that grows for ever."""
    engine.blobs = Deletions()
    for hour in range(12):
        async with engine.database.write() as tx:
            await tx.run_many(
                "INSERT INTO blobs (body_sha256, generation) VALUES (?, 0)",
                [(sha256(f"{hour} {n}".encode()).hexdigest(),) for n in range(1_500)],
            )
        await delete_unused_blobs(engine.feeds)
        await virtual_clock.advance(HOUR)
    async with engine.database.read() as view:
        row = await view.row("SELECT count(*) AS n FROM blobs WHERE dying_since IS NULL")
    assert row is not None
    assert row.n == 0


async def test_looking_for_unused_payloads_uses_an_index(engine: EngineParts) -> None:
    """Without one, each payload would be compared with every raw fetch."""
    plan = (
        "EXPLAIN QUERY PLAN SELECT body_sha256 FROM blobs b WHERE dying_since IS NULL AND"
        " NOT EXISTS (SELECT 1 FROM raw_fetches r WHERE r.body_sha256 = b.body_sha256"
        " AND r.expired_at IS NULL) LIMIT 1000"
    )
    async with engine.database.read() as view:
        if view.dialect == "postgresql":  # which plans by how much is in the tables
            plan = "SELECT indexname AS detail FROM pg_indexes WHERE tablename = 'raw_fetches'"
        rows = await view.rows(plan)
    assert any("raw_fetches_living" in row.detail for row in rows)


@pytest.mark.parametrize(
    ("index", "question"),
    [
        (
            "raw_fetches_unneeded",
            "SELECT fetch_id, row_number() OVER (PARTITION BY feed_id ORDER BY fetched_at DESC)"
            " FROM raw_fetches WHERE expired_at IS NULL AND NOT keep",
        ),
        ("feeds_throttled", "SELECT host FROM feeds WHERE last_outcome = 'throttled'"),
        ("entry_aliases_by_alias", "SELECT uid_key FROM entry_aliases WHERE alias_key = x'00'"),
    ],
)
@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_what_is_long_over_is_not_looked_through_again(
    engine: EngineParts, index: str, question: str
) -> None:
    """Raw fetches are never deleted: an hourly look at all of them would take longer each hour."""
    async with engine.database.read() as view:
        rows = await view.rows(f"EXPLAIN QUERY PLAN {question}")
    assert any(index in row.detail for row in rows)

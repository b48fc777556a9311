"""The power fails at every moment of a visit: what was committed never points at lost bytes."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from uuid import uuid4

import pytest

from headwater.adapters.blobs import FolderBlobs
from headwater.adapters.database import SqlDatabase
from headwater.core.ports import Database, Transaction
from headwater.core.values.ids import FeedId
from headwater.core.values.instant import to_micros
from headwater.feeds.feed import FeedOptions
from headwater.feeds.feed_rows import insert_or_restore_feed
from headwater.feeds.ports import Blobs
from headwater.feeds.raw import raw_rows
from headwater.feeds.raw.archive import ArchivedBody
from headwater.feeds.raw.raw_fetch import RawFetch
from headwater.feeds.schedule.due import DueFeed
from headwater.feeds.services import FeedServices
from headwater.feeds.visit import visit_feed
from headwater.feeds.worker import claim_rows, worker_rows
from tests.support.clock import VirtualClock
from tests.support.crash_disk import CrashDisk
from tests.support.databases import PassingDatabase
from tests.support.engine import opened_engine
from tests.support.engine_parts import EngineParts
from tests.support.origin import Origin, OriginFeed, Post

TWO_DAYS = 2 * 86_400.0
LEASE_MICROS = 60_000_000
MOST_MOMENTS = 200


class PowerCut(Exception):
    """From here on the machine is off."""


class Fuse:
    """Burns down by one at every step that durability hangs on, and stays burnt."""

    def __init__(self, steps: int) -> None:
        self._left = steps
        self._lock = Lock()
        self.burnt_at: str | None = None

    def step(self, name: str) -> None:
        with self._lock:
            self._left -= 1
            if self._left < 0:
                self.burnt_at = self.burnt_at or name
                raise PowerCut(name)


class FusedDisk(CrashDisk):
    """Each call may be the last one; the call at which the power fails is not made any more."""

    def __init__(self, fuse: Fuse, *, lies: Iterable[str] = ()) -> None:
        super().__init__(lies=lies)
        self._fuse = fuse

    def believe(self, folder: Path) -> None:
        """What an earlier life left behind has survived already."""
        for place, _, files in os.walk(folder):
            super().sync_folder(place)
            self._whole.update(os.stat(os.path.join(place, name)).st_ino for name in files)

    def sync_file(self, descriptor: int) -> None:
        self._fuse.step("file synced")
        super().sync_file(descriptor)

    def sync_folder(self, folder: str) -> None:
        self._fuse.step("folder synced")
        super().sync_folder(folder)

    def move(self, source: str, target: str) -> None:
        self._fuse.step("file renamed")
        super().move(source, target)


class FusedDatabase(PassingDatabase):
    """The power may fail before or after each commit; what is committed is safe."""

    def __init__(self, database: SqlDatabase, fuse: Fuse) -> None:
        super().__init__(database)
        self._fuse = fuse

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Transaction]:
        async with self.real.write() as tx:
            yield tx
            self._fuse.step("before a commit")
        self._fuse.step("after a commit")


class Machine:
    """A few feeds, one engine, and a plug that can be pulled."""

    def __init__(
        self, engine: EngineParts, database: SqlDatabase, clock: VirtualClock, folder: Path
    ) -> None:
        self._engine, self._database, self._clock = engine, database, clock
        self._folder = folder
        self._posts = 0
        self.feeds: list[OriginFeed] = []

    async def settle(self, origin: Origin, count: int) -> None:
        now = self._clock.now()
        async with self._database.write() as tx:
            for number in range(count):
                feed = origin.feed(f"/{number}.xml")
                feed_id = FeedId(str(uuid4()))
                await insert_or_restore_feed(
                    tx,
                    feed.url,
                    FeedOptions(),
                    feed_id=feed_id,
                    interval_sec=900,
                    now=now,
                    visit_at=now,
                )
                self.feeds.append(feed)

    async def visit_until(self, steps: int, *, lies: Iterable[str] = ()) -> str | None:
        """All feeds at once, each with a new post; where the power failed, or None."""
        fuse = Fuse(steps)
        disk = FusedDisk(fuse, lies=lies)
        if self._folder.exists():
            disk.believe(self._folder)
        blobs = FolderBlobs(self._folder, disk=disk)
        self._engine.blobs, self._engine.database = blobs, FusedDatabase(self._database, fuse)
        services = self._engine.feeds
        for feed in self.feeds:
            self._posts += 1
            feed.publish(Post(str(self._posts), f"Post {self._posts}"))
        await asyncio.gather(*(_until_dark(due, services) for due in await self._claimed()))
        await services.commits.close()
        await blobs.close()
        if self._folder.exists():
            disk.power_cut(self._folder)
        return fuse.burnt_at

    async def dangling(self) -> list[str]:
        """Raw fetches whose bytes are not there, and entries that refer to no raw fetch."""
        async with self._database.read() as view:
            rows = await view.rows("SELECT fetch_id, blob_key, body_sha256 FROM raw_fetches")
            orphans = await view.rows(
                "SELECT entry_uid FROM entries WHERE fetch_id NOT IN"
                " (SELECT fetch_id FROM raw_fetches)"
            )
        lost = [r.fetch_id for r in rows if _digest(self._folder / r.blob_key) != r.body_sha256]
        return [*lost, *(row.entry_uid for row in orphans)]

    async def count(self, table: str) -> int:
        async with self._database.read() as view:
            row = await view.row(f"SELECT count(*) AS n FROM {table}")
        assert row is not None
        return int(row.n)

    async def _claimed(self) -> list[DueFeed]:
        await self._clock.advance(TWO_DAYS)
        now, worker = to_micros(self._clock.now()), self._engine.worker
        async with self._database.write() as tx:
            await worker_rows.claim_shards(tx, worker, now, now + LEASE_MICROS, worker_rows.SHARDS)
            return await claim_rows.claim_feeds(tx, worker, now, now + LEASE_MICROS, 100)


async def _until_dark(due: DueFeed, services: FeedServices) -> None:
    """The visit ends with the power, as it would with its process."""
    with suppress(PowerCut):
        await visit_feed(due, services)


def _digest(path: Path) -> str | None:
    return sha256(path.read_bytes()).hexdigest() if path.exists() else None


@pytest.fixture
async def machine(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> AsyncIterator[Machine]:
    async with (
        Origin(virtual_clock) as origin,
        opened_engine(database, virtual_clock, tmp_path / "unused") as engine,
    ):
        made = Machine(engine, database, virtual_clock, tmp_path / "blobs")
        await made.settle(origin, 2)
        yield made


async def test_no_committed_row_points_at_lost_bytes_whenever_the_power_fails(
    machine: Machine,
) -> None:
    moments: list[str | None] = []
    for steps in range(MOST_MOMENTS):
        moments.append(await machine.visit_until(steps))
        assert await machine.dangling() == [], f"after {steps} steps, at: {moments[-1]}"
        if moments[-1] is None:
            break
    assert moments.pop() is None, "the power failed at every step that was tried"
    assert set(moments) == {
        "file synced",
        "file renamed",
        "folder synced",
        "before a commit",
        "after a commit",
    }
    assert await machine.count("raw_fetches") > len(machine.feeds)
    new_entries = "events WHERE type = 'new_entry'"
    assert await machine.count("entries") == await machine.count(new_entries) > 0


@pytest.mark.parametrize("lie", ["file", "folder"])
async def test_a_disk_that_lies_about_syncs_is_found_out(machine: Machine, lie: str) -> None:
    assert await machine.visit_until(MOST_MOMENTS, lies=[lie]) is None
    assert len(await machine.dangling()) == len(machine.feeds)


async def test_rows_written_before_their_bytes_are_found_out(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def rows_first(
        database: Database, blobs: Blobs, group: list[RawFetch]
    ) -> Sequence[ArchivedBody]:
        keys = {raw.body_sha256: f"sha256/{raw.body_sha256}" for raw in group}
        async with database.write() as tx:
            await raw_rows.insert_raw_fetches(tx, group, keys, blobs.storage)
        await blobs.put_many([(keys[raw.body_sha256], raw.body) for raw in group])
        return [ArchivedBody(raw.fetch_id, raw.body_sha256, 0) for raw in group]

    monkeypatch.setattr("headwater.feeds.visit_commits.archive_group", rows_first)
    found = []
    for steps in range(MOST_MOMENTS):
        moment = await machine.visit_until(steps)
        found += [moment] if await machine.dangling() else []
        if moment is None:
            break
    assert "file synced" in found

"""A database without room is no fault of the document: nothing is held against the feed."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase, open_database
from headwater.core.errors import DatabaseError
from headwater.feeds.judge_visit import JudgedVisit
from headwater.feeds.visit import visit_feed
from headwater.feeds.worker import worker_rows
from tests.support.clock import VirtualClock
from tests.support.engine import opened_engine
from tests.support.origin import Origin, Post
from tests.support.visits import FAR, River

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)

MUCH = [Post(str(number), f"Post {number}", "word " * 400) for number in range(300)]
A_LITTLE = 40
"""Pages that are left: enough for a visit and its raw record, not for the entries."""


@pytest.fixture
async def lone_connection(database_url: str) -> AsyncIterator[SqlDatabase]:
    """SQLite's own limit on its size counts for one connection, so there is only one."""
    database = open_database(database_url, pool_size=1)
    yield database
    await database.close()


@pytest.fixture
async def small_river(
    lone_connection: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> AsyncIterator[River]:
    async with (
        Origin(virtual_clock) as origin,
        opened_engine(lone_connection, virtual_clock, tmp_path / "blobs") as engine,
    ):
        async with lone_connection.write() as tx:
            await worker_rows.claim_shards(tx, engine.worker, 0, FAR, 1024)
        yield River(engine, origin, virtual_clock)


async def leave_room(database: SqlDatabase, pages: int) -> None:
    async with database.read() as view:
        row = await view.row("PRAGMA page_count")
        assert row is not None
        await view.row(f"PRAGMA max_page_count = {row.page_count + pages}")


async def test_a_full_disk_is_not_recorded_as_a_fault_of_the_document(
    small_river: River, lone_connection: SqlDatabase
) -> None:
    river = small_river
    feed = river.origin.feed("/feed.xml", [Post("first", "First")])
    await river.add(feed.url)
    feed.publish(*MUCH)
    await leave_room(lone_connection, A_LITTLE)
    await river.clock.advance(3_600)
    due = await river.claim()
    try:
        remembered = await visit_feed(due, river.engine.feeds)
    except DatabaseError:
        remembered = None
    assert not isinstance(remembered, JudgedVisit), "a visit was recorded that was not made"
    assert [row.outcome for row in await river.rows("SELECT outcome FROM visits")] == ["fetched"]

    await leave_room(lone_connection, 100_000)
    again = await visit_feed(due, river.engine.feeds)
    assert isinstance(again, JudgedVisit)
    assert (again.name, len(again.changes.new)) == ("fetched", len(MUCH))

"""A clock that was ahead and is put right."""

from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.entrypoints.claims import Claims
from headwater.errors import DatabaseError
from headwater.first_visit import follow_later
from headwater.schedule.shards import store as shards
from headwater.settings import Settings
from headwater.subscribe.feed import Wish
from headwater.values.instant import to_micros
from tests.clock import VirtualClock
from tests.engines import opened_engine

DAY = 86_400.0


async def shards_of(database: SqlDatabase, name: str) -> int:
    async with database.read() as view:
        row = await view.row("SELECT count(*) AS n FROM shards WHERE worker_id = ?", name)
    assert row is not None
    return int(row.n)


async def test_a_worker_that_died_while_the_clock_was_ahead_is_not_counted_as_living(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> None:
    """J4: within lease + 5 s its hosts are somebody else's."""
    settings = Settings(lease_seconds=120)
    async with (
        opened_engine(database, virtual_clock, tmp_path, worker="anna") as one,
        opened_engine(database, virtual_clock, tmp_path, worker="bert") as two,
    ):
        virtual_clock.step(DAY)
        anna, bert = Claims(one, settings), Claims(two, settings)
        await anna.begin()
        await bert.begin()
        await anna.show_up([])
        await bert.show_up([])
        assert await shards_of(database, "anna") == 512
        # bert is killed here; then the clock is put right.
        virtual_clock.step(-DAY)
        for _ in range(30):  # twenty minutes, ten leases
            await virtual_clock.advance(40)
            await anna.show_up([])
            await anna.take_over([])
    assert await shards_of(database, "anna") == 1024


async def test_a_feed_followed_while_the_clock_was_ahead_is_visited(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> None:
    """J3: nothing is planned later than its maximum."""
    async with opened_engine(database, virtual_clock, tmp_path) as engine:
        virtual_clock.step(30 * DAY)
        await follow_later("http://127.0.0.1/feed", Wish(), engine)
        virtual_clock.step(-30 * DAY)
        claims = Claims(engine, Settings())
        await claims.begin()
        wait = await claims.seconds_to_next()
    assert wait is not None
    assert wait <= DAY


async def test_a_clock_set_back_is_not_forgotten_because_the_database_failed_once(
    database: SqlDatabase,
    virtual_clock: VirtualClock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with opened_engine(database, virtual_clock, tmp_path) as engine:
        virtual_clock.step(30 * DAY)
        await follow_later("http://127.0.0.1/feed", Wish(), engine)
        claims = Claims(engine, Settings())
        await claims.begin()
        async with database.write() as tx:  # as if visited and decided just now
            now = to_micros(virtual_clock.now())
            await tx.run(
                "UPDATE feeds SET last_decision_at = ?, next_visit_at = ?, scheduled_at = ?",
                now,
                now + 900_000_000,
                now + 900_000_000,
            )
        virtual_clock.step(-30 * DAY)

        async def fails(*_: object) -> None:
            raise DatabaseError("the database is away for a moment")

        with monkeypatch.context() as broken:
            broken.setattr(shards, "show_up", fails)
            with pytest.raises(DatabaseError):
                await claims.show_up([])
        await claims.show_up([])
        wait = await claims.seconds_to_next()
    assert wait is not None
    assert wait <= DAY

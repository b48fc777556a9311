"""The tests' own tools keep their promises."""

import asyncio
from datetime import UTC, datetime

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.adapters.schema import find_schema, newest_schema
from headwater.core.ports import Clock
from tests.conftest import Dialect
from tests.support.clock import VirtualClock


async def test_the_database_is_of_the_kind_asked_for_and_at_the_newest_schema(
    database: SqlDatabase, dialect: Dialect
) -> None:
    assert database.dialect == dialect
    assert await find_schema(database) == newest_schema()


@pytest.mark.parametrize("run", [1, 2])
async def test_every_test_has_a_database_of_its_own(database: SqlDatabase, run: int) -> None:
    async with database.write() as tx:
        await tx.run("CREATE TABLE mine (run INTEGER)")
        await tx.run("INSERT INTO mine VALUES (?)", run)
        assert len(await tx.rows("SELECT run FROM mine")) == 1


async def test_sleepers_wake_in_order_each_at_its_own_time(virtual_clock: VirtualClock) -> None:
    clock: Clock = virtual_clock
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float, again: float = 0) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.monotonic()))
        if again:
            await sleeper(name, again)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(sleeper("late", 30))
        tasks.create_task(sleeper("early", 10, again=15))
        await virtual_clock.advance(29)
        assert woken == [("early", 10.0), ("early", 25.0)]
        await virtual_clock.advance(1)
    assert woken[2:] == [("late", 30.0)]
    assert clock.now() == datetime(2026, 1, 5, 12, 0, 30, tzinfo=UTC)


async def test_a_cancelled_sleeper_wakes_nobody(virtual_clock: VirtualClock) -> None:
    task = asyncio.create_task(virtual_clock.sleep(5))
    await virtual_clock.asleep()
    task.cancel()
    await virtual_clock.advance(10)
    assert virtual_clock.sleepers == 0
    assert task.cancelled()


async def test_a_corrected_wall_clock_lets_no_time_pass(virtual_clock: VirtualClock) -> None:
    before = virtual_clock.now()
    virtual_clock.step(-3600)
    assert (before - virtual_clock.now()).total_seconds() == 3600
    assert virtual_clock.monotonic() == 0.0


async def test_luck_follows_its_script_and_then_is_even(virtual_clock: VirtualClock) -> None:
    virtual_clock.script_luck(0.5, -1.0)
    assert [virtual_clock.luck() for _ in range(3)] == [0.5, -1.0, 0.0]

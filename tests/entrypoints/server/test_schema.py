"""Before a worker starts, its clock is compared with that of the database it shares with others;
before that database goes back to an older schema, those others must have stopped."""

import time

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import BadSettings, ConflictError
from headwater.core.values.ids import WorkerId
from headwater.entrypoints.server.schema import SchemaChange, check_clock, migrate
from headwater.feeds.worker import worker_rows
from headwater.settings import Settings


def settings_for(database_url: str) -> Settings:
    return Settings(database_url=database_url, lease_seconds=120)


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    ("apart", "words"), [(3_600, "is 3600 s ahead of the"), (-70, "is 70 s behind the database's")]
)
async def test_a_worker_whose_clock_is_wrong_by_half_a_lease_does_not_start(
    database_url: str, apart: float, words: str
) -> None:
    with pytest.raises(BadSettings, match=words):
        await check_clock(settings_for(database_url), lambda: time.time() + apart)


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
@pytest.mark.parametrize("apart", [-50, 0, 50])
async def test_clocks_that_differ_by_less_are_taken_as_they_are(
    database_url: str, apart: float
) -> None:
    await check_clock(settings_for(database_url), lambda: time.time() + apart)


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_a_database_that_takes_its_time_to_answer_has_no_other_clock(
    database_url: str,
) -> None:
    looks = iter([time.time() - 70, time.time() + 30])
    await check_clock(settings_for(database_url), lambda: next(looks))


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_file_has_no_clock_to_differ_from(database_url: str) -> None:
    await check_clock(settings_for(database_url), lambda: 0.0)


async def showed_up(database: SqlDatabase, seconds_ago: float) -> None:
    moment = round((time.time() - seconds_ago) * 1_000_000)
    async with database.write() as tx:
        await worker_rows.upsert_heartbeat(tx, WorkerId("far"), "box-2", 4711, moment)


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_nobody_goes_back_below_the_feet_of_a_worker_on_another_machine(
    database: SqlDatabase, database_url: str
) -> None:
    await showed_up(database, 30)
    with pytest.raises(
        ConflictError, match=r"on box-2 \(process 4711\) showed up 3\d s ago"
    ) as refused:
        await migrate(settings_for(database_url), to=None, down=True)
    assert refused.value.facts == {"host": "box-2", "pid": 4711}
    assert await migrate(settings_for(database_url), to=None, down=False) == SchemaChange(
        "0011", "0011"
    )


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_one_that_has_not_shown_up_for_a_lease_is_gone(
    database: SqlDatabase, database_url: str
) -> None:
    await showed_up(database, 121)
    settings = settings_for(database_url)
    assert await migrate(settings, to=None, down=True) == SchemaChange("0011", "0010")
    assert await migrate(settings, to=None, down=False) == SchemaChange("0010", "0011")


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_file_is_for_one_machine_and_its_lock_says_who_is_there(
    database: SqlDatabase, database_url: str
) -> None:
    await showed_up(database, 30)
    moved = await migrate(settings_for(database_url), to=None, down=True)
    assert moved == SchemaChange("0011", "0010")

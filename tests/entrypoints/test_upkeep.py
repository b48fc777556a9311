"""Before a worker starts: does its clock agree with that of the database it shares with others?"""

import time

import pytest

from headwater.entrypoints.upkeep import refuse_wrong_clock
from headwater.errors import BadSettings
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
        await refuse_wrong_clock(settings_for(database_url), lambda: time.time() + apart)


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
@pytest.mark.parametrize("apart", [-50, 0, 50])
async def test_clocks_that_differ_by_less_are_taken_as_they_are(
    database_url: str, apart: float
) -> None:
    await refuse_wrong_clock(settings_for(database_url), lambda: time.time() + apart)


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_a_database_that_takes_its_time_to_answer_has_no_other_clock(
    database_url: str,
) -> None:
    looks = iter([time.time() - 70, time.time() + 30])
    await refuse_wrong_clock(settings_for(database_url), lambda: next(looks))


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_file_has_no_clock_to_differ_from(database_url: str) -> None:
    await refuse_wrong_clock(settings_for(database_url), lambda: 0.0)

"""A database that stands still says nothing: who looks after us is answered all the same."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from headwater.core.ports import Database, View
from headwater.entrypoints.api.app import create_app
from headwater.settings import Settings
from tests.support.api_caller import Answer, Api
from tests.support.clock import VirtualClock
from tests.support.databases import PassingDatabase
from tests.support.engine_parts import EngineParts
from tests.support.scraped_metrics import Scraped

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)


class StandingStill(PassingDatabase):
    """It takes every question, and answers none before it goes on."""

    def __init__(self, real: Database) -> None:
        super().__init__(real)
        self.asked = 0
        self.goes_on = asyncio.Event()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[View]:
        self.asked += 1
        await self.goes_on.wait()
        async with self.real.read() as view:
            yield view


@pytest.fixture
def still(engine: EngineParts) -> StandingStill:
    engine.database = still = StandingStill(engine.database)
    return still


@pytest.fixture
def api(engine: EngineParts, still: StandingStill, tmp_path: Path) -> Api:
    return Api(create_app(engine.services, Settings(data_dir=tmp_path)))


async def after_eight_seconds(clock: VirtualClock, api: Api, path: str) -> Answer:
    asking = asyncio.create_task(api.get(path))
    await clock.asleep()
    await clock.advance(7.9)
    assert not asking.done()
    await clock.advance(0.1)
    return await asking


async def test_health_is_told_within_eight_seconds(
    api: Api, still: StandingStill, virtual_clock: VirtualClock
) -> None:
    answer = await after_eight_seconds(virtual_clock, api, "/healthz")
    assert (answer.status, answer.error) == (500, "connection_error")
    still.goes_on.set()
    assert (await api.get("/healthz")).status == 200


async def test_however_often_health_is_asked_after_it_holds_one_connection(
    api: Api, still: StandingStill, virtual_clock: VirtualClock
) -> None:
    for _ in range(6):
        await after_eight_seconds(virtual_clock, api, "/healthz")
    assert still.asked == 1


async def test_it_is_a_figure_too(
    api: Api, still: StandingStill, virtual_clock: VirtualClock
) -> None:
    answer = await after_eight_seconds(virtual_clock, api, "/metrics")
    seen = Scraped(answer.body.decode())
    assert seen["headwater_database_up"] == 0
    assert not seen.has("headwater_feeds")
    await after_eight_seconds(virtual_clock, api, "/metrics")
    assert still.asked == 1
    still.goes_on.set()
    assert Scraped((await api.get("/metrics")).body.decode())["headwater_database_up"] == 1

"""What tests of the registry may ask for: the API, a worker and real origins together."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.entrypoints.api.app import create_app
from headwater.feeds.worker import worker_rows
from headwater.settings import Settings
from tests.support.api_caller import Api
from tests.support.clock import VirtualClock
from tests.support.engine import opened_engine
from tests.support.engine_parts import EngineParts
from tests.support.origin import Origin
from tests.support.remote_fetcher import Remote
from tests.support.scripted_engine import ScriptedWeb, an_engine
from tests.support.subscriptions_world import ADDRESSES, World

FAR = 2**62


@pytest.fixture
def engine(database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path) -> EngineParts:
    return an_engine(database, virtual_clock, ScriptedWeb(), tmp_path)


@pytest.fixture
def remote(engine: EngineParts, virtual_clock: VirtualClock) -> Remote:
    return Remote(engine, virtual_clock)


@pytest.fixture
async def world(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> AsyncIterator[World]:
    folder = tmp_path / "blobs"
    async with (
        Origin(virtual_clock) as origin,
        opened_engine(database, virtual_clock, folder) as engine,
    ):
        async with database.write() as tx:
            await worker_rows.claim_shards(tx, engine.worker, 0, FAR, 1024)
        for address in ADDRESSES:
            await origin.listen(address)
        api = Api(create_app(engine.services, Settings(data_dir=tmp_path)))
        yield World(engine, origin, virtual_clock, api, folder)

"""What tests of sinks may ask for."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from tests.support.clock import VirtualClock
from tests.support.sinks_world import SinkWorld, opened_world


@pytest.fixture
async def world(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> AsyncIterator[SinkWorld]:
    async with opened_world(database, virtual_clock, tmp_path) as world:
        yield world

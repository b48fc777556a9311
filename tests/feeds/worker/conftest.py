"""For bad days: the river of whole visits, and engines on a real and on a virtual clock."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headwater.adapters.clock import SystemClock
from headwater.adapters.database import SqlDatabase
from tests.support.clock import VirtualClock
from tests.support.engine import opened_engine
from tests.support.engine_parts import EngineParts
from tests.support.origin import Origin
from tests.support.visits import river as river


@pytest.fixture
async def origin() -> AsyncIterator[Origin]:
    async with Origin() as opened:
        yield opened


@pytest.fixture
async def engine(database: SqlDatabase, tmp_path: Path) -> AsyncIterator[EngineParts]:
    """On the real clock."""
    async with opened_engine(database, SystemClock(), tmp_path / "blobs") as opened:
        yield opened


@pytest.fixture
async def virtual_engine(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> AsyncIterator[EngineParts]:
    async with opened_engine(database, virtual_clock, tmp_path / "blobs") as opened:
        yield opened

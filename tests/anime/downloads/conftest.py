"""A yard for tests of downloads, on SQLite unless a test says otherwise."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from tests.support.download_world import Yard, opened_yard


@pytest.fixture
async def yard(database: SqlDatabase, tmp_path: Path) -> AsyncIterator[Yard]:
    async with opened_yard(database, tmp_path) as it:
        yield it

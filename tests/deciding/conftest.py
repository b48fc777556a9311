"""What tests of deciding ask for."""

from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.entrypoints.api.app import create_app
from headwater.settings import Settings
from tests.clock import VirtualClock
from tests.deciding.world import Harbour
from tests.entrypoints.api.calls import Api
from tests.entrypoints.api.river import ScriptedWeb, an_engine


@pytest.fixture
def harbour(database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path) -> Harbour:
    web = ScriptedWeb()
    engine = an_engine(database, virtual_clock, web, tmp_path)
    return Harbour(engine, virtual_clock, web, Api(create_app(engine, Settings(data_dir=tmp_path))))

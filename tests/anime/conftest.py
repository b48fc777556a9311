"""What tests of deciding ask for."""

from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.entrypoints.api.app import create_app
from headwater.settings import Settings
from tests.support.api_caller import Api
from tests.support.clock import VirtualClock
from tests.support.scripted_engine import ScriptedWeb, an_engine
from tests.support.tracked_feed import Harbour


@pytest.fixture
def harbour(database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path) -> Harbour:
    web = ScriptedWeb()
    engine = an_engine(database, virtual_clock, web, tmp_path)
    return Harbour(
        engine, virtual_clock, web, Api(create_app(engine.services, Settings(data_dir=tmp_path)))
    )

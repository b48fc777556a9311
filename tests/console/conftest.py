"""The console over its real app, in this process."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.engine import Engine
from headwater.entrypoints.api.app import create_app
from headwater.settings import Settings
from tests.clock import VirtualClock
from tests.console.logins import ADMIN
from tests.entrypoints.api.calls import Api
from tests.entrypoints.api.river import ScriptedWeb, an_engine


@pytest.fixture
def engine(database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path) -> Engine:
    return an_engine(database, virtual_clock, ScriptedWeb(), tmp_path)


@pytest.fixture
def api(engine: Engine, tmp_path: Path) -> Api:
    """Everything is open: no admin token, loopback."""
    return Api(create_app(engine, Settings(data_dir=tmp_path)))


@pytest.fixture
def guarded(engine: Engine, tmp_path: Path) -> Callable[..., Api]:
    """An app with an admin token; nobody is logged in."""

    def app(**settings: object) -> Api:
        every = {"data_dir": tmp_path, "admin_token": ADMIN} | settings
        return Api(create_app(engine, Settings(**every)))  # type: ignore[arg-type]

    return app

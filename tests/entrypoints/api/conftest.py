"""The API on either database, open to this machine or behind an admin token."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.entrypoints.api.app import create_app
from headwater.settings import Settings
from tests.support.api_caller import Api
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.scripted_engine import River, ScriptedWeb, an_engine

ADMIN = "an-admin-token-of-the-tests"


@pytest.fixture
def web() -> ScriptedWeb:
    return ScriptedWeb()


@pytest.fixture
def engine(
    database: SqlDatabase, virtual_clock: VirtualClock, web: ScriptedWeb, tmp_path: Path
) -> EngineParts:
    return an_engine(database, virtual_clock, web, tmp_path)


@pytest.fixture
def river(engine: EngineParts, web: ScriptedWeb) -> River:
    return River(engine, web)


@pytest.fixture
def api(engine: EngineParts, tmp_path: Path) -> Api:
    """Everything is open: no admin token, loopback."""
    return Api(create_app(engine.services, Settings(data_dir=tmp_path)))


@pytest.fixture
def guarded(engine: EngineParts, tmp_path: Path) -> Callable[..., Api]:
    """An app with an admin token; call it with the token to use, and other settings."""

    def app(token: str | None = ADMIN, **settings: object) -> Api:
        return Api(
            create_app(engine.services, Settings(data_dir=tmp_path, admin_token=ADMIN, **settings)),  # type: ignore[arg-type]
            token,
        )

    return app

"""The registry over HTTP on either database, with fetchers that answer by script."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.feeds.fetch.request_feed import FetchPolicy
from headwater.settings import Settings
from headwater.web.address_gate import build_address_policy
from tests.support.api_caller import Api
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.scripted_engine import ScriptedWeb, an_engine
from tests.support.scripted_fetchers import Registry, ScriptedFetchers, another_api

ADMIN = "an-admin-token-of-the-tests"


@pytest.fixture
def web() -> ScriptedWeb:
    return ScriptedWeb()


@pytest.fixture
def engine(
    database: SqlDatabase, virtual_clock: VirtualClock, web: ScriptedWeb, tmp_path: Path
) -> EngineParts:
    made = an_engine(database, virtual_clock, web, tmp_path)
    made.fetchers = ScriptedFetchers()
    made.fetch = FetchPolicy(user_agent="test", address=build_address_policy(["localhost:3001"]))
    return made


@pytest.fixture
def registry(engine: EngineParts, tmp_path: Path) -> Registry:
    """Everything is open: no admin token, loopback."""
    assert isinstance(engine.fetchers, ScriptedFetchers)
    api = another_api(engine, Settings(data_dir=tmp_path))
    return Registry(api, engine, engine.fetchers)


@pytest.fixture
def guarded(engine: EngineParts, tmp_path: Path) -> Callable[..., Api]:
    """The API with an admin token; call it with the token to use, and other settings."""

    def app(token: str | None = ADMIN, **settings: object) -> Api:
        every = {"data_dir": tmp_path, "admin_token": ADMIN} | settings
        return another_api(engine, Settings(**every), token)  # type: ignore[arg-type]

    return app

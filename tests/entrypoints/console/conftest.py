"""The console over its real app, in this process."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from headwater.adapters.database import SqlDatabase
from headwater.entrypoints.api.app import create_app
from headwater.settings import Settings
from tests.conftest import had
from tests.support.api_caller import Api
from tests.support.browser import WITHIN, Seen, opened, running_browser
from tests.support.clock import VirtualClock
from tests.support.engine_parts import EngineParts
from tests.support.logins import ADMIN
from tests.support.scripted_engine import ScriptedWeb, an_engine
from tests.support.service import Origin, Service, environment, origin_server, service

expect.set_options(timeout=WITHIN)


@pytest.fixture
def engine(database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path) -> EngineParts:
    return an_engine(database, virtual_clock, ScriptedWeb(), tmp_path)


@pytest.fixture
def api(engine: EngineParts, tmp_path: Path) -> Api:
    """Everything is open: no admin token, loopback."""
    return Api(create_app(engine.services, Settings(data_dir=tmp_path)))


@pytest.fixture
def guarded(engine: EngineParts, tmp_path: Path) -> Callable[..., Api]:
    """An app with an admin token; nobody is logged in."""

    def app(**settings: object) -> Api:
        every = {"data_dir": tmp_path, "admin_token": ADMIN} | settings
        return Api(create_app(engine.services, Settings(**every)))  # type: ignore[arg-type]

    return app


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with ExitStack() as end:
        yield had(end, running_browser())


@pytest.fixture
def origin() -> Iterator[Origin]:
    with origin_server() as running:
        yield running


@pytest.fixture
def running(browser: Browser, tmp_path: Path, origin: Origin) -> Iterator[Service]:
    """A service whose feeds may be visited again at once."""
    told = {"HEADWATER_REFETCH_MIN_SECONDS": "0"}
    with service(environment(tmp_path / "data", origin, **told)) as started:
        yield started


@pytest.fixture
def seen(browser: Browser, running: Service) -> Iterator[Seen]:
    with opened(browser, running.url) as page:
        yield page

"""Whatever anybody sends, answers are what the OpenAPI promises: generated requests, all routes."""

import asyncio
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pydantic import SecretStr
from schemathesis import Case, SerializationContext, openapi, serializer
from schemathesis.core.result import Err
from schemathesis.specs.openapi.checks import positive_data_acceptance

from headwater.adapters.database import open_database
from headwater.entrypoints.api.app import create_app
from headwater.entrypoints.server.listener import build_server
from headwater.settings import Settings
from tests.support.api_routes import RIGHTS
from tests.support.clock import VirtualClock
from tests.support.scripted_engine import River, ScriptedWeb, an_engine, an_entry

ADMIN = "an-admin-token-of-the-tests"
LET_IN = {"Authorization": f"Bearer {ADMIN}"}

quick = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@serializer("application/x-ndjson")
def lines(ctx: SerializationContext, value: Any) -> bytes:
    """Whatever was made up is sent as one line, or several."""
    return str(value).encode("utf-8", "replace")


class Served:
    """The API on a thread of its own, with one feed and one entry in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._server: Any = None
        self.url = ""
        self.schema: dict[str, Any] = {}

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(30)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(30)

    async def _serve(self) -> None:
        database = open_database(f"sqlite:///{self._folder / 'headwater.sqlite'}")
        engine = an_engine(database, VirtualClock(), ScriptedWeb(), self._folder)
        river = River(engine, ScriptedWeb())
        await river.entries(await river.feed(), an_entry("1"))
        app = create_app(
            engine.services,
            Settings(
                data_dir=self._folder, admin_token=SecretStr(ADMIN), api_rate_per_minute=100_000
            ),
        )
        app.state.context.closing.set()  # so that streams have an end
        listener = socket.create_server(("127.0.0.1", 0))
        self._server = build_server(app, stop_seconds=1)
        self.schema = app.openapi()
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self._ready.set()
        await self._server.serve(sockets=[listener])
        listener.close()
        await database.close()


@pytest.fixture(scope="module")
def service(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("schema")
    shutil.copyfile(sqlite_template, folder / "headwater.sqlite")
    running = Served(folder)
    running.start()
    yield running
    running.stop()


def test_every_answer_is_what_the_schema_promises(service: Served) -> None:
    count = 0
    for found in openapi.from_dict(service.schema).get_all_operations():
        assert not isinstance(found, Err)
        operation = found.ok()

        @quick
        @given(case=operation.as_strategy())
        def probe(case: Case[Any]) -> None:
            case.call_and_validate(
                base_url=service.url,
                headers=LET_IN,
                # No schema can say what a cursor, a URL of a feed or a moment is.
                excluded_checks=[positive_data_acceptance],
            )

        probe()
        count += 1
    assert count == len(RIGHTS)

"""Commands run in this process, against a real service or without one."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headwater.entrypoints.cli.main import app
from tests.entrypoints.running import Origin, Service, environment, origin_server, service


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        return json.loads(self.err)


@dataclass(frozen=True)
class Shell:
    """Somebody who types commands about one data folder."""

    env: dict[str, str]

    def __call__(self, *args: str, given: str | bytes | None = None) -> Done:
        ran = CliRunner().invoke(app, list(args), env=self.env, input=given, catch_exceptions=False)
        return Done(ran.exit_code, ran.stdout, ran.stderr, ran.stdout_bytes)


@pytest.fixture(scope="module")
def origin() -> Iterator[Origin]:
    with origin_server() as running:
        yield running


@pytest.fixture(scope="module")
def served(origin: Origin, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for all tests of a module: each uses URLs of its own."""
    folder = tmp_path_factory.mktemp("served")
    with service(environment(folder, origin, HEADWATER_REFETCH_MIN_SECONDS="0")) as running:
        yield running


@pytest.fixture
def sh(served: Service) -> Shell:
    """Commands beside the running service."""
    return Shell({"HEADWATER_DATA_DIR": str(served.folder), **_PLAIN})


@pytest.fixture
def alone(tmp_path: Path, origin: Origin) -> Shell:
    """Commands with no service at all."""
    env = {
        "HEADWATER_DATA_DIR": str(tmp_path / "data"),
        "HEADWATER_ALLOW_ADDRESSES": f"127.0.0.1:{origin.port}",
        "HOST_RPS": "1000",
    }
    return Shell({**env, **_PLAIN})


_PLAIN = {"NO_COLOR": "1", "COLUMNS": "160"}

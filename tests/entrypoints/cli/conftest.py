"""Commands run in this process, against a real service or without one."""

import json
import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import structlog
from typer.testing import CliRunner

from headwater.entrypoints.cli.main import app
from tests.support.service import Origin, Service, environment, origin_server, service


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
        with _log_as_before():
            ran = CliRunner().invoke(
                app, list(args), env=self.env, input=given, catch_exceptions=False
            )
        return Done(ran.exit_code, ran.stdout, ran.stderr, ran.stdout_bytes)


@contextmanager
def _log_as_before() -> Iterator[None]:
    """A command sets the log up for its process, and this process goes on after the command."""
    before, root = structlog.get_config(), logging.getLogger()
    handlers, level = root.handlers[:], root.level
    set_up = structlog.configure

    def for_now(**wishes: Any) -> None:
        set_up(**wishes | {"cache_logger_on_first_use": False})

    try:
        with patch.object(structlog, "configure", for_now):
            yield
    finally:
        structlog.configure(**before)
        root.handlers[:] = handlers
        root.setLevel(level)


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
def nobody(tmp_path: Path, origin: Origin) -> Shell:
    """Commands with no service at all, about a folder that is not there yet."""
    env = {
        "HEADWATER_DATA_DIR": str(tmp_path / "data"),
        "HEADWATER_ALLOW_ADDRESSES": f"127.0.0.1:{origin.port}",
        "HOST_RPS": "1000",
    }
    return Shell({**env, **_PLAIN})


@pytest.fixture
def alone(nobody: Shell, sqlite_template: Path) -> Shell:
    """Commands with no service at all, about a folder whose database is up to date."""
    settled(Path(nobody.env["HEADWATER_DATA_DIR"]), sqlite_template)
    return nobody


def settled(folder: Path, template: Path) -> None:
    """As the first command leaves a data folder."""
    folder.mkdir(mode=0o700, exist_ok=True)
    shutil.copyfile(template, folder / "headwater.db")


_PLAIN = {"NO_COLOR": "1", "COLUMNS": "160"}

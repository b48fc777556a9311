"""A Headwater of the bench: a folder of its own, and a Valkey of its own where one is wanted."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bench.events.service import HEADWATER
from bench.poll.contenders import ROOT, Failed
from headwater.entrypoints.server.schema import bring_up_to_date
from headwater.settings import Settings
from headwater.wiring.app import open_services
from tests.support.brokers import own_redis
from tests.support.engine_parts import EngineParts

Backend = Literal["database", "redis"]
BACKENDS: tuple[Backend, ...] = ("database", "redis")

ADMIN = "an-admin-token-of-the-bench"
ASKED_PER_MINUTE = 10_000_000
"""So that every request is counted and none is refused."""
ENDS_WITHIN = 30.0


@dataclass(frozen=True, slots=True)
class Place:
    """With an admin token, so that everything is checked and counted as in real life."""

    backend: Backend
    folder: Path
    redis_url: str | None

    @property
    def settings(self) -> Settings:
        return Settings(
            data_dir=self.folder,
            admin_token=ADMIN,
            personal_store=self.backend,
            personal_redis_url=self.redis_url,
            personal_rate_per_minute=ASKED_PER_MINUTE,
        )

    @property
    def surroundings(self) -> dict[str, str]:
        """The same for another process, without anybody's own settings."""
        kept = {name: value for name, value in os.environ.items() if "HEADWATER" not in name}
        kept.pop("DATABASE_URL", None)
        told = {
            "HEADWATER_DATA_DIR": str(self.folder),
            "HEADWATER_ADMIN_TOKEN": ADMIN,
            "HEADWATER_PERSONAL_STORE": self.backend,
            "HEADWATER_PERSONAL_RATE_PER_MINUTE": str(ASKED_PER_MINUTE),
        }
        if self.redis_url is not None:
            told["HEADWATER_PERSONAL_REDIS_URL"] = self.redis_url
        return kept | told


@contextmanager
def place_of(backend: Backend) -> Iterator[Place]:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-personal-"))
        url = stack.enter_context(own_redis()).url if backend == "redis" else None
        yield Place(backend, Path(folder), url)


@asynccontextmanager
async def opened(place: Place) -> AsyncIterator[EngineParts]:
    settings = place.settings
    await bring_up_to_date(settings, allowed=True, say=lambda _: None)
    async with open_services(settings) as services:
        engine = EngineParts.of(services)
        yield engine


@contextmanager
def served(place: Place) -> Iterator[int]:
    """`headwater serve` as shipped, in a process of its own; its port."""
    with (
        (place.folder / "log").open("a") as log,
        subprocess.Popen(
            [*HEADWATER, "serve", "--port", "0"],
            cwd=ROOT,
            env=place.surroundings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            yield _port(process)
            process.terminate()
            if process.wait(ENDS_WITHIN) != 0:
                raise Failed(f"headwater serve ended with {process.returncode}")
        except BaseException:
            process.kill()
            raise


def _port(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    port = 0
    for line in process.stdout:
        if "listening" in line:
            port = int(line.split()[1].rsplit(":", 1)[1])
        if "Ctrl-C" in line:
            return port
    raise Failed("headwater serve did not start")


@contextmanager
def peer(file: Path) -> Iterator[int]:
    """The bare app, in a process of its own; its port."""
    with subprocess.Popen(
        [sys.executable, "-m", "bench.personal.bare", str(file)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            yield int(json.loads(process.stdout.readline())["port"])
            process.communicate(timeout=ENDS_WITHIN)
        except BaseException:
            process.kill()
            raise

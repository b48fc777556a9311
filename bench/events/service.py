"""`headwater run` as shipped, in a folder of its own, and what it takes of memory."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.poll.contenders import ROOT, Failed
from headwater.client import Client

HEADWATER = [sys.executable, "-m", "headwater.entrypoints.cli.main"]
MEGABYTE = 1_000_000
ENDS_WITHIN = 30.0


@dataclass(frozen=True, slots=True)
class Running:
    url: str
    pid: int

    @property
    def place(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        assert parts.port is not None
        return parts.hostname, parts.port

    @property
    def megabytes(self) -> float:
        """Resident memory of the process itself; its parsers hold no streams."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024 / MEGABYTE
        raise Failed("the service is gone")

    def follow(self, url: str) -> None:
        """A new feed for later: one event, and no visit."""
        Client(self.url).ask("POST", "/feeds", {"url": url, "visit": "later"})


def surroundings(folder: Path, port: int) -> dict[str, str]:
    """The environment without anybody's own Headwater settings; feeds on loopback are allowed."""
    kept = {name: value for name, value in os.environ.items() if "HEADWATER" not in name}
    kept.pop("DATABASE_URL", None)
    ports = sorted({80, 443, 8080, 8443, port})
    return kept | {
        "HEADWATER_DATA_DIR": str(folder),
        "HEADWATER_ALLOW_ADDRESSES": '["127.0.0.0/8"]',
        "HEADWATER_ALLOWED_PORTS": json.dumps(ports),
    }


@contextmanager
def running(folder: Path, surroundings: dict[str, str]) -> Iterator[Running]:
    with (
        (folder / "log").open("a") as log,
        subprocess.Popen(
            [*HEADWATER, "run", "--port", "0"],
            cwd=ROOT,
            env=surroundings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            yield Running(_greeted(process), process.pid)
            process.terminate()
            if process.wait(ENDS_WITHIN) != 0:
                raise Failed(f"headwater run ended with {process.returncode}")
        except BaseException:
            process.kill()
            raise


def _greeted(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    url = ""
    for line in process.stdout:
        if "listening" in line:
            url = line.split()[1]
        if "Ctrl-C" in line:
            return url
    raise Failed("headwater run did not start")


@contextmanager
def speaking(module: str, *words: str) -> Iterator["Speaker"]:
    """A process of the bench that says one line of JSON after the other."""
    with subprocess.Popen(
        [sys.executable, "-m", module, *words],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Speaker(process)
        finally:
            process.kill()


@dataclass(frozen=True, slots=True)
class Speaker:
    process: subprocess.Popen[str]

    def said(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"{self.process.args!r} ended before its work was done")
        said: dict[str, Any] = json.loads(line)
        return said

    def tell(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()


def settled(service: Running, seconds: float = 2.0) -> float:
    """Megabytes, once they have not grown for a while."""
    least, since = service.megabytes, time.monotonic()
    while time.monotonic() - since < seconds:
        time.sleep(0.2)
        now = service.megabytes
        if now > least:
            least, since = now, time.monotonic()
    return least

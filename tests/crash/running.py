"""The real service as a process of its own: started, killed, paused, stopped, asked over HTTP."""

import asyncio
import atexit
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import urllib.request
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from headwater import __version__
from headwater.entrypoints.server.data_folder import WORKER_ID_FILE
from tests.support.servers import quiet_port

COMMAND = Path(sys.executable).with_name("headwater")
STARTS_WITHIN = 60.0
LOOKS_EVERY = 0.02

QUICK = {
    "HEADWATER_ALLOW_ADDRESSES": "127.0.0.0/8",
    "HEADWATER_API_RATE_PER_MINUTE": "100000",
    "HEADWATER_LEASE_SECONDS": "5",
    "HEADWATER_LOG_FORMAT": "json",
    "HEADWATER_ADDRESS_RPS": "100",
    "HOST_RPS": "20",
    "SCHED_INITIAL_INTERVAL_SEC": "1",
    "SCHED_MIN_INTERVAL_SEC": "1",
    "SCHED_MAX_INTERVAL_SEC": "3",
    "SCHED_BACKOFF_CAP_SEC": "2",
}
"""A day of visits in a minute: everything is due again after a second or three."""


class Service:
    """`headwater run` (or `work`) on a data folder; may be started again after its end."""

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str],
        *,
        command: str = "run",
        source: Path | None = None,
        program: Sequence[str | Path] = (COMMAND,),
    ) -> None:
        """`source` is a folder to import Headwater from instead of the installed one. `program` is
        what is run instead of its own command."""
        self._folder, self._program = folder, program
        self.url = f"http://127.0.0.1:{quiet_port()}"
        port = self.url.rpartition(":")[2]
        self._words = [command, *(["--port", port] if command == "run" else [])]
        self._log = folder.with_name(f"{folder.name}.log")
        self._environment = {
            name: value for name, value in os.environ.items() if not name.startswith("HEADWATER_")
        }
        self._environment |= {**QUICK, **settings, "HEADWATER_DATA_DIR": str(folder)}
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)
        if source is not None:
            self._environment["PYTHONPATH"] = str(source)
        if source is not None or "PYTHONPYCACHEPREFIX" not in self._environment:
            self._environment["PYTHONPYCACHEPREFIX"] = str(_bytecode())
        self._process: Process | None = None
        self.starts = 0

    @property
    def worker(self) -> str:
        """Its name in the database, the same after every start."""
        return (self._folder / WORKER_ID_FILE).read_text("ascii").strip()

    async def start(self) -> None:
        """Returns when it has said hello; it listens by then, and knows what SIGTERM means."""
        assert self._process is None, "it runs already"
        with self._log.open("ab") as output:
            before = output.tell()
            self._process = await asyncio.create_subprocess_exec(
                *self._program,
                *self._words,
                stdout=output,
                stderr=output,
                env=self._environment,
                start_new_session=True,
            )
        self.starts += 1
        deadline = time.monotonic() + STARTS_WITHIN
        while not self._has_said_hello(before):
            assert self._process.returncode is None, f"it ended at once:\n{self.last_words()}"
            assert time.monotonic() < deadline, f"it does not start:\n{self.last_words()}"
            await asyncio.sleep(LOOKS_EVERY)

    async def kill(self) -> None:
        """kill -9 of the service and its parse processes, at this very moment."""
        self._signal(signal.SIGKILL)
        await self._ended()

    def parse_processes(self) -> list[int]:
        """Its children, by number."""
        assert self._process is not None
        threads = Path(f"/proc/{self._process.pid}/task").glob("*/children")
        return [int(number) for thread in threads for number in thread.read_text().split()]

    @property
    def has_ended(self) -> bool:
        """By itself, or because somebody killed it."""
        return self._process is None or self._process.returncode is not None

    async def ended(self) -> None:
        """Returns when it has ended by itself; it may be started again then."""
        await self._ended()

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    async def stop(self) -> float:
        """SIGTERM; the seconds until its end."""
        assert self._process is not None
        began = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        code = await self._ended()
        assert code == 0, f"it ended with {code}:\n{self.last_words()}"
        return time.monotonic() - began

    async def end(self) -> None:
        """Whatever state it is in: nothing of it runs afterwards."""
        if self._process is not None and self._process.returncode is None:
            await self.kill()

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return await asyncio.to_thread(self._ask, path, body)

    async def get(self, path: str) -> dict[str, Any]:
        return await asyncio.to_thread(self._ask, path, None)

    def last_words(self, lines: int = 30) -> str:
        """The end of its log, without the visits that went as they should."""
        told = self._log.read_text("utf-8", "replace").splitlines()
        return "\n".join([line for line in told if '"event":"visit"' not in line][-lines:])

    def _has_said_hello(self, since: int) -> bool:
        """Only what came since: a log of a long ordeal is long."""
        with self._log.open("rb") as told:
            told.seek(since)
            return f"Headwater {__version__}".encode() in told.read()

    def _ask(self, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        said = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.url + path, said, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            told: dict[str, Any] = json.loads(answer.read())
            return told

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        assert self._process.returncode is None, f"it ended by itself:\n{self.last_words()}"
        os.killpg(self._process.pid, number)

    async def _ended(self) -> int:
        assert self._process is not None
        code = await self._process.wait()
        self._process = None
        return code


@cache
def _bytecode() -> Path:
    """Where what was compiled is kept for the next start, which takes half the time then."""
    folder = tempfile.mkdtemp(prefix="headwater-bytecode-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)

"""Runs one contender through one pass: a process of its own, timed by what it says and leaves."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from bench.poll.processes import Family

Pass = Literal["cold", "304", "steady"]
PASSES: tuple[Pass, ...] = ("cold", "304", "steady")

ROOT = Path(__file__).resolve().parents[2]
HOUR_MICROS = 3_600_000_000
LOOK_EVERY = 0.004
LONGEST = 120.0


class Failed(Exception):
    """A contender did not do its work, or not all of it."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One pass of one contender. `lag`: seconds until its tap had everything too."""

    seconds: float
    main_mb: float
    all_mb: float
    cpu: dict[str, float]
    lag: float = 0.0


@dataclass(frozen=True, slots=True)
class Course:
    """What everybody runs on."""

    port: int
    feeds: int
    items: int
    parallel: int
    naive_python: str


class Contender(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def times(self) -> int:
        """How often it runs in a round."""

    def run(self, what: Pass, folder: Path, course: Course) -> Measured: ...


@dataclass(frozen=True, slots=True)
class Bare:
    """Over in a fraction of a second, so it runs a few times."""

    name: str = "bare loop"
    how: Literal["documents", "wire"] = "documents"
    times: int = 3

    def run(self, what: Pass, folder: Path, course: Course) -> Measured:
        words = [*_words(what, folder, course), self.how]
        return _timed([sys.executable, "-m", "bench.poll.bare", *words], folder)


@dataclass(frozen=True, slots=True)
class Naive:
    name: str = "naive engine"
    times: int = 1

    def run(self, what: Pass, folder: Path, course: Course) -> Measured:
        words = _words(what, folder, course)
        return _timed([course.naive_python, "-m", "bench.poll.naive", *words], folder)

    @staticmethod
    def can_run(course: Course) -> bool:
        tried = subprocess.run(
            [course.naive_python, "-c", "import aiohttp, fastfeedparser"],
            check=False,
            stderr=subprocess.DEVNULL,
        )
        return tried.returncode == 0


@dataclass(slots=True)
class Headwater:
    """Shipped defaults; only the data folder is its own and the loopback addresses are allowed.

    `tap`: every event goes to NDJSON files meanwhile, with its entry and its raw bytes.
    """

    name: str = "Headwater"
    times: int = 1
    profile: Path | None = None
    tap: bool = False
    passes: int = field(default=0, init=False)

    def run(self, what: Pass, folder: Path, course: Course) -> Measured:
        surroundings = _surroundings(folder, course.port)
        if self.tap:
            surroundings["HEADWATER_SINKS"] = json.dumps([{"name": "tap", "kind": "ndjson"}])
        if what == "cold":
            self.passes = 0
            follow = [sys.executable, "-m", "bench.poll.river", "follow"]
            subprocess.run(
                [*follow, str(course.port), str(course.feeds)],
                cwd=ROOT,
                env=surroundings,
                check=True,
            )
        else:
            make_due(folder / "headwater.db")
        self.passes += 1
        os.sync()
        command = [sys.executable, "-m", "bench.poll.river", "work"]
        if self.profile is not None:
            command.append(str(self.profile))
        committed = Count(folder / "headwater.db", VISITS, self.passes * course.feeds)
        everything = course.feeds * course.items
        tapped = Count(folder / "headwater.db", TAPPED, everything) if self.tap else None
        return _timed(command, folder, surroundings, committed, tapped)


VISITS = "SELECT count(*) FROM visits"
TAPPED = "SELECT max(cursor) FROM sinks"


@dataclass(slots=True)
class Count:
    """Whether the database counts so many of something, as another process sees it."""

    database: Path
    question: str
    wanted: int
    _view: sqlite3.Connection = field(init=False)

    def __post_init__(self) -> None:
        self._view = sqlite3.connect(self.database)

    def __call__(self) -> bool:
        (count,) = self._view.execute(self.question).fetchone()
        return bool(count is not None and count >= self.wanted)


def make_due(database: Path) -> None:
    """An hour has passed, and every feed's time has come."""
    now = time.time_ns() // 1_000
    with sqlite3.connect(database) as connection:
        connection.execute(
            "UPDATE feeds SET next_visit_at = ?, scheduled_at = ?,"
            " last_fetch_at = last_fetch_at - ?",
            (now, now, HOUR_MICROS),
        )
    connection.close()


def _surroundings(folder: Path, port: int) -> dict[str, str]:
    """The environment without anybody's own Headwater settings."""
    kept = {name: value for name, value in os.environ.items() if "HEADWATER" not in name}
    kept.pop("DATABASE_URL", None)
    kept |= {"HEADWATER_DATA_DIR": str(folder), "HEADWATER_ALLOW_ADDRESSES": '["127.0.0.0/8"]'}
    if port not in {80, 443, 8080, 8443}:
        kept["HEADWATER_ALLOWED_PORTS"] = f"[80, 443, 8080, 8443, {port}]"
    return kept


def _words(what: Pass, folder: Path, course: Course) -> list[str]:
    return [what, str(folder), str(course.port), str(course.feeds), str(course.parallel)]


def _timed(
    command: list[str],
    folder: Path,
    surroundings: dict[str, str] | None = None,
    committed: Count | None = None,
    tapped: Count | None = None,
) -> Measured:
    """From `started` until `done`, or until somebody outside sees that all is committed.

    With a tap, CPU and memory are those until it has everything too.
    """
    os.sync()
    with _running(command, folder, surroundings) as process:
        family, start = Family(process.pid), _said(process, folder)["started"]
        family.look()
        before = family.cpu
        if committed is None:
            end = _said(process, folder)["done"]
        else:
            end = _seen(committed, process, family, start, folder)
        lag = 0.0 if tapped is None else _seen(tapped, process, family, start, folder) - end
        family.look()
        spent = {who: seconds - before[who] for who, seconds in family.cpu.items()}
        return Measured(end - start, family.main_mb, family.all_mb, spent, lag)


def _seen(
    committed: Count,
    process: subprocess.Popen[str],
    family: Family,
    start: float,
    folder: Path,
) -> float:
    looks = 0
    while not committed():
        looks += 1
        if process.poll() is not None or time.monotonic() - start > LONGEST:
            raise Failed(f"{process.args!r}: not all of it was done\n{_last(folder)}")
        if looks % 16 == 1:
            family.look()
        time.sleep(LOOK_EVERY)
    return time.monotonic()


@contextmanager
def _running(
    command: list[str], folder: Path, surroundings: dict[str, str] | None
) -> Iterator[subprocess.Popen[str]]:
    """Its log goes to a file in its folder; it is let go, and waited for, at the end."""
    with (
        (folder / "log").open("a") as log,
        subprocess.Popen(
            command,
            cwd=ROOT,
            env=surroundings,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        assert process.stdin is not None
        try:
            yield process
            process.stdin.close()
            if process.wait(timeout=30) != 0:
                raise Failed(
                    f"{' '.join(command)} ended with {process.returncode}\n{_last(folder)}"
                )
        except BaseException:
            process.kill()
            raise


def _said(process: subprocess.Popen[str], folder: Path) -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise Failed(f"a contender ended before its work was done\n{_last(folder)}")
    said: dict[str, Any] = json.loads(line)
    return said


def _last(folder: Path) -> str:
    return "\n".join((folder / "log").read_text().splitlines()[-20:])

"""The origin server as the run sees it: started once, asked for its counts, ended."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from bench.poll.contenders import ROOT, Failed
from bench.poll.documents import Shape

SERVERS = {"ordinary": "bench.poll.ordinary", "ready": "bench.poll.origin"}
"""Who answers: a web server that makes each answer, or one whose answers lie ready."""

WHO_ANSWERS = {
    "ordinary": "Answered by an ordinary web server (aiohttp), as publishers have one.",
    "ready": "Answered by a server whose answers lie ready: no publisher is as fast.",
}
HARDEST = "ready"
"""Nobody waits for it, so that whoever asks is all that is measured. No bar is for this one."""


@dataclass(frozen=True, slots=True)
class Publishers:
    port: int
    average_bytes: int
    average_coded: int
    _process: subprocess.Popen[str]

    def counts(self) -> dict[str, int]:
        """What was asked since the last time."""
        counts: dict[str, int] = _ask(self._process, "counts")
        return counts

    def digests(self) -> dict[str, list[str]]:
        """Of the `first` documents, and of the `later` ones with news."""
        digests: dict[str, list[str]] = _ask(self._process, "digests")
        return digests

    @contextmanager
    def publishing(self) -> Iterator[None]:
        """Every fifth feed has news meanwhile."""
        _ask(self._process, "publish")
        try:
            yield
        finally:
            _ask(self._process, "withdraw")


@contextmanager
def publishers(shape: Shape, port: int | None, server: str) -> Iterator[Publishers]:
    words = [f"--{name}={value}" for name, value in asdict(shape).items()]
    if port is not None:
        words.append(f"--port={port}")
    with subprocess.Popen(
        [sys.executable, "-m", SERVERS[server], *words],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            first = _heard(process)
            average = {name: first[name] // shape.feeds for name in ("bytes", "coded")}
            yield Publishers(first["port"], average["bytes"], average["coded"], process)
        finally:
            process.kill()


def _ask(process: subprocess.Popen[str], word: str) -> Any:
    assert process.stdin is not None
    process.stdin.write(f"{word}\n")
    process.stdin.flush()
    return _heard(process)


def _heard(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise Failed("the origin server ended by itself")
    return json.loads(line)

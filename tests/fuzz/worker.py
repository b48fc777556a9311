"""One process that mutates and examines, with its current input in view of the watchdog."""

import mmap
import os
import random
import resource
import struct
import sys
import traceback
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from headwater.parse import Document
from tests.fuzz.mutate import Mutator
from tests.fuzz.target import Broken, examine

CORPUS = Path(__file__).parent / "corpus"
SLATE_BYTES = 1 << 20
_HEAD = struct.Struct("<QQQQ")
"""Executions, entries seen, findings, and the length of the input that is being examined."""

THOROUGH_EVERY = 8
"""Executions between those that parse twice and read fragments again; whatever behaves as
nothing before it is examined so at once."""

MOST_POOL = 1_500
LONGEST_IN_POOL = 1_200
"""Small documents stay small: a thousand short ones find more than a hundred long ones."""

MOST_SAVED = 10
"""Inputs kept of each kind of finding."""

LOOK_AROUND_EVERY = 2_000
"""Executions between looks at the memory, and at whether the watchdog is still there."""


class Slate:
    """A file in memory that outlives its process: how far it came, and with what."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(SLATE_BYTES))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), SLATE_BYTES)

    def write(self, executions: int, entries: int, findings: int, body: bytes) -> None:
        kept = body[: SLATE_BYTES - _HEAD.size]
        self._map[_HEAD.size : _HEAD.size + len(kept)] = kept
        self._map[: _HEAD.size] = _HEAD.pack(executions, entries, findings, len(kept))

    def read(self) -> tuple[int, int, int, bytes]:
        executions, entries, findings, length = _HEAD.unpack(self._map[: _HEAD.size])
        return executions, entries, findings, self._map[_HEAD.size : _HEAD.size + length]


class Findings:
    """Saved inputs, each with what went wrong; the same kind only a few times."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kinds: dict[str, int] = {}
        self.count = 0

    def add(self, body: bytes, trouble: BaseException) -> None:
        self.count += 1
        kind = _kind_of(trouble)
        self._kinds[kind] = self._kinds.get(kind, 0) + 1
        if self._kinds[kind] <= MOST_SAVED:
            save(self._folder, body, kind, "".join(traceback.format_exception(trouble)))

    def in_words(self) -> str:
        return "\n".join(f"{count:>9,}  {kind}" for kind, count in sorted(self._kinds.items()))


def save(folder: Path, body: bytes, kind: str, words: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{kind}-{sha256(body).hexdigest()[:12]}.bin"
    path.write_bytes(body)
    path.with_suffix(".txt").write_text(words, "utf-8")
    return path


def _kind_of(trouble: BaseException) -> str:
    """What went wrong and where, fit for a file's name."""
    words = str(trouble).partition(":")[0] if isinstance(trouble, Broken) else ""
    frames = traceback.extract_tb(trouble.__traceback__)
    where = f"{Path(frames[-1].filename).stem}-{frames[-1].lineno}" if frames else "nowhere"
    kind = f"{type(trouble).__name__} {words} {where}".lower()
    return "-".join("".join(one if one.isalnum() else " " for one in kind).split())[:80]


def seeds() -> list[bytes]:
    return [path.read_bytes() for path in sorted(CORPUS.iterdir()) if path.is_file()]


def behaviour_of(document: Document) -> tuple[object, ...]:
    """A coarse picture of what the parser did: a new one is worth going on from."""
    first = document.entries[0] if document.entries else None
    return (
        document.format,
        document.version,
        document.encoding,
        frozenset(problem.code for problem in document.problems),
        min(len(document.entries), 3),
        first
        and (
            first.native_id is None, first.id_is_permalink, first.title and first.title.type,
            first.summary and first.summary.type, len(first.contents), first.link is None,
            min(len(first.links), 2), min(len(first.authors), 2), min(len(first.categories), 2),
            min(len(first.enclosures), 2), first.published is None, first.updated is None,
            first.source is None, min(len(first.extensions), 2), first.fragment is None,
        ),
    )  # fmt: skip


def documents(mutator: Mutator, runs: int) -> Iterator[tuple[int, bytes]]:
    """The seeds as they are, then what luck makes of them."""
    for number, body in enumerate(seeds()):
        yield number, body
    for number in range(len(seeds()), runs):
        yield number, mutator.next()


def work(slate: Slate, findings: Findings, seed: str, runs: int, most_megabytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (most_megabytes << 20, most_megabytes << 20))
    mutator = Mutator(seeds(), random.Random(seed))
    seen: set[tuple[object, ...]] = set()
    entries, watchdog = 0, os.getppid()
    for number, body in documents(mutator, runs):
        slate.write(number, entries, findings.count, body)
        try:
            thorough = number % THOROUGH_EVERY == 0
            document = examine(body, thorough=thorough)
            entries += len(document.entries)
            behaviour = behaviour_of(document)
            if behaviour not in seen and len(seen) < MOST_POOL:
                seen.add(behaviour)
                if len(body) <= LONGEST_IN_POOL:
                    mutator.remember(body)
                if not thorough:
                    examine(body)
            if number % LOOK_AROUND_EVERY == 0:
                if os.getppid() != watchdog:
                    return
                _check_memory(most_megabytes)
        except Exception as trouble:  # noqa: BLE001  whatever it is, it is what we look for
            findings.add(body, trouble)
    slate.write(runs, entries, findings.count, b"")
    if findings.count:
        sys.stdout.write(findings.in_words() + "\n")


def _check_memory(most_megabytes: int) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    if peak > most_megabytes // 2:
        raise Broken(f"memory: {peak} MB at the peak")


def main(slate: str, folder: str, seed: str, runs: str, most_megabytes: str) -> None:
    work(Slate(Path(slate)), Findings(Path(folder)), seed, int(runs), int(most_megabytes))


if __name__ == "__main__":
    main(*sys.argv[1:6])

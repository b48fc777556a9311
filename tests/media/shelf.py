"""The library as somebody beside it sees it: every file, at every moment, and what it holds."""

import os
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

RECYCLE = ".headwater-recycle"
LOOKS_EVERY = 0.02
_SLOT = re.compile(r"S(\d+)E(\d+)")

Slot = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Shown:
    """A video in the library."""

    path: str
    digest: str


@dataclass(slots=True)
class Watch:
    """Looks all the time. `history` is what each slot has shown, in order; `gaps` are moments at
    which a slot that was filled once was empty; `bodies` are all digests, with their paths."""

    library: Path
    history: dict[Slot, list[str]] = field(default_factory=dict)
    gaps: list[Slot] = field(default_factory=list)
    bodies: dict[str, set[str]] = field(default_factory=dict)
    _known: dict[str, tuple[tuple[int, ...], str]] = field(default_factory=dict)
    _before: frozenset[tuple[Slot, str]] = frozenset()
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._go_on_looking, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        self.look()

    def _go_on_looking(self) -> None:
        while not self._over.wait(LOOKS_EVERY):
            self.look()

    def look(self) -> None:
        now = self.shown()
        if self._missing(now):  # a folder is not read in one moment: once more
            now = self.shown()
        self.gaps += self._missing(now)
        fresh = frozenset((slot, each.digest) for slot, some in now.items() for each in some)
        for slot, digest in sorted(fresh - self._before):
            self.history.setdefault(slot, []).append(digest)
        self._before = fresh

    def shown(self) -> Mapping[Slot, list[Shown]]:
        found: dict[Slot, list[Shown]] = {}
        for place in self._videos():
            digest = self._digest(place)
            if digest is not None:
                path = place.relative_to(self.library).as_posix()
                self.bodies.setdefault(digest, set()).add(path)
                for slot in slots_in(place.name):
                    found.setdefault(slot, []).append(Shown(path, digest))
        return found

    def _missing(self, now: Mapping[Slot, list[Shown]]) -> list[Slot]:
        return [slot for slot in self.history if not now.get(slot)]

    def _videos(self) -> Iterator[Path]:
        for above, folders, names in os.walk(self.library):
            folders[:] = [name for name in folders if name != RECYCLE]
            yield from (Path(above) / name for name in names if name.endswith(".mkv"))

    def _digest(self, place: Path) -> str | None:
        """Read again only when it is another file, or was written to."""
        try:
            now = place.stat()
            marks = (now.st_ino, now.st_size, now.st_mtime_ns)
            before, digest = self._known.get(str(place), ((), ""))
            if before != marks:
                digest = sha256(place.read_bytes()).hexdigest()
                self._known[str(place)] = (marks, digest)
        except FileNotFoundError:  # it left while we looked
            return None
        return digest


def slots_in(name: str) -> list[Slot]:
    """`S01E03`, and every one of `S01E01-E02`."""
    found = _SLOT.search(name)
    if found is None:
        return []
    season, first = int(found[1]), int(found[2])
    last = re.match(r"-E(\d+)", name[found.end() :])
    return [(season, number) for number in range(first, (int(last[1]) if last else first) + 1)]

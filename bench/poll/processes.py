"""What a process and its children take: memory at its peak, seconds of CPU by who spent them."""

import os
from dataclasses import dataclass, field
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_MEGABYTE = 1_000_000


@dataclass(slots=True)
class Family:
    """One process with all it started; look often, for children may be gone by the end."""

    pid: int
    peaks: dict[int, int] = field(default_factory=dict)
    spent: dict[int, float] = field(default_factory=dict)

    def look(self) -> None:
        for pid in (self.pid, *_descendants(self.pid)):
            try:
                # A peak only grows, but for a child that has just become another program: before
                # that, its parent's memory counts as its own.
                self.peaks[pid] = _peak(pid)
                self.spent[pid] = _cpu(Path(f"/proc/{pid}/stat"))
            except (FileNotFoundError, ProcessLookupError):
                continue

    @property
    def main_mb(self) -> float:
        return self.peaks.get(self.pid, 0) / _MEGABYTE

    @property
    def all_mb(self) -> float:
        """The sum of every process's own peak: pages they share are counted for each."""
        return sum(self.peaks.values()) / _MEGABYTE

    @property
    def cpu(self) -> dict[str, float]:
        """Seconds since the process began, by its first thread, its others and its children."""
        loop = _cpu(Path(f"/proc/{self.pid}/task/{self.pid}/stat"))
        main = self.spent.get(self.pid, 0.0)
        children = sum(self.spent.values()) - main
        return {"first_thread": loop, "other_threads": main - loop, "children": children}


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(word) for word in task.read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
        for child in children:
            found += [child, *_descendants(child)]
    return found


def _peak(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _cpu(stat: Path) -> float:
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / _TICKS

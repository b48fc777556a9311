"""What an NDJSON sink costs: Headwater cold, with and without one, taking turns."""

import json
import tempfile
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from statistics import median

from bench.bars import Bar
from bench.poll.contenders import Course, Failed, Headwater, Measured
from bench.poll.counts import check_archive, check_requests
from bench.poll.publishers import Publishers

MOST = 1.10
"""The time with the tap, for each unit of the time without."""

DISK_FORGETS = 6.0
"""ext4 is slow to give out an inode that was freed in the last five seconds; nobody shall pay for
the files of the run before."""


def tap(rounds: int, origin: Publishers, course: Course, *, say: Callable[[str], None]) -> bool:
    """Prints what was found; whether the bar is met."""
    without, tapped = Headwater("without"), Headwater("with the tap", tap=True)
    runs: dict[str, list[Measured]] = {without.name: [], tapped.name: []}
    for turn in range(rounds):
        for contender in (without, tapped) if turn % 2 else (tapped, without):
            say(f"round {turn + 1} of {rounds}: {contender.name}")
            runs[contender.name].append(_run(contender, origin, course))
    held = _bar(runs[tapped.name], runs[without.name])
    for name, measured in runs.items():
        print(_line(name, measured))
    print(_words(runs[tapped.name], runs[without.name]))
    print(held.in_words)
    return held.is_met


def _run(contender: Headwater, origin: Publishers, course: Course) -> Measured:
    time.sleep(DISK_FORGETS)
    with tempfile.TemporaryDirectory(prefix="bench-poll-") as name:
        folder = Path(name)
        origin.counts()
        measured = contender.run("cold", folder, course)
        check_requests(contender.name, "cold", origin.counts(), course)
        check_archive(folder, "cold", origin.digests(), course)
        if contender.tap:
            check_tap(folder / "out", origin.digests()["first"], course)
        return measured


def check_tap(folder: Path, digests: list[str], course: Course) -> None:
    """Every event once and in order, each with its entry; every document as it was served."""
    seqs: list[int] = []
    ids: set[str] = set()
    files: set[str] = set()
    for path in sorted((folder / "entries").iterdir()):
        for text in path.read_bytes().splitlines():
            line = json.loads(text)
            seqs.append(line["seq"])
            ids.add(line["id"])
            files.update(ref["file"] for ref in line["raw"])
            if line["entry"]["entry_uid"] != line["payload"]["entry_uid"]:
                raise Failed(f"the tap: event {line['seq']} has another entry")
    wanted = course.feeds * course.items
    if seqs != list(range(1, wanted + 1)) or len(ids) != wanted:
        raise Failed(f"the tap: {len(seqs)} lines, {len(ids)} events, expected {wanted} in order")
    found = sorted(sha256((folder / file).read_bytes()).hexdigest() for file in files)
    if found != sorted(digests):
        raise Failed(f"the tap: {len(found)} raw files, not the documents that were served")


def _bar(tapped: list[Measured], without: list[Measured]) -> Bar:
    ratio = median(a.seconds / b.seconds for a, b in zip(tapped, without, strict=True))
    return Bar("cold: time with the NDJSON tap beside without", ratio, MOST, at_most=True)


def _words(tapped: list[Measured], without: list[Measured]) -> str:
    cpu = median(_cpu(a) / _cpu(b) for a, b in zip(tapped, without, strict=True))
    lag = median(each.lag for each in tapped)
    return (
        f"\nCPU with the tap beside without: {cpu:.2f}."
        f" The tap had everything {lag:.2f} s after the last visit."
    )


def _line(name: str, runs: list[Measured]) -> str:
    every = "  ".join(f"{each.seconds:.3f}" for each in runs)
    middle, cpu = median(each.seconds for each in runs), median(_cpu(each) for each in runs)
    memory = max(each.all_mb for each in runs)
    return f"{name:<14}{middle:>8.3f} s{cpu:>8.2f} s CPU{memory:>6.0f} MB   every run: {every}"


def _cpu(measured: Measured) -> float:
    return sum(measured.cpu.values())

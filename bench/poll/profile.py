"""Where Headwater's time goes: the loop's thread under cProfile, microseconds for each visit."""

import pstats
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from bench.poll.contenders import ROOT, Course, Headwater, Pass
from bench.poll.publishers import Publishers

TOP = 30


@dataclass(frozen=True, slots=True)
class Function:
    """Seconds by the wall clock, so a busy machine shows in them; waiting is in the loop's own."""

    where: str
    calls: int
    own: float
    total: float


def profile(what: Pass, origin: Publishers, course: Course) -> str:
    """The pass asked for, alone; the others have the cold one before them, unwatched."""
    with tempfile.TemporaryDirectory(prefix="bench-poll-") as name:
        folder, kept = Path(name), Path(name) / "profile"
        contender = Headwater()
        if what != "cold":
            contender.run("cold", folder, course)
        contender.profile = kept
        with origin.publishing() if what == "steady" else nullcontext():
            measured = contender.run(what, folder, course)
        functions = list(_functions(kept))
    spent = "  ".join(f"{who.replace('_', ' ')} {cpu:.2f}" for who, cpu in measured.cpu.items())
    ours = [each for each in functions if "headwater/" in each.where]
    return "\n".join(
        [
            f"{course.feeds:,} visits, {what}, {measured.seconds:.3f} s under the profiler,"
            " which about doubles what Python code takes; on a busy machine, run it again.",
            f"CPU seconds: {spent}",
            *_table("by own time", sorted(functions, key=lambda f: -f.own), course.feeds),
            *_table("Headwater's own, with all they call", _by_total(ours), course.feeds),
        ]
    )


def _functions(kept: Path) -> Iterator[Function]:
    stats: dict[tuple[str, int, str], tuple[int, int, float, float, object]]
    stats = pstats.Stats(str(kept)).stats  # type: ignore[attr-defined]
    for (file, line, name), (_, calls, own, total, _) in stats.items():
        path = file.replace(f"{ROOT}/src/", "").rpartition("site-packages/")[2]
        yield Function(f"{path}:{line} {name}" if line else name, calls, own, total)


def _by_total(functions: list[Function]) -> list[Function]:
    return sorted(functions, key=lambda each: -each.total)


def _table(title: str, functions: list[Function], visits: int) -> Iterator[str]:
    yield f"\n{title}\n{'µs own':>10}{'µs total':>10}{'calls':>8}   for each visit"
    for each in functions[:TOP]:
        own, total = each.own / visits * 1e6, each.total / visits * 1e6
        yield f"{own:>10.1f}{total:>10.1f}{each.calls / visits:>8.1f}   {each.where}"

"""The figures as a table and as JSON, with the bars they are held to."""

from dataclasses import asdict
from statistics import median
from typing import Any

from bench.bars import Bar
from bench.poll.contenders import PASSES, Course, Measured, Pass

Runs = dict[str, dict[Pass, list[Measured]]]
"""By contender, by pass, one for each round."""

MAIN, NAIVE, BARE = "Headwater", "naive engine", "bare loop"
SHARE_OF_BARE: dict[Pass, float] = {"cold": 0.12, "304": 0.35}
MOST_MEGABYTES = 300.0


def bars(runs: Runs) -> list[Bar]:
    if MAIN not in runs:
        return []
    found = []
    if BARE in runs:
        for what, least in SHARE_OF_BARE.items():
            share = speed(runs[MAIN][what], runs[BARE][what])
            found.append(Bar(f"{what}: share of the bare loop's speed", share, least))
    peak = max(each.all_mb for what in PASSES for each in runs[MAIN][what])
    found.append(
        Bar("memory, MB, all processes at their peaks", peak, MOST_MEGABYTES, at_most=True)
    )
    return found


def seconds(rounds: list[Measured]) -> float:
    return median(each.seconds for each in rounds)


def speed(of: list[Measured], beside: list[Measured]) -> float:
    """How fast one is for each unit of the other's speed: round by round, then the median.

    The machine may be busy in one round and idle in the next; both ran in the same one. Whoever
    runs several times in a round counts with the median of those.
    """
    rounds = min(len(of), len(beside))
    return median(
        seconds(_in_round(beside, turn, rounds)) / seconds(_in_round(of, turn, rounds))
        for turn in range(rounds)
    )


def _in_round(runs: list[Measured], turn: int, rounds: int) -> list[Measured]:
    times = len(runs) // rounds
    return runs[turn * times : (turn + 1) * times]


def table(runs: Runs, course: Course) -> str:
    head = (
        f"{'':<17}{'pass':<8}{'feeds/s':>9}{'seconds':>9}{'× bare':>8}{'× naive':>9}"
        f"{'MB main':>9}{'MB all':>8}{'CPU s':>8}   seconds of every round"
    )
    lines = [head, "-" * len(head)]
    for what in PASSES:
        lines += [_line(name, what, runs, course) for name in runs]
    return "\n".join(lines)


def _line(name: str, what: Pass, runs: Runs, course: Course) -> str:
    rounds = runs[name][what]
    middle = seconds(rounds)
    shares = "".join(
        f"{speed(rounds, runs[other][what]):>{width}.2f}" if other in runs else " " * width
        for other, width in ((BARE, 8), (NAIVE, 9))
    )
    memory = [max(each.main_mb for each in rounds), max(each.all_mb for each in rounds)]
    cpu = median(sum(each.cpu.values()) for each in rounds)
    every = "  ".join(f"{each.seconds:.3f}" for each in rounds)
    return (
        f"{name:<17}{what:<8}{course.feeds / middle:>9,.0f}{middle:>9.3f}{shares}"
        f"{memory[0]:>9.0f}{memory[1]:>8.0f}{cpu:>8.2f}   {every}"
    )


def as_json(runs: Runs, course: Course, origin: dict[str, int]) -> dict[str, Any]:
    return {
        "feeds": course.feeds,
        "items": course.items,
        "origin": origin,
        "runs": {
            name: {what: [asdict(each) for each in rounds] for what, rounds in passes.items()}
            for name, passes in runs.items()
        },
        "median_seconds": {
            name: {what: seconds(rounds) for what, rounds in passes.items()}
            for name, passes in runs.items()
        },
        "bars": [{**asdict(bar), "is_met": bar.is_met} for bar in bars(runs)],
    }

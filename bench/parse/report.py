"""The figures as tables and as JSON, with the bars they are held to."""

from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from bench.bars import Bar
from bench.parse.contenders import BARE, FEEDPARSER, LXML_BACKEND, MAIN, RUST_BACKEND
from bench.parse.race import Race, is_json

LARGE = 50_000
"""Documents over so many bytes are held to the bars of single documents."""

LEAST_SPEED = {FEEDPARSER: 20.0, LXML_BACKEND: 1.0, RUST_BACKEND: 0.35}
MOST_BARE_TIME = 2.8
MOST_TIME_PER_BYTE = 5.0
MOST_MEMORY = 12.0
SIZES = (0, 20_000, 50_000, 100_000, 1 << 40)


@dataclass(frozen=True, slots=True)
class Worst:
    """A single document, and how much it costs beside what is usual."""

    name: str
    size: int
    factor: float


def slowest(race: Race, costs: dict[str, float]) -> list[Worst]:
    """Large documents by time for each byte, beside the median of all documents."""
    usual = median(costs.values())
    found = [
        Worst(sample.name, len(sample.body), costs[sample.name] / usual)
        for sample in race.samples
        if len(sample.body) > LARGE
    ]
    return sorted(found, key=lambda one: -one.factor)


def hungriest(race: Race, memory: dict[str, int]) -> list[Worst]:
    """Large documents by memory for each byte."""
    found = [
        Worst(sample.name, len(sample.body), memory[sample.name] / len(sample.body))
        for sample in race.samples
        if sample.name in memory
    ]
    return sorted(found, key=lambda one: -one.factor)


def beside_bare_by_size(
    race: Race, ours: dict[str, float], bare: dict[str, float]
) -> list[tuple[int, int, int, float]]:
    """Smallest size, documents, bytes, and the time beside the bare tree, for each class of size.

    What a document costs besides its tree depends on how many elements it has, not on how long
    they are; so the share falls as texts grow.
    """
    found = []
    for least, most in pairwise(SIZES):
        group = [
            sample
            for sample in race.samples
            if least <= len(sample.body) < most and not is_json(sample)
        ]
        if group:
            times = [
                sum(costs[one.name] * len(one.body) for one in group) for costs in (ours, bare)
            ]
            size = sum(len(one.body) for one in group)
            found.append((least, len(group), size, times[0] / times[1]))
    return found


def bars(race: Race, slow: list[Worst], hungry: list[Worst]) -> list[Bar]:
    found = [
        Bar(f"speed beside {name}", race.speed(name), least)
        for name, least in LEAST_SPEED.items()
        if name in race.rounds
    ]
    if BARE in race.rounds:
        time = 1 / race.speed(BARE)
        found.append(Bar(f"time beside {BARE}", time, MOST_BARE_TIME, at_most=True))
    if slow:
        what = "slowest large document beside the median, for each byte"
        found.append(Bar(what, slow[0].factor, MOST_TIME_PER_BYTE, at_most=True))
    if hungry:
        what = "hungriest large document, memory by its size"
        found.append(Bar(what, hungry[0].factor, MOST_MEMORY, at_most=True))
    return found


def table(race: Race) -> str:
    head = f"{'':<34}{'MB/s':>8}{'ms':>10}{'Headwater is':>15}   ms of every round"
    lines = [head, "-" * len(head)]
    for name in race.rounds:
        spent = race.seconds(name)
        speed = f"{race.speed(name):.2f} ×" if name != MAIN else ""
        every = "  ".join(f"{1e3 * one:.0f}" for one in race.each_round(name))
        lines.append(
            f"{name:<34}{race.bytes_read(name) / spent / 1e6:>8.1f}{spent * 1e3:>10.1f}"
            f"{speed:>15}   {every}"
        )
    return "\n".join(lines)


def worst_table(title: str, found: list[Worst], count: int = 3) -> str:
    lines = [f"{title}:"]
    lines += [f"  {one.factor:6.2f} ×  {one.size:>9,} B  {one.name}" for one in found[:count]]
    return "\n".join(lines)


def size_table(found: list[tuple[int, int, int, float]]) -> str:
    lines = [f"Time beside {BARE}, by size:"]
    lines += [
        f"  {factor:6.2f} ×  {count:>3} documents from {least // 1000} KB on, {size / 1e6:.1f} MB"
        for least, count, size, factor in found
    ]
    return "\n".join(lines)


def as_json(race: Race, slow: list[Worst], hungry: list[Worst]) -> dict[str, Any]:
    return {
        "documents": len(race.samples),
        "bytes": sum(len(sample.body) for sample in race.samples),
        "seconds": {name: race.seconds(name) for name in race.rounds},
        "headwater_speed_beside": {name: race.speed(name) for name in race.rounds if name != MAIN},
        "slowest": [asdict(one) for one in slow[:10]],
        "hungriest": [asdict(one) for one in hungry[:10]],
        "bars": [{**asdict(bar), "is_met": bar.is_met} for bar in bars(race, slow, hungry)],
    }

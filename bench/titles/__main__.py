"""`python -m bench.titles`: how many release titles are read in a second.

Beside Headwater run anitomy-ng and guessit, where they are installed. Neither is needed; to see
them, make an environment of its own, so that the project's stays as it is pinned:

    python -m venv /tmp/titles && /tmp/titles/bin/pip install -e . anitomy-ng guessit
    /tmp/titles/bin/python -m bench.titles
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from bench.bars import Bar
from bench.titles.contenders import MAIN, contenders
from bench.titles.corpus import titles
from headwater.anime.title import LONGEST, read_title

SLOW_ONES = 200
"""A reader that needs milliseconds for a title gets no more of them than this in a round."""
HOSTILE = ("[", "[01", "01-", "(a", "中~", "- 1 ", "★a", "S1 ", "全集", "a.")


def arguments() -> argparse.Namespace:
    words = argparse.ArgumentParser(prog="bench.titles", description=__doc__.split("\n")[0])
    words.add_argument("--titles", type=int, default=3000, help="how many are made up")
    words.add_argument("--rounds", type=int, default=5, help="everybody runs in each round")
    words.add_argument("--seed", type=int, default=1, help="of the titles")
    words.add_argument("--json", action="store_true", help="figures for programs")
    words.add_argument("--check", action="store_true", help="fail when a bar is missed")
    return words.parse_args()


def rate(read: Callable[[str], Any], given: Sequence[str]) -> float:
    """Titles a second of CPU time."""
    began = time.process_time()
    for title in given:
        read(title)
    return len(given) / (time.process_time() - began)


def rates(given: Sequence[str], rounds: int) -> dict[str, float]:
    """The median of the rounds for everybody; who comes first changes from round to round."""
    runners = contenders()
    short = {one.name for one in runners if rate(one.read, given[:20]) < SLOW_ONES * 10}
    found: dict[str, list[float]] = {one.name: [] for one in runners}
    for number in range(rounds):
        for one in runners[number % len(runners) :] + runners[: number % len(runners)]:
            some = given[:SLOW_ONES] if one.name in short - {MAIN} else given
            found[one.name].append(rate(one.read, some))
    return {name: median(values) for name, values in found.items()}


def growth() -> float:
    """How much more a character costs in the longest title than in one an eighth as long."""
    worst = 0.0
    for unit in HOSTILE:
        long = ("[Lantern] Sea - 01 " + unit * LONGEST)[:LONGEST]
        short = long[: LONGEST // 8]
        worst = max(worst, _seconds(long) / len(long) / (_seconds(short) / len(short)))
    return worst


def _seconds(title: str) -> float:
    def once() -> float:
        began = time.process_time()
        read_title(title)
        return time.process_time() - began

    return min(once() for _ in range(9))


def main() -> int:
    given = arguments()
    found = rates(titles(given.titles, given.seed), given.rounds)
    bars = [
        Bar("titles a second", found[MAIN], 2000),
        Bar(
            "a character of the longest title beside one of a shorter", growth(), 2.5, at_most=True
        ),
    ]
    if given.json:
        print(json.dumps({"titles_a_second": found, "growth": bars[1].found}, indent=2))
    else:
        for name, value in found.items():
            print(f"  {name:<14} {value:>10,.0f} titles/s")
        print("\n".join(bar.in_words for bar in bars))
    return 1 if given.check and not all(bar.is_met for bar in bars) else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""`python -m bench.poll`: the run, from the origin server's start to the last checked count."""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from bench.poll.contenders import PASSES, Bare, Contender, Course, Failed, Headwater, Naive
from bench.poll.counts import check_archive, check_requests
from bench.poll.documents import Shape
from bench.poll.profile import profile
from bench.poll.publishers import HARDEST, SERVERS, WHO_ANSWERS, Publishers, publishers
from bench.poll.report import Runs, as_json, bars, table
from bench.poll.tap import tap

CONTENDERS: dict[str, Callable[[], Contender]] = {
    "wire": lambda: Bare("bare, no gunzip", "wire"),
    "bare": Bare,
    "naive": Naive,
    "headwater": Headwater,
}


def arguments() -> argparse.Namespace:
    words = argparse.ArgumentParser(prog="bench.poll", description=__doc__)
    words.add_argument(
        "--rounds", type=int, help="everybody runs in each round; default 3, with --tap 10"
    )
    words.add_argument("--feeds", type=int, default=1_000, help="at most 60,000")
    words.add_argument("--items", type=int, default=30, help="in each feed")
    words.add_argument(
        "--kilobytes", type=int, nargs=2, default=(24, 120), help="smallest and largest document"
    )
    words.add_argument("--seed", type=int, default=1)
    words.add_argument(
        "--parallel",
        type=int,
        default=128,
        help="downloads at once of the bare loop and the naive engine",
    )
    words.add_argument("--port", type=int, help="default: one that Headwater allows as shipped")
    words.add_argument(
        "--server",
        choices=SERVERS,
        help="who answers: an ordinary web server, or one whose answers lie ready; default: first"
        " the one, then the other",
    )
    words.add_argument("--only", nargs="+", choices=CONTENDERS, help="leave the others out")
    words.add_argument(
        "--naive-python",
        default=sys.executable,
        help="the interpreter of the naive engine, with its libraries",
    )
    words.add_argument("--json", action="store_true", help="figures for programs")
    words.add_argument("--check", action="store_true", help="fail when a bar is missed")
    words.add_argument(
        "--tap", action="store_true", help="Headwater alone, cold, with and without an NDJSON sink"
    )
    words.add_argument("--profile", choices=PASSES, help="Headwater alone, and where its time goes")
    return words.parse_args()


def main() -> int:
    given = arguments()
    try:
        if not given.profile and not given.tap:
            return compare_all(given)
        with _course(given, given.server or HARDEST) as (origin, course):
            if given.profile:
                print(profile(given.profile, origin, course))
                return 0
            met = tap(given.rounds or 10, origin, course, say=_progress)
            return 1 if given.check and not met else 0
    except Failed as trouble:
        print(f"bench.poll: {trouble}", file=sys.stderr)
        return 2


@contextmanager
def _course(given: argparse.Namespace, server: str) -> Iterator[tuple[Publishers, Course]]:
    smallest, largest = (size * 1_000 for size in given.kilobytes)
    shape = Shape(given.feeds, given.items, smallest, largest, given.seed)
    with publishers(shape, given.port, server) as origin:
        yield (
            origin,
            Course(origin.port, shape.feeds, shape.items, given.parallel, given.naive_python),
        )


def compare_all(given: argparse.Namespace) -> int:
    """On one course after the other; the bars are for the one where publishers are ordinary."""
    found: dict[str, Any] = {}
    missed = []
    for server in [given.server] if given.server else SERVERS:
        with _course(given, server) as (origin, course):
            runs = compare(given, origin, course)
        sizes = {"average_bytes": origin.average_bytes, "average_coded": origin.average_coded}
        found[server] = as_json(runs, course, sizes)
        if not given.json:
            _tell(server, runs, origin, course)
        if server != HARDEST:
            missed += [bar for bar in bars(runs) if not bar.is_met]
    if given.json:
        print(json.dumps(found, indent=2))
    return 1 if given.check and missed else 0


def compare(given: argparse.Namespace, origin: Publishers, course: Course) -> Runs:
    names = given.only or list(CONTENDERS)
    if "naive" in names and not Naive.can_run(course):
        raise Failed(
            "The naive engine's libraries are missing: `make bench` installs them,"
            " `--only bare headwater` goes without."
        )
    contenders = [CONTENDERS[name]() for name in names]
    runs: Runs = {each.name: {what: [] for what in PASSES} for each in contenders}
    # Nothing is deleted before the end: ext4 looks at every file deleted a minute ago or less
    # whenever one is made, and whoever came next would pay for that.
    with tempfile.TemporaryDirectory(prefix="bench-poll-") as name:
        _all_rounds(given.rounds or 3, contenders, runs, origin, course, Path(name))
    return runs


def _all_rounds(
    rounds: int,
    contenders: list[Contender],
    runs: Runs,
    origin: Publishers,
    course: Course,
    place: Path,
) -> None:
    for turn in range(rounds):
        # Whoever came first comes last in the next round: a busy minute hits everybody.
        order = contenders[turn % len(contenders) :] + contenders[: turn % len(contenders)]
        for contender in order:
            _progress(f"round {turn + 1} of {rounds}: {contender.name}")
            for _ in range(contender.times):
                folder = Path(tempfile.mkdtemp(dir=place))
                _round(contender, runs, origin, course, folder)


def _round(
    contender: Contender, runs: Runs, origin: Publishers, course: Course, folder: Path
) -> None:
    origin.counts()
    for what in PASSES:
        with origin.publishing() if what == "steady" else nullcontext():
            runs[contender.name][what].append(contender.run(what, folder, course))
        check_requests(contender.name, what, origin.counts(), course)
        if isinstance(contender, Headwater):
            check_archive(folder, what, origin.digests(), course)


def _tell(server: str, runs: Runs, origin: Publishers, course: Course) -> None:
    print(f"\n{WHO_ANSWERS[server]}")
    print(
        f"{course.feeds:,} feeds of {course.items} items, each on an address of its own,"
        f" {origin.average_bytes / 1000:.0f} KB on average ({origin.average_coded / 1000:.0f} KB"
        " as served, gzip). Medians; every count was checked.\n"
    )
    print(table(runs, course))
    if held := bars(runs):
        told = [bar.in_words if server != HARDEST else bar.figure for bar in held]
        print("\n" + "\n".join(told))


def _progress(line: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

"""`python -m bench.personal`: personal feeds beside a bare route, an empty shelf and a scan."""

import argparse
import asyncio
import json
import sys
from dataclasses import asdict
from statistics import median

from bench.bars import Bar
from bench.personal.inside import Inside, inside
from bench.personal.place import BACKENDS, Backend, place_of
from bench.personal.race import RUNNERS, Raced, race
from bench.personal.stock import Stock
from bench.poll.contenders import Failed

UNCHANGED, WHOLE = 0.5, 0.4
COLD_MS = 15.0
SAME = (0.8, 1.2)
SCAN = 50.0

Figures = dict[Backend, tuple[Inside, Raced]]


def arguments() -> argparse.Namespace:
    words = argparse.ArgumentParser(prog="bench.personal", description=__doc__)
    words.add_argument("--items", type=int, default=100_000)
    words.add_argument("--categories", type=int, default=200)
    words.add_argument("--readers", type=int, default=1_000)
    words.add_argument("--rounds", type=int, default=10)
    words.add_argument("--seconds", type=float, default=3.0, help="of each run over HTTP")
    words.add_argument("--connections", type=int, default=16)
    words.add_argument("--adds", type=int, default=100, help="items that come, in each round")
    words.add_argument("--only", choices=BACKENDS, help="leave the other store out")
    words.add_argument("--json", action="store_true", help="figures for programs")
    words.add_argument("--check", action="store_true", help="fail when a bar is missed")
    return words.parse_args()


def main() -> int:
    given = arguments()
    try:
        found = measured(given)
    except Failed as trouble:
        print(f"bench.personal: {trouble}", file=sys.stderr)
        return 2
    held = [bar for backend, figures in found.items() for bar in bars(backend, *figures)]
    if given.json:
        print(json.dumps(_as_json(found, held), indent=2))
    else:
        for backend, figures in found.items():
            _tell(backend, *figures)
        print("\n" + "\n".join(bar.in_words for bar in held))
    return 1 if given.check and not all(bar.is_met for bar in held) else 0


def measured(given: argparse.Namespace) -> Figures:
    stock = Stock(given.items, given.categories, given.readers)
    found: Figures = {}
    for backend in BACKENDS if given.only is None else (given.only,):
        with place_of(backend) as place:
            within = asyncio.run(
                inside(place, stock, rounds=given.rounds, crowded=given.items, adds=given.adds)
            )
            raced = race(
                place,
                stock,
                rounds=given.rounds,
                seconds=given.seconds,
                connections=given.connections,
            )
            found[backend] = (within, raced)
    return found


def bars(backend: Backend, within: Inside, raced: Raced) -> list[Bar]:
    cold = max(median(within.cold), median(within.cold_wide))
    found = [
        Bar(f"{backend}: unchanged, beside a bare route", raced.ratio("unchanged"), UNCHANGED),
        Bar(f"{backend}: whole from memory, beside a bare route", raced.ratio("whole"), WHOLE),
        Bar(f"{backend}: a cold build of 50 items, ms", cold, COLD_MS, at_most=True),
        Bar(f"{backend}: adding to a full category, beside empty", within.added, SAME[0]),
        Bar(f"{backend}: the same, at most", within.added, SAME[1], at_most=True),
    ]
    if within.scanned:
        found.append(Bar(f"{backend}: a read beside one that scans", within.scan_ratio, SCAN))
    return found


def _tell(backend: Backend, within: Inside, raced: Raced) -> None:
    rates = ", ".join(f"{name} {median(raced.rates[name]):,.0f}" for name in RUNNERS)
    print(f"{backend}: feeds of {raced.body_bytes / 1000:.0f} KB; answers a second: {rates}.")
    shares = ", ".join(f"{name} {raced.ratio(name):.2f}" for name in RUNNERS[1:])
    print(f"  beside the bare route, median of the rounds: {shares}.")
    print(
        f"  A cold build took {median(within.cold):.1f} ms, of all categories"
        f" {median(within.cold_wide):.1f} ms. An item came into a full category in"
        f" {median(within.added_crowded):.2f} ms, into an empty one in"
        f" {median(within.added_empty):.2f} ms."
    )
    if within.scanned:
        print(f"  The design that scans read one feed in {median(within.scanned):,.0f} ms.")


def _as_json(found: Figures, held: list[Bar]) -> dict[str, object]:
    return {
        "stores": {
            backend: {"inside": asdict(within), "served": asdict(raced)}
            for backend, (within, raced) in found.items()
        },
        "bars": [{**asdict(bar), "is_met": bar.is_met} for bar in held],
    }


if __name__ == "__main__":
    sys.exit(main())

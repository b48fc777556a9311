"""`python -m bench.parse`: how fast documents are parsed, and where the answers differ."""

import argparse
import json
import sys
from pathlib import Path

from bench.parse import disagreement, memory
from bench.parse.agreement import compare
from bench.parse.contenders import (
    CONTENDERS,
    RUST_BACKEND,
    has_rust_backend,
    read_by_bare_lxml,
    read_by_headwater,
)
from bench.parse.corpus import NoCorpus, Sample, from_folder, size_of
from bench.parse.documents import generated
from bench.parse.race import costs, race
from bench.parse.report import (
    LARGE,
    as_json,
    bars,
    beside_bare_by_size,
    hungriest,
    size_table,
    slowest,
    table,
    worst_table,
)


def arguments() -> argparse.Namespace:
    words = argparse.ArgumentParser(prog="bench.parse", description=__doc__)
    words.add_argument("--corpus", type=Path, help="a folder of documents; default: generated ones")
    words.add_argument("--rounds", type=int, default=5, help="everybody runs in each round")
    words.add_argument("--seed", type=int, default=1, help="of the generated documents")
    words.add_argument("--no-memory", action="store_true", help="leave the memory out")
    words.add_argument("--json", action="store_true", help="figures for programs")
    words.add_argument("--check", action="store_true", help="fail when a bar is missed")
    words.add_argument(
        "--agreement", action="store_true", help="compare answers with feedparser's, field by field"
    )
    words.add_argument("--examples", type=int, default=2, help="of each class of difference")
    return words.parse_args()


def main() -> int:
    given = arguments()
    try:
        samples = from_folder(given.corpus) if given.corpus else generated(given.seed)
    except NoCorpus as trouble:
        print(f"bench.parse: {trouble}", file=sys.stderr)
        return 2
    return agree(given, samples) if given.agreement else speed(given, samples)


def agree(given: argparse.Namespace, samples: list[Sample]) -> int:
    found = compare(samples)
    if given.json:
        print(json.dumps(disagreement.as_json(found, given.examples), indent=2, ensure_ascii=False))
    else:
        print(disagreement.in_words(found, given.examples))
    return 1 if given.check and not disagreement.is_met(found) else 0


def speed(given: argparse.Namespace, samples: list[Sample]) -> int:
    runners = [one for one in CONTENDERS if one.name != RUST_BACKEND or has_rust_backend()]
    found = race(samples, runners, given.rounds, _progress)
    large = [sample for sample in samples if len(sample.body) > LARGE]
    measured = {} if given.no_memory or not memory.can_measure() else memory.needed(large)
    ours = costs(samples, read_by_headwater)
    slow = slowest(found, ours)
    hungry = hungriest(found, measured)
    held = bars(found, slow, hungry)
    if given.json:
        print(json.dumps(as_json(found, slow, hungry), indent=2))
    else:
        print(
            f"\n{len(samples)} documents, {size_of(samples) / 1e6:.1f} MB, {len(large)} of them"
            f" over {LARGE // 1000} KB. CPU time, median of {given.rounds} rounds.\n"
        )
        print(table(found), "\n", sep="")
        by_size = beside_bare_by_size(found, ours, costs(samples, read_by_bare_lxml))
        print(size_table(by_size))
        print(worst_table("Slowest for each byte, beside the median", slow))
        if hungry:
            print(worst_table("Most memory for each byte", hungry))
        print("\n" + "\n".join(bar.in_words for bar in held))
    return 1 if given.check and not all(bar.is_met for bar in held) else 0


def _progress(line: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

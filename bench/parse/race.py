"""One interleaved run: everybody over the same documents, round after round."""

import gc
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from statistics import median

from bench.parse.contenders import MAIN, Contender, without_core
from bench.parse.corpus import Sample

TRIES = 7


@dataclass(frozen=True, slots=True)
class Pass:
    """Once over the corpus: seconds of CPU for its XML and its JSON."""

    xml: float
    json: float


@dataclass(frozen=True, slots=True)
class Race:
    """All passes, by contender, and round by round. XML stands before JSON in the corpus."""

    samples: list[Sample]
    contenders: list[Contender]
    rounds: dict[str, list[list[Pass]]]

    def seconds(self, name: str) -> float:
        """For the whole corpus, as far as this contender reads it."""
        return median(self.each_round(name, self._with_json(name)))

    def speed(self, beside: str) -> float:
        """How fast Headwater is for each unit of another's speed, over what both read.

        Taken round by round, because the machine may be busy in one and idle in the next.
        """
        with_json = self._with_json(beside)
        ours, theirs = (self.each_round(name, with_json) for name in (MAIN, beside))
        return median(its / mine for mine, its in zip(ours, theirs, strict=True))

    def each_round(self, name: str, with_json: bool = True) -> list[float]:
        return [
            median(one.xml + one.json if with_json else one.xml for one in passes)
            for passes in self.rounds[name]
        ]

    def bytes_read(self, name: str) -> int:
        with_json = self._with_json(name)
        return sum(len(one.body) for one in self.samples if with_json or not is_json(one))

    def _with_json(self, name: str) -> bool:
        return next(one for one in self.contenders if one.name == name).reads_json


def race(
    samples: Sequence[Sample],
    contenders: Sequence[Contender],
    rounds: int,
    tell: Callable[[str], None],
) -> Race:
    ordered = sorted(samples, key=is_json)
    found = Race(ordered, list(contenders), {one.name: [] for one in contenders})
    for contender in contenders:
        _tour(contender, ordered)  # caches, tables and branch predictors are warm for everybody
    for turn in range(rounds):
        for one in contenders:
            found.rounds[one.name].append([])
        # Whoever came first comes last in the next round.
        order = [*contenders[turn % len(contenders) :], *contenders[: turn % len(contenders)]]
        for lap in range(max(one.passes for one in contenders)):
            for contender in order:
                if lap < contender.passes:
                    tell(f"round {turn + 1} of {rounds}: {contender.name}")
                    found.rounds[contender.name][turn].append(_tour(contender, ordered))
    return found


def _tour(contender: Contender, samples: Sequence[Sample]) -> Pass:
    """CPU time of this process: what else the machine does is not counted.

    Asking for it takes longer than a small document on some machines, so it is asked for three
    times in a pass.
    """
    gc.collect()
    with nullcontext() if contender.has_core else without_core():
        begin = time.process_time()
        _read_all(contender, [one for one in samples if not is_json(one)])
        middle = time.process_time()
        if contender.reads_json:
            _read_all(contender, [one for one in samples if is_json(one)])
        end = time.process_time()
    return Pass(middle - begin, end - middle)


def _read_all(contender: Contender, samples: Sequence[Sample]) -> None:
    read = contender.read
    for sample in samples:
        read(sample.body)  # and let go of: freeing it is part of everybody's time


def costs(samples: Sequence[Sample], read: Callable[[bytes], object]) -> dict[str, float]:
    """Seconds of CPU for each byte of each document, by name: the best of several tries."""
    return {
        sample.name: min(_once(read, sample.body) for _ in range(TRIES)) / max(1, len(sample.body))
        for sample in samples
    }


def _once(read: Callable[[bytes], object], body: bytes) -> float:
    began = time.process_time()
    read(body)
    return time.process_time() - began


def is_json(sample: Sample) -> bool:
    return sample.body.lstrip()[:1] == b"{"

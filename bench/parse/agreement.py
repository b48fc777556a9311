"""Field by field beside feedparser: where both say the same, and every class of difference."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from bench.parse.classes import CLASSES, Case, Class
from bench.parse.corpus import Sample
from bench.parse.readings import (
    FIELDS,
    Reading,
    read_by_fastfeedparser,
    read_by_feedparser,
    read_by_headwater,
)

WANTED_PERCENT = 99.0
MOST_EXCUSED_PERCENT = 3.0
UNEXPLAINED = Class("", "no explanation: counts against Headwater", "", lambda case: True)


@dataclass(slots=True)
class Count:
    """Of one field: entries in which at least one of the two found something."""

    compared: int = 0
    equal: int = 0
    excused: int = 0

    @property
    def against(self) -> int:
        return self.compared - self.equal - self.excused

    @property
    def percent(self) -> float:
        """Of those that are not excused."""
        counted = self.compared - self.excused
        return 100 * self.equal / counted if counted else 100.0

    @property
    def percent_excused(self) -> float:
        return 100 * self.excused / self.compared if self.compared else 0.0


@dataclass(slots=True)
class Agreement:
    """The whole comparison."""

    documents: int = 0
    entries: int = 0
    counts: dict[str, Count] = field(default_factory=lambda: {name: Count() for name in FIELDS})
    cases: dict[tuple[str, Class], list[Case]] = field(default_factory=lambda: defaultdict(list))
    alone: list[str] = field(default_factory=list)

    @property
    def total(self) -> Count:
        every = self.counts.values()
        return Count(
            sum(one.compared for one in every),
            sum(one.equal for one in every),
            sum(one.excused for one in every),
        )


def compare(samples: Iterable[Sample]) -> Agreement:
    found = Agreement()
    for sample in samples:
        ours, theirs = read_by_headwater(sample), read_by_feedparser(sample)
        second = read_by_fastfeedparser(sample)
        found.documents += 1
        for mine, other in _pairs(ours, theirs, found, sample):
            found.entries += 1
            opinion = second[mine] if len(second) == len(ours) else None
            for name in FIELDS:
                case = Case(sample, mine, name, ours[mine], theirs[other], opinion)
                _count(found, case)
    return found


def _count(found: Agreement, case: Case) -> None:
    if not case.ours and not case.theirs:
        return
    count = found.counts[case.field]
    count.compared += 1
    if case.ours == case.theirs:
        count.equal += 1
        return
    known = next((one for one in CLASSES if one.field == case.field and one.holds(case)), None)
    count.excused += known is not None
    found.cases[case.field, known or UNEXPLAINED].append(case)


def _pairs(
    ours: Sequence[Reading], theirs: Sequence[Reading], found: Agreement, sample: Sample
) -> list[tuple[int, int]]:
    """Which of our entries is which of theirs; those without a counterpart are noted."""
    if len(ours) == len(theirs):
        return [(place, place) for place in range(len(ours))]
    matcher = SequenceMatcher(None, [_key(one) for one in ours], [_key(one) for one in theirs])
    pairs = [
        (block.a + step, block.b + step)
        for block in matcher.get_matching_blocks()
        for step in range(block.size)
    ]
    found.alone.append(
        f"{sample.name}: {len(ours)} entries, feedparser {len(theirs)}, {len(pairs)} in common"
    )
    return pairs


def _key(reading: Reading) -> tuple[str, str]:
    return reading.title, reading.published

"""What holds for all trackings, whatever each of them wants."""

from dataclasses import dataclass, field

from headwater.collect.rules import Patterns


@dataclass(frozen=True, slots=True)
class CollectPolicy:
    """`everywhere` are the patterns of all trackings; more than `replacements_per_day` wait for a
    person. An episode is missing once a later one is there for `gap_hours`."""

    everywhere: Patterns = field(default=Patterns())
    replacements_per_day: int = 50
    gap_hours: float = 24.0

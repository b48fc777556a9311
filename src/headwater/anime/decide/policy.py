"""What holds for all trackings, whatever each of them wants."""

from dataclasses import dataclass, field

from headwater.anime.decide.filter import PatternLists


@dataclass(frozen=True, slots=True)
class ReleasePolicy:
    """`everywhere` are the patterns of all trackings; more than `replacements_per_day` wait for a
    person. An episode is missing once a later one is there for `gap_hours`."""

    everywhere: PatternLists = field(default=PatternLists())
    replacements_per_day: int = 50
    gap_hours: float = 24.0

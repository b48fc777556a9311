"""The policy of releases: rules and limits for all trackings."""

from dataclasses import dataclass, field

from headwater.anime.decide.filter import PatternLists


@dataclass(frozen=True, slots=True)
class ReleasePolicy:
    """`everywhere` are the patterns of all trackings. More than `replacements_per_day` wait for a
    person. An episode counts as missing once a later one has been there for `gap_hours`."""

    everywhere: PatternLists = field(default=PatternLists())
    replacements_per_day: int = 50
    gap_hours: float = 24.0

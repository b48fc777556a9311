"""The rules of visits: when a move, an absence or a flood is believed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VisitRules:
    """Thresholds of the product's own."""

    moved_after_count: int = 3
    moved_after_hours: float = 24.0
    failing_after: int = 3
    whole_fetch_days: float = 28.0
    max_new_entries_per_day: int = 5_000
    parser_deaths_allowed: int = 2

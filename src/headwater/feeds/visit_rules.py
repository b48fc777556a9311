"""The rules of visits: when we believe a move, a run of failures or a flood of entries."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VisitRules:
    """Thresholds that the product sets itself."""

    moved_after_count: int = 3
    moved_after_hours: float = 24.0
    failing_after: int = 3
    whole_fetch_days: float = 28.0
    max_new_entries_per_day: int = 5_000
    parser_deaths_allowed: int = 2

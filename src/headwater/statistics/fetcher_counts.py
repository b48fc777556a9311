"""Fetcher counts: one fetcher's visits to one host, and the rates that follow from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headwater.core.values.ids import FetcherId

UNJUDGED_ERRORS = frozenset({"http_404", "http_410", "internal_error", "parser_unavailable"})
"""Failures of the source or of ourselves: any fetcher would have met them."""


@dataclass(frozen=True, slots=True)
class FetcherCounts:
    """One fetcher's visits to one host.

    `errors` counts failed visits by their code. `dated_entries` are new entries published between
    two successful visits. For these we know how late each was seen: `late_sec` is the sum of the
    delays, `late_squares` the sum of their squares.
    """

    fetcher_id: FetcherId
    name: str
    visits: int = 0
    successes: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)
    new_entries: int = 0
    dated_entries: int = 0
    late_sec: float = 0.0
    late_squares: float = 0.0

    @property
    def failures(self) -> int:
        return self.visits - self.successes

    @property
    def judged(self) -> int:
        """Visits whose outcome depends on the fetcher."""
        return self.visits - sum(self.errors.get(code, 0) for code in UNJUDGED_ERRORS)

    @property
    def success_rate(self) -> float | None:
        return self.successes / self.judged if self.judged else None

    @property
    def mean_late_sec(self) -> float | None:
        return self.late_sec / self.dated_entries if self.dated_entries else None

"""How the visits of each fetcher went, counted for one host."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headwater.core.ports import Row, View, placeholders
from headwater.core.values.ids import FetcherId

UNJUDGED_ERRORS = frozenset({"http_404", "http_410", "internal_error", "parser_unavailable"})
"""Failures that are the source's own or ours: whoever had asked would have met them."""


@dataclass(frozen=True, slots=True)
class FetcherCounts:
    """One fetcher's visits to one host.

    `errors` counts failed visits by their code. `dated_entries` are new entries published between
    two successful visits: how late each was seen is known, and `late_sec` is the sum of that,
    `late_squares` the sum of its squares.
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
        """The visits that say something about the fetcher."""
        return self.visits - sum(self.errors.get(code, 0) for code in UNJUDGED_ERRORS)

    @property
    def success_rate(self) -> float | None:
        return self.successes / self.judged if self.judged else None

    @property
    def mean_late_sec(self) -> float | None:
        return self.late_sec / self.dated_entries if self.dated_entries else None


async def list_fetcher_counts(
    view: View, host: str, fetchers: Sequence[FetcherId], first_day: int
) -> list[FetcherCounts]:
    """Of those of these fetchers that are enabled, also when they have never been at this host."""
    if not fetchers:
        return []
    rows = await view.rows(
        "SELECT m.fetcher_id, m.name, d.error, sum(d.visits) AS visits,"
        " sum(d.new_entries) AS new_entries, sum(d.dated_entries) AS dated_entries,"
        " sum(d.late_sec) AS late_sec, sum(d.late_squares) AS late_squares"
        " FROM fetcher_modules m LEFT JOIN fetcher_days d"
        " ON d.fetcher_id = m.fetcher_id AND d.host = ? AND d.day >= ?"
        f" WHERE m.is_enabled AND m.fetcher_id IN ({placeholders(len(fetchers))})"
        " GROUP BY m.fetcher_id, m.name, d.error ORDER BY m.fetcher_id, d.error",
        host,
        first_day,
        *fetchers,
    )
    by_fetcher: dict[int, list[Row]] = {}
    for row in rows:
        by_fetcher.setdefault(row.fetcher_id, []).append(row)
    return [_fetcher_counts_of(some) for some in by_fetcher.values()]


def _fetcher_counts_of(rows: Sequence[Row]) -> FetcherCounts:
    met = [row for row in rows if row.error is not None]
    return FetcherCounts(
        fetcher_id=FetcherId(rows[0].fetcher_id),
        name=rows[0].name,
        visits=sum(int(row.visits) for row in met),
        successes=sum(int(row.visits) for row in met if not row.error),
        errors={row.error: int(row.visits) for row in met if row.error},
        new_entries=sum(int(row.new_entries) for row in met),
        dated_entries=sum(int(row.dated_entries) for row in met),
        late_sec=sum(row.late_sec for row in met),
        late_squares=sum(row.late_squares for row in met),
    )

"""The report of all metrics: those that this process counted, and those from the database."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from headwater.anime.metrics import RELEASE_METRICS
from headwater.core.errors import DatabaseError
from headwater.core.ports import Database
from headwater.core.telemetry.log import get_logger
from headwater.core.telemetry.metrics import PROCESS_METRICS, AreaMetrics
from headwater.entrypoints.api.request_metrics import REQUEST_METRICS
from headwater.entrypoints.api.single_flight import SingleFlight
from headwater.entrypoints.api.system.database_metrics import (
    DATABASE_METRICS,
    DATABASE_UP,
    Figure,
    current_figures,
    daily_figures,
)
from headwater.feeds.metrics import VISIT_METRICS
from headwater.personal_feeds.metrics import PERSONAL_METRICS
from headwater.settings import Settings
from headwater.wiring.services import Services

logger = get_logger("headwater.api")

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

COUNTED: Sequence[AreaMetrics] = (
    PROCESS_METRICS,
    VISIT_METRICS,
    REQUEST_METRICS,
    PERSONAL_METRICS,
    RELEASE_METRICS,
)
"""Counted by this process; shown in this order."""

_PRESENT_SECONDS = 15.0
_DAYS_SECONDS = 60.0
"""How old figures may be. The database is asked no more often, however often somebody scrapes."""


class MetricsReport:
    """The text that Prometheus reads. One per app."""

    def __init__(self, services: Services, settings: Settings) -> None:
        self._cached = (
            _CachedFigures(
                services.database, partial(current_figures, services.database), _PRESENT_SECONDS
            ),
            _CachedFigures(
                services.database, partial(daily_figures, services, settings), _DAYS_SECONDS
            ),
        )

    async def text(self) -> bytes:
        """When the database does not answer, the report says so with a figure."""
        try:
            figures = [figure for cache in self._cached for figure in await cache.figures()]
        except DatabaseError as trouble:
            logger.error("scrape_failed", error=trouble.code, detail=trouble.message)
            figures = [(DATABASE_UP, (), 0.0)]
        counted = b"".join(area.text() for area in COUNTED)
        return counted + generate_latest(_Families(figures))


class _CachedFigures:
    """Figures that are kept for a while. Callers that come while they are read wait for the same
    ones."""

    def __init__(
        self, database: Database, read: Callable[[], Awaitable[list[Figure]]], seconds: float
    ) -> None:
        self._database = database
        self._read = read
        self._seconds = seconds
        self._query = SingleFlight(database, self._read_anew)
        self._figures: list[Figure] = []
        self._until = float("-inf")

    async def figures(self) -> list[Figure]:
        if self._database.clock.monotonic() < self._until:
            return self._figures
        return await self._query.answer()

    async def _read_anew(self) -> list[Figure]:
        self._figures = await self._read()
        self._until = self._database.clock.monotonic() + self._seconds
        return self._figures


class _Families(Collector):
    """Every metric of the database with its help, whether or not it has a value just now."""

    def __init__(self, figures: Iterable[Figure]) -> None:
        self._figures = list(figures)

    def collect(self) -> Iterable[Metric]:
        families = {name: _family(name) for name in DATABASE_METRICS}
        for name, labels, value in self._figures:
            families[name].add_metric(labels, value)
        return families.values()


def _family(name: str) -> GaugeMetricFamily | CounterMetricFamily:
    about, labels = DATABASE_METRICS[name]
    if name.endswith("_total"):
        return CounterMetricFamily(name.removesuffix("_total"), about, labels=labels)
    return GaugeMetricFamily(name, about, labels=labels)

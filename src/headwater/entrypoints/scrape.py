"""The answer to a scrape: what this process counted, and what the database says of all of them."""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from headwater.engine import Engine
from headwater.entrypoints.figures import ABOUT, Figure, of_days, present
from headwater.entrypoints.shared_question import SharedQuestion
from headwater.errors import DatabaseError
from headwater.settings import Settings
from headwater.telemetry.log import logger
from headwater.telemetry.metrics import REGISTRY

log = logger("headwater.api")

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_PRESENT_SECONDS = 15.0
_DAYS_SECONDS = 60.0
"""How old figures may be: however often somebody scrapes, the database is not asked more often."""


class Scrape:
    """One per app."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._kept = (
            _Kept(engine, partial(present, engine), _PRESENT_SECONDS),
            _Kept(engine, partial(of_days, engine, settings), _DAYS_SECONDS),
        )

    async def text(self) -> bytes:
        """A database that does not answer is a figure too."""
        try:
            figures = [figure for kept in self._kept for figure in await kept.figures()]
        except DatabaseError as trouble:
            log.error("scrape_failed", error=trouble.code, detail=trouble.message)
            figures = [("headwater_database_up", (), 0.0)]
        return generate_latest(REGISTRY) + generate_latest(_Families(figures))


class _Kept:
    """Figures for a while; who comes while they are being read waits for the same ones."""

    def __init__(
        self, engine: Engine, read: Callable[[], Awaitable[list[Figure]]], seconds: float
    ) -> None:
        self._engine = engine
        self._read = read
        self._seconds = seconds
        self._question = SharedQuestion(engine, self._read_anew)
        self._figures: list[Figure] = []
        self._until = float("-inf")

    async def figures(self) -> list[Figure]:
        if self._engine.clock.monotonic() < self._until:
            return self._figures
        return await self._question.answer()

    async def _read_anew(self) -> list[Figure]:
        self._figures = await self._read()
        self._until = self._engine.clock.monotonic() + self._seconds
        return self._figures


class _Families(Collector):
    """Every metric of the database with its help, whether or not it has a value just now."""

    def __init__(self, figures: Iterable[Figure]) -> None:
        self._figures = list(figures)

    def collect(self) -> Iterable[Metric]:
        families = {name: _family(name) for name in ABOUT}
        for name, labels, value in self._figures:
            families[name].add_metric(labels, value)
        return families.values()


def _family(name: str) -> GaugeMetricFamily | CounterMetricFamily:
    about, labels = ABOUT[name]
    if name.endswith("_total"):
        return CounterMetricFamily(name.removesuffix("_total"), about, labels=labels)
    return GaugeMetricFamily(name, about, labels=labels)

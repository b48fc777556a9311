"""Metrics of this process since its start, in the form that Prometheus reads.

Every area declares its own, in a module `metrics.py` or beside the code that counts. No label takes
its values from strangers: the area or the caller knows every set of values. A known set gets its
series at once, because a rate needs a zero to rise from.
"""

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

from headwater import __version__

# A series with its creation time beside every series would double their number.
disable_created_metrics()  # type: ignore[no-untyped-call]

UNKNOWN = "other"
"""The value of a label that is not among the known values."""


class AreaMetrics:
    """The metrics of one area, in the order in which they are declared."""

    def __init__(self) -> None:
        # For our metrics alone: metrics of libraries are not shown.
        self.registry = CollectorRegistry()

    def counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(f"headwater_{name}", about, labels, registry=self.registry)

    def gauge(self, name: str, about: str, *labels: str) -> Gauge:
        return Gauge(f"headwater_{name}", about, labels, registry=self.registry)

    def histogram(
        self, name: str, about: str, bounds: tuple[float, ...], *labels: str
    ) -> Histogram:
        return Histogram(f"headwater_{name}", about, labels, registry=self.registry, buckets=bounds)

    def text(self) -> bytes:
        return generate_latest(self.registry)


PROCESS_METRICS = AreaMetrics()
BUILD = PROCESS_METRICS.gauge("build_info", "Always 1; which version runs.", "version")
BUILD.labels(__version__).set(1)

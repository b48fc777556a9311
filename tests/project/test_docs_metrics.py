"""docs/metrics.md has every metric with its kind, its labels and its own words, and no other."""

from collections.abc import Iterator

import pytest
from prometheus_client import Counter, Gauge, Histogram

from headwater.entrypoints.api.system.database_metrics import DATABASE_METRICS
from headwater.entrypoints.api.system.metrics_report import COUNTED
from tests.support.docs_pages import rows
from tests.support.scraped_metrics import own_figures

DOCUMENTED = rows("docs/metrics.md")


def described() -> Iterator[tuple[str, str, list[str], str]]:
    """Name, kind, labels and help of every metric there is."""
    declared = [metric for area in COUNTED for metric in area.registry._collector_to_names]
    for metric in declared:
        assert isinstance(metric, Counter | Gauge | Histogram)
        kind = type(metric).__name__.lower()
        (family,) = metric.describe()
        name = f"{family.name}_total" if kind == "counter" else family.name
        yield name, kind, list(metric._labelnames), family.documentation
    for name, (about, labels) in DATABASE_METRICS.items():
        yield name, "counter" if name.endswith("_total") else "gauge", list(labels), about


METRICS = {name: (kind, labels, about) for name, kind, labels, about in described()}


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_is_documented_in_its_own_words(name: str) -> None:
    assert name in DOCUMENTED, f"docs/metrics.md has no row for {name}"
    kind, labels, about = METRICS[name]
    assert DOCUMENTED[name] == [kind, ", ".join(f"`{label}`" for label in labels), about]
    assert about.endswith((".", ")."))


def test_no_metric_is_documented_that_does_not_exist() -> None:
    assert set(DOCUMENTED) == set(METRICS)


def test_nothing_is_told_that_is_not_described() -> None:
    assert own_figures().names | set(DATABASE_METRICS) == set(METRICS)


def test_names_begin_alike() -> None:
    assert [name for name in METRICS if not name.startswith("headwater_")] == []


def test_metrics_are_shown_in_the_order_of_the_page() -> None:
    assert list(DOCUMENTED) == list(METRICS)

"""An answer to a scrape, read back: what Prometheus would make of it."""

from collections import Counter
from collections.abc import Iterable

from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from headwater.entrypoints.api.system.metrics_report import COUNTED


class Scraped:
    """`scraped["headwater_feeds", "state=active"]` is a value; 0 where there is none."""

    def __init__(self, text: str) -> None:
        families: Iterable[Metric] = text_string_to_metric_families(text)
        self.families = {family.name: family for family in families}
        self.samples = [each for family in self.families.values() for each in family.samples]
        self.values = {
            (each.name, *sorted(f"{k}={v}" for k, v in each.labels.items())): each.value
            for each in self.samples
        }

    def __getitem__(self, asked: str | tuple[str, ...]) -> float:
        name, *labels = (asked,) if isinstance(asked, str) else asked
        return self.values.get((name, *sorted(labels)), 0.0)

    def has(self, name: str) -> bool:
        return any(each.name == name for each in self.samples)

    @property
    def names(self) -> set[str]:
        """As they are written in an expression: counters end in _total."""
        return {
            f"{name}_total" if family.type == "counter" else name
            for name, family in self.families.items()
        }

    @property
    def series(self) -> int:
        return len(self.samples)

    def labels_of(self, name: str) -> set[str]:
        """The values of every label of one metric, as `label=value`."""
        return {
            f"{k}={v}" for each in self.samples if each.name == name for k, v in each.labels.items()
        }

    def since(self, before: "Scraped") -> Counter[tuple[str, ...]]:
        """What has grown in between, and by how much."""
        grown = {key: value - before.values.get(key, 0.0) for key, value in self.values.items()}
        return Counter({key: int(by) for key, by in grown.items() if by >= 1})


def own_figures() -> Scraped:
    """What this very process has counted."""
    return Scraped(b"".join(area.text() for area in COUNTED).decode())

"""The policy of the schedule: its numbers, with defaults for all feeds and overrides for one."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from headwater.core.errors import BadInput

DAY = 86_400.0


@dataclass(frozen=True)
class SchedulePolicy:
    """Durations in seconds. Numbers that no schedule could keep are refused."""

    min_interval: float = 300.0
    max_interval: float = DAY
    up_factor: float = 1.25
    down_factor: float = 0.75
    ewma_alpha: float = 0.3
    blend_lambda: float = 0.5
    jitter_ratio: float = 0.15
    backoff_base: float = 2.0
    backoff_cap: float = 3_600.0
    initial_interval: float = 900.0
    error_budget: int = 10
    retry_after_cap: float = DAY
    quiet_limit_days: float = 7.0

    def __post_init__(self) -> None:
        for name, (lowest, highest) in _BOUNDS.items():
            value = getattr(self, name)
            if not (math.isfinite(value) and lowest <= value <= highest):
                raise BadInput(
                    f"{name} must be between {lowest:g} and {highest:g}, not {value}", field=name
                )
        if self.min_interval > self.max_interval:
            raise BadInput(
                f"min_interval_sec ({self.min_interval:.15g}) is above"
                f" max_interval_sec ({self.max_interval:.15g}).",
                field="min_interval_sec",
            )

    def clamped(self, interval: float) -> float:
        if interval < self.min_interval:
            return self.min_interval
        return min(interval, self.max_interval)

    def overridden(
        self, *, min_interval: float | None = None, max_interval: float | None = None
    ) -> "SchedulePolicy":
        """The policy with a feed's own clamps.

        A single one moves the other if they would contradict.
        """
        lowest = self.min_interval if min_interval is None else min_interval
        highest = self.max_interval if max_interval is None else max_interval
        if min_interval is None:
            lowest = min(lowest, highest)
        if max_interval is None:
            highest = max(lowest, highest)
        return replace(self, min_interval=lowest, max_interval=highest)

    @cached_property
    def as_json(self) -> Mapping[str, float]:
        """Only numbers that are not the default, because decisions are stored by the million."""
        defaults = _DEFAULTS[_NEWEST]
        if self == defaults:
            return {"defaults": _NEWEST}
        numbers = {name: getattr(self, name) for name in _BOUNDS}
        differing = {
            name: value for name, value in numbers.items() if value != getattr(defaults, name)
        }
        return {"defaults": _NEWEST, **differing}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "SchedulePolicy":
        differing = {name: value for name, value in fields.items() if name != "defaults"}
        return replace(_DEFAULTS[fields["defaults"]], **differing)


_YEAR = 366 * DAY
_BOUNDS = {
    "min_interval": (1, _YEAR),
    "max_interval": (1, _YEAR),
    "up_factor": (1, 100),
    "down_factor": (0.01, 1),
    "ewma_alpha": (0.001, 1),
    "blend_lambda": (0, 1),
    "jitter_ratio": (0, 0.9),
    "backoff_base": (1, 100),
    "backoff_cap": (1, _YEAR),
    "initial_interval": (1, _YEAR),
    "error_budget": (1, 1_000_000),
    "retry_after_cap": (1, _YEAR),
    "quiet_limit_days": (0, 7),
}
# A stored decision names the defaults it was made with. To change a default, write the old values
# out under their number and give the new ones the next number: then old decisions replay the same.
_NEWEST = 1
_DEFAULTS = {1: SchedulePolicy()}

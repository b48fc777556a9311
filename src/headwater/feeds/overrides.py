"""The overrides of a feed: its own settings, how they are stored, and what they do to its schedule.

A new setting is a field of `Overrides` and a line or two below. Then come the code that obeys it
and, for callers, `entrypoints/api/feeds/feed_records.py` and `client/grpc/headwater.proto`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from headwater.feeds.schedule.hints import LONGEST
from headwater.feeds.schedule.policy import SchedulePolicy

SHORTEST_INTERVAL_SEC = 60
LONGEST_INTERVAL_SEC = 366 * 86_400
"""The intervals that people may ask for. The limits of the installation hold within them."""

_PACE = ("min_interval_sec", "max_interval_sec", "interval_sec", "push_only", "ceiling_sec")
"""The settings that move the next visit when they change."""

_NAMES_IN_DECISIONS = {
    "interval_sec": "asked_interval",
    "push_only": "push_only",
    "ceiling_sec": "ceiling",
}
"""The settings that a decision obeys itself, by their names in the stored decisions. The limits
are not among them: they are in the decision's policy."""


class Overrides(NamedTuple):
    """A feed's own settings, and the name a person gave the feed. Every claim makes one.

    `interval_sec` is the cadence the user asked for; without it the schedule is adaptive.
    `push_only`: news is pushed, and visits are a slow safety check. `ceiling_sec` is set by no
    person: while releases are collected from the feed, the adaptive interval is no longer than
    that. A publisher may ask for a longer one.
    """

    title: str | None = None
    min_interval_sec: float | None = None
    max_interval_sec: float | None = None
    interval_sec: float | None = None
    disable_autodiscovery: bool = False
    push_only: bool = False
    archive_backfill: bool = False
    verify_tls: bool = True
    ceiling_sec: float | None = None

    def changed(self, changes: Mapping[str, Any]) -> "Overrides":
        """The overrides after changes; None puts a setting back to its default."""
        defaults = self._field_defaults
        values = {
            name: defaults[name] if value is None else value for name, value in changes.items()
        }
        return self._replace(**values)

    def policy_from(self, policy: SchedulePolicy) -> SchedulePolicy:
        """The schedule's policy with the feed's own limits.

        BadInput when they contradict each other.
        """
        if self.min_interval_sec is None and self.max_interval_sec is None:
            return policy
        return policy.overridden(
            min_interval=self.min_interval_sec, max_interval=self.max_interval_sec
        )

    @property
    def has_fixed_interval(self) -> bool:
        """Whether a person has set the interval, so that the learnt one does not count."""
        return self.push_only or self.interval_sec is not None

    def has_pace_of(self, other: "Overrides") -> bool:
        """Whether a feed is visited at the same times with the other overrides."""
        return all(getattr(self, name) == getattr(other, name) for name in _PACE)

    def finite(self) -> "Overrides":
        """The same for a decision: each duration is above zero and at most a year, or None."""
        interval, ceiling = _finite(self.interval_sec), _finite(self.ceiling_sec)
        if interval == self.interval_sec and ceiling == self.ceiling_sec:
            return self
        return self._replace(interval_sec=interval, ceiling_sec=ceiling)

    def as_decision_json(self) -> dict[str, Any]:
        """The settings stored with a decision: those that it obeys and that are not the default."""
        if self is NO_OVERRIDES:
            return {}
        return {
            stored: getattr(self, name)
            for name, stored in _NAMES_IN_DECISIONS.items()
            if getattr(self, name) != self._field_defaults[name]
        }

    @classmethod
    def from_decision_json(cls, fields: Mapping[str, Any]) -> "Overrides":
        stored = {
            name: fields[stored] for name, stored in _NAMES_IN_DECISIONS.items() if stored in fields
        }
        return cls(**stored) if stored else NO_OVERRIDES


NO_OVERRIDES = Overrides()
"""Most feeds have none: they share this one."""

_NAMES = frozenset(Overrides._fields)


def decode_overrides(text: str) -> Overrides:
    """Decode the column of a feed's row; a name unknown to this version is left out."""
    if text == "{}":
        return NO_OVERRIDES
    stored = orjson.loads(text).items()
    return Overrides(**{name: value for name, value in stored if name in _NAMES})


def encode_overrides(overrides: Overrides) -> str:
    """Encode the column of a feed's row: only settings that are not the default."""
    defaults = Overrides._field_defaults
    values = overrides._asdict().items()
    return orjson.dumps({name: value for name, value in values if value != defaults[name]}).decode()


def _finite(seconds: float | None) -> float | None:
    if seconds is None or not seconds > 0:  # what is not a number is not above zero, either
        return None
    return min(seconds, LONGEST)

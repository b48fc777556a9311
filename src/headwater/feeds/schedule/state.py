"""The schedule's state: a feed's rhythm between two visits, and the outcome of a visit for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from headwater.feeds.overrides import NO_OVERRIDES, Overrides
from headwater.feeds.schedule.hints import Hints
from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.feeds.schedule.rhythm import interval_from_rhythm


class ScheduleState(NamedTuple):
    """`interval` is the remembered interval; errors never change it.

    `ewma` and `recent_published` are the observed rhythm (seconds; epoch seconds, oldest first).
    `gone` counts the 410s since the last success. `overrides` are a person's own settings, not
    learnt; only those that a decision obeys are stored with it.
    """

    interval: float
    failures: int = 0
    gone: int = 0
    ewma: float | None = None
    hints: Hints = Hints()
    recent_published: tuple[int, ...] = ()
    overrides: Overrides = NO_OVERRIDES

    def with_interval(self, interval: float) -> "ScheduleState":
        """The same rhythm at another interval. `replace` takes three times as long."""
        return ScheduleState(
            interval, self.failures, self.gone, self.ewma, self.hints, self.recent_published,
            self.overrides,
        )  # fmt: skip

    def with_overrides(self, overrides: Overrides, policy: SchedulePolicy) -> "ScheduleState":
        """The state after a person has changed the overrides.

        `policy` has the feed's new limits.
        """
        interval = self.interval
        if self.overrides.has_fixed_interval and not overrides.has_fixed_interval:
            # The interval was the fixed one and says nothing about the feed.
            interval = interval_from_rhythm(self.ewma, policy)
        return self._replace(interval=interval, overrides=overrides)

    def as_json(self) -> dict[str, Any]:
        """Only fields that differ from a feed never visited."""
        fields: dict[str, Any] = {"interval": self.interval}
        if self.failures:
            fields["failures"] = self.failures
        if self.gone:
            fields["gone"] = self.gone
        if self.ewma is not None:
            fields["ewma"] = self.ewma
        if hints := self.hints.as_json():
            fields["hints"] = hints
        if self.recent_published:
            fields["recent_published"] = self.recent_published
        return fields | self.overrides.as_decision_json()

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "ScheduleState":
        return cls(
            interval=fields["interval"],
            failures=fields.get("failures", 0),
            gone=fields.get("gone", 0),
            ewma=fields.get("ewma"),
            hints=Hints.from_json(fields.get("hints", {})),
            recent_published=tuple(fields.get("recent_published", ())),
            overrides=Overrides.from_decision_json(fields),
        )


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A 2xx whose document was read, or known by its hash (then `hints` is None).

    `published` holds publication times of the document as epoch seconds, in any order: all of
    them, or only those of new entries; the last twenty count.
    """

    new_entries: int
    hints: Hints | None = None
    published: tuple[float, ...] = ()
    fresh_for: float | None = None


@dataclass(frozen=True, slots=True)
class NotModified:
    """A 304 to a conditional request."""

    fresh_for: float | None = None


@dataclass(frozen=True, slots=True)
class ToldToWait:
    """429 or 503. `retry_after` in seconds when the answer had one."""

    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Trouble:
    """Any other failure; `code` is the outcome's or the parser's.

    `retry_after` as in `ToldToWait`.
    """

    code: str
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class SaidGone:
    """A 410."""


VisitOutcome = ReadDocument | NotModified | ToldToWait | Trouble | SaidGone
"""The facts of an outcome that the schedule decides by. Decisions are stored with them, under the
names of these classes: to rename a class would make stored decisions unreadable."""

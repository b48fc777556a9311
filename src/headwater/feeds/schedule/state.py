"""What is remembered of a feed's rhythm between two visits, and what a visit teaches about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from headwater.feeds.schedule.hints import Hints


class ScheduleState(NamedTuple):
    """`interval` is the remembered interval; errors never change it.

    `ewma` and `recent_published` are the observed rhythm (seconds; epoch seconds, oldest first).
    `gone` counts the 410s since the last success. `asked_interval` and `push_only` are the user's
    own words, not learnt. So is `ceiling`: no adaptive interval is longer where somebody waits.
    """

    interval: float
    failures: int = 0
    gone: int = 0
    ewma: float | None = None
    hints: Hints = Hints()
    recent_published: tuple[int, ...] = ()
    asked_interval: float | None = None
    push_only: bool = False
    ceiling: float | None = None

    @property
    def is_ordered(self) -> bool:
        """Whether a person's word takes the place of what is learnt from the feed."""
        return self.push_only or self.asked_interval is not None

    def with_interval(self, interval: float) -> "ScheduleState":
        """The same rhythm at another interval. `replace` takes three times as long."""
        return ScheduleState(
            interval, self.failures, self.gone, self.ewma, self.hints, self.recent_published,
            self.asked_interval, self.push_only, self.ceiling,
        )  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """Only what differs from a feed never visited."""
        said: dict[str, Any] = {"interval": self.interval}
        if self.failures:
            said["failures"] = self.failures
        if self.gone:
            said["gone"] = self.gone
        if self.ewma is not None:
            said["ewma"] = self.ewma
        if hints := self.hints.as_json():
            said["hints"] = hints
        if self.recent_published:
            said["recent_published"] = self.recent_published
        if self.asked_interval is not None:
            said["asked_interval"] = self.asked_interval
        if self.push_only:
            said["push_only"] = True
        if self.ceiling is not None:
            said["ceiling"] = self.ceiling
        return said

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "ScheduleState":
        return cls(
            interval=fields["interval"],
            failures=fields.get("failures", 0),
            gone=fields.get("gone", 0),
            ewma=fields.get("ewma"),
            hints=Hints.from_json(fields.get("hints", {})),
            recent_published=tuple(fields.get("recent_published", ())),
            asked_interval=fields.get("asked_interval"),
            push_only=fields.get("push_only", False),
            ceiling=fields.get("ceiling"),
        )


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A 2xx whose document was read, or known by its hash (`hints` None: nothing said anew).

    `published` holds the document's publication times as epoch seconds, in any order: all of
    them or only the new entries', the last twenty count.
    """

    new_entries: int
    hints: Hints | None = None
    published: tuple[float, ...] = ()
    fresh_for: float | None = None


@dataclass(frozen=True, slots=True)
class NotModified:
    """A 304."""

    fresh_for: float | None = None


@dataclass(frozen=True, slots=True)
class ToldToWait:
    """429 or 503. `retry_after` in seconds when it said how long."""

    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Trouble:
    """Any other failure; `code` is the outcome's or the parser's. `retry_after` as above."""

    code: str
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class SaidGone:
    """410."""


VisitOutcome = ReadDocument | NotModified | ToldToWait | Trouble | SaidGone

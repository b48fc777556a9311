"""The sink as a noun: who is told, of what, how far it has come, and what it would not take."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from headwater.announce.wanted import EVERYTHING, Wanted
from headwater.subscribe.feed import KEEP, Keep

State = Literal["active", "waiting", "stopped", "disabled"]
Origin = Literal["api", "settings"]

GONE = "gone"
"""Stopped: the sink said that it does not want anything any more."""
FAILING_TOO_LONG = "failing_too_long"
"""Stopped: days of failures without one success."""


@dataclass(frozen=True, slots=True)
class Sink:
    """A row of `sinks`. `secrets` are sealed. Everything up to `cursor` was taken, is a dead
    letter, or is not wanted there.

    `attempts` counts the tries of the event after the cursor, `failures` those of the sink since
    its last success. `next_try_at` is the end of a deliverer's lease, or of a pause.
    `replays` grows each time that something is to be delivered again.
    """

    id: int
    name: str
    kind: str
    origin: Origin
    options: Mapping[str, Any]
    secrets: bytes | None
    wanted: Wanted
    enabled: bool
    stopped: str | None
    max_attempts: int | None
    cursor: int
    replays: int
    attempts: int
    failures: int
    failing_since: datetime | None
    next_try_at: datetime | None
    delivered: int
    last_delivered_at: datetime | None
    last_error: str | None
    last_detail: str | None
    created_at: datetime
    updated_at: datetime

    @property
    def state(self) -> State:
        if not self.enabled:
            return "disabled"
        if self.stopped is not None:
            return "stopped"
        return "waiting" if self.failures or self.attempts else "active"

    @property
    def runs(self) -> bool:
        return self.enabled and self.stopped is None

    def is_due(self, now: datetime, longest: timedelta) -> bool:
        """Nobody delivers at this moment, and it is not to be left alone for a while.

        What is further away than the `longest` wait was written by a clock that was ahead.
        """
        until = self.next_try_at
        return self.runs and (until is None or not now < until <= now + longest)


@dataclass(frozen=True, slots=True)
class Failing:
    """How a sink fails: `attempts` of the next event, `failures` of the sink itself, and `since`
    when (in microseconds)."""

    attempts: int = 0
    failures: int = 0
    since: int | None = None
    error: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class NewSink:
    """What a sink is made of. It is told what comes after `cursor`.

    `max_attempts` None: an event that the sink cannot take is tried until it can.
    """

    name: str
    kind: str
    options: Mapping[str, Any]
    cursor: int
    origin: Origin = "api"
    secrets: bytes | None = None
    wanted: Wanted = EVERYTHING
    enabled: bool = True
    max_attempts: int | None = None


@dataclass(frozen=True, slots=True)
class SinkPatch:
    """What may be changed of a sink. Enabling one that was stopped starts it again."""

    options: Mapping[str, Any] | Keep = KEEP
    secrets: bytes | Keep | None = KEEP
    wanted: Wanted | Keep = KEEP
    enabled: bool | Keep = KEEP
    max_attempts: int | Keep | None = KEEP
    origin: Origin | Keep = KEEP


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that a sink never took. `retry_asked`: somebody wants it tried again."""

    sink_id: int
    seq: int
    event_id: str
    type: str
    attempts: int
    error: str
    detail: str
    died_at: datetime
    retry_asked: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """A sink beside the log: `lag` counts the events after its cursor, wanted or not."""

    sink: Sink
    lag: int
    dead_letters: int

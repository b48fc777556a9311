"""The sink as a noun: who is told, of what, how far it has come, and what it would not take."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from headwater.core.errors import BadInput
from headwater.core.values.keep import KEEP, Keep
from headwater.core.values.url import redacted
from headwater.events.event_filter import EVERYTHING, EventFilter

SinkState = Literal["active", "waiting", "stopped", "disabled"]
SinkOrigin = Literal["api", "settings"]

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
    origin: SinkOrigin
    options: Mapping[str, Any]
    secrets: bytes | None
    wanted: EventFilter
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
    def state(self) -> SinkState:
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
    origin: SinkOrigin = "api"
    secrets: bytes | None = None
    wanted: EventFilter = EVERYTHING
    enabled: bool = True
    max_attempts: int | None = None


@dataclass(frozen=True, slots=True)
class SinkPatch:
    """What may be changed of a sink. Enabling one that was stopped starts it again."""

    options: Mapping[str, Any] | Keep = KEEP
    secrets: bytes | Keep | None = KEEP
    wanted: EventFilter | Keep = KEEP
    enabled: bool | Keep = KEEP
    max_attempts: int | Keep | None = KEEP
    origin: SinkOrigin | Keep = KEEP


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
class SinkStatus:
    """A sink beside the log: `lag` counts the events after its cursor, wanted or not."""

    sink: Sink
    lag: int
    dead_letters: int


NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"


@dataclass(frozen=True, slots=True)
class StartPosition:
    """Which event comes first: one of a number, the first at or after a moment, or the next."""

    seq: int | None = None
    moment: int | None = None


BEGINNING, END = StartPosition(seq=1), StartPosition()


@dataclass(frozen=True, slots=True)
class SinkDefinition:
    """A sink as somebody wants it. `max_attempts` that is not said is the kind's own."""

    name: str
    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    wanted: EventFilter = EVERYTHING
    enabled: bool = True
    max_attempts: int | Keep | None = KEEP
    start: StartPosition = END


@dataclass(frozen=True, slots=True)
class SinkDefinitionPatch:
    """Only what is named changes. None: an option's default again, a secret taken away."""

    options: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, str | None] = field(default_factory=dict, repr=False)
    wanted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    enabled: bool | Keep = KEEP
    max_attempts: int | Keep | None = KEEP

    @property
    def only_starts(self) -> bool:
        """Nothing is to be different, but it is to run."""
        return self == SinkDefinitionPatch(enabled=True)


def is_sink_name(text: str) -> bool:
    return re.fullmatch(NAME, text) is not None


def check_sink_name(name: str) -> str:
    if not is_sink_name(name):
        raise BadInput(
            "A sink's name has 1 to 64 letters, digits, _, - and ., and begins with one of the"
            " first two.",
            field="name",
        )
    return name


def merge_options(before: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """None takes away.

    What is shown in place of a URL with secrets in it changes nothing: it comes back from those who
    send a whole record with one field changed.
    """
    meant = {
        name: before[name] if _is_shown(before.get(name), value) else value
        for name, value in changes.items()
    }
    return {name: v for name, v in (dict(before) | meant).items() if v is not None}


def _is_shown(kept: object, value: object) -> bool:
    return isinstance(kept, str) and value == redacted(kept)

"""A sink: who gets events, which events, how far it has come, and its dead letters."""

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
"""Stopped: the sink answered that it does not want any more events."""

FAILING_TOO_LONG = "failing_too_long"
"""Stopped: days of failures without one success."""


@dataclass(frozen=True, slots=True)
class Sink:
    """A row of `sinks`. `secrets` are sealed. Every event up to `cursor` was taken, is a dead
    letter, or is not wanted.

    `attempts` counts the tries of the event after the cursor, `failures` those of the sink since
    its last success. `next_try_at` is the end of a deliverer's lease, or of a pause.
    `replays` grows each time that events are to be delivered again.
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
        """True when it runs, nobody delivers to it now, and no pause is under way.

        A moment further away than the `longest` wait was written by a clock that was ahead.
        """
        until = self.next_try_at
        return self.runs and (until is None or not now < until <= now + longest)


@dataclass(frozen=True, slots=True)
class Failing:
    """The failures of a sink: `attempts` of the next event, `failures` of the sink itself since
    its last success, and `since` when (in microseconds)."""

    attempts: int = 0
    failures: int = 0
    since: int | None = None
    error: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class NewSink:
    """A sink to be inserted. It gets the events after `cursor`.

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
    """A change of a sink's row. Enabling one that was stopped starts it again."""

    options: Mapping[str, Any] | Keep = KEEP
    secrets: bytes | Keep | None = KEEP
    wanted: EventFilter | Keep = KEEP
    enabled: bool | Keep = KEEP
    max_attempts: int | Keep | None = KEEP
    origin: SinkOrigin | Keep = KEEP


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that a sink never took. `retry_asked`: it is to be tried again."""

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
    """The first event to deliver: that of a number, the first at or after a moment, or the next."""

    seq: int | None = None
    moment: int | None = None


BEGINNING, END = StartPosition(seq=1), StartPosition()


@dataclass(frozen=True, slots=True)
class SinkDefinition:
    """A sink to be made, as people define it. KEEP for `max_attempts`: that of its kind."""

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
    """A change of a sink's definition; only named fields change. None: an option's default again,
    or no secret any more."""

    options: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, str | None] = field(default_factory=dict, repr=False)
    wanted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    enabled: bool | Keep = KEEP
    max_attempts: int | Keep | None = KEEP

    @property
    def only_starts(self) -> bool:
        """True when the change only enables it."""
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
    """The options with the changes; None removes one.

    A redacted URL, as records show it, changes nothing: clients send it back in a whole record
    with one field changed.
    """
    effective = {
        name: before[name] if _is_redacted_form(before.get(name), value) else value
        for name, value in changes.items()
    }
    return {name: v for name, v in (dict(before) | effective).items() if v is not None}


def _is_redacted_form(stored: object, value: object) -> bool:
    return isinstance(stored, str) and value == redacted(stored)

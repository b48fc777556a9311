"""The way to a sink: its config, its connection, and the result of a delivery."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from headwater.events.event_json import WireEvent


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """The result of a delivery: the first `taken` events are safe at the sink. `trouble` is the
    error of the next one; without it the sink wants the others next.

    `about` the event: the sink works, but does not take this one. `gone`: the sink does not want
    any more events. `retry_after` is the rest, in seconds, that it asked for.
    """

    taken: int
    trouble: str | None = None
    detail: str = ""
    about: Literal["sink", "event"] = "sink"
    gone: bool = False
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class SinkConfig:
    """The configuration of a sink: its kind, its public options, and its secrets."""

    name: str
    kind: str
    options: Mapping[str, Any]
    secrets: Mapping[str, str]


class SinkConnection(Protocol):
    """The connection to one sink, open while there is something to deliver."""

    async def deliver(self, events: Sequence[WireEvent], *, replay: int) -> DeliveryResult:
        """Deliver in order. Trouble is in the result, never raised. `replay` counts how often the
        cursor was moved back: an event taken under the same number need not be taken twice."""

    async def close(self) -> None: ...

"""The way to a sink: its config, its connection, and the result of a delivery."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from headwater.events.event_json import WireEvent


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """The first `taken` parcels are safe at the sink. `trouble` says why the next one is not;
    without it whoever took some wants the others next.

    `about` the event: nothing is wrong with the sink, it will not have this one. `gone`: the sink
    does not want anything any more. `retry_after` is how many seconds it asked to be left alone.
    """

    taken: int
    trouble: str | None = None
    detail: str = ""
    about: Literal["sink", "event"] = "sink"
    gone: bool = False
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class SinkConfig:
    """What a sink is made of: its kind, what everybody may know of it, and its secrets."""

    name: str
    kind: str
    options: Mapping[str, Any]
    secrets: Mapping[str, str]


class SinkConnection(Protocol):
    """The way to one sink, open while there is something to deliver."""

    async def deliver(self, parcels: Sequence[WireEvent], *, replay: int) -> DeliveryResult:
        """In order. Trouble is in the receipt, never raised. `replay` counts how often the cursor
        was moved back: what was taken under the same number need not be taken twice."""

    async def close(self) -> None: ...

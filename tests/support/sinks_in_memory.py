"""Sinks in memory for tests: shelves that outlive their outlets, and can be told to misbehave."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headwater.events.event_json import WireEvent
from headwater.sinks.ports import DeliveryResult, SinkConfig, SinkConnection
from headwater.sinks.sink_kind import CheckedOptions, SinkKind, SinkKinds


@dataclass(slots=True)
class Shelf:
    """What a sink has taken, in order, and how it behaves."""

    taken: list[WireEvent] = field(default_factory=list)
    replays: list[int] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)
    refused: set[int] = field(default_factory=set)
    """Numbers it will never take."""
    broken: DeliveryResult | None = None
    """While it is there, nothing is taken and this is why."""
    crash: Exception | None = None
    """A bug: raised instead of an answer."""
    gate: asyncio.Event | None = None
    """While it is there and not set, nobody is answered."""
    odd: DeliveryResult | None = None
    """It takes everything, and says this."""
    pace: Callable[[], Awaitable[object]] | None = None
    """What happens before each parcel is taken: time passes, or somebody looks."""
    opened: list[SinkConfig] = field(default_factory=list)
    closed: int = 0
    closes_badly: bool = False
    _came: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def numbers(self) -> list[int]:
        return [parcel.seq for parcel in self.taken]

    @property
    def received(self) -> list[tuple[str, bytes]]:
        return [(parcel.event_id, parcel.body) for parcel in self.taken]

    def close_the_gate(self) -> None:
        """Nobody is answered."""
        self.gate = asyncio.Event()

    def open_the_gate(self) -> None:
        assert self.gate is not None
        self.gate.set()
        self.gate = None

    async def asked(self, times: int) -> None:
        """Returns once it was asked so often."""
        while len(self.batches) < times:
            self._came.clear()
            await self._came.wait()

    async def take(self, parcels: Sequence[WireEvent], replay: int) -> DeliveryResult:
        self.batches.append(len(parcels))
        self._came.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.crash is not None:
            raise self.crash
        if self.broken is not None:
            return self.broken
        for place, parcel in enumerate(parcels):
            if self.pace is not None:
                await self.pace()
            if parcel.seq in self.refused:
                return DeliveryResult(place, "http_422", "no thanks", about="event")
            self.taken.append(parcel)
            self.replays.append(replay)
        return self.odd or DeliveryResult(len(parcels))


@dataclass(slots=True)
class ShelfOutlet:
    shelf: Shelf

    async def deliver(self, parcels: Sequence[WireEvent], *, replay: int) -> DeliveryResult:
        return await self.shelf.take(parcels, replay)

    async def close(self) -> None:
        self.shelf.closed += 1
        if self.shelf.closes_badly:
            raise ConnectionResetError("it was never there")


@dataclass(slots=True)
class Shelves:
    """Every shelf by its name, and the kind `shelf` that opens them."""

    shelves: dict[str, Shelf] = field(default_factory=dict)
    unopenable: Exception | None = None

    def named(self, name: str) -> Shelf:
        return self.shelves.setdefault(name, Shelf())

    def beside(self, others: SinkKinds) -> SinkKinds:
        return SinkKinds({**others.kinds, "shelf": SinkKind(check=unchecked, open=self.open)})

    async def open(self, config: SinkConfig) -> SinkConnection:
        if self.unopenable is not None:
            raise self.unopenable
        shelf = self.named(config.name)
        shelf.opened.append(config)
        return ShelfOutlet(shelf)


def unchecked(options: Mapping[str, Any], secrets: Mapping[str, str]) -> CheckedOptions:
    return dict(options), dict(secrets)

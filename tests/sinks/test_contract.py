"""The contract itself, kept by the simplest sink there can be: a shelf in memory."""

from dataclasses import dataclass

import pytest

from headwater.sinks.ports import DeliveryResult, SinkConfig
from tests.support.sink_contract import SinkCase, SinkContract
from tests.support.sinks_in_memory import Shelf
from tests.support.sinks_world import SinkWorld


@dataclass(slots=True)
class ShelfCase:
    shelf: Shelf

    async def plan(self) -> SinkConfig:
        return SinkConfig("case", "shelf", {}, {"key": "a-secret"})

    async def received(self) -> list[tuple[str, bytes]]:
        return self.shelf.received

    async def break_it(self) -> None:
        self.shelf.broken = DeliveryResult(0, "connect_error", "nobody listens")

    async def mend_it(self) -> None:
        self.shelf.broken = None


class TestShelf(SinkContract):
    @pytest.fixture
    def case(self, world: SinkWorld) -> SinkCase:
        return ShelfCase(world.shelves.named("case"))

"""What every kind of sink must do: the same promises, kept by each, on both databases.

The tests of a kind are a class that inherits from `SinkContract` and has a fixture `case`:

    class TestNdjson(SinkContract):
        @pytest.fixture
        def case(self, tmp_path: Path) -> SinkCase:
            return NdjsonCase(tmp_path)

A case whose sink is not opened by the engine's own outlets has a fixture `outlets` too.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.sinks.ports import SinkConfig
from headwater.sinks.sink_kind import SinkKinds
from tests.support.clock import VirtualClock
from tests.support.sinks_world import SinkWorld, opened_world


class SinkCase(Protocol):
    """One sink of some kind, there before the test and after it."""

    async def plan(self) -> SinkConfig:
        """What it is opened with; the secrets are sealed by the contract."""

    async def received(self) -> list[tuple[str, bytes]]:
        """(event id, body) of everything it has, in order, as a consumer finds it."""

    async def break_it(self) -> None:
        """From now on nothing can be delivered to it; what it has stays."""

    async def mend_it(self) -> None: ...


class SinkContract:
    """The promises."""

    @pytest.fixture
    def outlets(self) -> SinkKinds | None:
        """Who opens the case's sink; None: the engine's own."""
        return None

    @pytest.fixture
    async def world(
        self,
        database: SqlDatabase,
        virtual_clock: VirtualClock,
        tmp_path: Path,
        outlets: SinkKinds | None,
    ) -> AsyncIterator[SinkWorld]:
        async with opened_world(database, virtual_clock, tmp_path, outlets) as world:
            yield world

    @pytest.fixture
    async def name(self, world: SinkWorld, case: SinkCase) -> str:
        """Of the case's sink, which is told everything from the beginning."""
        plan = await case.plan()
        await world.add(plan)
        return plan.name

    async def test_it_gets_everything_in_order_with_the_same_bytes(
        self, world: SinkWorld, case: SinkCase, name: str
    ) -> None:
        await world.tell(45)
        await world.deliver()
        received = await case.received()
        assert [body for _, body in received] == [body for _, body in await world.told()]
        assert received == await world.told()
        sink = await world.sink(name)
        assert (sink.state, sink.cursor, sink.delivered, sink.next_try_at) == (
            "active",
            45,
            45,
            None,
        )

    async def test_much_at_once_comes_in_order_too(
        self, world: SinkWorld, case: SinkCase, name: str
    ) -> None:
        await world.tell(1_203)
        await world.deliver()
        assert await case.received() == await world.told()
        assert (await world.sink(name)).cursor == 1_203

    async def test_it_goes_on_after_a_restart(
        self, world: SinkWorld, case: SinkCase, name: str
    ) -> None:
        for count in (3, 0, 5, 1):
            await world.tell(count)
            await world.deliver()
        assert await case.received() == await world.told()
        assert (await world.sink(name)).delivered == 9

    async def test_what_is_delivered_again_has_the_same_id_and_bytes(
        self, world: SinkWorld, case: SinkCase, name: str
    ) -> None:
        """We died after the sink took them, before we noted it."""
        await world.tell(10)
        await world.deliver()
        await world.forget_progress(name, 4)
        await world.tell(2)
        await world.deliver()
        received, told = await case.received(), await world.told()
        assert set(received) == set(told)
        assert list(dict.fromkeys(received)) == told
        assert (await world.sink(name)).cursor == 12

    async def test_a_broken_sink_catches_up_when_it_is_mended(
        self, world: SinkWorld, case: SinkCase, name: str
    ) -> None:
        await world.tell(4)
        await world.deliver()
        await case.break_it()
        await world.tell(6)
        for failures in (1, 2):
            await world.deliver()
            sink = await world.sink(name)
            assert (sink.state, sink.cursor, sink.failures) == ("waiting", 4, failures)
            assert sink.last_error is not None
            await world.after_the_pause(name)
        await case.mend_it()
        await world.deliver()
        received, told = await case.received(), await world.told()
        assert list(dict.fromkeys(received)) == told
        sink = await world.sink(name)
        assert (sink.state, sink.cursor, sink.last_error) == ("active", 10, None)

    async def test_a_slow_sink_does_not_delay_it(
        self, world: SinkWorld, case: SinkCase, name: str
    ) -> None:
        slow = await world.add_shelf("slow")
        slow.close_the_gate()
        await world.tell(7)
        deliveries = world.deliveries()
        await deliveries.look()
        await slow.asked(1)
        await world.reached(name, 7)
        assert await case.received() == await world.told()
        assert slow.taken == []
        slow.open_the_gate()
        await deliveries.all_done()
        await deliveries.end(5)
        assert slow.received == await world.told()

    async def test_it_delays_no_other_when_it_is_broken(
        self, world: SinkWorld, case: SinkCase, name: str
    ) -> None:
        other = await world.add_shelf("other")
        await case.break_it()
        await world.tell(7)
        await world.deliver()
        assert other.received == await world.told()
        assert (await world.sink(name)).cursor == 0
        await case.mend_it()

    async def test_a_replay_brings_the_same_again(
        self, world: SinkWorld, case: SinkCase, name: str
    ) -> None:
        await world.tell(10)
        await world.deliver()
        await world.rewind(name, 4)
        await world.deliver()
        told = await world.told()
        assert await case.received() == [*told, *told[3:]]
        await world.rewind(name, 9)
        await world.tell(1)
        await world.deliver()
        told = await world.told()
        assert await case.received() == [*told[:10], *told[3:10], *told[8:]]

    async def test_a_replay_that_is_cut_short_goes_on(
        self, world: SinkWorld, case: SinkCase, name: str
    ) -> None:
        """We died in the middle of it, after the sink took some and before we noted that."""
        await world.tell(10)
        await world.deliver()
        await world.rewind(name, 4)
        await world.deliver()
        await world.forget_progress(name, 6)
        await world.deliver()
        received, told = await case.received(), await world.told()
        assert received[:17] == [*told, *told[3:]]
        assert set(received[17:]) <= set(told[6:])

    async def test_a_poisoned_event_is_set_aside_alone_and_comes_when_it_is_mended(
        self, world: SinkWorld, case: SinkCase, name: str
    ) -> None:
        await world.tell(5)
        good = await world.payload(3)
        await world.poison(3)
        await world.deliver()
        await world.mend(3, good)
        told = await world.told()
        assert await case.received() == [*told[:2], *told[3:]]
        (letter,) = await world.dead(name)
        assert (letter.seq, letter.event_id, letter.error) == (3, told[2][0], "bad_payload")
        sink = await world.sink(name)
        assert (sink.state, sink.cursor, sink.delivered) == ("active", 5, 4)
        assert await world.retry(name) == 1
        await world.tell(1)
        await world.deliver()
        told = await world.told()
        assert await case.received() == [*told[:2], *told[3:5], told[2], told[5]]
        assert await world.dead(name) == []

    async def test_two_processes_take_turns(
        self, world: SinkWorld, case: SinkCase, name: str
    ) -> None:
        """What one of them keeps open does not lead it astray about what the other did."""
        one, other = world.deliveries(), world.deliveries()
        for deliveries in (one, other, one, other):
            await world.tell(3)
            await deliveries.look()
            await deliveries.all_done()
        assert await case.received() == await world.told()
        # The other took everything, and died before it noted that.
        await world.forget_progress(name, 9)
        await one.look()
        await one.all_done()
        await one.end(5)
        await other.end(5)
        received, told = await case.received(), await world.told()
        assert received[:12] == told
        assert set(received[12:]) <= set(told[9:])

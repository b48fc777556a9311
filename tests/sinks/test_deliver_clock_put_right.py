"""Sinks whose pauses and leases were written while the clock was ahead."""

from dataclasses import replace

from headwater.core.values.instant import to_micros
from headwater.events.event_rows import last_seq_before
from headwater.sinks import sink_rows
from headwater.sinks.ports import DeliveryResult
from tests.support.sinks_world import SinkWorld

DAY = 86_400.0


async def test_a_sink_that_failed_while_the_clock_was_ahead_is_tried_again(
    world: SinkWorld,
) -> None:
    """A pause is an hour at most, and a sink can ask for a day."""
    shelf = await world.add_shelf()
    await world.tell(2)
    world.clock.step(30 * DAY)
    shelf.broken = DeliveryResult(0, "connect_error", "nobody listens")
    await world.deliver()
    world.clock.step(-30 * DAY)
    shelf.broken = None
    await world.clock.advance(10)
    await world.deliver()
    assert shelf.numbers == [1, 2]


async def test_a_deliverer_that_died_while_the_clock_was_ahead_is_not_waited_for(
    world: SinkWorld,
) -> None:
    shelf = await world.add_shelf()
    await world.tell(2)
    world.clock.step(30 * DAY)
    now = to_micros(world.clock.now())
    async with world.engine.database.write() as tx:
        assert await sink_rows.claim_sink(tx, await world.sink(), now + 15_000_000) is not None
    world.clock.step(-30 * DAY)
    await world.clock.advance(20)
    await world.deliver()
    assert shelf.numbers == [1, 2]


async def test_what_a_sink_asked_for_is_kept_to_by_a_clock_that_is_right(
    world: SinkWorld,
) -> None:
    world.policy = replace(world.policy, retry_after_cap=2 * DAY)
    shelf = await world.add_shelf()
    await world.tell(2)
    shelf.broken = DeliveryResult(0, "http_503", "later", retry_after=2 * DAY)
    await world.deliver()
    shelf.broken = None
    await world.clock.advance(2 * DAY - 1)
    await world.deliver()
    assert shelf.numbers == []
    await world.clock.advance(1)
    await world.deliver()
    assert shelf.numbers == [1, 2]


async def test_events_told_by_a_clock_that_was_behind_hide_no_others(world: SinkWorld) -> None:
    """A board without a battery begins in the past, until somebody tells it the time."""
    for _ in range(4):
        await world.tell(1)
        await world.clock.advance(DAY)
    behind = 20_000 * DAY
    world.clock.step(-behind)
    await world.tell(1)
    world.clock.step(behind)
    for _ in range(4):
        await world.tell(1)
        await world.clock.advance(DAY)
    async with world.engine.database.read() as view:
        row = await view.row("SELECT at FROM events WHERE seq = 3")
        assert row is not None
        assert await last_seq_before(view, row.at) == 2

"""Several processes and people at one sink: one delivers at a time, and no wish is written over."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import ConnectionLost
from headwater.core.values.instant import to_micros
from headwater.events.event_rows import last_seq_before
from headwater.settings import Settings
from headwater.sinks import sink_rows
from headwater.sinks.sink import Failing, SinkPatch
from headwater.sinks.sink_rows import DeliveryProgress
from headwater.wiring.background import sink_loop
from headwater.wiring.policies import sink_policy
from tests.support.clock import START, VirtualClock
from tests.support.engine import opened_engine
from tests.support.sinks_in_memory import Shelf
from tests.support.sinks_world import SinkWorld

LEASE = 15_000_000


@pytest.fixture
async def elsewhere(
    world: SinkWorld,
    open_another: Callable[[], SqlDatabase],
    virtual_clock: VirtualClock,
    tmp_path: Path,
) -> AsyncIterator[SinkWorld]:
    """Another process on the same database, which reaches the same sinks."""
    async with opened_engine(open_another(), virtual_clock, tmp_path, worker="other") as engine:
        engine.outlets = world.engine.outlets
        yield replace(world, engine=engine)


async def delivering_stopped_in_the_middle(world: SinkWorld, shelf: Shelf) -> asyncio.Task[None]:
    """Everything is on its way, and the sink has not answered yet."""
    shelf.close_the_gate()
    delivering = asyncio.create_task(world.deliver())
    await shelf.asked(len(shelf.batches) + 1)
    return delivering


async def test_while_one_delivers_the_other_does_not(
    world: SinkWorld, elsewhere: SinkWorld
) -> None:
    shelf = await world.add_shelf()
    await world.tell(3)
    delivering = await delivering_stopped_in_the_middle(world, shelf)
    await elsewhere.deliver()
    assert shelf.batches == [3]
    shelf.open_the_gate()
    await delivering
    assert shelf.numbers == [1, 2, 3]
    await elsewhere.tell(2)
    await elsewhere.deliver()
    assert shelf.numbers == [1, 2, 3, 4, 5]


async def test_of_two_who_look_at_the_same_moment_one_delivers(
    world: SinkWorld, elsewhere: SinkWorld
) -> None:
    shelf = await world.add_shelf()
    for _ in range(10):
        await world.tell(7)
        await asyncio.gather(world.deliver(), elsewhere.deliver())
    assert shelf.numbers == list(range(1, 71))
    assert (await world.sink()).delivered == 70


async def test_the_lease_lasts_as_long_as_the_answer_takes(
    world: SinkWorld, elsewhere: SinkWorld
) -> None:
    shelf = await world.add_shelf()
    await world.tell(3)
    delivering = await delivering_stopped_in_the_middle(world, shelf)
    for _ in range(12):
        before = (await world.sink()).next_try_at
        await world.clock.advance_to_next()  # the keeper of the lease wakes
        while (await world.sink()).next_try_at == before:
            pass
    assert world.clock.now() - START == timedelta(seconds=60)
    await elsewhere.deliver()
    assert shelf.batches == [3]
    shelf.open_the_gate()
    await delivering
    assert (await world.sink()).cursor == 3


async def test_a_dead_deliverer_is_waited_for_until_its_lease_ends(
    world: SinkWorld, elsewhere: SinkWorld
) -> None:
    shelf = await world.add_shelf()
    await world.tell(2)
    sink, now = await world.sink(), to_micros(world.clock.now())
    async with world.engine.database.write() as tx:
        held = await sink_rows.claim_sink(tx, sink, now + LEASE)
    assert held is not None
    await elsewhere.deliver()
    await world.clock.advance(14)
    await elsewhere.deliver()
    assert shelf.numbers == []
    await world.clock.advance(1)
    await elsewhere.deliver()
    assert shelf.numbers == [1, 2]


async def test_a_deliverer_that_lost_its_lease_writes_nothing(world: SinkWorld) -> None:
    await world.add_shelf()
    await world.tell(5)
    sink, now = await world.sink(), to_micros(world.clock.now())
    async with world.engine.database.write() as tx:
        held = await sink_rows.claim_sink(tx, sink, now + LEASE)
    assert held is not None
    await world.clock.advance(16)
    await world.deliver()
    before, now = await world.sink(), to_micros(world.clock.now())
    letter = sink_rows.NewDeadLetter(2, "id", "new_entry", 1, "http_422", "")
    progress = DeliveryProgress(2, 2, now, (letter,))
    async with world.engine.database.write() as tx:
        assert not await sink_rows.renew_claim(tx, held, now + LEASE)
        assert not await sink_rows.note_progress(tx, held, progress, None)
        assert not await sink_rows.note_failure(tx, held, progress, Failing(1, 1, now), until=now)
        assert not await sink_rows.note_retried(tx, held, progress, [1], now)
    assert await world.sink() == before
    assert await world.dead() == []


async def test_a_wish_ends_a_lease_also_when_the_next_one_ends_at_the_same_moment(
    world: SinkWorld,
) -> None:
    await world.add_shelf()
    await world.tell(5)
    end = to_micros(world.clock.now()) + LEASE
    async with world.engine.database.write() as tx:
        before = await sink_rows.claim_sink(tx, await world.sink(), end)
    await world.rewind("shelf", 1)
    async with world.engine.database.write() as tx:
        after = await sink_rows.claim_sink(tx, await world.sink(), end)
        assert before is not None
        assert after is not None
        assert not await sink_rows.renew_claim(tx, before, end + 1)
        assert not await sink_rows.note_progress(tx, before, DeliveryProgress(5, 5, end, ()), None)
        assert await sink_rows.note_progress(tx, after, DeliveryProgress(3, 3, end, ()), None)
    assert (await world.sink()).cursor == 3


async def test_a_process_that_stood_still_finds_its_lease_taken_and_stops(
    world: SinkWorld, elsewhere: SinkWorld
) -> None:
    """What was under way meanwhile comes twice; nothing is lost or written over."""
    shelf = await world.add_shelf()
    shelf.pace = world.seconds_each(0.1)
    await world.tell(30)
    delivering = await delivering_stopped_in_the_middle(world, shelf)
    async with world.engine.database.write() as tx:  # as if nobody had kept its lease
        await tx.run("UPDATE sinks SET next_try_at = ?", to_micros(START))
    shelf.open_the_gate()
    await elsewhere.deliver()
    await delivering
    assert set(shelf.numbers) == set(range(1, 31))
    assert len(shelf.numbers) == 50  # the 20 that were under way
    sink = await world.sink()
    assert (sink.cursor, sink.delivered, sink.next_try_at) == (30, 30, None)


async def test_what_is_wished_while_somebody_holds_it_is_not_held_any_more(
    world: SinkWorld,
) -> None:
    await world.add_shelf()
    sink = await world.sink()
    await world.change(SinkPatch(max_attempts=5))
    async with world.engine.database.write() as tx:
        assert await sink_rows.claim_sink(tx, sink, to_micros(START) + LEASE) is None


@pytest.mark.parametrize("by", ["number", "time"])
async def test_a_replay_while_a_delivery_is_under_way_loses_nothing(
    by: str, world: SinkWorld
) -> None:
    shelf = await world.add_shelf()
    await world.tell(4)
    await world.clock.advance(60)
    await world.tell(2)
    await world.deliver()
    await world.tell(3)
    delivering = await delivering_stopped_in_the_middle(world, shelf)
    async with world.engine.database.read() as view:
        moment = to_micros(START + timedelta(seconds=60))
        first = 5 if by == "number" else await last_seq_before(view, moment) + 1
    await world.rewind("shelf", first)
    shelf.open_the_gate()
    await delivering
    sink = await world.sink()
    assert (sink.cursor, sink.replays) == (4, 1)
    await world.deliver()
    assert shelf.numbers == [1, 2, 3, 4, 5, 6, 7, 8, 9, 5, 6, 7, 8, 9]
    assert shelf.replays == [0] * 9 + [1] * 5
    told = await world.told()
    assert shelf.received == [*told, *told[4:]]


async def test_a_replay_takes_up_what_died_from_there_on_and_nothing_before(
    world: SinkWorld,
) -> None:
    await world.add_shelf()
    await world.tell(5)
    now = to_micros(world.clock.now())
    dead = tuple(
        sink_rows.NewDeadLetter(seq, "id", "new_entry", 1, "http_422", "") for seq in (2, 3)
    )
    async with world.engine.database.write() as tx:
        held = await sink_rows.claim_sink(tx, await world.sink(), now + LEASE)
        assert held is not None
        assert await sink_rows.note_progress(tx, held, DeliveryProgress(5, 3, now, dead), None)
    await world.rewind("shelf", 3)
    assert [letter.seq for letter in await world.dead()] == [2]


async def test_a_replay_never_passes_over_what_was_not_delivered_yet(world: SinkWorld) -> None:
    shelf = await world.add_shelf()
    await world.tell(4)
    await world.rewind("shelf", 3)
    await world.deliver()
    assert shelf.numbers == [1, 2, 3, 4]


async def test_a_replay_from_the_beginning_and_one_that_is_refused_again(
    world: SinkWorld,
) -> None:
    shelf = await world.add_shelf()
    world.policy = replace(world.policy, refused_attempts=1)
    await world.tell(3)
    shelf.refused = {2}
    await world.deliver()
    await world.rewind("shelf", 0)
    assert await world.dead() == []
    await world.deliver()
    assert (shelf.numbers, [letter.seq for letter in await world.dead()]) == ([1, 3, 1, 3], [2])


async def test_a_change_while_a_delivery_is_under_way_sends_it_to_the_new_place(
    world: SinkWorld,
) -> None:
    shelf = await world.add_shelf()
    await world.tell(3)
    delivering = await delivering_stopped_in_the_middle(world, shelf)
    await world.change(SinkPatch(options={"path": "new"}))
    shelf.open_the_gate()
    await delivering
    sink = await world.sink()
    assert (sink.cursor, sink.delivered) == (0, 0)
    await world.deliver()
    assert shelf.numbers == [1, 2, 3, 1, 2, 3]
    assert [plan.options for plan in shelf.opened] == [{}, {"path": "new"}]


async def test_a_sink_that_is_removed_while_a_delivery_is_under_way_is_gone(
    world: SinkWorld,
) -> None:
    shelf = await world.add_shelf()
    await world.tell(3)
    delivering = await delivering_stopped_in_the_middle(world, shelf)
    await world.remove()
    shelf.open_the_gate()
    await delivering
    async with world.engine.database.read() as view:
        assert await view.rows("SELECT id FROM sinks") == []


async def test_a_name_belongs_to_one_sink(world: SinkWorld) -> None:
    await world.add_shelf()
    with pytest.raises(AssertionError, match="the name is taken"):
        await world.add_shelf()


async def test_a_stop_leaves_the_rest_for_the_next_start_at_once(world: SinkWorld) -> None:
    shelf = await world.add_shelf()
    await world.tell(100)
    shelf.close_the_gate()
    deliveries = world.deliveries()
    await deliveries.look()
    await shelf.asked(1)
    ending = asyncio.create_task(deliveries.end(seconds=30))
    await asyncio.sleep(0)
    shelf.open_the_gate()
    await ending
    sink = await world.sink()
    assert (sink.cursor, sink.next_try_at, shelf.closed) == (20, None, 1)
    await world.deliver()
    assert shelf.numbers == list(range(1, 101))


async def test_a_stop_that_cannot_wait_loses_nothing(world: SinkWorld) -> None:
    shelf = await world.add_shelf()
    await world.tell(3)
    shelf.close_the_gate()
    deliveries = world.deliveries()
    await deliveries.look()
    await shelf.asked(1)
    await deliveries.end(seconds=0)
    shelf.open_the_gate()
    assert (await world.sink()).cursor == 0
    await world.after_the_pause()
    await world.deliver()
    assert shelf.numbers == [1, 2, 3]


async def test_the_part_of_the_service_delivers_until_it_is_stopped(world: SinkWorld) -> None:
    shelf = await world.add_shelf()
    part = sink_loop(world.engine.services, Settings(stop_seconds=5))
    running = asyncio.create_task(part.run())
    for total in (2, 4):
        await world.clock.asleep()
        await world.tell(2)
        await world.clock.advance_to_next()
        await world.reached("shelf", total)
    part.stop()
    await running
    assert (shelf.numbers, shelf.closed) == ([1, 2, 3, 4], 1)


@pytest.mark.parametrize("trouble", [ConnectionLost("gone fishing"), ValueError("a bad row")])
async def test_the_part_of_the_service_outlives_a_look_that_fails(
    trouble: Exception, world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = await world.add_shelf()
    await world.tell(1)

    def failing() -> object:
        raise trouble

    monkeypatch.setattr(world.engine.database, "read", failing)
    part = sink_loop(world.engine.services, Settings(stop_seconds=5))
    running = asyncio.create_task(part.run())
    await world.clock.asleep()
    monkeypatch.undo()
    assert await world.clock.advance_to_next() == 10.0
    await world.reached("shelf", 1)
    part.stop()
    await running
    assert shelf.numbers == [1]


def test_settings_are_the_policy() -> None:
    settings = Settings(
        sinks_at_once=3,
        sink_lease_seconds=9,
        sink_pause_cap_sec=60,
        sink_refused_attempts=7,
        sink_give_up_days=2,
        retry_after_cap_sec=100,
    )
    policy = sink_policy(settings)
    assert (policy.at_once, policy.lease, policy.pause_cap) == (3, 9, 60)
    assert policy.retry_after_cap == 100
    assert (policy.refused_attempts, policy.give_up_days) == (7, 2)


async def test_what_died_while_the_lease_was_lost_is_not_forgotten(world: SinkWorld) -> None:
    """Nobody noted that it is dead, so the next holder, ourselves too, meets it again."""
    world.policy = replace(world.policy, refused_attempts=1)
    shelf = await world.add_shelf()
    shelf.refused = {2}
    await world.tell(3)
    deliveries = world.deliveries()
    shelf.close_the_gate()
    await deliveries.look()
    await shelf.asked(1)
    taken_over = to_micros(START) + LEASE + 1
    async with world.engine.database.write() as tx:  # by another process, which dies at once
        await tx.run("UPDATE sinks SET next_try_at = ?", taken_over)
    shelf.open_the_gate()
    await deliveries.all_done()
    assert ((await world.sink()).cursor, await world.dead()) == (0, [])
    await world.clock.advance(16)
    await deliveries.look()
    await deliveries.all_done()
    await deliveries.end(5)
    assert (await world.sink()).cursor == 3
    assert [letter.seq for letter in await world.dead()] == [2]

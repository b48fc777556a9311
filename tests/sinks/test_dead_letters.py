"""What no sink would take: set aside one by one, visible, and tried again when somebody asks."""

from dataclasses import replace
from datetime import timedelta

import pytest

from headwater.events.event_rows import read_events
from headwater.sinks import sink_rows
from headwater.sinks.ports import DeliveryResult
from tests.support.clock import START
from tests.support.sinks_in_memory import Shelf
from tests.support.sinks_world import SinkWorld

DOWN = DeliveryResult(0, "connect_error", "nobody listens")


async def with_dead_letters(world: SinkWorld, count: int, *dead: int) -> Shelf:
    """A sink that took everything but these."""
    world.policy = replace(world.policy, refused_attempts=1)
    shelf = await world.add_shelf()
    await world.tell(count)
    shelf.refused = set(dead)
    await world.deliver()
    assert [letter.seq for letter in await world.dead()] == sorted(dead)
    assert (await world.sink()).cursor == count
    shelf.taken.clear()
    shelf.replays.clear()
    return shelf


@pytest.mark.parametrize("payload", ["[1, 2", '"text"', "[]", ""])
async def test_a_damaged_event_is_set_aside_and_seen(payload: str, world: SinkWorld) -> None:
    shelf = await world.add_shelf()
    await world.tell(4)
    await world.poison(2, payload)
    await world.deliver()
    assert shelf.numbers == [1, 3, 4]
    (letter,) = await world.dead()
    assert (letter.seq, letter.type, letter.error) == (2, "feed_failing", "bad_payload")
    assert (letter.attempts, letter.died_at, letter.detail != "") == (0, START, True)
    sink = await world.sink()
    assert (sink.state, sink.cursor, sink.delivered) == ("active", 4, 3)


@pytest.mark.parametrize("dead", [{1}, {4}, {1, 2, 3, 4}, {2, 3}])
async def test_damaged_events_may_be_anywhere(dead: set[int], world: SinkWorld) -> None:
    shelf = await world.add_shelf()
    await world.tell(4)
    for seq in dead:
        await world.poison(seq)
    await world.deliver()
    assert shelf.numbers == sorted({1, 2, 3, 4} - dead)
    assert [letter.seq for letter in await world.dead()] == sorted(dead)
    assert (await world.sink()).cursor == 4


async def test_a_damaged_event_behind_one_that_fails_waits_its_turn(world: SinkWorld) -> None:
    shelf = await world.add_shelf()
    await world.tell(5)
    await world.poison(2)
    await world.poison(4)
    shelf.refused = {3}
    await world.deliver()
    assert ([letter.seq for letter in await world.dead()], (await world.sink()).cursor) == ([2], 2)
    shelf.refused = set()
    await world.after_the_pause()
    await world.deliver()
    assert shelf.numbers == [1, 3, 5]
    assert [letter.seq for letter in await world.dead()] == [2, 4]


async def test_a_damaged_event_is_dead_for_each_sink_on_its_own(world: SinkWorld) -> None:
    await world.add_shelf("one")
    await world.add_shelf("two")
    await world.tell(2)
    await world.poison(1)
    await world.deliver()
    for name in ("one", "two"):
        assert [letter.seq for letter in await world.dead(name)] == [1]
    async with world.engine.database.read() as view:
        standings = await sink_rows.list_sink_statuses(view)
        assert await sink_rows.sink_status_of(view, standings[0].sink) == standings[0]
    assert [(each.sink.name, each.lag, each.dead_letters) for each in standings] == [
        ("one", 0, 1),
        ("two", 0, 1),
    ]


async def test_dead_letters_rest_until_somebody_asks(world: SinkWorld) -> None:
    shelf = await with_dead_letters(world, 5, 2, 4)
    shelf.refused = set()
    await world.tell(1)
    await world.deliver()
    assert (shelf.numbers, len(await world.dead())) == ([6], 2)


async def test_a_retry_brings_them_in_order_before_what_is_new(world: SinkWorld) -> None:
    shelf = await with_dead_letters(world, 5, 2, 4)
    shelf.refused = set()
    assert await world.retry() == 2
    assert [letter.retry_asked for letter in await world.dead()] == [True, True]
    await world.tell(2)
    await world.deliver()
    assert (shelf.numbers, shelf.replays) == ([2, 4, 6, 7], [1, 1, 1, 1])
    assert await world.dead() == []
    sink = await world.sink()
    assert (sink.cursor, sink.delivered, sink.next_try_at) == (7, 7, None)


async def test_a_retry_needs_nothing_new_in_the_log(world: SinkWorld) -> None:
    shelf = await with_dead_letters(world, 5, 2, 4)
    shelf.refused = set()
    deliveries = world.deliveries()
    await deliveries.look()
    await deliveries.all_done()
    assert await world.retry("shelf", 4) == 1
    await deliveries.look()
    await deliveries.all_done()
    await deliveries.end(5)
    assert shelf.numbers == [4]
    assert [letter.seq for letter in await world.dead()] == [2]
    assert (await world.sink()).cursor == 5


async def test_what_is_refused_again_stays_dead_and_counts(world: SinkWorld) -> None:
    shelf = await with_dead_letters(world, 9, 2, 4, 6)
    shelf.refused = {4}
    await world.clock.advance(60)
    await world.retry()
    await world.deliver()
    assert shelf.numbers == [2, 6]
    (letter,) = await world.dead()
    assert (letter.seq, letter.attempts, letter.retry_asked) == (4, 2, False)
    assert letter.died_at == START + timedelta(seconds=60)
    assert (await world.sink()).state == "active"


async def test_a_sink_in_trouble_keeps_the_letters_that_were_asked_for(world: SinkWorld) -> None:
    shelf = await with_dead_letters(world, 5, 2, 4)
    shelf.refused, shelf.broken = set(), DOWN
    await world.retry()
    await world.tell(1)
    await world.deliver()
    sink = await world.sink()
    assert (sink.state, sink.failures, sink.attempts, sink.cursor) == ("waiting", 1, 0, 5)
    assert [letter.retry_asked for letter in await world.dead()] == [True, True]
    shelf.broken = None
    await world.after_the_pause()
    await world.deliver()
    assert (shelf.numbers, await world.dead()) == ([2, 4, 6], [])


async def test_a_sink_that_is_gone_is_stopped_by_a_retry_too(world: SinkWorld) -> None:
    shelf = await with_dead_letters(world, 5, 2)
    shelf.broken = DeliveryResult(0, "http_410", gone=True, about="event")
    await world.retry()
    await world.deliver()
    assert (await world.sink()).stopped == "gone"
    assert [letter.retry_asked for letter in await world.dead()] == [True]


async def test_what_is_damaged_still_stays_dead_and_is_in_nobodys_way(world: SinkWorld) -> None:
    shelf = await world.add_shelf()
    await world.tell(3)
    good = await world.payload(2)
    await world.poison(1)
    await world.poison(2)
    await world.deliver()
    await world.poison(2, good)
    await world.retry()
    await world.tell(1)
    await world.deliver()
    assert shelf.numbers == [3, 2, 4]
    (letter,) = await world.dead()
    assert (letter.seq, letter.error, letter.retry_asked) == (1, "bad_payload", False)


async def test_a_retry_while_a_delivery_is_under_way_loses_nothing(world: SinkWorld) -> None:
    shelf = await with_dead_letters(world, 5, 2)
    shelf.refused = set()
    await world.tell(3)
    shelf.close_the_gate()
    deliveries = world.deliveries()
    await deliveries.look()
    await shelf.asked(len(shelf.batches) + 1)
    await world.retry()
    shelf.open_the_gate()
    await deliveries.all_done()
    await deliveries.look()
    await deliveries.all_done()
    await deliveries.end(5)
    assert shelf.numbers == [6, 7, 8, 2, 6, 7, 8]
    assert (await world.dead(), (await world.sink()).cursor) == ([], 8)


async def test_many_letters_are_retried_in_batches(world: SinkWorld) -> None:
    shelf = await with_dead_letters(world, 120, *range(1, 101))
    shelf.refused = {50}
    await world.retry()
    await world.deliver()
    assert shelf.numbers == [seq for seq in range(1, 101) if seq != 50]
    assert [letter.seq for letter in await world.dead()] == [50]


async def test_a_retry_of_nothing_disturbs_nobody(world: SinkWorld) -> None:
    await with_dead_letters(world, 5, 2)
    before = await world.sink()
    assert await world.retry("shelf", 3) == 0
    assert await world.sink() == before


async def test_letters_can_be_forgotten(world: SinkWorld) -> None:
    await with_dead_letters(world, 9, 2, 4, 6)
    sink = await world.sink()
    async with world.engine.database.write() as tx:
        assert await sink_rows.delete_dead_letters(tx, sink.id, []) == 0
        assert await sink_rows.delete_dead_letters(tx, sink.id, [4, 5]) == 1
    assert [letter.seq for letter in await world.dead()] == [2, 6]
    async with world.engine.database.write() as tx:
        assert await sink_rows.delete_dead_letters(tx, sink.id, None) == 2
    assert await world.dead() == []


async def test_letters_are_read_page_by_page(world: SinkWorld) -> None:
    await with_dead_letters(world, 9, 2, 4, 6)
    sink = await world.sink()
    async with world.engine.database.read() as view:
        first = await sink_rows.list_dead_letters(view, sink.id, limit=2)
        rest = await sink_rows.list_dead_letters(view, sink.id, after=first[-1].seq, limit=2)
    assert [letter.seq for letter in (*first, *rest)] == [2, 4, 6]


async def test_letters_go_with_their_sink(world: SinkWorld) -> None:
    await with_dead_letters(world, 3, 2)
    await world.remove()
    async with world.engine.database.read() as view:
        assert await view.rows("SELECT seq FROM dead_letters") == []


@pytest.mark.parametrize("payload", ["[1, 2", '"text"', "[]", ""])
async def test_whoever_asks_for_events_comes_past_a_damaged_one(
    payload: str, world: SinkWorld
) -> None:
    await world.tell(4)
    await world.poison(2, payload)
    after, seen = 0, list[int]()
    async with world.engine.database.read() as view:
        for _ in range(4):
            told = await read_events(view, after, limit=1)
            seen += [event.seq for event in told.events]
            after = told.next
        whole = await read_events(view, 0, limit=100)
    assert (seen, after) == ([1, 3, 4], 4)
    assert ([event.seq for event in whole.events], whole.next) == ([1, 3, 4], 4)

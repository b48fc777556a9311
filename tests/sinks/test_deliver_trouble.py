"""Sinks in trouble: pauses, events that die, sinks that are given up, and mistakes of our own."""

import asyncio
from dataclasses import replace

import pytest

from headwater.core.errors import StorageError
from headwater.sinks.ports import DeliveryResult, SinkConfig
from headwater.sinks.sink import SinkPatch
from tests.support.clock import START
from tests.support.sinks_world import SinkWorld

DOWN = DeliveryResult(0, "connect_error", "nobody listens")
DAY = 86_400


async def test_what_failed_comes_again_later_and_before_all_else(world: SinkWorld) -> None:
    shelf = await world.add_shelf()
    await world.tell(3)
    shelf.broken = DeliveryResult(0, "http_500", "oops")
    await world.deliver()
    sink = await world.sink()
    assert (sink.state, sink.cursor, sink.attempts, sink.failures) == ("waiting", 0, 1, 1)
    assert (sink.last_error, sink.last_detail, sink.failing_since) == ("http_500", "oops", START)
    shelf.broken = None
    await world.clock.advance(4)
    await world.tell(1)
    await world.deliver()
    assert shelf.numbers == []
    await world.clock.advance(1)
    await world.deliver()
    assert shelf.numbers == [1, 2, 3, 4]
    sink = await world.sink()
    assert (sink.state, sink.attempts, sink.failures) == ("active", 0, 0)
    assert (sink.failing_since, sink.next_try_at) == (None, None)
    assert (sink.last_error, sink.last_detail) == (None, None)


async def test_the_pause_doubles_with_a_little_luck_up_to_its_cap(world: SinkWorld) -> None:
    shelf = await world.add_shelf()
    world.policy = replace(world.policy, pause_cap=30.0)
    world.clock.script_luck(0.0, 1.0, -1.0, 0.0, 0.0)
    await world.tell(1)
    shelf.broken = DOWN
    pauses = []
    for _ in range(5):
        await world.deliver()
        pauses.append(await world.after_the_pause())
    assert pauses == [5.0, 12.0, 16.0, 30.0, 30.0]


async def test_a_sink_is_left_alone_as_long_as_it_asked(world: SinkWorld) -> None:
    shelf = await world.add_shelf()
    await world.tell(1)
    shelf.broken = DeliveryResult(0, "http_429", retry_after=600.0)
    await world.deliver()
    assert await world.after_the_pause() == 600.0


async def test_what_was_taken_before_the_trouble_is_noted(world: SinkWorld) -> None:
    shelf = await world.add_shelf()
    await world.tell(7)
    shelf.refused = {5}
    await world.deliver()
    sink = await world.sink()
    assert (shelf.numbers, sink.cursor, sink.delivered) == ([1, 2, 3, 4], 4, 4)
    assert (sink.state, sink.attempts, sink.failures) == ("waiting", 1, 0)


async def test_an_event_nobody_wants_dies_alone_and_the_rest_goes_on(world: SinkWorld) -> None:
    shelf = await world.add_shelf()
    await world.tell(9)
    shelf.refused = {3, 4, 9}
    for _ in range(3):
        await world.deliver()
        await world.after_the_pause()
    assert shelf.numbers == [1, 2]
    sink = await world.sink()
    assert (sink.cursor, sink.attempts) == (3, 1)  # 3 has died, 4 was tried once
    for _ in range(2):
        await world.deliver()
        await world.after_the_pause()
    assert shelf.numbers == [1, 2, 5, 6, 7, 8]
    for _ in range(2):
        await world.deliver()
        sink = await world.sink()
        if sink.next_try_at is not None:
            await world.after_the_pause()
    assert [(letter.seq, letter.attempts, letter.error) for letter in await world.dead()] == [
        (3, 3, "http_422"),
        (4, 3, "http_422"),
        (9, 3, "http_422"),
    ]
    sink = await world.sink()
    assert (sink.cursor, sink.delivered, sink.next_try_at) == (9, 6, None)
    (first, *_) = await world.dead()
    assert (first.type, first.detail, first.retry_asked) == ("updated_entry", "no thanks", False)


async def test_a_sink_that_is_down_for_long_loses_few_events_visibly_and_the_rest_comes(
    world: SinkWorld,
) -> None:
    shelf = await world.add_shelf(max_attempts=3)
    await world.tell(5)
    shelf.broken = DOWN
    pauses = []
    for _ in range(7):
        await world.deliver()
        pauses.append(await world.after_the_pause())
    assert pauses == [5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0]  # a death is no reason to hurry
    assert [letter.seq for letter in await world.dead()] == [1, 2]
    sink = await world.sink()
    assert (sink.cursor, sink.attempts, sink.failures) == (2, 1, 7)
    shelf.broken = None
    await world.deliver()
    assert shelf.numbers == [3, 4, 5]
    assert [(each.attempts, each.error) for each in await world.dead()] == [
        (3, "connect_error"),
        (3, "connect_error"),
    ]


async def test_without_a_last_attempt_everything_waits_for_the_sink(world: SinkWorld) -> None:
    shelf = await world.add_shelf(max_attempts=None)
    await world.tell(5)
    shelf.broken = DOWN
    for _ in range(60):
        await world.deliver()
        await world.after_the_pause()
    shelf.broken = None
    await world.deliver()
    assert (shelf.numbers, await world.dead()) == ([1, 2, 3, 4, 5], [])


async def test_a_sink_that_is_gone_is_stopped_and_says_why(world: SinkWorld) -> None:
    shelf = await world.add_shelf()
    await world.tell(3)
    shelf.broken = DeliveryResult(0, "http_410", "no more", gone=True)
    await world.deliver()
    sink = await world.sink()
    assert (sink.state, sink.stopped, sink.cursor) == ("stopped", "gone", 0)
    assert (sink.last_error, sink.next_try_at) == ("http_410", None)
    await world.clock.advance(DAY)
    await world.deliver()
    assert shelf.batches == [3]
    shelf.broken = None
    await world.change(SinkPatch(enabled=True))
    await world.deliver()
    assert shelf.numbers == [1, 2, 3]
    assert (await world.sink()).state == "active"


async def test_a_sink_that_fails_for_five_days_is_stopped_and_nothing_is_lost(
    world: SinkWorld,
) -> None:
    shelf = await world.add_shelf()
    await world.tell(2)
    shelf.broken = DOWN
    while (await world.sink()).state != "stopped":
        await world.deliver()
        if (await world.sink()).next_try_at is not None:
            await world.after_the_pause()
    sink = await world.sink()
    assert sink.stopped == "failing_too_long"
    assert 5.0 <= (world.clock.now() - START).total_seconds() / DAY <= 5.05
    shelf.broken = None
    await world.change(SinkPatch(enabled=True))
    await world.deliver()
    assert (shelf.numbers, await world.dead()) == ([1, 2], [])


async def test_one_success_begins_the_five_days_anew(world: SinkWorld) -> None:
    shelf = await world.add_shelf()
    await world.tell(1)
    shelf.broken = DOWN
    await world.deliver()
    await world.clock.advance(4 * DAY)
    shelf.broken = None
    await world.deliver()
    await world.clock.advance(4 * DAY)
    await world.tell(1)
    shelf.broken = DOWN
    await world.deliver()
    assert (await world.sink()).state == "waiting"


async def test_one_success_begins_the_count_of_attempts_anew(world: SinkWorld) -> None:
    shelf = await world.add_shelf()
    await world.tell(4)
    shelf.broken = DOWN
    for _ in range(2):
        await world.deliver()
        await world.after_the_pause()
    shelf.broken, shelf.refused = None, {3}
    await world.deliver()
    sink = await world.sink()
    assert (sink.cursor, sink.attempts, sink.failures, sink.failing_since) == (2, 1, 0, None)
    assert await world.dead() == []


async def test_a_mistake_in_an_outlet_is_a_failure_of_its_sink_alone(world: SinkWorld) -> None:
    shelf, other = await world.add_shelf(), await world.add_shelf("other")
    await world.tell(2)
    shelf.crash = KeyError("a secret perhaps")
    deliveries = world.deliveries()
    await deliveries.look()
    await deliveries.all_done()
    sink = await world.sink()
    assert (sink.failures, sink.last_error, sink.last_detail) == (1, "outlet_crashed", "KeyError")
    assert other.numbers == [1, 2]
    assert shelf.closed == 1
    shelf.crash = None
    await world.after_the_pause()
    await deliveries.look()
    await deliveries.all_done()
    await deliveries.end(5)
    assert (shelf.numbers, len(shelf.opened)) == ([1, 2], 2)


@pytest.mark.parametrize(
    ("trouble", "error", "detail"),
    [
        (StorageError("The disk is full.", reason="ENOSPC"), "storage_error", "The disk is full."),
        (ValueError("hush"), "outlet_crashed", "ValueError"),
    ],
)
async def test_a_sink_that_cannot_be_opened_fails(
    trouble: Exception, error: str, detail: str, world: SinkWorld
) -> None:
    shelf = await world.add_shelf()
    await world.tell(1)
    world.shelves.unopenable = trouble
    await world.deliver()
    sink = await world.sink()
    assert (sink.state, sink.last_error, sink.last_detail) == ("waiting", error, detail)
    world.shelves.unopenable = None
    await world.after_the_pause()
    await world.deliver()
    assert shelf.numbers == [1]


async def test_secrets_that_do_not_open_are_a_failure_and_are_not_told(world: SinkWorld) -> None:
    await world.add(SinkConfig("shelf", "shelf", {}, {"secret": "hush"}))
    await world.tell(1)
    async with world.engine.database.write() as tx:
        await tx.run("UPDATE sinks SET secrets = ?", b"sealed by somebody else")
    await world.deliver()
    sink = await world.sink()
    assert (sink.state, sink.last_error) == ("waiting", "secret_unreadable")
    assert world.shelves.named("shelf").opened == []


async def test_a_sink_that_never_answers_fails_and_gets_one_at_a_time_then(
    world: SinkWorld,
) -> None:
    shelf = await world.add_shelf()
    world.policy = replace(world.policy, longest=0.05)
    await world.tell(6)
    shelf.close_the_gate()
    deliveries = world.deliveries()
    await deliveries.look()
    await deliveries.all_done()
    sink = await world.sink()
    assert (sink.last_error, sink.last_detail) == ("timeout", "no answer within 0.05 seconds")
    shelf.open_the_gate()
    await world.after_the_pause()
    await deliveries.look()
    await deliveries.all_done()
    await deliveries.end(5)
    assert (shelf.numbers, shelf.batches) == ([1, 2, 3, 4, 5, 6], [6, 1, 4, 1])


@pytest.mark.parametrize(
    ("odd", "cursor", "error"),
    [
        (DeliveryResult(9), 3, None),
        (DeliveryResult(-2), 0, "not_taken"),
        (DeliveryResult(3, "http_500"), 3, None),
        (DeliveryResult(0, ""), 0, "not_taken"),
    ],
)
async def test_a_receipt_that_makes_no_sense_loses_nothing(
    odd: DeliveryResult, cursor: int, error: str | None, world: SinkWorld
) -> None:
    shelf = await world.add_shelf()
    await world.tell(3)
    shelf.odd = odd
    await world.deliver()
    sink = await world.sink()
    assert (sink.cursor, sink.last_error) == (cursor, error)


async def test_whoever_takes_some_and_names_no_trouble_gets_the_rest_at_once(
    world: SinkWorld,
) -> None:
    shelf = await world.add_shelf()
    await world.tell(3)
    shelf.odd = DeliveryResult(1)
    await world.deliver()
    sink = await world.sink()
    assert (sink.cursor, sink.last_error, sink.delivered) == (3, None, 3)
    assert shelf.batches == [3, 2, 1]


async def test_dead_letters_of_a_sink_that_takes_some_at_a_time_are_all_tried(
    world: SinkWorld,
) -> None:
    shelf = await world.add_shelf()
    await world.tell(3)
    shelf.refused = {1, 2, 3}
    world.policy = replace(world.policy, refused_attempts=1)
    await world.deliver()
    assert [letter.seq for letter in await world.dead()] == [1, 2, 3]
    shelf.refused, shelf.odd = set(), DeliveryResult(1)
    await world.retry()
    await world.deliver()
    assert (await world.dead(), (await world.sink()).last_error) == ([], None)


async def test_trouble_in_words_that_no_database_takes_is_kept_all_the_same(
    world: SinkWorld,
) -> None:
    shelf = await world.add_shelf()
    await world.tell(1)
    shelf.broken = DeliveryResult(0, "http_500", "\x00" + "\ud800" + "x" * 1_000)
    await world.deliver()
    assert (await world.sink()).last_detail == "\ufffd?" + "x" * 498


async def test_sinks_that_fail_leave_places_to_those_that_do_not(world: SinkWorld) -> None:
    world.policy = replace(world.policy, at_once=4)
    failing = [await world.add_shelf(f"a{number}") for number in range(4)]
    await world.tell(1)
    for shelf in failing:
        shelf.broken = DOWN
    await world.deliver()
    await world.clock.advance(5)
    for shelf in failing:
        shelf.batches.clear()
        shelf.close_the_gate()
    well = await world.add_shelf("z")
    deliveries = world.deliveries()
    await deliveries.look()
    await world.reached("z", 1)
    assert well.numbers == [1]
    asked = [shelf for shelf in failing if shelf.batches]
    await deliveries.look()
    assert len(asked) <= 2
    for shelf in failing:
        shelf.broken = None
        shelf.open_the_gate()
    while (await world.sink("a3")).cursor == 0:
        await deliveries.look()
        await asyncio.sleep(0)
    await deliveries.end(5)
    assert [shelf.numbers for shelf in failing] == [[1]] * 4


async def test_slow_sinks_with_much_to_take_leave_places_to_others(world: SinkWorld) -> None:
    world.policy = replace(world.policy, at_once=2)
    slow = [await world.add_shelf(name) for name in ("a", "b")]
    await world.tell(30)
    for shelf in slow:
        shelf.close_the_gate()
    deliveries = world.deliveries()
    await deliveries.look()
    await asyncio.gather(*(shelf.asked(1) for shelf in slow))
    quick = await world.add_shelf("z")
    await deliveries.look()  # they have hardly begun: it waits
    await world.clock.advance(5)
    await deliveries.look()  # one of them is asked to make room
    for shelf in slow:
        shelf.open_the_gate()
    await deliveries.all_done()
    assert sorted(len(shelf.taken) for shelf in slow) == [20, 30]
    await deliveries.look()
    await deliveries.all_done()
    assert (len(quick.taken), [len(shelf.taken) for shelf in slow]) == (30, [30, 30])
    await deliveries.end(5)


async def test_whoever_waited_longest_is_next(world: SinkWorld) -> None:
    world.policy = replace(world.policy, at_once=1)
    shelves = [await world.add_shelf(name) for name in ("a", "b", "c")]
    deliveries = world.deliveries()
    turns = []
    for _ in range(6):
        await world.tell(1)
        await world.clock.advance(1)
        before = [len(shelf.batches) for shelf in shelves]
        await deliveries.look()
        await deliveries.all_done()
        now = [len(shelf.batches) for shelf in shelves]
        turns.append([b - a for a, b in zip(before, now, strict=True)].index(1))
    await deliveries.end(5)
    assert turns == [0, 1, 2, 0, 1, 2]


async def test_a_dead_sink_delays_nobody(world: SinkWorld) -> None:
    dead, alive = await world.add_shelf("dead"), await world.add_shelf("alive")
    dead.close_the_gate()
    deliveries = world.deliveries()
    for count, told in ((5, 5), (1, 6), (700, 706)):
        await world.tell(count)
        await deliveries.look()
        await world.reached("alive", told)
    assert (alive.received, dead.taken) == (await world.told(), [])
    dead.open_the_gate()
    await deliveries.all_done()
    await deliveries.end(5)
    await world.deliver()
    assert dead.received == await world.told()

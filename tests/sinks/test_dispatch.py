"""Deliveries to sinks: in order, cheaply, and only what is wanted."""

from dataclasses import replace

import pytest

from headwater.events import event_rows
from headwater.events.event import Event
from headwater.events.event_filter import EventFilter
from headwater.sinks.dispatch import SinkDeliveries
from headwater.sinks.ports import SinkConfig
from headwater.sinks.sink import SinkPatch
from tests.support.clock import START
from tests.support.sinks_in_memory import Shelf
from tests.support.sinks_world import SinkWorld

GONE_ONLY = EventFilter(types=("feed_gone",))


async def looked(deliveries: SinkDeliveries) -> None:
    """One look, and everything it began."""
    await deliveries.look()
    await deliveries.all_done()


@pytest.fixture
def writes(world: SinkWorld, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows with each transaction that may write."""
    begun: list[str] = []
    write = world.engine.database.write

    def noted() -> object:
        begun.append("write")
        return write()

    monkeypatch.setattr(world.engine.database, "write", noted)
    return begun


async def test_a_sink_is_told_what_comes_after_its_cursor(world: SinkWorld) -> None:
    await world.tell(5)
    shelf = await world.add_shelf(cursor=3)
    await world.deliver()
    assert shelf.numbers == [4, 5]
    sink = await world.sink()
    assert (sink.cursor, sink.delivered, sink.last_delivered_at) == (5, 2, START)


async def test_nothing_new_is_nothing_written(world: SinkWorld, writes: list[str]) -> None:
    shelf = await world.add_shelf()
    await world.tell(3)
    await world.deliver()
    writes.clear()
    deliveries = world.deliveries()
    for _ in range(3):
        await looked(deliveries)
    await deliveries.end(5)
    assert (shelf.numbers, writes) == ([1, 2, 3], [])


async def test_much_is_delivered_with_two_transactions(world: SinkWorld, writes: list[str]) -> None:
    """One takes the lease, one notes the end, however many events there are in between."""
    shelf = await world.add_shelf()
    await world.tell(3_000)
    writes.clear()
    await world.deliver()
    assert shelf.numbers == list(range(1, 3_001))
    assert len(writes) == 2
    assert shelf.batches[:3] == [20, 80, 320]
    assert max(shelf.batches) == 500


async def test_a_slow_sink_gets_little_at_a_time_and_progress_is_noted_each_second(
    world: SinkWorld, writes: list[str]
) -> None:
    """20 took 8 seconds: one at a time from then on, and a note after 1.2 seconds each."""
    shelf = await world.add_shelf()
    shelf.pace = world.seconds_each(0.4)
    world.policy = replace(world.policy, lease=600.0)  # nobody need keep it meanwhile
    await world.tell(26)
    writes.clear()
    await world.deliver()
    assert shelf.numbers == list(range(1, 27))
    assert shelf.batches == [20, 1, 1, 1, 1, 1, 1]
    assert len(writes) == 4  # the lease, after 20, after 23, the end


async def test_what_is_noted_is_what_was_taken(world: SinkWorld) -> None:
    shelf = await world.add_shelf()
    seen: list[int] = []

    async def look() -> None:
        seen.append((await world.sink()).cursor)
        await world.clock.advance(1)

    shelf.pace = look
    await world.tell(23)
    await world.deliver()
    assert seen == [0] * 20 + [20, 21, 22]
    assert (await world.sink()).delivered == 23


async def test_only_what_is_wanted_is_delivered(world: SinkWorld) -> None:
    shelf = await world.add_shelf(wanted=GONE_ONLY)
    await world.tell(2, "new_entry", "feed_gone")
    await world.tell(3, "feed_failing", "feed_gone", "new_entry")
    await world.deliver()
    assert shelf.numbers == [2, 4]
    sink = await world.sink()
    assert (sink.cursor, sink.delivered) == (5, 2)


async def test_what_is_not_wanted_is_passed_over_without_a_write(
    world: SinkWorld, writes: list[str]
) -> None:
    shelf = await world.add_shelf(wanted=GONE_ONLY)
    deliveries = world.deliveries()
    for _ in range(5):
        await world.tell(10, "new_entry")
        writes.clear()
        await looked(deliveries)
        assert writes == []
    assert (await world.sink()).cursor == 0
    await world.tell(1, "feed_gone")
    await looked(deliveries)
    await deliveries.end(5)
    assert shelf.numbers == [51]
    assert (await world.sink()).cursor == 51


async def test_after_a_minute_the_row_says_how_far_we_are(
    world: SinkWorld, writes: list[str]
) -> None:
    await world.add_shelf(wanted=GONE_ONLY)
    deliveries = world.deliveries()
    await world.tell(10, "new_entry")
    await looked(deliveries)
    await world.clock.advance(60)
    await world.tell(1, "new_entry")
    writes.clear()
    await looked(deliveries)
    assert ((await world.sink()).cursor, len(writes)) == (11, 1)
    await world.tell(1, "new_entry")
    await looked(deliveries)
    await deliveries.end(5)
    assert (await world.sink()).cursor == 11


async def test_a_cursor_far_behind_with_nothing_wanted_is_moved_on(world: SinkWorld) -> None:
    shelf = await world.add_shelf(wanted=GONE_ONLY)
    deliveries = world.deliveries()
    async with world.engine.database.write() as tx:
        await tx.run("UPDATE counters SET value = 9999 WHERE name = 'events'")
    await looked(deliveries)
    assert (await world.sink()).cursor == 0
    await world.tell(1, "new_entry")
    await looked(deliveries)
    assert (await world.sink()).cursor == 10_000
    await world.tell(1, "feed_gone")
    await looked(deliveries)
    await deliveries.end(5)
    assert shelf.numbers == [10_001]


async def test_another_wish_begins_where_the_row_says(world: SinkWorld) -> None:
    """What was passed over in memory only is looked at again with other eyes."""
    shelf = await world.add_shelf(wanted=GONE_ONLY)
    deliveries = world.deliveries()
    await world.tell(4, "new_entry")
    await looked(deliveries)
    await world.change(SinkPatch(wanted=EventFilter(types=("new_entry",))))
    await looked(deliveries)
    await deliveries.end(5)
    assert shelf.numbers == [1, 2, 3, 4]


async def test_a_cursor_ahead_of_the_log_is_led_back_and_counts_as_a_replay(
    world: SinkWorld,
) -> None:
    """The log was restored from an older backup: numbers come again, for other events."""
    await world.tell(2)
    shelf = await world.add_shelf(cursor=40)
    deliveries = world.deliveries()
    await looked(deliveries)
    sink = await world.sink()
    assert (sink.cursor, sink.replays, shelf.numbers) == (2, 1, [])
    await world.tell(1)
    await looked(deliveries)
    await deliveries.end(5)
    assert (shelf.numbers, shelf.replays) == ([3], [1])


async def test_an_outlet_is_opened_with_its_secrets_and_kept_open(world: SinkWorld) -> None:
    plan = SinkConfig("shelf", "shelf", {"url": "x"}, {"secret": "whsec_hush"})
    await world.add(plan)
    shelf, deliveries = world.shelves.named("shelf"), world.deliveries()
    for _ in range(3):
        await world.tell(2)
        await looked(deliveries)
    assert (shelf.opened, shelf.closed) == ([plan], 0)
    await deliveries.end(5)
    assert shelf.closed == 1


async def opened_once(world: SinkWorld, deliveries: SinkDeliveries) -> Shelf:
    shelf = await world.add_shelf()
    await world.tell(1)
    await looked(deliveries)
    assert (len(shelf.opened), shelf.closed) == (1, 0)
    return shelf


async def test_an_outlet_is_opened_anew_when_its_sink_is_changed(world: SinkWorld) -> None:
    deliveries = world.deliveries()
    shelf = await opened_once(world, deliveries)
    await world.change(SinkPatch(options={"path": "elsewhere"}))
    await world.tell(1)
    await looked(deliveries)
    assert ([plan.options for plan in shelf.opened], shelf.closed) == (
        [{}, {"path": "elsewhere"}],
        1,
    )
    await deliveries.end(5)


async def test_an_outlet_is_closed_when_its_sink_is_disabled(world: SinkWorld) -> None:
    deliveries = world.deliveries()
    shelf = await opened_once(world, deliveries)
    await world.change(SinkPatch(enabled=False))
    await world.tell(2)
    await looked(deliveries)
    assert (shelf.closed, shelf.numbers) == (1, [1])
    assert (await world.sink()).state == "disabled"
    await world.change(SinkPatch(enabled=True))
    await looked(deliveries)
    assert shelf.numbers == [1, 2, 3]
    await deliveries.end(5)


async def test_an_outlet_is_closed_when_its_sink_is_removed(world: SinkWorld) -> None:
    deliveries = world.deliveries()
    shelf = await opened_once(world, deliveries)
    await world.remove()
    await looked(deliveries)
    assert shelf.closed == 1
    await world.add_shelf()
    await looked(deliveries)
    await deliveries.end(5)
    assert (shelf.numbers, len(shelf.opened), shelf.closed) == ([1, 1], 2, 2)


async def test_an_outlet_that_does_not_close_is_in_nobodys_way(world: SinkWorld) -> None:
    shelf = await world.add_shelf()
    shelf.closes_badly = True
    other = await world.add_shelf("other")
    await world.tell(1)
    await world.deliver()
    assert (shelf.numbers, other.numbers, other.closed) == ([1], [1], 1)


async def test_payloads_are_handed_over_read(world: SinkWorld) -> None:
    shelf = await world.add_shelf()
    async with world.engine.database.write() as tx:
        events = [Event("feed_gone", None, {"url": "https://a.example/"})]
        await event_rows.append_events(tx, events, world.clock.now())
    await world.deliver()
    (parcel,) = shelf.taken
    assert (parcel.type, parcel.feed_id, parcel.payload) == (
        "feed_gone",
        None,
        {"url": "https://a.example/"},
    )

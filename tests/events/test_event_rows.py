"""The log as sinks read it: in order, in bounded stretches, filtered, and by time."""

from datetime import timedelta
from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.values.instant import to_micros
from headwater.events import event_rows
from headwater.events.event import Event
from headwater.events.event_filter import EVERYTHING, EventFilter
from headwater.events.event_rows import (
    DamagedEvent,
    LogPage,
    last_seq_before,
    read_wire_events,
    read_wire_events_at,
)
from headwater.feeds.feed import FeedOptions
from tests.support.clock import START, VirtualClock
from tests.support.scripted_engine import River, ScriptedWeb, an_engine, an_entry

SECOND = 1_000_000


@pytest.fixture
def river(database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path) -> River:
    web = ScriptedWeb()
    return River(an_engine(database, virtual_clock, web, tmp_path), web)


async def tell(database: SqlDatabase, *events: Event, seconds: float = 0) -> None:
    async with database.write() as tx:
        await event_rows.append_events(tx, events, START + timedelta(seconds=seconds))


def plain(*types: str, feed_id: str | None = None) -> list[Event]:
    return [Event(name, feed_id, {"place": place}) for place, name in enumerate(types)]


async def test_numbers_begin_at_one_and_have_no_gap(database: SqlDatabase) -> None:
    """Also when what was to be told is taken back."""
    await tell(database, *plain("new_entry", "updated_entry"))

    async def taken_back() -> None:
        async with database.write() as tx:
            await event_rows.append_events(tx, plain("feed_gone"), START)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await taken_back()
    await tell(database)
    await tell(database, *plain("feed_moved"))
    async with database.read() as view:
        rows = await view.rows("SELECT seq, type FROM events ORDER BY seq")
        assert await event_rows.get_last_seq(view) == 3
    assert [tuple(row) for row in rows] == [
        (1, "new_entry"),
        (2, "updated_entry"),
        (3, "feed_moved"),
    ]


async def page_after(
    database: SqlDatabase, after: int, limit: int = 100, wanted: EventFilter = EVERYTHING
) -> LogPage:
    async with database.read() as view:
        return await read_wire_events(view, after, limit=limit, wanted=wanted)


def numbers(page: LogPage) -> list[int]:
    return [parcel.seq for parcel in page.parcels]


async def read_all(database: SqlDatabase, wanted: EventFilter, limit: int) -> tuple[list[int], int]:
    """Every number, and how many pages that took."""
    after, found, pages = 0, list[int](), 0
    while True:
        page = await page_after(database, after, limit, wanted)
        found += numbers(page)
        pages += 1
        assert len(page.parcels) <= limit
        assert page.next > after
        after = page.next
        if page.is_the_end:
            return found, pages


async def test_parcels_come_in_order_a_page_at_a_time(database: SqlDatabase) -> None:
    await tell(database, *plain("new_entry", "feed_gone", "new_entry", "feed_moved", "new_entry"))
    first = await page_after(database, 0, 2)
    assert (numbers(first), first.last_seq, first.next) == ([1, 2], 5, 2)
    assert not first.is_the_end
    rest = await page_after(database, first.next, 3)
    assert (numbers(rest), rest.next, rest.is_the_end) == ([3, 4, 5], 5, True)
    after = await page_after(database, 5)
    assert (after.parcels, after.next, after.is_the_end) == ((), 5, True)


async def test_an_empty_log_is_at_its_end(database: SqlDatabase) -> None:
    page = await page_after(database, 0)
    assert page == LogPage((), (), 0, 0)
    assert page.is_the_end


async def test_a_reader_ahead_of_the_log_is_led_back(database: SqlDatabase) -> None:
    await tell(database, *plain("new_entry", "feed_gone"))
    assert await page_after(database, 40) == LogPage((), (), 2, 2)


async def test_types_and_feeds_are_chosen(database: SqlDatabase) -> None:
    await tell(database, *plain("new_entry", "feed_gone", "feed_moved", feed_id="f"))
    await tell(database, *plain("new_entry", "feed_gone", feed_id="g"), *plain("feed_gone"))
    assert numbers(await page_after(database, 0, wanted=EventFilter(types=("feed_gone",)))) == [
        2,
        5,
        6,
    ]
    assert numbers(await page_after(database, 0, wanted=EventFilter(feeds=("g", "h")))) == [4, 5]
    both = EventFilter(types=("feed_gone", "feed_moved"), feeds=("f",))
    assert numbers(await page_after(database, 0, wanted=both)) == [2, 3]
    page = await page_after(database, 0, wanted=EventFilter(types=("feed_recovered",)))
    assert (page.parcels, page.next, page.is_the_end) == ((), 6, True)


async def test_a_page_looks_at_a_bounded_stretch(
    database: SqlDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_rows, "MAX_SCAN", 10)
    await tell(database, *plain(*["new_entry"] * 25, "feed_gone", *["new_entry"] * 4))
    page = await page_after(database, 0, wanted=EventFilter(types=("feed_gone",)))
    assert (page.parcels, page.next, page.is_the_end) == ((), 10, False)
    page = await page_after(database, 20, wanted=EventFilter(types=("feed_gone",)))
    assert (numbers(page), page.next, page.is_the_end) == ([26], 30, True)
    assert await read_all(database, EventFilter(types=("feed_gone",)), 5) == ([26], 3)


async def test_a_damaged_row_is_told_apart(database: SqlDatabase) -> None:
    await tell(database, *plain("new_entry", "feed_gone", "feed_moved"))
    async with database.write() as tx:
        await tx.run("UPDATE events SET payload = '[]' WHERE seq = 2")
        row = await tx.row("SELECT event_id FROM events WHERE seq = 2")
    assert row is not None
    page = await page_after(database, 0)
    said = "The payload is no JSON object."
    assert page.unreadable == (DamagedEvent(2, row.event_id, "feed_gone", said),)
    assert (numbers(page), page.next) == ([1, 3], 3)


async def test_a_category_is_the_feeds_or_the_entrys_in_exactly_these_letters(
    database: SqlDatabase, river: River
) -> None:
    ours = await river.feed("a", FeedOptions(categories=("News", "Zürich")))
    theirs = await river.feed("b", FeedOptions(categories=("sports",)))
    await river.entries(theirs, an_entry("1", categories=["News"]), an_entry("2", "two"))
    await river.entries(ours, an_entry("2", "two", categories=["birds"]))
    events = [
        Event("new_entry", ours, {"entry_uid": "2"}),
        Event("new_entry", theirs, {"entry_uid": "1"}),
        Event("new_entry", theirs, {"entry_uid": "2"}),
        Event("feed_failing", theirs, {}),
        Event("feed_failing", ours, {}),
        Event("feed_failing", None, {}),
        Event("updated_entry", theirs, {"entry_uid": "1"}),
        Event("new_entry", "01900000-0000-7000-8000-00000000dead", {"entry_uid": "1"}),
    ]
    await tell(database, *events)

    async def of(*categories: str, types: tuple[str, ...] = ()) -> list[int]:
        wanted = EventFilter(types=types, categories=categories)
        return numbers(await page_after(database, 0, wanted=wanted))

    assert await of("News") == [1, 2, 5, 7]
    assert await of("Zürich") == [1, 5]
    assert await of("birds") == [1]
    assert await of("sports", "birds") == [1, 2, 3, 4, 7]
    assert await of("News", types=("updated_entry", "feed_failing")) == [5, 7]
    assert await of("news") == await of("New") == []


async def test_a_category_is_found_page_by_page(
    database: SqlDatabase, river: River, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_rows, "_CATEGORY_BATCH", 8)
    feed = await river.feed("a", FeedOptions(categories=("rare",)))
    other = await river.feed("b", FeedOptions(categories=("usual",)))
    rare = {3, 4, 5, 17, 30}
    await tell(
        database, *(Event("feed_gone", feed if n in rare else other, {}) for n in range(1, 31))
    )
    assert await read_all(database, EventFilter(categories=("rare",)), 2) == ([3, 4, 5, 17, 30], 5)
    assert await read_all(database, EventFilter(categories=("none",)), 2) == ([], 4)


async def test_an_entry_event_that_cannot_be_read_is_not_passed_over(
    database: SqlDatabase, river: River
) -> None:
    feed = await river.feed("a")
    await tell(database, Event("new_entry", feed, {"entry_uid": "1"}))
    async with database.write() as tx:
        await tx.run("UPDATE events SET payload = '{'")
    page = await page_after(database, 0, wanted=EventFilter(categories=("news",)))
    assert [each.seq for each in page.unreadable] == [1]


async def test_single_events_are_found_by_their_numbers(database: SqlDatabase) -> None:
    await tell(database, *plain("new_entry", "feed_gone", "feed_moved"))
    async with database.read() as view:
        assert numbers(await read_wire_events_at(view, [3, 1, 99])) == [1, 3]
        assert numbers(await read_wire_events_at(view, [])) == []


async def test_the_number_before_a_moment_is_found(database: SqlDatabase) -> None:
    for hours in range(50):
        await tell(database, *plain("new_entry", "feed_gone"), seconds=hours * 3_600)
    async with database.read() as view:
        start = to_micros(START)
        assert await last_seq_before(view, start - SECOND) == 0
        assert await last_seq_before(view, start) == 0
        assert await last_seq_before(view, start + 1) == 2
        assert await last_seq_before(view, start + 20 * 3_600 * SECOND) == 40
        assert await last_seq_before(view, start + 20 * 3_600 * SECOND + 1) == 42
        assert await last_seq_before(view, start + 500 * 3_600 * SECOND) == 100


async def test_nothing_is_missed_when_moments_are_a_little_out_of_order(
    database: SqlDatabase,
) -> None:
    """A slow commit looked at the clock earlier than the one before it, or it was corrected."""
    moments = [0, 100, 2_000, 1_990, 2_100, 2_050, 9_000, 8_000, 30_000]
    for seconds in moments:
        await tell(database, *plain("new_entry"), seconds=seconds)
    async with database.read() as view:
        for at in sorted(moments):
            before = await last_seq_before(view, to_micros(START + timedelta(seconds=at)))
            later = [place for place, told in enumerate(moments, 1) if told >= at]
            assert before == min(later) - 1


async def test_an_empty_log_has_nothing_before_a_moment(database: SqlDatabase) -> None:
    async with database.read() as view:
        assert await last_seq_before(view, to_micros(START)) == 0

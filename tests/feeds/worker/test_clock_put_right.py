"""A clock that was ahead and is put right."""

from datetime import timedelta
from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import DatabaseError
from headwater.core.values.ids import FeedId, FeedPk
from headwater.core.values.instant import to_micros
from headwater.core.values.response import Validators
from headwater.feeds.change_feed import change_feed
from headwater.feeds.feed import FeedOptions, FeedPatch
from headwater.feeds.fetch.redirects import is_move_believed, observe_move
from headwater.feeds.schedule.due import DueFeed, ObservedMove, wants_whole_document
from headwater.feeds.schedule.state import ScheduleState
from headwater.feeds.worker import clock_step_rows, worker_rows
from headwater.feeds.worker.claims import Claims
from headwater.settings import Settings
from headwater.subscriptions.add_feed import add_feed_later
from headwater.wiring.policies import worker_policy
from tests.support.clock import VirtualClock
from tests.support.engine import opened_engine

DAY = 86_400.0


async def shards_of(database: SqlDatabase, name: str) -> int:
    async with database.read() as view:
        row = await view.row("SELECT count(*) AS n FROM shards WHERE worker_id = ?", name)
    assert row is not None
    return int(row.n)


async def test_a_worker_that_died_while_the_clock_was_ahead_is_not_counted_as_living(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> None:
    """J4: within lease + 5 s its hosts are somebody else's."""
    settings = Settings(lease_seconds=120)
    async with (
        opened_engine(database, virtual_clock, tmp_path, worker="anna") as one,
        opened_engine(database, virtual_clock, tmp_path, worker="bert") as two,
    ):
        virtual_clock.step(DAY)
        anna, bert = (
            Claims(one.feeds, worker_policy(settings)),
            Claims(two.feeds, worker_policy(settings)),
        )
        await anna.begin()
        await bert.begin()
        await anna.show_up([])
        await bert.show_up([])
        assert await shards_of(database, "anna") == 512
        # bert is killed here; then the clock is put right.
        virtual_clock.step(-DAY)
        for _ in range(30):  # twenty minutes, ten leases
            await virtual_clock.advance(40)
            await anna.show_up([])
            await anna.take_over([])
    assert await shards_of(database, "anna") == 1024


async def test_a_feed_followed_while_the_clock_was_ahead_is_visited(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> None:
    """J3: nothing is planned later than its maximum."""
    async with opened_engine(database, virtual_clock, tmp_path) as engine:
        virtual_clock.step(30 * DAY)
        await add_feed_later("http://127.0.0.1/feed", FeedOptions(), engine.registry)
        virtual_clock.step(-30 * DAY)
        claims = Claims(engine.feeds, worker_policy(Settings()))
        await claims.begin()
        wait = await claims.seconds_to_next()
    assert wait is not None
    assert wait <= DAY


async def test_a_clock_set_back_is_not_forgotten_because_the_database_failed_once(
    database: SqlDatabase,
    virtual_clock: VirtualClock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with opened_engine(database, virtual_clock, tmp_path) as engine:
        virtual_clock.step(30 * DAY)
        await add_feed_later("http://127.0.0.1/feed", FeedOptions(), engine.registry)
        claims = Claims(engine.feeds, worker_policy(Settings()))
        await claims.begin()
        async with database.write() as tx:  # as if visited and decided just now
            now = to_micros(virtual_clock.now())
            await tx.run(
                "UPDATE feeds SET last_decision_at = ?, next_visit_at = ?, scheduled_at = ?",
                now,
                now + 900_000_000,
                now + 900_000_000,
            )
        virtual_clock.step(-30 * DAY)

        async def fails(*_: object) -> None:
            raise DatabaseError("the database is away for a moment")

        with monkeypatch.context() as broken:
            broken.setattr(worker_rows, "upsert_heartbeat", fails)
            with pytest.raises(DatabaseError):
                await claims.show_up([])
        await claims.show_up([])
        wait = await claims.seconds_to_next()
    assert wait is not None
    assert wait <= DAY


async def test_what_a_paused_feed_was_told_when_the_clock_was_ahead_stops_no_host(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> None:
    """An hour was asked for; without this the host rested for the years the clock was ahead."""
    async with opened_engine(database, virtual_clock, tmp_path) as engine:
        feed_id = await add_feed_later("http://127.0.0.1/feed", FeedOptions(), engine.registry)
        virtual_clock.step(3_650 * DAY)
        async with database.write() as tx:  # as if visited and told to wait just now
            await tx.run(
                "UPDATE feeds SET last_outcome = 'throttled', last_status = 429,"
                " retry_after_sec = 3600, last_decision_at = ?",
                to_micros(virtual_clock.now()),
            )
        await change_feed(feed_id, FeedPatch(state="paused"), engine.feeds, timedelta())
        virtual_clock.step(-3_650 * DAY)
        await Claims(engine.feeds, worker_policy(Settings())).begin()
        rest = engine.turns.wait_for("127.0.0.1", virtual_clock.monotonic())
    assert rest == 3_600


async def test_a_feed_that_waited_for_its_host_when_the_clock_was_ahead_is_visited(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> None:
    """J3: it was given back for an hour, which by now is years away."""
    async with opened_engine(database, virtual_clock, tmp_path) as engine:
        await add_feed_later("http://127.0.0.1/feed", FeedOptions(), engine.registry)
        claims = Claims(engine.feeds, worker_policy(Settings()))
        await claims.begin()
        virtual_clock.step(3_650 * DAY)
        await claims.show_up([])
        (due,) = await claims.claim(10)
        await claims.give_back([(due, 3_600)])
        virtual_clock.step(-3_650 * DAY)
        await claims.show_up([])
        (again,) = await claims.claim(10)
    assert again.scheduled_at == due.scheduled_at


TEN_YEARS, MINUTE = 315_360_000_000_000, 60_000_000
"""In microseconds."""


@pytest.mark.parametrize(
    ("decided", "scheduled", "next_visit", "in_seconds"),
    [
        # It was decided to come in ten minutes: that wait is kept.
        (TEN_YEARS, TEN_YEARS + 10 * MINUTE, TEN_YEARS + 10 * MINUTE, 600),
        # It was given back until its host has a turn: due, and if that still rests, given back.
        (-MINUTE, 0, TEN_YEARS + 60 * MINUTE, 0),
    ],
    ids=["decided", "given back"],
)
async def test_a_start_finds_out_by_itself_that_the_clock_was_put_right(
    decided: int,
    scheduled: int,
    next_visit: int,
    in_seconds: float,
    database: SqlDatabase,
    virtual_clock: VirtualClock,
    tmp_path: Path,
) -> None:
    """J3: nobody was there when it was, and no feed waits for the years it was ahead."""
    async with opened_engine(database, virtual_clock, tmp_path) as engine:
        await add_feed_later("http://127.0.0.1/feed", FeedOptions(), engine.registry)
        now = to_micros(virtual_clock.now())
        async with database.write() as tx:
            await tx.run(
                "UPDATE feeds SET last_decision_at = ?, scheduled_at = ?, next_visit_at = ?",
                now + decided,
                now + scheduled,
                now + next_visit,
            )
        claims = Claims(engine.feeds, worker_policy(Settings()))
        await claims.begin()
        wait = await claims.seconds_to_next()
    assert wait == in_seconds


async def test_a_start_by_a_clock_that_is_right_plans_nothing_again(
    database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path
) -> None:
    """A feed may be due in a week, and one just followed at once: neither is of another time."""
    async with opened_engine(database, virtual_clock, tmp_path) as engine:
        await add_feed_later("http://127.0.0.1/feed", FeedOptions(), engine.registry)
        now, week = to_micros(virtual_clock.now()), round(7 * DAY) * 1_000_000
        async with database.write() as tx:
            await tx.run(
                "UPDATE feeds SET last_decision_at = ?, next_visit_at = ?, scheduled_at = ?",
                now,
                now + week,
                now + week,
            )
        async with database.read() as view:
            has_stepped_back = await clock_step_rows.has_clock_stepped_back(view, now, 120_000_000)
        claims = Claims(engine.feeds, worker_policy(Settings()))
        await claims.begin()
        wait = await claims.seconds_to_next()
    assert has_stepped_back is False
    assert wait == 7 * DAY


def test_a_document_asked_for_by_a_clock_that_was_ahead_is_asked_for_again() -> None:
    now, day = 1_800_000_000_000_000, 86_400_000_000
    due = DueFeed(
        FeedPk(1), FeedId("f"), "http://a/", "a", 0, 1, Validators(), ScheduleState(900.0),
        asked_whole_at=now + 3_650 * day,
    )  # fmt: skip
    assert wants_whole_document(due, now, 28)
    assert not wants_whole_document(due._replace(asked_whole_at=now + 1_000_000), now, 28)


def test_a_move_seen_by_a_clock_that_was_ahead_is_still_believed_in_time() -> None:
    now, hour = 1_800_000_000_000_000, 3_600_000_000
    ahead = observe_move(ObservedMove(), "http://b/", now + 87_600 * hour)
    again = observe_move(observe_move(ahead, "http://b/", now), "http://b/", now + 25 * hour)
    assert is_move_believed(again, now + 25 * hour, after_count=3, after_hours=24)

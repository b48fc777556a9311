"""Statistics: every visit is counted once, whatever happens, and stays counted when it is gone."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from headwater.adapters import schema
from headwater.adapters.database import SqlDatabase
from headwater.core.ports import Row, SqlValue, Transaction
from headwater.entrypoints.api.app import create_app
from headwater.feeds.retention import forget_visits
from headwater.settings import Settings
from headwater.statistics import day_rows, statistics_rows
from headwater.statistics.subscriptions import Statistics, Window
from headwater.subscriptions import subscription_rows
from headwater.subscriptions.subscription import Subscription
from headwater.wiring.housekeeping import compact_old_days, housekeeping_once
from tests.support.api_caller import Api
from tests.support.clock import VirtualClock
from tests.support.scripted_engine import SECOND, ScriptedWeb, an_engine
from tests.support.visit_history import OK, SAME, Ledger

EVER = Window(None)
ONE = "https://one.example/feed"


@pytest.fixture
def ledger(database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path) -> Ledger:
    return Ledger(an_engine(database, virtual_clock, ScriptedWeb(), tmp_path))


@pytest.fixture
def api(ledger: Ledger, tmp_path: Path) -> Api:
    return Api(create_app(ledger.engine.services, Settings(data_dir=tmp_path)))


async def followed(ledger: Ledger, url: str = ONE) -> Subscription:
    return await ledger.subscribe(await ledger.fetcher("alpha"), url)


async def figures(ledger: Ledger, of: Subscription, window: Window = EVER) -> Statistics:
    async with ledger.engine.database.read() as view:
        return await statistics_rows.get_statistics(view, of.id, of.feed_pk, window, ledger.now)


async def counted(ledger: Ledger) -> tuple[int, int]:
    """Visits in the counts by subscription, and by fetcher."""
    (one,) = await ledger.rows("SELECT coalesce(sum(visits), 0) AS n FROM subscription_days")
    (two,) = await ledger.rows("SELECT coalesce(sum(visits), 0) AS n FROM fetcher_days")
    return int(one.n), int(two.n)


async def test_a_visit_is_counted_once(ledger: Ledger) -> None:
    one = await followed(ledger)
    await ledger.visits(one, [OK, SAME, "timeout"])
    assert await ledger.count() == 3
    assert await ledger.count() == 0
    assert await counted(ledger) == (3, 3)


async def test_visits_that_were_not_counted_yet_are_in_the_figures(ledger: Ledger) -> None:
    one = await followed(ledger)
    await ledger.visits(one, [OK, "timeout"])
    before = await figures(ledger, one)
    await ledger.count()
    assert await figures(ledger, one) == before
    await ledger.visits(one, [SAME])
    after = await figures(ledger, one)
    assert (before.visits, before.failures, before.unchanged) == (2, 1, 0)
    assert (after.visits, after.failures, after.unchanged) == (3, 1, 1)


class Dying:
    """A transaction whose process dies at its n-th write."""

    def __init__(self, tx: Transaction, writes: int) -> None:
        self._tx, self._left = tx, writes
        self.dialect, self.now, self.wake = tx.dialect, tx.now, tx.wake

    async def rows(self, sql: str, *values: SqlValue) -> Sequence[Row]:
        return await self._tx.rows(sql, *values)

    async def row(self, sql: str, *values: SqlValue) -> Row | None:
        return await self._tx.row(sql, *values)

    async def run(self, sql: str, *values: SqlValue) -> int:
        return await self._tx.run(sql, *values)

    async def run_many(self, sql: str, rows: Sequence[Sequence[SqlValue]]) -> None:
        if not self._left:
            raise RuntimeError("the plug was pulled")
        self._left -= 1
        await self._tx.run_many(sql, rows)


@pytest.mark.parametrize("writes", [0, 1, 2])
async def test_a_crash_between_the_counts_and_the_mark_loses_and_doubles_nothing(
    ledger: Ledger, writes: int
) -> None:
    one = await followed(ledger)
    await ledger.visits(one, [OK] * 4)

    async def dies() -> None:
        async with ledger.engine.database.write() as tx:
            await day_rows.count_visits(Dying(tx, writes), 3)

    with pytest.raises(RuntimeError, match="plug"):
        await dies()
    assert await counted(ledger) == (0, 0)
    assert (await figures(ledger, one)).visits == 4
    assert await ledger.count() == 4
    assert await counted(ledger) == (4, 4)
    assert (await figures(ledger, one)).visits == 4


async def test_two_processes_count_each_visit_once(
    ledger: Ledger, open_another: Callable[[], SqlDatabase]
) -> None:
    one = await followed(ledger)
    two = await ledger.subscribe(await ledger.fetcher("beta"), "https://two.example/feed")
    for each in (one, two):
        await ledger.visits(each, [OK, "timeout"] * 150)

    async def count_all(database: SqlDatabase) -> int:
        total = 0
        for _ in range(60):
            async with database.write() as tx:
                total += await day_rows.count_visits(tx, 20)
        return total

    shares = await asyncio.gather(*(count_all(open_another()) for _ in range(3)))
    assert sum(shares) == 600
    assert await counted(ledger) == (600, 600)
    assert (await figures(ledger, one)).failures == 150


async def test_visits_that_were_forgotten_stay_counted(ledger: Ledger) -> None:
    one = await followed(ledger)
    await ledger.visits(one, [*[OK] * 15, *["timeout"] * 15])
    await housekeeping_once(
        ledger.engine.services, Settings(data_dir=Path("unused"), visits_keep=10)
    )
    assert len(await ledger.rows("SELECT 1 FROM visits")) == 10
    kept = await figures(ledger, one)
    assert (kept.visits, kept.successes, kept.failures) == (30, 15, 15)


async def test_a_visit_is_not_forgotten_before_it_is_counted(ledger: Ledger) -> None:
    one = await followed(ledger)
    await ledger.visits(one, [OK] * 12)

    async def forgotten() -> int:
        return await forget_visits(ledger.engine.database, 10)

    assert await forgotten() == 0
    await ledger.count()
    assert await forgotten() == 2
    assert (await figures(ledger, one)).visits == 12


async def test_a_visit_of_before_the_clock_was_set_back_is_counted_too(ledger: Ledger) -> None:
    """There is no mark of "all up to here" that a later, older-looking visit could slip under."""
    one = await followed(ledger)
    await ledger.visits(one, [OK] * 3)
    await ledger.count()
    await ledger.visits(one, [OK] * 2, ago=timedelta(days=2))
    assert await ledger.count() == 2
    assert (await figures(ledger, one)).visits == 5


async def test_a_deleted_subscription_takes_its_visits_along(ledger: Ledger) -> None:
    one = await followed(ledger)
    await ledger.visits(one, [OK] * 3)
    await ledger.count()
    await ledger.visits(one, [OK] * 2, ago=timedelta(hours=1))
    async with ledger.engine.database.write() as tx:
        await subscription_rows.delete_subscription_and_feed(tx, one.id)
    assert await ledger.count() == 0
    assert await counted(ledger) == (0, 3)


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_nobody_waits_for_a_deletion_under_way(
    ledger: Ledger, open_another: Callable[[], SqlDatabase]
) -> None:
    """SQLite has one writer at a time anyway."""
    one, other = await followed(ledger), open_another()
    two = await ledger.subscribe(await ledger.fetcher("beta"), "https://two.example/feed")
    await ledger.visits(one, [OK] * 3)
    await ledger.visits(two, [OK] * 4)
    async with other.write() as tx:
        await tx.run("DELETE FROM rss_subscriptions WHERE subscription_id = ?", one.id)
        assert await asyncio.wait_for(ledger.count(), 10) == 4
        await tx.run("DELETE FROM feeds WHERE id = ?", one.feed_pk)
    assert await ledger.count() == 0
    assert await counted(ledger) == (4, 4)


async def test_figures_are_of_whole_days(ledger: Ledger) -> None:
    """It is Monday noon. Yesterday is in a window of two days, and the day before it is not."""
    one = await followed(ledger)
    for days, ends in ((0, [OK]), (1, [OK, "timeout"]), (2, ["dns_error"] * 4)):
        await ledger.visits(one, ends, ago=timedelta(days=days))
    await ledger.count()
    assert (await figures(ledger, one, Window(1))).visits == 1
    assert (await figures(ledger, one, Window(2))).visits == 3
    assert (await figures(ledger, one, Window(3))).visits == 7


async def test_old_days_become_one_sum(ledger: Ledger) -> None:
    one = await followed(ledger)
    for days, ends in ((0, [OK]), (89, [OK, OK]), (90, ["timeout"] * 3), (200, ["timeout"] * 4)):
        await ledger.visits(one, ends, ago=timedelta(days=days))
    await ledger.count()
    settings = Settings(data_dir=Path("unused"))
    await compact_old_days(ledger.engine.database, settings)
    await compact_old_days(ledger.engine.database, settings)
    rows = await ledger.rows("SELECT day, error, visits FROM subscription_days ORDER BY day, error")
    assert [(row.day == 0, row.error, row.visits) for row in rows] == [
        (True, "timeout", 7),
        (False, "", 2),
        (False, "", 1),
    ]
    ever = await figures(ledger, one)
    assert [(day.on is None, day.visits, day.failures) for day in ever.days] == [
        (False, 1, 0),
        (False, 2, 0),
        (True, 7, 7),
    ]
    assert (await figures(ledger, one, Window(90))).visits == 3


async def test_old_days_of_fetchers_are_forgotten(ledger: Ledger) -> None:
    one = await followed(ledger)
    await ledger.visits(one, [OK], ago=timedelta(days=29))
    await ledger.visits(one, [OK], ago=timedelta(days=30))
    await ledger.count()
    await compact_old_days(ledger.engine.database, Settings(data_dir=Path("unused")))
    assert await counted(ledger) == (2, 1)


async def test_a_subscription_has_its_figures_at_stats(ledger: Ledger, api: Api) -> None:
    one = await followed(ledger)
    await ledger.visits(one, ["timeout"], ago=timedelta(days=1), latency_ms=100.0)
    await ledger.visits(
        one,
        [OK, OK],
        new_entries=3,
        updated_entries=1,
        bytes_in=500,
        latency_ms=40.0,
        dated_entries=2,
        late_sec=90.0,
    )
    await ledger.count()
    await ledger.visits(one, [SAME, "timeout"], ago=timedelta(hours=1), latency_ms=10.0)
    answer = await api.get(f"/subscriptions/{one.id}/stats?window=30d")
    assert answer.status == 200
    assert answer.json == {
        "subscription_id": one.id,
        "feed_id": one.feed_id,
        "fetcher_id": one.fetcher_id,
        "window": "30d",
        "since": "2025-12-07",
        "until": "2026-01-05T12:00:00Z",
        "visits": 5,
        "successes": 3,
        "failures": 2,
        "unchanged": 1,
        "success_rate": 0.6,
        "new_entries": 6,
        "updated_entries": 2,
        "bytes_in": 1000,
        "mean_latency_ms": 40.0,
        "dated_entries": 4,
        "mean_late_sec": 45.0,
        "consecutive_failures": 0,
        "last_success_at": None,
        "last_error": "timeout",
        "last_error_at": "2026-01-05T10:59:00Z",
        "errors": [{"error": "timeout", "visits": 2, "last_at": "2026-01-05T10:59:00Z"}],
        "days": [
            {"day": "2026-01-05", "visits": 4, "failures": 1, "new_entries": 6, "bytes_in": 1000},
            {"day": "2026-01-04", "visits": 1, "failures": 1, "new_entries": 0, "bytes_in": 0},
        ],
    }


async def test_a_subscription_never_visited_has_no_rates(ledger: Ledger, api: Api) -> None:
    one = await followed(ledger)
    said = (await api.get(f"/subscriptions/{one.id}/stats")).json
    assert (said["window"], said["since"]) == ("7d", "2025-12-30")
    assert (said["visits"], said["success_rate"], said["mean_late_sec"]) == (0, None, None)
    assert (said["errors"], said["days"], said["last_error"]) == ([], [], None)


async def test_all_has_no_beginning(ledger: Ledger, api: Api) -> None:
    one = await followed(ledger)
    await ledger.visits(one, [OK], ago=timedelta(days=400))
    said = (await api.get(f"/subscriptions/{one.id}/stats?window=all")).json
    assert (said["since"], said["visits"]) == (None, 1)


@pytest.mark.parametrize("window", ["0d", "91d", "7", "week", "-1d", "7D", "all%20", "99999d"])
async def test_a_window_that_makes_no_sense_is_refused(
    ledger: Ledger, api: Api, window: str
) -> None:
    one = await followed(ledger)
    answer = await api.get(f"/subscriptions/{one.id}/stats?window={window}")
    assert (answer.status, answer.error) == (422, "bad_input")
    assert (await api.get(f"/stats/worst?window={window}")).status == 422


async def test_there_are_no_figures_of_nothing(api: Api) -> None:
    assert (await api.get("/subscriptions/999/stats")).error == "not_found"
    assert (await api.get("/subscriptions/x/stats")).error == "not_found"


def order(said: Any) -> list[tuple[str, int, int]]:
    return [(each["name"], each["failures"], each["visits"]) for each in said["subscriptions"]]


async def test_the_worst_come_first(ledger: Ledger, api: Api) -> None:
    alpha = await ledger.fetcher("alpha")

    async def one(name: str, ends: list[str], in_a_row: int = 0) -> Subscription:
        made = await ledger.subscribe(alpha, f"https://{name}.example/feed", name)
        await ledger.visits(made, ends)
        async with ledger.engine.database.write() as tx:
            await tx.run("UPDATE feeds SET failures = ? WHERE id = ?", in_a_row, made.feed_pk)
        return made

    await one("fine", [OK] * 10)
    await one("half", ["timeout", OK] * 5, in_a_row=1)
    await one("half-and-worse", ["timeout", OK] * 5, in_a_row=3)
    await one("few", ["timeout"] * 4, in_a_row=4)
    await one("dead", ["dns_error"] * 6, in_a_row=6)
    gone = await one("gone", ["dns_error"] * 6, in_a_row=6)
    async with ledger.engine.database.write() as tx:
        await subscription_rows.deactivate(tx, gone.id, ledger.now)
    await ledger.count()
    said = (await api.get("/stats/worst")).json
    assert order(said) == [("dead", 6, 6), ("half-and-worse", 5, 10), ("half", 5, 10)]
    assert (said["window"], said["since"], said["min_visits"]) == ("7d", "2025-12-30", 5)
    first = said["subscriptions"][0]
    assert first["failure_rate"] == 1.0
    assert (first["consecutive_failures"], first["fetcher"]) == (6, "alpha")
    assert first["source_url"] == "https://dead.example/feed"
    # The half that ended with a success still says what went wrong in the window.
    assert [each["last_error"] for each in said["subscriptions"]] == [
        "dns_error",
        "timeout",
        "timeout",
    ]
    few = (await api.get("/stats/worst?min_visits=4&limit=2")).json
    assert order(few) == [("dead", 6, 6), ("few", 4, 4)]


async def test_what_failed_before_the_window_is_forgiven(ledger: Ledger, api: Api) -> None:
    one = await followed(ledger)
    await ledger.visits(one, ["timeout"] * 9, ago=timedelta(days=7))
    await ledger.visits(one, [OK] * 9)
    await ledger.count()
    assert (await api.get("/stats/worst?window=7d")).json["subscriptions"] == []
    (only,) = (await api.get("/stats/worst?window=8d")).json["subscriptions"]
    assert (only["failures"], only["visits"], only["failure_rate"]) == (9, 18, 0.5)


async def test_a_reader_may_see_figures(ledger: Ledger, tmp_path: Path) -> None:
    one = await followed(ledger)
    app = create_app(
        ledger.engine.services, Settings(data_dir=tmp_path, admin_token="secret-admin")
    )
    admin = Api(app, "secret-admin")
    for scope, status in (("read", 200), ("publish", 403)):
        made = await admin.post("/tokens", {"name": scope, "scope": scope})
        asker = Api(app, made.json["token"])
        assert (await asker.get(f"/subscriptions/{one.id}/stats")).status == status
        assert (await asker.get("/stats/worst")).status == status
    assert (await Api(app).get("/stats/worst")).status == 401


async def test_a_day_begins_at_midnight_utc(ledger: Ledger) -> None:
    one = await followed(ledger)
    await ledger.visits(one, [OK])
    async with ledger.engine.database.write() as tx:
        await tx.run("UPDATE visits SET finished_at = ?", 1_767_571_200 * SECOND - 1)
    assert [day.on.isoformat() for day in (await figures(ledger, one)).days if day.on] == [
        "2026-01-04"
    ]
    await ledger.count()
    assert [day.on.isoformat() for day in (await figures(ledger, one)).days if day.on] == [
        "2026-01-04"
    ]


async def test_the_schema_goes_back_and_forth_and_visits_are_counted_anew(ledger: Ledger) -> None:
    one = await followed(ledger)
    await ledger.visits(one, [OK, "timeout"])
    await ledger.count()
    database = cast(SqlDatabase, ledger.engine.database)
    await schema.downgrade_schema(database, "0003")
    assert len(await ledger.rows("SELECT 1 FROM visits")) == 2
    await schema.upgrade_schema(database)
    assert await counted(ledger) == (0, 0)
    assert await ledger.count() == 2
    assert (await figures(ledger, one)).failures == 1

"""GET /metrics: what is in it, who may see it, what it costs, and that it cannot explode."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from headwater.core.errors import DatabaseError
from headwater.core.ports import Database, View
from headwater.entrypoints.api.app import create_app
from headwater.entrypoints.api.request_metrics import count_answer
from headwater.entrypoints.api.system.metrics import metrics_app
from headwater.settings import Settings
from headwater.sinks import sink_rows
from headwater.sinks.sink import NewSink
from headwater.statistics.days import day_of
from tests.entrypoints.api.conftest import ADMIN
from tests.support.api_caller import Api
from tests.support.clock import VirtualClock
from tests.support.databases import PassingDatabase
from tests.support.engine_parts import EngineParts
from tests.support.scraped_metrics import Scraped, own_figures
from tests.support.scripted_engine import River
from tests.support.visit_history import OK, SAME, Ledger


async def scraped(api: Api) -> Scraped:
    answer = await api.get("/metrics")
    assert answer.status == 200
    return Scraped(answer.body.decode())


async def test_it_is_in_the_text_format_of_prometheus(api: Api) -> None:
    answer = await api.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = answer.body.decode().splitlines()
    assert "# TYPE headwater_visits_total counter" in lines
    assert "headwater_database_up 1.0" in lines
    assert {line.split(" ")[0].split("{")[0][:10] for line in lines if line[0] != "#"} == {
        "headwater_"
    }


async def test_feeds_are_counted_by_state_and_by_what_waits(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    await river.feed("due")
    await river.set(await river.feed("failing"), failures=3)
    await api.patch(f"/feeds/{await river.feed('paused')}", {"state": "paused"})
    await virtual_clock.advance(40)
    seen = await scraped(api)
    assert seen["headwater_feeds", "state=active"] == 2
    assert seen["headwater_feeds", "state=paused"] == 1
    assert seen["headwater_feeds", "state=gone"] == 0
    assert seen["headwater_feeds_due"] == 2
    assert seen["headwater_feeds_failing"] == 1
    assert seen["headwater_oldest_due_seconds"] == 40
    assert (seen["headwater_feeds_late"], seen["headwater_fresh_share"]) == (0, 1)


async def test_a_feed_that_nobody_visits_any_more_is_not_failing(api: Api, river: River) -> None:
    """It was removed because it failed, perhaps: an alert that never ends would help nobody."""
    for state in ("removed", "gone", "paused", "duplicate"):
        await river.set(await river.feed(state), failures=3, state=state)
    assert (await scraped(api))["headwater_feeds_failing"] == 0


async def test_a_feed_that_waited_more_than_twice_its_interval_is_late(
    api: Api, river: River, virtual_clock: VirtualClock
) -> None:
    decided = river.now
    for name, planned in (("in-time", 7_200), ("late", 1_000), ("paused", 1_801)):
        feed = await river.feed(name)
        await river.set(
            feed, last_decision_at=decided, scheduled_at=decided + planned * 1_000_000,
            interval_sec=900.0,
        )  # fmt: skip
    await virtual_clock.advance(3_601)
    seen = await scraped(api)
    assert (seen["headwater_feeds_late"], seen["headwater_feeds_due"]) == (1, 3)
    assert seen["headwater_fresh_share"] == pytest.approx(2 / 3)


async def test_sinks_show_how_far_they_are(api: Api, river: River) -> None:
    async with river.engine.database.write() as tx:
        made = await sink_rows.insert_sink(
            tx, NewSink("tap", "ndjson", {}, cursor=4), river.engine.clock.now()
        )
        assert made is not None
        await tx.run("UPDATE counters SET value = 10 WHERE name = 'events'")
        await tx.run("UPDATE sinks SET failures = 2, stopped = 'gone' WHERE id = ?", made.id)
        await tx.run(
            "INSERT INTO dead_letters VALUES (?, 3, 'e', 'new_entry', 1, 'http_400', '', 1, false)",
            made.id,
        )
    seen = await scraped(api)
    assert seen["headwater_events_last_seq"] == 10
    figures = {name: seen[f"headwater_sink_{name}", "sink=tap"] for name in (
        "cursor", "lag_events", "dead_letters", "failures", "stopped",
    )}  # fmt: skip
    assert figures == {
        "cursor": 4, "lag_events": 6, "dead_letters": 1, "failures": 2, "stopped": 1,
    }  # fmt: skip


async def test_feeds_that_stand_out_have_figures_of_their_own(api: Api, river: River) -> None:
    ledger = Ledger(river.engine)
    alpha = await ledger.fetcher("alpha")
    newsy = await ledger.subscribe(alpha, "https://newsy.example/feed")
    broken = await ledger.subscribe(alpha, "https://broken.example/feed")
    quiet = await ledger.subscribe(alpha, "https://quiet.example/feed")
    await ledger.visits(newsy, [OK, OK], new_entries=7)
    await ledger.visits(broken, ["timeout"] * 3)
    await ledger.visits(quiet, [SAME])
    await river.set(newsy.feed_id, ewma_sec=1_234.0)
    waiting = await scraped(api)
    assert waiting["headwater_visits_uncounted"] == 6
    assert not waiting.has("headwater_feed_new_entries")
    await ledger.count()
    seen = await scraped(Api(create_app(river.engine.services, Settings())))
    assert seen["headwater_visits_uncounted"] == 0
    assert seen.labels_of("headwater_feed_new_entries") == {f"feed_id={newsy.feed_id}"}
    assert seen["headwater_feed_new_entries", f"feed_id={newsy.feed_id}"] == 14
    assert seen["headwater_feed_failures", f"feed_id={broken.feed_id}"] == 3
    assert seen["headwater_host_failures", "host=broken.example"] == 3
    assert seen["headwater_feed_ewma_seconds", f"feed_id={newsy.feed_id}"] == 1_234
    assert seen["headwater_feed_interval_seconds", f"feed_id={broken.feed_id}"] == 900
    assert f"feed_id={quiet.feed_id}" not in seen.labels_of("headwater_feed_interval_seconds")


async def test_promises_are_figures_too(api: Api, river: River) -> None:
    ledger = Ledger(river.engine)
    one = await ledger.subscribe(await ledger.fetcher("alpha"), "https://one.example/feed")
    await ledger.visits(one, [OK, OK, OK, "internal_error"], latency_ms=30.0)
    await ledger.count()
    seen = await scraped(api)
    assert seen["headwater_slo_target", "slo=fetch_latency"] == 5
    assert 0.025 < seen["headwater_slo_value", "slo=fetch_latency"] <= 0.05
    assert seen["headwater_slo_met", "slo=fetch_latency"] == 1
    assert seen["headwater_slo_value", "slo=failed_fetches"] == 0.25
    assert seen["headwater_slo_met", "slo=failed_fetches"] == 0
    assert seen["headwater_slo_value", "slo=freshness"] == 1


async def test_the_top_lists_can_be_turned_off(river: River) -> None:
    ledger = Ledger(river.engine)
    one = await ledger.subscribe(await ledger.fetcher("alpha"), "https://one.example/feed")
    await ledger.visits(one, [OK, "timeout"], new_entries=1)
    await ledger.count()
    seen = await scraped(Api(create_app(river.engine.services, Settings(metrics_top_feeds=0))))
    assert not any(each.startswith("headwater_feed_") for each, *_ in seen.values)
    assert not seen.has("headwater_host_failures")
    assert seen.has("headwater_slo_met")


MANY = 100_000

NUMBERS = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY})"


async def crowd(river: River) -> None:
    """A hundred thousand feeds on as many hosts, each failing in words of its own."""
    await river.feed("a")
    today = day_of(river.now)
    async with river.engine.database.write() as tx:
        names = [row.name for row in await tx.rows(_COLUMNS[tx.dialect])]
        changed = {
            "id": "n.i + 10",
            "feed_id": "'feed-' || n.i",
            "url": "'https://h' || n.i || '.example/'",
            "url_key": _KEY[tx.dialect],
            "host": "'h' || n.i || '.example'",
        }
        columns = ", ".join(names)
        values = ", ".join(changed.get(name, f"f.{name}") for name in names)
        await tx.run(f"INSERT INTO feeds ({columns}) {NUMBERS} SELECT {values} FROM n, feeds f"
                     " WHERE f.id = (SELECT min(id) FROM feeds)")  # fmt: skip
        await tx.run(
            "INSERT INTO rss_subscriptions (fetcher_id, feed_id, source_url, source_key,"
            " source_type, is_active, assignment_status, auto_selected, created_at, updated_at)"
            " SELECT (SELECT min(fetcher_id) FROM fetcher_modules), id, url, url_key, 'rss', true,"
            " 'auto_assigned', true, 1, 1 FROM feeds WHERE id > 10"
        )
        await tx.run(
            "INSERT INTO subscription_days (subscription_id, day, error, visits, unchanged,"
            " new_entries, updated_entries, bytes_in, latency_ms, dated_entries, late_sec, last_at)"
            f" SELECT subscription_id, {today}, 'made up ' || subscription_id, 3, 0, 2, 0, 0, 0, 0,"
            " 0, 1 FROM rss_subscriptions"
        )
        await tx.run(
            f"INSERT INTO fetcher_days {NUMBERS} SELECT 'h' || n.i || '.example', 1, {today},"
            " 'made up ' || n.i, 3, 0, 0, 0, 0, 1 FROM n"
        )


_COLUMNS = {
    "sqlite": "SELECT name FROM pragma_table_info('feeds')",
    "postgresql": "SELECT column_name AS name FROM information_schema.columns"
    " WHERE table_name = 'feeds' AND table_schema = 'public'",
}
_KEY = {
    "sqlite": "CAST('k' || n.i AS BLOB)",
    "postgresql": "convert_to('k' || n.i, 'UTF8')",
}


async def test_a_hundred_thousand_feeds_make_no_more_series(api: Api, river: River) -> None:
    few = (await scraped(api)).series
    await crowd(river)
    seen = await scraped(Api(create_app(river.engine.services, Settings(metrics_top_feeds=20))))
    assert seen["headwater_feeds", "state=active"] == MANY + 1
    assert len(seen.labels_of("headwater_feed_new_entries")) == 20
    assert len(seen.labels_of("headwater_feed_failures")) == 20
    assert len(seen.labels_of("headwater_host_failures")) == 20
    assert len(seen.labels_of("headwater_feed_interval_seconds")) <= 40
    # Four lists of feeds, one of hosts, the promises; and one more scrape among the requests.
    assert seen.series <= few + 20 + 20 + 40 + 40 + 20 + 6 + 30


async def test_paths_that_somebody_made_up_make_one_series(api: Api) -> None:
    for path in ("/nothing/here", "/feeds/not-a-feed/at/all"):
        assert (await api.get(path)).status == 404
    before = own_figures()
    for number in range(300):
        await api.get(f"/made/up/{number}")
        await api.get(f"/feeds/01900000-0000-7000-8000-{number:012d}")
        await api.ask(f"VERB{number}", "/feeds")
    after = own_figures()
    grown = after.since(before)
    assert grown["headwater_api_requests_total", "method=GET", "route=other", "status=4xx"] == 300
    known = ("method=GET", "route=/feeds/{feed_id}", "status=4xx")
    assert grown["headwater_api_requests_total", *known] == 300
    assert after.series - before.series <= 40


def test_a_hundred_thousand_methods_are_one() -> None:
    count_answer("BREW", None, 404, 0.1)
    before = own_figures()
    for number in range(100_000):
        count_answer(f"BREW{number}", None, 404, 0.001)
    assert own_figures().series == before.series


async def test_requests_are_counted_by_route_and_kind_of_answer(api: Api, river: River) -> None:
    feed = await river.feed("a")
    before = own_figures()
    await api.get(f"/feeds/{feed}")
    await api.ask("HEAD", f"/feeds/{feed}")
    await api.post("/feeds", {"nonsense": 1})
    grown = own_figures().since(before)
    route = "route=/feeds/{feed_id}"
    assert grown["headwater_api_requests_total", "method=GET", route, "status=2xx"] == 2
    assert grown["headwater_api_duration_seconds_count", route] == 2
    refused = ("method=POST", "route=/feeds", "status=4xx")
    assert grown["headwater_api_requests_total", *refused] == 1


async def test_a_reader_may_see_metrics_and_a_stranger_may_not(guarded: Callable[..., Api]) -> None:
    made = await guarded().post("/tokens", {"name": "prometheus", "scope": "read"})
    assert (await guarded(made.json["token"]).get("/metrics")).status == 200
    assert (await guarded(None).get("/metrics")).status == 401
    other = await guarded().post("/tokens", {"name": "other", "scope": "publish"})
    assert (await guarded(other.json["token"]).get("/metrics")).status == 403


class Counted(PassingDatabase):
    """A database that counts how often it is read, and can be away."""

    def __init__(self, real: Database) -> None:
        super().__init__(real)
        self.reads = 0
        self.is_away = False

    @asynccontextmanager
    async def read(self) -> AsyncIterator[View]:
        self.reads += 1
        if self.is_away:
            raise DatabaseError("The database does not answer.")
        async with self.real.read() as view:
            yield view


async def test_however_often_it_is_scraped_the_database_is_asked_now_and_then(
    engine: EngineParts, virtual_clock: VirtualClock, tmp_path: Path
) -> None:
    engine.database = counted = Counted(engine.database)
    api = Api(create_app(engine.services, Settings(data_dir=tmp_path)))
    await scraped(api)
    first = counted.reads
    for _ in range(20):
        await scraped(api)
    assert counted.reads == first
    await virtual_clock.advance(16)
    await scraped(api)
    assert counted.reads == first + 1
    await virtual_clock.advance(60)
    await scraped(api)
    assert counted.reads == 2 * first + 1


async def test_a_database_that_is_away_is_a_figure_too(engine: EngineParts, tmp_path: Path) -> None:
    engine.database = counted = Counted(engine.database)
    api = Api(create_app(engine.services, Settings(data_dir=tmp_path)))
    counted.is_away = True
    away = await scraped(api)
    assert away.values["headwater_database_up",] == 0
    assert away.has("headwater_visits_total")
    assert not away.has("headwater_feeds")
    counted.is_away = False
    assert (await scraped(api))["headwater_database_up"] == 1


def apart(engine: EngineParts, token: str | None, **settings: Any) -> Api:
    """The app that a worker without an API shows its metrics by."""
    chosen = Settings(metrics_port=9_470, **settings)
    return Api(metrics_app(engine.services, chosen), token, host="127.0.0.1:9470")  # type: ignore[arg-type]


async def test_beside_a_worker_there_is_nothing_but_metrics(engine: EngineParts) -> None:
    api = apart(engine, None)
    assert (await scraped(api)).has("headwater_feeds")
    for path in ("/feeds", "/tokens", "/", "/status", "/healthz"):
        assert (await api.get(path)).error == "not_found"
    assert (await api.post("/metrics", {})).status == 405


async def test_beside_a_worker_the_rules_of_the_api_hold(engine: EngineParts) -> None:
    assert (await apart(engine, None, admin_token=ADMIN).get("/metrics")).error == "unauthorized"
    assert (await apart(engine, ADMIN, admin_token=ADMIN).get("/metrics")).status == 200
    stranger = apart(engine, None)
    stranger.peer = "203.0.113.9"
    assert (await stranger.get("/metrics")).error == "forbidden"
    misled = apart(engine, None)
    misled.host = "rebound.example"
    assert (await misled.get("/metrics")).error == "misdirected_request"

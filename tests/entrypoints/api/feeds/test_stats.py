"""GET /feeds/{feed_id}/stats and GET /slo: every field, and what is refused."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from headwater.subscriptions.fetchers.fetcher_rows import list_fetchers
from headwater.subscriptions.subscription_rows import get_subscription_of_feed
from tests.support.api_caller import Api
from tests.support.scripted_engine import River
from tests.support.visit_history import OK, SAME, Ledger


async def test_every_figure_of_a_feed(api: Api, river: River) -> None:
    feed_id = await river.feed("a")
    await river.set(feed_id, interval_sec=1_125.0, ewma_sec=7_200.5)
    ledger = Ledger(river.engine)
    async with river.engine.database.read() as view:
        one = await get_subscription_of_feed(view, feed_id)
    await ledger.visits(
        one, [OK], ago=timedelta(days=1), bytes_in=1_000, decoded_bytes=5_000, latency_ms=100.0,
        new_entries=3, updated_entries=1,
    )  # fmt: skip
    await ledger.count()
    await river.raw(feed_id, b"x" * 800)
    now = river.now
    await ledger.visits(one, [SAME], started_at=now + 1, latency_ms=20.0)
    await ledger.visits(one, ["timeout"], ago=timedelta(hours=1), latency_ms=60.0, retry=True)
    said = (await api.get(f"/feeds/{feed_id}/stats?window=30d")).json
    assert said == {
        "feed_id": feed_id,
        "window": "30d",
        "since": "2025-12-07",
        "until": "2026-01-05T12:00:00Z",
        "fetch_count": 3,
        "success_rate": pytest.approx(2 / 3),
        "not_modified_rate": pytest.approx(1 / 3),
        "error_code_counts": {"timeout": 1},
        "retry_count": 1,
        "bytes_in": 1_000,
        "bytes_saved": 800,
        "decoded_bytes": 5_000,
        "compression_ratio": 5.0,
        "average_latency_ms": 60.0,
        "p99_latency_ms": 100.0,
        "new_entries": 3,
        "updated_entries": 1,
        "new_entries_per_fetch": 1.0,
        "interval_chosen_sec": 1_125.0,
        "ewma_interval_sec": 7_200.5,
        "days": [
            {
                "day": "2026-01-05",
                "fetch_count": 2,
                "failures": 1,
                "not_modified": 1,
                "retry_count": 1,
                "new_entries": 0,
                "updated_entries": 0,
                "bytes_in": 0,
                "bytes_saved": 800,
                "average_latency_ms": 40.0,
            },
            {
                "day": "2026-01-04",
                "fetch_count": 1,
                "failures": 0,
                "not_modified": 0,
                "retry_count": 0,
                "new_entries": 3,
                "updated_entries": 1,
                "bytes_in": 1_000,
                "bytes_saved": 0,
                "average_latency_ms": 100.0,
            },
        ],
    }


async def test_the_figures_are_the_same_before_and_after_counting(api: Api, river: River) -> None:
    feed_id, ledger = await river.feed("a"), Ledger(river.engine)
    async with river.engine.database.read() as view:
        one = await get_subscription_of_feed(view, feed_id)
    await river.raw(feed_id, b"x" * 70)
    await ledger.visits(one, [SAME, OK, "http_404"], started_at=river.now + 1, bytes_in=9)
    before = (await api.get(f"/feeds/{feed_id}/stats")).json
    await ledger.count()
    assert (await api.get(f"/feeds/{feed_id}/stats")).json == before
    assert (before["bytes_saved"], before["bytes_in"]) == (70, 27)


async def test_a_feed_never_visited_has_figures_without_rates(api: Api, river: River) -> None:
    said = (await api.get(f"/feeds/{await river.feed('a')}/stats?window=all")).json
    assert (said["fetch_count"], said["since"], said["days"]) == (0, None, [])
    rates = ("success_rate", "not_modified_rate", "compression_ratio", "new_entries_per_fetch")
    assert [said[name] for name in rates] == [None] * 4
    assert (said["average_latency_ms"], said["p99_latency_ms"]) == (None, None)
    assert (said["interval_chosen_sec"], said["ewma_interval_sec"]) == (900.0, None)


async def test_what_is_not_there_and_what_makes_no_sense_is_refused(api: Api, river: River) -> None:
    feed_id = await river.feed("a")
    for window in ("0d", "91d", "week", "7"):
        assert (await api.get(f"/feeds/{feed_id}/stats?window={window}")).error == "bad_input"
        assert (await api.get(f"/slo?window={window}")).error == "bad_input"
    for window in ("all", "week"):
        refused = await api.get(f"/slo?window={window}")
        assert refused.error == "bad_input"
        assert refused.json["message"] == "window must be a number of days from 1d to 90d."
    assert (await api.get("/slo?worst=101")).status == 422
    nobody = "01900000-0000-7000-8000-00000000ffff"
    assert (await api.get(f"/feeds/{nobody}/stats")).error == "not_found"
    assert (await api.get("/feeds/nonsense/stats")).error == "not_found"


async def test_promises_are_shown_with_their_worst(api: Api, river: River) -> None:
    ledger = Ledger(river.engine)
    async with river.engine.database.read() as view:
        (builtin, *_) = await list_fetchers(view)
    one = await ledger.subscribe(builtin, "https://user:secret@one.example/feed?token=abc")
    await ledger.visits(one, [OK, OK, OK, "internal_error"], latency_ms=40.0)
    await ledger.count()
    said = (await api.get("/slo?worst=1")).json
    assert (said["met"], said["now"]) == (False, "2026-01-05T12:00:00Z")
    speed, budget, fresh = said["levels"]
    assert budget == {
        "name": "failed_fetches",
        "promise": "No feed fails 2% of its fetches on a day, publishers' faults left out.",
        "unit": "share",
        "target": 0.02,
        "value": 0.25,
        "met": False,
        "window": "1d",
        "measured": 4,
        "beyond": 1,
        "worst": [
            {
                "feed_id": one.feed_id,
                "url": budget["worst"][0]["url"],
                "value": 0.25,
                "detail": "1 of 4 fetches on 2026-01-05",
            }
        ],
    }
    assert "secret" not in budget["worst"][0]["url"]
    assert "abc" not in budget["worst"][0]["url"]
    assert (speed["name"], speed["unit"], speed["met"]) == ("fetch_latency", "seconds", True)
    assert (fresh["name"], fresh["window"], fresh["value"]) == ("freshness", "now", 1.0)
    assert (await api.get("/slo?worst=0")).json["levels"][1]["worst"] == []


async def test_a_reader_may_see_both(guarded: Callable[..., Api], river: River) -> None:
    feed_id = await river.feed("a")
    made = await guarded().post("/tokens", {"name": "r", "scope": "read"})
    reader, stranger = guarded(made.json["token"]), guarded(None)
    for path in (f"/feeds/{feed_id}/stats", "/slo"):
        assert (await reader.get(path)).status == 200
        assert (await stranger.get(path)).status == 401

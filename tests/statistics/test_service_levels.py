"""What is promised, measured on histories made by hand: each visit's end is the test's choice."""

from datetime import timedelta
from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.core.errors import BadInput
from headwater.core.values.instant import to_micros
from headwater.statistics.service_levels import ServiceLevel, ServiceTargets, service_levels
from headwater.statistics.subscriptions import Window
from headwater.subscriptions.subscription import Subscription
from tests.support.clock import VirtualClock
from tests.support.scripted_engine import ScriptedWeb, an_engine
from tests.support.visit_history import OK, SAME, Ledger

MIB = 1024 * 1024


@pytest.fixture
def ledger(database: SqlDatabase, virtual_clock: VirtualClock, tmp_path: Path) -> Ledger:
    return Ledger(an_engine(database, virtual_clock, ScriptedWeb(), tmp_path))


async def followed(ledger: Ledger, name: str = "one") -> Subscription:
    return await ledger.subscribe(
        await ledger.fetcher(f"of-{name}"), f"https://{name}.example/feed"
    )


async def levels(
    ledger: Ledger, days: int = 1, promises: ServiceTargets | None = None, worst: int = 5
) -> dict[str, ServiceLevel]:
    await ledger.count()
    found = await service_levels(
        ledger.engine.database, promises or ServiceTargets(), Window(days), worst=worst
    )
    assert [level.name for level in found] == ["fetch_latency", "failed_fetches", "freshness"]
    return {level.name: level for level in found}


async def test_nothing_has_happened_so_nothing_is_judged(ledger: Ledger) -> None:
    for level in (await levels(ledger)).values():
        assert (level.value, level.met, level.measured, level.beyond) == (None, None, 0, 0)
        assert level.worst == ()


async def test_99_of_100_fetches_in_five_seconds_keep_the_promise(ledger: Ledger) -> None:
    one = await followed(ledger)
    await ledger.visits(one, [OK] * 99, latency_ms=4_900.0)
    await ledger.visits(one, [OK], ago=timedelta(hours=3), latency_ms=9_000.0)
    kept = (await levels(ledger))["fetch_latency"]
    assert (kept.value, kept.target, kept.met) == (5.0, 5.0, True)
    assert (kept.measured, kept.beyond, kept.window) == (100, 1, "1d")
    await ledger.visits(one, [SAME], ago=timedelta(hours=4), latency_ms=9_000.0)
    broken = (await levels(ledger))["fetch_latency"]
    assert broken.value is not None
    assert broken.value > 5
    assert (broken.met, broken.beyond) == (False, 2)


async def test_large_documents_and_failures_have_no_part_in_it(ledger: Ledger) -> None:
    one = await followed(ledger)
    await ledger.visits(one, [OK], latency_ms=20.0)
    await ledger.visits(one, [OK] * 5, ago=timedelta(hours=1), latency_ms=9e3, bytes_in=MIB + 1)
    await ledger.visits(one, ["timeout"] * 5, ago=timedelta(hours=2), latency_ms=30e3)
    speed = (await levels(ledger))["fetch_latency"]
    assert (speed.met, speed.measured, speed.beyond) == (True, 1, 0)


async def test_the_slowest_feeds_are_named(ledger: Ledger) -> None:
    fast, slow = await followed(ledger, "fast"), await followed(ledger, "slow")
    await ledger.visits(fast, [OK] * 3, latency_ms=10.0)
    await ledger.visits(slow, [OK, OK], latency_ms=7_000.0)
    named = (await levels(ledger))["fetch_latency"].worst
    assert [(each.feed_id, each.value) for each in named] == [
        (slow.feed_id, 7.0),
        (fast.feed_id, 0.01),
    ]
    assert named[0].detail == "on average, in 2 visits"
    assert len((await levels(ledger, worst=1))["fetch_latency"].worst) == 1


async def test_a_publishers_faults_are_left_out(ledger: Ledger) -> None:
    one = await followed(ledger)
    await ledger.visits(one, ["http_404", "not_a_feed", "http_503", "tls_error"] * 5)
    await ledger.visits(one, [OK], ago=timedelta(hours=2))
    budget = (await levels(ledger))["failed_fetches"]
    assert (budget.value, budget.met, budget.measured) == (0.0, True, 1)


async def test_two_of_a_hundred_are_too_many(ledger: Ledger) -> None:
    one, fine = await followed(ledger), await followed(ledger, "fine")
    await ledger.visits(fine, [OK] * 5)
    await ledger.visits(one, [*[OK] * 99, "internal_error"])
    within = (await levels(ledger))["failed_fetches"]
    assert (within.value, within.met, within.beyond) == (0.01, True, 0)
    await ledger.visits(one, ["http_404"] * 100, ago=timedelta(hours=2))
    assert (await levels(ledger))["failed_fetches"].value == 0.01
    await ledger.visits(one, ["parser_crashed", "parser_crashed"], ago=timedelta(hours=4))
    broken = (await levels(ledger))["failed_fetches"]
    assert broken.value == pytest.approx(3 / 102)
    assert (broken.met, broken.beyond, broken.measured) == (False, 1, 107)
    (worst,) = broken.worst
    assert (worst.feed_id, worst.url) == (one.feed_id, "https://one.example/feed")
    assert worst.detail == "3 of 102 fetches on 2026-01-05"


async def test_exactly_the_budget_is_broken(ledger: Ledger) -> None:
    """Less than two per cent is promised."""
    one = await followed(ledger)
    await ledger.visits(one, [*[OK] * 49, "internal_error"])
    budget = (await levels(ledger))["failed_fetches"]
    assert (budget.value, budget.met, budget.beyond) == (0.02, False, 1)


async def test_the_budget_is_for_each_day_by_itself(ledger: Ledger) -> None:
    one = await followed(ledger)
    await ledger.visits(one, [OK] * 200)
    await ledger.visits(one, [OK, "internal_error"], ago=timedelta(days=1))
    assert (await levels(ledger))["failed_fetches"].met
    two_days = (await levels(ledger, days=2))["failed_fetches"]
    assert (two_days.value, two_days.met, two_days.window) == (0.5, False, "2d")
    assert two_days.worst[0].detail == "1 of 2 fetches on 2026-01-04"


async def test_one_host_that_cannot_be_reached_is_its_own_trouble(ledger: Ledger) -> None:
    one, dead = await followed(ledger), await followed(ledger, "dead")
    await ledger.visits(one, [OK] * 90)
    await ledger.visits(dead, ["dns_error"] * 10)
    budget = (await levels(ledger))["failed_fetches"]
    assert (budget.value, budget.met, budget.measured) == (0.0, True, 90)


async def test_when_many_cannot_be_reached_it_is_our_network(ledger: Ledger) -> None:
    one, dead = await followed(ledger), await followed(ledger, "dead")
    await ledger.visits(one, [*[OK] * 85, *["timeout"] * 4, "http_500"])
    await ledger.visits(dead, ["connect_error"] * 10)
    budget = (await levels(ledger))["failed_fetches"]
    assert (budget.value, budget.met, budget.measured, budget.beyond) == (1.0, False, 99, 2)
    assert [(each.feed_id, each.value) for each in budget.worst] == [
        (dead.feed_id, 1.0),
        (one.feed_id, pytest.approx(4 / 89)),
    ]


async def test_a_day_of_network_trouble_does_not_spoil_the_day_before(ledger: Ledger) -> None:
    one = await followed(ledger)
    await ledger.visits(one, [OK, "timeout"])
    await ledger.visits(one, [*[OK] * 30, "timeout"], ago=timedelta(days=1))
    named = (await levels(ledger, days=2))["failed_fetches"].worst
    assert [each.detail for each in named] == ["1 of 2 fetches on 2026-01-05"]


async def test_a_code_nobody_knows_counts_as_ours(ledger: Ledger) -> None:
    one = await followed(ledger)
    await ledger.visits(one, [OK, "brand_new"])
    assert (await levels(ledger))["failed_fetches"].value == 0.5


async def planned(ledger: Ledger, of: Subscription, ago: float, wait: float, every: float) -> None:
    """Decided so many seconds ago to come back after `wait`, at an interval of `every`."""
    decided = to_micros(ledger.now - timedelta(seconds=ago))
    async with ledger.engine.database.write() as tx:
        await tx.run(
            "UPDATE feeds SET last_decision_at = ?, scheduled_at = ?, interval_sec = ?"
            " WHERE id = ?",
            decided,
            decided + round(wait * 1_000_000),
            every,
            of.feed_pk,
        )


@pytest.mark.parametrize(
    ("ago", "wait", "every", "fresh"),
    [
        (1_800, 900, 900, True),
        (1_801, 900, 900, False),
        # Earlier by luck, or because somebody asked for it: the interval is what was chosen.
        (1_700, 60, 900, True),
        # A Retry-After or a pause after failures is what was chosen.
        (6_000, 3_600, 900, True),
        (7_201, 3_600, 900, False),
    ],
)
async def test_fresh_is_within_twice_what_was_chosen(
    ledger: Ledger, ago: float, wait: float, every: float, fresh: bool
) -> None:
    await planned(ledger, await followed(ledger), ago, wait, every)
    found = (await levels(ledger))["freshness"]
    assert (found.value, found.met) == ((1.0, True) if fresh else (0.0, False))
    assert (found.measured, found.beyond, found.window) == (1, 0 if fresh else 1, "now")


async def test_a_feed_nobody_has_visited_is_fresh_for_a_while(
    ledger: Ledger, virtual_clock: VirtualClock
) -> None:
    await followed(ledger)
    assert (await levels(ledger))["freshness"].met
    await virtual_clock.advance(1_801)
    assert (await levels(ledger))["freshness"].met is False


async def test_feeds_that_are_not_active_are_not_late(ledger: Ledger) -> None:
    one = await followed(ledger)
    await planned(ledger, one, 90_000, 900, 900)
    async with ledger.engine.database.write() as tx:
        await tx.run("UPDATE feeds SET state = 'paused', scheduled_at = NULL")
    assert (await levels(ledger))["freshness"].value is None


async def test_the_longest_waiting_feeds_are_named(ledger: Ledger) -> None:
    for name, ago in (("late", 2_700), ("later", 9_000), ("fresh", 900)):
        await planned(ledger, await followed(ledger, name), ago, 900, 900)
    found = (await levels(ledger))["freshness"]
    assert found.value == pytest.approx(1 / 3)
    assert [(each.url, each.value, each.detail) for each in found.worst] == [
        ("https://later.example/feed", 10.0, "times 15 min"),
        ("https://late.example/feed", 3.0, "times 15 min"),
    ]


async def test_the_targets_are_settings(ledger: Ledger) -> None:
    one = await followed(ledger)
    await ledger.visits(one, [*[OK] * 9, "internal_error"], latency_ms=900.0)
    easy = ServiceTargets(p99_ms=500.0, failed_share=0.2, fresh_share=0.5)
    found = await levels(ledger, promises=easy)
    assert [level.met for level in found.values()] == [False, True, True]
    assert found["fetch_latency"].promise == "99 of 100 fetches of up to 1 MiB take 0.5 s at most."


async def test_for_ever_is_no_window_for_a_promise(ledger: Ledger) -> None:
    with pytest.raises(BadInput, match="number of days"):
        await service_levels(ledger.engine.database, ServiceTargets(), Window(None), worst=5)

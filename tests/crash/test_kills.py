"""Kill -9 of the running service with visits in flight: what must never break does not."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from tests.conftest import Dialect
from tests.crash.audit import Broken
from tests.crash.items import Store
from tests.crash.ordeal import Ordeal, open_crowd
from tests.crash.sinks import Brokers, all_sinks
from tests.support.origin import Origin

pytestmark = pytest.mark.crash

FEEDS = 40
MOST_ROUNDS = 5
"""With pauses and takeovers, which are mostly waiting."""

Act = Callable[[], Awaitable[list[Broken]]]


async def survived(ordeal: Ordeal, acts: Sequence[Act]) -> list[Broken]:
    """Until the first thing that is broken, or to the end."""
    try:
        await ordeal.begin(FEEDS)
        for act in acts:
            if broken := await act():
                return broken
        return await ordeal.finish()
    finally:
        await ordeal.end()


def told(broken: list[Broken], ordeal: Ordeal) -> str:
    return "\n".join([*map(str, broken[:20]), "", ordeal.service.last_words()])


async def test_everything_holds_after_kills_with_visits_in_flight(
    database_url: str,
    dialect: Dialect,
    tmp_path: Path,
    brokers: Brokers,
    kills: int,
    seed: int,
    figures: list[str],
) -> None:
    async with Origin() as origin, all_sinks(tmp_path, brokers, seed) as sinks:
        crowd = open_crowd(origin, seed)
        store: Store = "database" if dialect == "sqlite" else "redis"
        ordeal = Ordeal(tmp_path, database_url, crowd, sinks, seed=seed, personal=store)
        acts = [
            act
            for number in range(kills)
            for act in (ordeal.wound, *([ordeal.kill_a_broker] * (number % 4 == 1)), ordeal.kill)
        ]
        broken = await survived(ordeal, acts)
    figures += ordeal.report.lines()
    assert broken == [], told(broken, ordeal)
    assert ordeal.report.hits["claimed feeds"] >= kills
    assert ordeal.report.outcomes["unreadable"] > 0
    assert min(ordeal.report.sinks.values()) >= ordeal.report.records["events"] > 0
    assert ordeal.report.records["items"] > FEEDS


async def test_everything_holds_with_a_second_worker_and_pauses_beyond_the_lease(
    long_run: None,
    database_url: str,
    dialect: Dialect,
    tmp_path: Path,
    brokers: Brokers,
    kills: int,
    seed: int,
    figures: list[str],
) -> None:
    async with Origin() as origin, all_sinks(tmp_path, brokers, seed) as sinks:
        crowd = open_crowd(origin, seed)
        store: Store = "redis" if dialect == "sqlite" else "database"
        ordeal = Ordeal(
            tmp_path, database_url, crowd, sinks, seed=seed, helped=True, personal=store
        )
        some = [ordeal.kill, ordeal.pause, ordeal.kill, ordeal.abandon]
        broken = await survived(ordeal, some * min(MOST_ROUNDS, max(1, kills // 10)))
    figures += ordeal.report.lines()
    assert broken == [], told(broken, ordeal)

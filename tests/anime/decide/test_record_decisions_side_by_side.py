"""Several processes decide at the same moment: every episode is still wanted once."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.anime.candidate import Offer
from headwater.anime.decide.decide_again import catch_up
from headwater.anime.decide.record_decisions import ReleasePolicy, record_decisions
from headwater.anime.decide.release_sink import ensure_release_sink
from headwater.anime.episodes.missing_alerts import announce_missing_episodes
from headwater.anime.metrics import RELEASE_ACTIONS
from headwater.anime.shows import tracking_rows
from headwater.anime.upkeep import ReleaseUpkeep
from headwater.core.errors import BadSettings, ConnectionLost
from headwater.settings import Settings
from headwater.wiring.app import open_services
from headwater.wiring.background import release_loop
from tests.support.releases import candidate, release
from tests.support.scraped_metrics import own_figures
from tests.support.tracked_feed import Harbour, ani, loli


def counted() -> dict[str, float]:
    """Decisions so far, by action."""
    now = own_figures()
    return {
        action: now["headwater_releases_decided_total", f"action={action}"]
        for action in RELEASE_ACTIONS
    }


def one(uid: str, number: int) -> Offer:
    return Offer(candidate(uid, infohash=None), release("ANi", episode=number, title="Tides"))


async def test_two_feeds_of_one_show_want_each_episode_once(
    harbour: Harbour, open_another: Callable[[], SqlDatabase]
) -> None:
    await harbour.follow()
    first = await harbour.track()
    async with harbour.engine.database.write() as tx:
        other = replace(first, feed_id="01a1e1f9-0000-7000-8000-000000000001")
        second = await tracking_rows.insert_tracking(tx, other, harbour.clock.now())
    processes = [open_another() for _ in range(4)]
    await asyncio.gather(
        *(
            record_decisions(
                process,
                harbour.clock,
                ReleasePolicy(),
                (first, second)[place % 2].id,
                [one(f"{place}-{number}", number) for number in range(1, 13)],
            )
            for place, process in enumerate(processes)
        )
    )
    wanted = [str(each.slots[0]) for each in await harbour.downloads()]
    assert sorted(wanted) == [f"S01E{number:02}" for number in range(1, 13)]
    assert len(await harbour.decided()) == 48


async def test_the_same_entries_twice_at_once_are_decided_once(
    harbour: Harbour, open_another: Callable[[], SqlDatabase]
) -> None:
    await harbour.follow()
    tracking = await harbour.track()
    offers = [one(f"{number}", number) for number in range(1, 13)]
    outcomes = await asyncio.gather(
        *(
            record_decisions(open_another(), harbour.clock, ReleasePolicy(), tracking.id, offers)
            for _ in range(3)
        )
    )
    assert sorted(outcome.total for outcome in outcomes) == [0, 0, 12]
    assert len(await harbour.told("release_found")) == 12


async def test_two_first_trackings_make_one_sink(
    harbour: Harbour, open_another: Callable[[], SqlDatabase]
) -> None:
    async def made(database: SqlDatabase) -> bool:
        engine = replace(harbour.engine, database=database)
        async with database.write() as tx:
            return await ensure_release_sink(tx, engine.releases)

    answers = await asyncio.gather(*(made(open_another()) for _ in range(3)))
    assert sorted(answers) == [False, False, True]
    assert len(await harbour.sinks()) == 1


async def test_two_processes_tell_a_gap_once(
    harbour: Harbour, open_another: Callable[[], SqlDatabase]
) -> None:
    await harbour.follow(ani("01"), ani("03"))
    tracking = await harbour.track()
    await catch_up(harbour.engine.releases, tracking.id)
    await harbour.clock.advance(25 * 3_600)
    engines = [replace(harbour.engine, database=open_another()) for _ in range(3)]
    assert (
        sum(await asyncio.gather(*(announce_missing_episodes(each.releases) for each in engines)))
        == 1
    )
    assert len(await harbour.told("episode_missing")) == 1


async def test_the_upkeep_survives_what_it_meets(
    harbour: Harbour, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = list[str]()
    troubles: list[Exception] = [ConnectionLost("away"), ValueError("torn")]

    async def once(_: ReleaseUpkeep) -> None:
        rounds.append("round")
        if troubles:
            raise troubles.pop(0)
        loop.stop()

    monkeypatch.setattr(ReleaseUpkeep, "once", once)
    loop = release_loop(harbour.engine.services)
    running = asyncio.create_task(loop.run())
    for _ in range(3):
        await harbour.clock.advance(10)
    await running
    assert len(rounds) == 3


async def test_decisions_are_counted(harbour: Harbour) -> None:
    before = counted()
    await harbour.follow(loli("01"), ani("01"))
    tracking = await harbour.track()
    await catch_up(harbour.engine.releases, tracking.id)
    grown = {action: many - before[action] for action, many in counted().items()}
    assert {action: many for action, many in grown.items() if many} == {"fetch": 1, "skip": 1}


async def test_a_pattern_of_the_settings_that_is_none_is_named(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, media_exclude=["(?=ahead)"])
    with pytest.raises(BadSettings, match="settings"):
        async with open_services(settings):
            pass

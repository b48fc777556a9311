"""Kill -9 between every two steps of a download, and bugs that the audit of downloads must name.

The client is scripted, so that no daemon is needed; `make test-media` does the same with real ones.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from headwater.anime.download_clients.connection import DownloadClientConfig
from tests.crash.seeded import AuditedBug
from tests.media.season import FOREIGN, SHOW, ani, first_weeks, last_week
from tests.media.seeded import BUGS
from tests.media.stage import Stage, opened_stage
from tests.media.swarm import ScriptedSwarm
from tests.support.planted_bugs import plant
from tests.support.scripted_qbittorrent import USER, V5_2, ScriptedQBittorrent

pytestmark = [pytest.mark.crash, pytest.mark.timeout(900)]


@asynccontextmanager
async def scripted_season(
    room: Path, *, is_doomed: bool = False, source: Path | None = None
) -> AsyncIterator[tuple[Stage, ScriptedQBittorrent]]:
    async with ScriptedQBittorrent(V5_2) as client:
        folder = str(room / "somebody")
        client.hold(FOREIGN.infohash, name=FOREIGN.name, save_path=folder, tags="somebody")
        plan = DownloadClientConfig("qbittorrent", client.url, USER, client.password)
        async with opened_stage(
            room,
            plan,
            ScriptedSwarm(client),
            foreign=FOREIGN.infohash,
            is_doomed=is_doomed,
            source=source,
        ) as stage:
            yield stage, client


async def lived_through(stage: Stage) -> None:
    await stage.track(SHOW)
    held = await first_weeks(stage)
    fourth = ani(stage.site, 4)
    stage.publish(fourth)
    await stage.until_shown(held | {(1, 4): fourth})
    await last_week(stage)


async def test_every_episode_is_there_once_at_the_end_of_a_season(tmp_path: Path) -> None:
    async with scripted_season(tmp_path) as (stage, client):
        await lived_through(stage)
        (everything,) = set(client.torrents) - {FOREIGN.infohash}
        assert everything == stage.published[-1].infohash


async def test_every_episode_is_there_once_after_a_kill_between_every_two_steps(
    long_run: None, tmp_path: Path, figures: list[str]
) -> None:
    async with scripted_season(tmp_path, is_doomed=True) as (stage, client):
        await lived_through(stage)
        figures.append(f"died at {len(stage.deaths)} points, {stage.starts} starts")
        assert len(stage.deaths) >= 25, stage.deaths
        (everything,) = set(client.torrents) - {FOREIGN.infohash}
        assert everything == stage.published[-1].infohash


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
async def test_the_audit_of_downloads_names(
    long_run: None, bug: AuditedBug, tmp_path: Path, figures: list[str]
) -> None:
    source = plant(bug, tmp_path)
    async with scripted_season(tmp_path, source=source) as (stage, _):
        with pytest.raises(AssertionError):
            await lived_through(stage)
        broken = stage.broken()
    figures.append(f"{bug.name}: {broken[:1]}")
    names = {each.invariant for each in broken}
    assert names, "nobody noticed"
    assert names <= bug.found_as, "\n".join(map(str, broken))

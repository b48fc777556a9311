"""A whole season with each real client: every episode once, from the best release."""

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from headwater.anime.downloads.ports import NewClientTorrent
from tests.media.daemons import Client
from tests.media.season import (
    FOREIGN,
    SHOW,
    ani,
    at,
    downloader_of,
    first_weeks,
    is_as_seeded,
    last_week,
    loli,
)
from tests.media.stage import Stage, opened_stage
from tests.media.swarm import real_swarm

pytestmark = pytest.mark.timeout(1800)

FULL = str(10**15)
SMALL_DISK = 8_000_000


@asynccontextmanager
async def season(client: Client, room: Path, *, is_doomed: bool = False) -> AsyncIterator[Stage]:
    """Somebody else's torrent is there first, and there as it was at the end."""
    with real_swarm(client, room / "seeded") as swarm:
        stage = opened_stage(
            room, client.plan, swarm, foreign=FOREIGN.infohash, is_doomed=is_doomed
        )
        async with stage as opened:
            await foreign_torrent_comes(opened)
            yield opened
            await foreign_torrent_is_untouched(opened)


async def foreign_torrent_comes(stage: Stage) -> None:
    stage.swarm.seed(FOREIGN)
    somebody = downloader_of(stage, tag="somebody")
    folder, stage.also_helped = stage.room / "somebody", stage.auditor.foreign
    await somebody.add(NewClientTorrent(FOREIGN.infohash, str(folder), FOREIGN.torrent))
    await stage.until(
        lambda: (folder / FOREIGN.name).exists() and is_as_seeded(folder, FOREIGN),
        "downloaded by somebody else",
    )
    stage.also_helped = frozenset()
    await somebody.close()


async def foreign_torrent_is_untouched(stage: Stage) -> None:
    somebody = downloader_of(stage, tag="somebody")
    job = (await somebody.list_torrents([FOREIGN.infohash])).get(FOREIGN.infohash)
    await somebody.close()
    if stage.plan.kind != "aria2" or job is not None:  # it forgets things when it is killed
        assert job is not None
        assert (job.state, job.is_ours) == ("complete", True)
    assert is_as_seeded(stage.room / "somebody", FOREIGN)
    assert not [call for call in stage.witness.calls if call[1] == FOREIGN.infohash]


async def client_has_only(stage: Stage, *infohashes: str) -> None:
    """Of everything that was ever published."""
    ours = downloader_of(stage)
    jobs = await ours.list_torrents([each.infohash for each in stage.published])
    await ours.close()
    assert sorted(jobs) == sorted(infohashes)


async def test_a_season_ends_with_every_episode_once(client: Client, tmp_path: Path) -> None:
    async with season(client, tmp_path) as stage:
        await stage.track(SHOW)
        held = await first_weeks(stage)
        # No room: nothing is begun, nothing is lost.
        await stage.restart(media_free_bytes=FULL)
        fourth = ani(stage.site, 4)
        stage.publish(fourth)
        await stage.until(
            lambda: [row["error"] for row in stage.downloads()][-1] == "no_room", "out of room"
        )
        assert stage.watch.shown().get((1, 4)) is None
        await stage.restart(media_free_bytes="0")
        await stage.until_shown(held | {(1, 4): fourth})
        # The client dies in the middle of a download.
        stage.helping = False
        better = loli(stage.site, 4)
        stage.publish(better)
        await stage.until(lambda: ("add", better.infohash) in stage.witness.calls, "added")
        go_away(client)
        await stage.until(
            lambda: [row["error"] for row in stage.downloads()][-1] == "download_client_down",
            "noticed",
        )
        client.server.start()
        stage.helping = True
        await stage.until_shown(held | {(1, 4): better})
        expected = await last_week(stage)
        await client_has_only(stage, *{each.infohash for each in expected.values()})
        recycled = [place for place in (tmp_path / "library").rglob("*.mkv") if is_recycled(place)]
        assert len(recycled) == 8


def go_away(client: Client) -> None:
    """Transmission writes down where torrents belong, and their labels, only now and then: killed,
    it has forgotten that of its newest ones, also of those that are not ours."""
    if client.kind == "transmission":
        client.server.stop()
    else:
        client.server.kill()


def is_recycled(place: Path) -> bool:
    return ".headwater-recycle" in place.parts


async def test_a_season_survives_kill_9_between_every_two_steps(
    client: Client, tmp_path: Path
) -> None:
    async with season(client, tmp_path, is_doomed=True) as stage:
        await stage.track(SHOW)
        held = await first_weeks(stage)
        fourth = ani(stage.site, 4)
        stage.publish(fourth)
        await stage.until_shown(held | {(1, 4): fourth})
        expected = await last_week(stage)
        await client_has_only(stage, *{each.infohash for each in expected.values()})
        assert len(stage.deaths) >= 25, stage.deaths


@contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """A file system of its own that can really be full. Only root may make one."""
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "headwater", str(place)]
    if os.geteuid() != 0 or subprocess.run(words, capture_output=True).returncode != 0:
        pytest.skip("nobody may mount a file system here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


async def test_a_disk_that_fills_up_in_the_middle_loses_nothing(
    client: Client, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk") as room:
        async with season(client, room) as stage:
            await stage.track(SHOW)
            one = ani(stage.site, 1)
            stage.publish(one)
            await stage.until_shown(at(one))
            stage.helping = False
            better = loli(stage.site, 1)
            stage.publish(better)
            await stage.until(lambda: ("add", better.infohash) in stage.witness.calls, "added")
            filler = room / "filler"
            fill(filler)
            stage.helping = True
            await stage.for_a_while(3.0)
            assert [each.digest for each in stage.watch.shown()[1, 1]] == [one.digest]
            filler.unlink()
            await stage.until_shown(at(better))


def fill(place: Path) -> None:
    with place.open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            return

"""The whole way with each real client: from an intent into the library, and out of it again."""

import asyncio
import time
from pathlib import Path

import pytest

from headwater.adapters.clock import SystemClock
from headwater.adapters.database import SqlDatabase
from headwater.anime.download_clients.open_client import open_download_client
from headwater.anime.downloads.download import Download
from headwater.anime.downloads.ports import NewClientTorrent
from headwater.web.limits import WebLimits
from tests.media.daemons import Client
from tests.media.seeding import Seeder, seeder
from tests.support.download_world import Yard, opened_yard
from tests.support.torrents import Made, made

BODY = bytes(range(256)) * 1024
OLD = made("[Good] Show - 01 [1080p].mkv", BODY)
SECOND = made("[Good] Show - 01v2 [1080p].mkv", BODY[::-1])
BETTER = made("[Best] Show - 01 [1080p].mkv", BODY[7:] + BODY[:7])
FOREIGN = made("[Good] Show - 01 [720p].mkv", BODY[9:] + BODY[:9])
GOOD = "Show (2025)/Season 01/Show - S01E01 [Good].mkv"
BEST = "Show (2025)/Season 01/Show - S01E01 [Best].mkv"
WITHIN = 60.0

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)


async def through(
    yard: Yard, client: Client, source: Seeder, title: str, torrent: Made
) -> Download:
    """Looks again and again, as the service does, until nothing is left to do."""
    source.seed(torrent)
    download, ends = await yard.offer(title, torrent), time.monotonic() + WITHIN
    while time.monotonic() < ends:
        source.dial(torrent.infohash, client.peers)
        await yard.downloads.look()
        await yard.downloads.all_done()
        if (await yard.now(download)).state in ("done", "failed"):
            return await yard.now(download)
        await asyncio.sleep(0.1)
    raise AssertionError(f"not done: {await yard.now(download)}")


async def test_an_episode_its_second_version_and_a_better_group(
    client: Client, database: SqlDatabase, tmp_path: Path
) -> None:
    downloader = open_download_client(client.plan, WebLimits(), "Headwater/test")
    elsewhere = client.room / "mine"
    with seeder(tmp_path / "seeds") as source:
        async with opened_yard(
            database, tmp_path, downloader=downloader, own_clock=SystemClock()
        ) as yard:
            yard.policy(look=0.2)
            await downloader.add(
                NewClientTorrent(FOREIGN.infohash, str(elsewhere), FOREIGN.torrent)
            )
            first = await through(yard, client, source, "[Good] Show - 01 [1080p]", OLD)
            assert (first.state, yard.shown()) == ("done", {GOOD: OLD.files[OLD.name]})
            second = await through(yard, client, source, "[Good] Show - 01v2 [1080p]", SECOND)
            assert (second.state, yard.shown()) == ("done", {GOOD: SECOND.files[SECOND.name]})
            assert (await yard.now(first)).state == "retired"
            third = await through(yard, client, source, "[Best] Show - 01 [1080p]", BETTER)
            assert (third.state, yard.shown()) == ("done", {BEST: BETTER.files[BETTER.name]})
            assert (await yard.now(second)).state == "retired"
            assert sorted(yard.recycled()) == sorted([BODY, BODY[::-1]])
            every = [each.infohash for each in (OLD, SECOND, BETTER, FOREIGN)]
            await _gone(downloader, [OLD.infohash, SECOND.infohash])
            assert set(await downloader.list_torrents(every)) == {BETTER.infohash, FOREIGN.infohash}
            kept = {p.name for p in (tmp_path / "downloads").rglob("*") if p.is_file()}
            assert kept - {f"{BETTER.name}.aria2"} == {BETTER.name}
    await downloader.close()


async def _gone(downloader: object, infohashes: list[str]) -> None:
    """Some clients forget a torrent a moment after they said so."""
    ends = time.monotonic() + WITHIN
    while await downloader.list_torrents(infohashes):  # type: ignore[attr-defined]
        assert time.monotonic() < ends
        await asyncio.sleep(0.1)

"""One contract for all download clients, on the real ones."""

import asyncio
import time
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headwater.anime.download_clients.open_client import open_download_client
from headwater.anime.download_clients.transmission import Transmission
from headwater.anime.downloads.ports import (
    ClientDown,
    ClientRefused,
    ClientTorrent,
    DownloadClient,
    NewClientTorrent,
)
from headwater.web.limits import WebLimits
from tests.media.daemons import Client
from tests.media.seeding import Seeder, seeder
from tests.support.torrents import Made, made

AGENT = "Headwater/test"
BODY = bytes(range(256)) * 1024
EPISODE = made("Show - 01.mkv", BODY)
FOLDER = made("Show", {"Season 1/01.mkv": BODY, "notes.txt": b"hello" * 100})
WITHIN = 60.0


@pytest.fixture
async def downloader(client: Client) -> AsyncIterator[DownloadClient]:
    opened = open_download_client(client.plan, WebLimits(), AGENT)
    yield opened
    await opened.close()


async def completed(
    downloader: DownloadClient, client: Client, source: Seeder, torrent: Made
) -> ClientTorrent:
    """Looks again and again, as the product does."""
    job, ends = None, time.monotonic() + WITHIN
    while time.monotonic() < ends:
        source.dial(torrent.infohash, client.peers)
        job = (await downloader.list_torrents([torrent.infohash])).get(torrent.infohash)
        if job is not None and job.state == "complete":
            return job
        await asyncio.sleep(0.2)
    raise AssertionError(f"not complete: {job}")


async def added(downloader: DownloadClient, wish: NewClientTorrent) -> ClientTorrent:
    """A client says that it takes it first, and lists it then."""
    await downloader.add(wish)
    ends = time.monotonic() + WITHIN
    while (found := (await downloader.list_torrents([wish.infohash])).get(wish.infohash)) is None:
        assert time.monotonic() < ends, "it does not list what it took"
        await asyncio.sleep(0.1)
    return found


async def test_it_tells_its_name(downloader: DownloadClient, client: Client) -> None:
    said = await downloader.version()
    assert said.lower().startswith(client.kind)
    assert any(letter.isdigit() for letter in said)


@pytest.mark.parametrize("torrent", [EPISODE, FOLDER], ids=["file", "folder"])
async def test_a_torrent_is_added_completes_and_its_files_are_as_seeded(
    downloader: DownloadClient, client: Client, tmp_path: Path, torrent: Made
) -> None:
    goal = client.room / "goal"
    with seeder(tmp_path) as source:
        source.seed(torrent)
        await downloader.add(NewClientTorrent(torrent.infohash, str(goal), torrent.torrent))
        job = await completed(downloader, client, source, torrent)
    assert (job.infohash, job.is_ours, job.progress) == (torrent.infohash, True, 1.0)
    assert Path(job.save_path) == goal
    files = await downloader.files(torrent.infohash)
    assert {f.path: f.length for f in files} == {k: len(v) for k, v in torrent.files.items()}
    assert {k: (goal / k).read_bytes() for k in torrent.files} == dict(torrent.files)


async def test_adding_twice_is_adding_once(downloader: DownloadClient, client: Client) -> None:
    wish = NewClientTorrent(EPISODE.infohash, str(client.room / "goal"), EPISODE.torrent)
    await downloader.add(wish)
    await added(downloader, wish)
    assert list(await downloader.list_torrents([EPISODE.infohash])) == [EPISODE.infohash]


async def test_a_magnet_link_is_taken(downloader: DownloadClient, client: Client) -> None:
    magnet = f"magnet:?xt=urn:btih:{EPISODE.infohash}&dn=Show"
    wish = NewClientTorrent(EPISODE.infohash, str(client.room / "goal"), magnet=magnet)
    job = await added(downloader, wish)
    assert job.state in ("waiting", "downloading")
    assert list(await downloader.files(EPISODE.infohash)) == []


async def test_what_is_not_there_is_not_there(downloader: DownloadClient) -> None:
    assert await downloader.list_torrents(["0" * 40]) == {}
    assert await downloader.remove("0" * 40, with_files=True) is False


async def test_what_is_removed_is_gone_and_the_rest_stays(
    downloader: DownloadClient, client: Client
) -> None:
    for torrent in (EPISODE, FOLDER):
        wish = NewClientTorrent(torrent.infohash, str(client.room / "goal"), torrent.torrent)
        await added(downloader, wish)
    assert await downloader.remove(EPISODE.infohash, with_files=True) is True
    ends = time.monotonic() + WITHIN
    while EPISODE.infohash in await downloader.list_torrents([EPISODE.infohash]):
        assert time.monotonic() < ends
        await asyncio.sleep(0.1)
    assert list(await downloader.list_torrents([EPISODE.infohash, FOLDER.infohash])) == [
        FOLDER.infohash
    ]


async def test_somebody_elses_torrent_is_never_removed(
    downloader: DownloadClient, client: Client
) -> None:
    if client.kind == "aria2":
        pytest.skip("aria2 has no tags; what is ours is known by the hashes we wrote down")
    other = open_download_client(
        type(client.plan)(
            client.kind,
            client.plan.url,
            client.plan.username,
            client.plan.password,
            tag="somebody",
            category="somebody",
        ),
        WebLimits(),
        AGENT,
    )
    await added(
        other, NewClientTorrent(EPISODE.infohash, str(client.room / "goal"), EPISODE.torrent)
    )
    await other.close()
    with pytest.raises(ClientRefused):
        await downloader.remove(EPISODE.infohash, with_files=True)
    assert (await downloader.list_torrents([EPISODE.infohash]))[EPISODE.infohash].is_ours is False


async def test_a_wrong_password_is_a_client_that_is_down(client: Client) -> None:
    plan = type(client.plan)(client.kind, client.plan.url, client.plan.username, "wrong")
    downloader = open_download_client(plan, WebLimits(), AGENT)
    with pytest.raises(ClientDown):
        await downloader.version()
    await downloader.close()


async def test_a_client_that_was_killed_has_it_or_takes_it_again(
    downloader: DownloadClient, client: Client
) -> None:
    """Some write their list down only now and then."""
    wish = NewClientTorrent(EPISODE.infohash, str(client.room / "goal"), EPISODE.torrent)
    await downloader.add(wish)
    client.server.kill()
    with pytest.raises(ClientDown):
        await downloader.list_torrents([EPISODE.infohash])
    client.server.start()
    assert (await added(downloader, wish)).is_ours


async def test_what_was_taken_just_before_a_restart_is_downloaded_after_it(
    downloader: DownloadClient, client: Client, tmp_path: Path
) -> None:
    """Transmission comes back with it, but had not begun it yet, and would leave it so."""
    with seeder(tmp_path) as source:
        for torrent in (FOLDER, EPISODE):
            source.seed(torrent)
        goal = str(client.room / "goal")
        await downloader.add(NewClientTorrent(FOLDER.infohash, goal, FOLDER.torrent))
        await completed(downloader, client, source, FOLDER)
        wish = NewClientTorrent(EPISODE.infohash, goal, EPISODE.torrent)
        await downloader.add(wish)
        client.server.stop()
        client.server.start()
        ends = time.monotonic() + 5.0  # it reads its list, with this one in it or not
        while not await downloader.list_torrents([EPISODE.infohash]):
            if time.monotonic() > ends:
                break
            await asyncio.sleep(0.1)
        await downloader.add(wish)
        job = await completed(downloader, client, source, EPISODE)
    assert job.is_ours


@pytest.mark.parametrize(
    ("folder", "labels", "is_ours"),
    [("goal", [], True), ("elsewhere", [], False), ("goal", ["somebody"], False)],
)
async def test_what_transmission_took_from_us_without_a_label_gets_it_later(
    downloader: DownloadClient, client: Client, folder: str, labels: list[str], is_ours: bool
) -> None:
    """It may be gone between the two questions. Nobody else puts one into a folder of ours."""
    if not isinstance(downloader, Transmission):
        pytest.skip("the others take a torrent and its tag in one question, or have no tags")
    bare = {
        "download-dir": str(client.room / folder),
        "metainfo": b64encode(EPISODE.torrent).decode(),
    }
    await downloader._request("torrent-add", bare)
    await downloader._request("torrent-set", {"ids": [EPISODE.infohash], "labels": labels})
    wish = NewClientTorrent(EPISODE.infohash, str(client.room / "goal"), EPISODE.torrent)
    assert (await added(downloader, wish)).is_ours is is_ours

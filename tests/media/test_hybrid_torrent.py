"""A torrent of both versions, as newer tools make them: qBittorrent calls it by its second hash."""

import asyncio
from dataclasses import replace
from hashlib import sha1, sha256

from headwater.anime.download_clients.open_client import open_download_client
from headwater.anime.downloads.ports import DownloadClient, NewClientTorrent
from headwater.anime.torrents.torrent_file import parse_torrent
from headwater.web.limits import WebLimits
from tests.media.daemons import own_client
from tests.support.bencoding import bencoded

BODY = bytes(range(256)) * 1024
BLOCK = 16 * 1024


def hybrid(name: str, body: bytes) -> bytes:
    row = [sha256(body[at : at + BLOCK]).digest() for at in range(0, len(body), BLOCK)]
    while len(row) > 1:
        row = [sha256(row[n] + row[n + 1]).digest() for n in range(0, len(row), 2)]
    info = {
        "file tree": {name: {"": {"length": len(body), "pieces root": row[0]}}},
        "length": len(body),
        "meta version": 2,
        "name": name,
        "piece length": 1 << 20,
        "pieces": sha1(body, usedforsecurity=False).digest(),
    }
    return b"d4:info" + bencoded(info) + b"12:piece layersdee"


async def _until(downloader: DownloadClient, infohash: str, *, there: bool) -> None:
    for _ in range(200):
        if (infohash in await downloader.list_torrents([infohash])) is there:
            return
        await asyncio.sleep(0.1)
    raise AssertionError("the client did not do it within 20 s")


async def test_somebody_elses_torrent_of_both_versions_is_found_where_it_is() -> None:
    body = hybrid("Show - 01.mkv", BODY)
    infohash = parse_torrent(body).infohash
    with own_client("qbittorrent") as client:
        downloader = open_download_client(client.plan, WebLimits(), "Headwater/test")
        own = replace(client.plan, tag="somebody", category="somebody")
        somebody = open_download_client(own, WebLimits(), "Headwater/test")
        try:
            theirs = str(client.room / "theirs")
            await somebody.add(NewClientTorrent(infohash, theirs, body))
            await _until(somebody, infohash, there=True)
            await downloader.add(NewClientTorrent(infohash, str(client.room / "goal"), body))
            job = (await downloader.list_torrents([infohash]))[infohash]
            assert (job.infohash, job.save_path, job.is_ours) == (infohash, theirs, False)
        finally:
            await downloader.close()
            await somebody.close()


async def test_a_torrent_of_both_versions_is_found_and_removed() -> None:
    body = hybrid("Show - 01.mkv", BODY)
    infohash = parse_torrent(body).infohash
    with own_client("qbittorrent") as client:
        downloader = open_download_client(client.plan, WebLimits(), "Headwater/test")
        try:
            wish = NewClientTorrent(infohash, str(client.room / "goal"), body)
            await downloader.add(wish)
            await _until(downloader, infohash, there=True)
            await downloader.add(wish)
            assert [file.path for file in await downloader.files(infohash)] == ["Show - 01.mkv"]
            assert await downloader.remove(infohash, with_files=True)
            await _until(downloader, infohash, there=False)
        finally:
            await downloader.close()

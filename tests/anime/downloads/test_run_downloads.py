"""From the intent to the library: each step once, and what it says of itself."""

from pathlib import Path

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.anime.downloads.disk_library import PlaceMethod
from headwater.anime.downloads.download_commands import drop_download
from tests.support.download_world import Yard, opened_yard
from tests.support.torrents import made

BODY = bytes(range(256)) * 200
FIRST = made("[Good] Show - 01.mkv", BODY)
PLACE = "Show (2025)/Season 01/Show - S01E01 [Good].mkv"


async def test_an_intent_becomes_an_episode_in_the_library(yard: Yard) -> None:
    download = await yard.offer("[Good] Show - 01 [1080p]", FIRST)
    assert download.state == "intended"
    assert yard.client.asked == []
    await yard.turn()
    assert (await yard.now(download)).state == "added"
    assert yard.client.held[FIRST.infohash].wish.torrent == FIRST.torrent
    yard.client.deliver(FIRST)
    await yard.turn(3)
    done = await yard.now(download)
    assert (done.state, done.progress, done.error) == ("done", 1000, None)
    assert yard.shown() == {PLACE: BODY}
    assert [kind for kind, _ in await yard.told()] == ["release_found", "release_downloaded"]
    told = (await yard.told())[1][1]
    assert (told["files"], told["infohash"]) == ([PLACE], FIRST.infohash)


async def test_subtitles_come_along_and_the_rest_is_told(yard: Yard) -> None:
    folder = made(
        "[Good] Show - 01",
        {"[Good] Show - 01.mkv": BODY, "[Good] Show - 01.sc.ass": b"hello", "readme.txt": b"x"},
    )
    done = await yard.collect("[Good] Show - 01 [1080p]", folder)
    assert done.state == "done"
    assert yard.shown() == {PLACE: BODY, PLACE.replace(".mkv", ".CHS.zh.ass"): b"hello"}
    assert done.detail == "[Good] Show - 01/readme.txt: It is no video."


async def test_a_pack_is_taken_apart_file_by_file(yard: Yard) -> None:
    files = {f"[Good] Show - {n:02}.mkv": BODY + bytes([n]) for n in range(1, 13)}
    done = await yard.collect("[Good] Show [01-12][1080p]", made("[Good] Show", files))
    assert done.state == "done"
    assert list(yard.shown()) == [
        f"Show (2025)/Season 01/Show - S01E{n:02} [Good].mkv" for n in range(1, 13)
    ]
    assert (await yard.told())[-1][0] == "release_downloaded"


async def test_nfo_files_stand_beside_and_leave_with_their_video(yard: Yard) -> None:
    yard.policy(nfo=True)
    download = await yard.collect("[Good] Show - 01 [1080p]", FIRST)
    assert set(yard.shown()) == {PLACE, PLACE[:-3] + "nfo", "Show (2025)/tvshow.nfo"}
    await drop_download(yard.engine.database, download.id)
    await yard.turn(2)
    assert list(yard.shown()) == ["Show (2025)/tvshow.nfo"]


async def test_a_magnet_link_is_enough(yard: Yard) -> None:
    magnet = f"magnet:?xt=urn:btih:{FIRST.infohash}&dn=x"
    done = await yard.collect("[Good] Show - 01", FIRST, torrent_url=None, magnet=magnet)
    assert (done.state, yard.shown()) == ("done", {PLACE: BODY})
    assert "files" in yard.client.asked


async def test_the_client_is_told_the_folder_by_the_name_that_it_uses(yard: Yard) -> None:
    yard.policy(client_downloads="/data/torrents")
    download = await yard.offer("[Good] Show - 01", FIRST)
    await yard.turn()
    held = yard.client.held[FIRST.infohash]
    assert held.wish.save_path == f"/data/torrents/{download.save_path}"


@pytest.mark.parametrize("way", ["copy", "move"])
async def test_files_may_be_copied_or_moved(
    database: SqlDatabase, tmp_path: Path, way: PlaceMethod
) -> None:
    async with opened_yard(database, tmp_path, way=way) as yard:
        await yard.collect("[Good] Show - 01", FIRST)
        second = made("[Good] Show - 01v2.mkv", BODY[::-1])
        await yard.collect("[Good] Show - 01v2", second)
        assert yard.shown() == {PLACE: BODY[::-1]}
        assert yard.recycled() == [BODY]

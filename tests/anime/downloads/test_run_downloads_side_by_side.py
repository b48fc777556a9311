"""Downloads beside each other: what one of them gains or gives up is no other's loss."""

import asyncio
import shutil
import threading
from pathlib import Path
from typing import IO

import pytest

from headwater.adapters.database import SqlDatabase
from headwater.anime.decide.decide_by_hand import take_release
from headwater.anime.downloads import download_rows
from headwater.anime.downloads.disk_library import DiskMediaLibrary
from headwater.anime.downloads.download_commands import drop_download
from headwater.anime.downloads.ports import LibraryTrouble, NewClientTorrent, NoRoom
from headwater.anime.naming.library_path import build_naming
from headwater.anime.shows import tracking_rows
from headwater.anime.shows.preferences import Preferences
from headwater.anime.shows.tracking import Tracking
from tests.support.download_world import Held, Yard, opened_yard
from tests.support.torrents import made

BODY = bytes(range(256)) * 200
FIRST = made("[Good] Show - 01.mkv", BODY)
SECOND = made("[Good] Show - 01v2.mkv", BODY[::-1])
BETTER = made("[Best] Show - 01.mkv", BODY[3:] + BODY[:3])
OTHER = made("[Good] Show - 02.mkv", BODY[5:])
SEASON = "Show (2025)/Season 01"
GOOD, BEST = f"{SEASON}/Show - S01E01 [Good].mkv", f"{SEASON}/Show - S01E01 [Best].mkv"


async def test_what_a_person_took_is_not_dropped_because_another_episode_came(yard: Yard) -> None:
    await yard.collect("[Best] Show - 01", BETTER)
    await take_release(yard.engine.database, await yard.offer_skipped("[Good] Show - 01", FIRST))
    await yard.turn(2)
    await yard.collect("[Good] Show - 02", OTHER)
    yard.client.deliver(FIRST)
    await yard.turn(6)
    assert sorted(yard.shown()) == [GOOD, f"{SEASON}/Show - S01E02 [Good].mkv"]


async def test_an_upgrade_on_its_way_stays_when_another_feed_brings_another_episode(
    yard: Yard,
) -> None:
    """Another tracking of the same show, without an order of groups."""
    feed = "0198a000-0000-7000-8000-000000000002"
    async with yard.engine.database.write() as tx:
        wish = Tracking(0, yard.tracking.show_id, feed, Preferences())
        second = await tracking_rows.insert_tracking(tx, wish, yard.clock.now())
    await yard.collect("[Good] Show - 01", FIRST)
    upgrade = await yard.offer("[Best] Show - 01", BETTER)
    await yard.turn(2)
    yard.tracking = second
    await yard.collect("[Good] Show - 02", OTHER)
    assert (await yard.now(upgrade)).state == "added"


async def test_a_second_version_that_is_given_up_lets_go_of_the_place_of_the_first(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library's disk is full, and then the client forgets the torrent and finds nobody."""
    old = await yard.collect("[Good] Show - 01", FIRST)

    async def full(*_: object, **__: object) -> None:
        raise NoRoom("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(DiskMediaLibrary, "switch", full)
        second = await yard.collect("[Good] Show - 01v2", SECOND)
        assert (second.state, second.error) == ("verified", "no_room")
        del yard.client.held[SECOND.infohash]
        await yard.clock.advance(60)
        await yard.turn(3)
        await yard.hours(73)
    assert (await yard.now(second)).error == "stalled"
    assert [file.state for file in await yard.files(old)] == ["placed"]
    best = await yard.collect("[Best] Show - 01", BETTER)
    assert ((await yard.now(old)).state, best.state) == ("retired", "done")
    assert sorted(yard.shown()) == [BEST]


async def test_what_is_copied_while_it_loses_its_place_does_not_stay(
    database: SqlDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A torrent that a person had in the client before, so that its files stay there."""
    began, go_on, whole = threading.Event(), threading.Event(), shutil.copyfileobj

    def slow(source: IO[bytes], copy: IO[bytes], size: int) -> None:
        if source.name.endswith(FIRST.name):  # a large file, on its way to another disk
            began.set()
            go_on.wait(20)
        whole(source, copy, size)

    monkeypatch.setattr(shutil, "copyfileobj", slow)
    async with opened_yard(database, tmp_path, way="copy") as yard:
        mine = NewClientTorrent(
            FIRST.infohash, str(yard.root / "downloads" / "mine"), FIRST.torrent
        )
        yard.client.held[FIRST.infohash] = Held(mine, is_ours=False)
        worse = await yard.offer("[Good] Show - 01", FIRST)
        better = await yard.offer("[Best] Show - 01", BETTER)
        await yard.turn(2)
        yard.client.deliver(FIRST)
        yard.client.deliver(BETTER)
        for _ in range(400):
            await yard.downloads.look()
            await asyncio.sleep(0.01)  # threads copy meanwhile
            await yard.clock.advance(1)
            if began.is_set() and (await yard.now(better)).state == "done":
                break
        assert ((await yard.now(worse)).state, (await yard.now(better)).state) == (
            "dropped",
            "done",
        )
        go_on.set()
        await yard.turn(8)
        assert sorted(yard.shown()) == [BEST]


async def test_leases_are_kept_beside_one_that_takes_the_place_of_another(yard: Yard) -> None:
    """Who is linked locks its own row, then the row of whoever it replaces; leases of both are
    kept meanwhile. The second lock is taken when the keeper has had all the time it needs."""
    old = await yard.offer("[Good] Show - 01", FIRST)
    new = await yard.offer("[Best] Show - 01", BETTER)
    database, now = yard.engine.database, yard.clock.now()
    async with database.write() as tx:
        held = await download_rows.claim_downloads(tx, "me", ("intended",), now, now, 9)
    assert [each.id for each in held] == [old.id, new.id]

    async def keep_leases() -> None:
        async with database.write() as tx:
            await download_rows.renew_downloads(tx, held, now)

    async with database.write() as tx:
        await download_rows.get_download(tx, new.id, lock=True)
        keeping = asyncio.ensure_future(keep_leases())
        await asyncio.wait({keeping}, timeout=0.3)
        await download_rows.get_download(tx, old.id, lock=True)
    await keeping


async def test_a_template_without_folders_has_no_file_about_the_show(yard: Yard) -> None:
    yard.policy(nfo=True, naming=build_naming(episode="{title} - S{season:02}E{episode:02}"))
    done = await yard.collect("[Good] Show - 01", FIRST)
    assert (done.state, done.error) == ("done", None)
    assert sorted(yard.shown()) == ["Show - S01E01.mkv", "Show - S01E01.nfo"]


async def test_what_cannot_come_into_the_library_can_be_dropped(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read_only(*_: object, **__: object) -> None:
        raise LibraryTrouble("Read-only file system")

    monkeypatch.setattr(DiskMediaLibrary, "place", read_only)
    download = await yard.collect("[Good] Show - 01", FIRST)
    assert (download.state, download.error) == ("verified", "library_trouble")
    await drop_download(yard.engine.database, download.id)
    await yard.turn(3)
    assert (await yard.now(download)).state == "dropped"


async def test_a_pack_that_fills_one_gap_has_its_own_subtitles(yard: Yard) -> None:
    for n in (1, 2, 3, 5):
        body = BODY + bytes([n])
        await yard.collect(f"[Best] Show - {n:02}", made(f"[Best] Show - {n:02}.mkv", body))
    files = {}
    for n in range(1, 6):
        files[f"[Good] Show - {n:02}.mkv"] = BODY + bytes([100 + n])
        files[f"[Good] Show - {n:02}.ass"] = f"subtitles of {n}".encode()
    await yard.collect("[Good] Show [01-05]", made("[Good] Show", files))
    shown = yard.shown()
    assert shown[f"{SEASON}/Show - S01E04 [Good].mkv"] == BODY + bytes([104])
    assert shown[f"{SEASON}/Show - S01E04 [Good].ass"] == b"subtitles of 4"


@pytest.mark.parametrize("episode", ["{title} - S{season:02}E{episode:02}", None])
async def test_what_came_of_a_pack_that_is_given_up_does_not_stay_in_the_library(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, episode: str | None
) -> None:
    """The library's disk is full after its first file; then the client forgets the torrent."""
    if episode is not None:  # the next release of an episode is called the same
        yard.policy(naming=build_naming(episode=episode))
    pack = made("[Good] Show", {f"[Good] Show - {n:02}.mkv": BODY + bytes([n]) for n in (1, 2)})
    really = DiskMediaLibrary.place

    async def full(
        library: DiskMediaLibrary, source: str, target: str, *, keep: bool = False
    ) -> str:
        if "02" in source:
            raise NoRoom("No space left on device")
        return await really(library, source, target, keep=keep)

    with monkeypatch.context() as patch:
        patch.setattr(DiskMediaLibrary, "place", full)
        given_up = await yard.collect("[Good] Show [01-02]", pack)
        assert (given_up.state, given_up.error) == ("verified", "no_room")
        del yard.client.held[pack.infohash]
        await yard.clock.advance(60)
        await yard.turn(3)
        await yard.hours(73)
    assert (await yard.now(given_up)).error == "stalled"
    assert yard.shown() == {}
    await yard.collect("[Best] Show - 01", BETTER)
    assert [*yard.shown()] == ["Show - S01E01.mkv" if episode else BEST]

"""Whatever goes wrong is written down and tried again, and nothing is lost by it."""

import errno
import os
from dataclasses import replace
from datetime import timedelta

import pytest

from headwater.anime.candidate import TorrentCandidate
from headwater.anime.downloads import download_rows
from headwater.anime.downloads.download_commands import drop_download, retry_download
from headwater.anime.downloads.download_rows import StepResult
from headwater.anime.downloads.run_downloads import DownloadRunner
from headwater.core.errors import ConflictError
from tests.support.download_world import FEED, Yard
from tests.support.origin import Reply
from tests.support.torrents import made

BODY = bytes(range(256)) * 200
FIRST = made("[Good] Show - 01.mkv", BODY)
SECOND = made("[Good] Show - 01v2.mkv", BODY[::-1])
OTHER = made("[Good] Show - 02.mkv", BODY[5:])
GOOD = "Show (2025)/Season 01/Show - S01E01 [Good].mkv"


async def test_a_torrent_that_is_not_the_one_of_the_feed_is_refused(yard: Yard) -> None:
    download = await yard.offer("[Good] Show - 01", FIRST, infohash="0" * 40)
    await yard.turn()
    failed = await yard.now(download)
    assert (failed.state, failed.error, yard.client.asked) == ("failed", "other_torrent", [])
    kind, told = (await yard.told())[-1]
    assert (kind, told["error"]) == ("release_failed", "other_torrent")


async def test_a_torrent_without_what_it_was_chosen_for_is_not_downloaded(yard: Yard) -> None:
    download = await yard.offer("[Good] Show - 01", made("music", {"a.flac": BODY}))
    await yard.turn()
    failed = await yard.now(download)
    assert (failed.state, failed.error, yard.client.asked) == ("failed", "nothing_in_it", [])


async def test_a_page_in_place_of_a_torrent_is_given_up_after_three_tries(yard: Yard) -> None:
    download = await yard.offer("[Good] Show - 01", FIRST)
    yard.sites[0].stand_in = Reply(200, b"<html>log in</html>")
    await yard.turn(4)
    failed = await yard.now(download)
    assert (failed.state, failed.error, failed.attempts) == ("failed", "bad_torrent", 3)


async def test_a_site_that_does_not_give_its_torrent_may_have_named_a_magnet_link(
    yard: Yard,
) -> None:
    magnet = f"magnet:?xt=urn:btih:{FIRST.infohash}"
    download = await yard.offer("[Good] Show - 01", FIRST, magnet=magnet)
    yard.sites[0].stand_in = Reply(404)
    await yard.turn(5)
    assert (await yard.now(download)).state == "added"
    assert yard.client.held[FIRST.infohash].wish.magnet == magnet


async def test_an_address_inside_is_not_asked(yard: Yard) -> None:
    download = await yard.offer("[Good] Show - 01", FIRST, torrent_url="http://10.0.0.1/x.torrent")
    await yard.turn()
    failed = await yard.now(download)
    assert (failed.state, failed.error) == ("failed", "blocked_address")


async def test_a_client_that_is_down_counts_for_nobody_and_is_asked_by_one(yard: Yard) -> None:
    yard.client.is_down = True
    one = await yard.offer("[Good] Show - 01", FIRST)
    two = await yard.offer("[Good] Show - 02", OTHER)
    await yard.turn(30)
    for download in (one, two):
        waiting = await yard.now(download)
        assert (waiting.state, waiting.attempts) == ("ready", 0)
    assert (await yard.now(one)).error == "download_client_down"
    yard.client.is_down = False
    await yard.clock.advance(3_600)
    await yard.turn(2)
    assert (await yard.now(one)).state == (await yard.now(two)).state == "added"


async def test_what_the_client_lost_is_given_to_it_again(yard: Yard) -> None:
    download = await yard.offer("[Good] Show - 01", FIRST)
    await yard.turn(2)
    yard.client.held.clear()
    await yard.turn(3)
    assert (await yard.now(download)).state == "added"
    assert yard.client.asked.count(f"add {FIRST.infohash}") == 2


async def test_a_client_that_always_loses_it_is_believed_in_the_end(yard: Yard) -> None:
    yard.policy(attempts=3, pause_cap=1.0)
    download = await yard.offer("[Good] Show - 01", FIRST)
    for _ in range(10):
        await yard.turn()
        yard.client.held.clear()
    failed = await yard.now(download)
    assert (failed.state, failed.error) == ("failed", "lost_by_client")


async def test_wrong_bytes_are_found_and_the_client_looks_again(yard: Yard) -> None:
    download = await yard.offer("[Good] Show - 01", FIRST)
    await yard.turn(2)
    yard.client.deliver(FIRST, {FIRST.name: BODY[:-1] + b"\x00"})
    await yard.turn(2)
    assert (await yard.now(download)).error == "not_as_seeded"
    assert (yard.shown(), f"remove {FIRST.infohash}" in yard.client.asked) == ({}, True)
    await yard.turn(2)
    yard.client.deliver(FIRST)
    await yard.turn(4)
    assert ((await yard.now(download)).state, yard.shown()) == ("done", {GOOD: BODY})


async def test_a_site_that_is_down_is_asked_for_three_days_ever_less_often(yard: Yard) -> None:
    """Nobody has to try again by hand because a site was away for a night."""
    download = await yard.offer("[Good] Show - 01", FIRST)
    yard.sites[0].stand_in = Reply(502)
    hours = 0
    while hours < 71:
        await yard.turn()
        await yard.clock.advance(3_600)
        hours += 1
    waiting = await yard.now(download)
    assert (waiting.state, waiting.error, waiting.attempts) == ("intended", "http_502", 0)
    yard.sites[0].stand_in = Reply(200, FIRST.torrent)
    await yard.clock.advance(3_600)
    await yard.turn(2)
    assert (await yard.now(download)).state == "added"


async def test_a_site_that_stays_down_is_given_up_in_the_end(yard: Yard) -> None:
    yard.policy(attempts=3, stalled=3_600.0, pause_cap=600.0)
    download = await yard.offer("[Good] Show - 01", FIRST)
    yard.sites[0].stand_in = Reply(502)
    asked_before = len(yard.sites[0].requests)
    for _ in range(30):
        await yard.turn()
        await yard.clock.advance(600)
    failed = await yard.now(download)
    assert (failed.state, failed.error, failed.attempts) == ("failed", "http_502", 3)
    assert len(yard.sites[0].requests) - asked_before < 15


@pytest.mark.parametrize("name", ["downloads", "library"])
async def test_a_disk_that_is_not_mounted_is_waited_for(yard: Yard, name: str) -> None:
    """And nothing is written to the place where it will be."""
    away = yard.root / f"{name} is away"
    download = await yard.offer("[Good] Show - 01", FIRST)
    if name == "library":
        await yard.turn(2)
        yard.client.deliver(FIRST)
    (yard.root / name).rename(away)
    yard.policy(attempts=2, pause_cap=1.0)
    await yard.turn(30)
    waiting = await yard.now(download)
    assert (waiting.error, waiting.attempts, waiting.is_standing) == ("folder_gone", 0, True)
    assert not (yard.root / name).exists()
    away.rename(yard.root / name)
    await yard.clock.advance(60)
    await yard.turn(2)
    if name == "downloads":
        yard.client.deliver(FIRST)
        await yard.turn(5)
    assert yard.shown() == {GOOD: BODY}


async def test_nothing_is_begun_without_room(yard: Yard) -> None:
    yard.policy(free_bytes=2**62)
    download = await yard.offer("[Good] Show - 01", FIRST)
    await yard.turn(40)
    waiting = await yard.now(download)
    assert (waiting.state, waiting.error, waiting.attempts) == ("ready", "no_room", 0)
    assert yard.client.held == {}
    yard.policy(free_bytes=0)
    await yard.clock.advance(60)
    await yard.turn(2)
    assert (await yard.now(download)).state == "added"


async def test_a_library_disk_that_is_full_is_waited_for(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "x")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        download = await yard.collect("[Good] Show - 01", FIRST)
        assert (download.state, download.error, download.attempts) == ("verified", "no_room", 0)
    await yard.clock.advance(60)
    await yard.turn(3)
    assert ((await yard.now(download)).state, yard.shown()) == ("done", {GOOD: BODY})


async def test_a_machine_that_was_off_has_not_seen_that_nothing_came(yard: Yard) -> None:
    download = await yard.offer("[Good] Show - 01", FIRST)
    await yard.turn(2)
    await yard.hours(70)
    await yard.clock.advance(96 * 3_600)
    await yard.turn()
    assert (await yard.now(download)).state == "added"
    await yard.hours(1)
    assert (await yard.now(download)).state == "added"
    await yard.hours(2)
    assert (await yard.now(download)).error == "stalled"


async def test_nor_has_one_whose_client_was_down(yard: Yard) -> None:
    download = await yard.offer("[Good] Show - 01", FIRST)
    await yard.turn(2)
    yard.client.is_down = True
    await yard.hours(96)
    waiting = await yard.now(download)
    assert (waiting.state, waiting.error) == ("added", "download_client_down")
    yard.client.is_down = False
    await yard.hours(71)
    assert (await yard.now(download)).state == "added"
    await yard.hours(3)
    assert (await yard.now(download)).error == "stalled"


async def test_without_any_progress_it_is_given_up_and_may_be_tried_again(yard: Yard) -> None:
    download = await yard.offer("[Good] Show - 01", FIRST)
    await yard.turn(2)
    await yard.hours(71)
    assert (await yard.now(download)).state == "added"
    await yard.hours(2)
    assert (await yard.now(download)).error == "stalled"
    yard.client.deliver(FIRST)
    await retry_download(yard.engine.database, download.id)
    await yard.turn(5)
    assert ((await yard.now(download)).state, yard.shown()) == ("done", {GOOD: BODY})


async def test_also_where_the_client_is_asked_once_an_hour_only(yard: Yard) -> None:
    """The longest that `media_look_sec` may be; a look comes a moment after its time."""
    yard.policy(look=3_600.0)
    download = await yard.offer("[Good] Show - 01", FIRST)
    for _ in range(74):
        await yard.turn()
        await yard.clock.advance(1)
    assert (await yard.now(download)).error == "stalled"


async def test_a_client_is_asked_no_more_often_than_the_setting_says(yard: Yard) -> None:
    """Also when no pause and no lease is as long as that."""
    yard.engine.fetch = replace(yard.engine.fetch, retry_after_cap=60.0)
    yard.policy(pause_cap=60.0)
    await yard.offer("[Good] Show - 01", FIRST)
    await yard.turn(2)
    yard.policy(look=1_800.0)
    yard.client.asked.clear()
    for _ in range(120):
        await yard.downloads.look()
        await yard.downloads.all_done()
        await yard.clock.advance(60)
    assert yard.client.asked == ["list_torrents"] * 4


async def test_whoever_lost_the_claim_writes_nothing(yard: Yard) -> None:
    await yard.offer("[Good] Show - 01", FIRST)
    database, now = yard.engine.database, yard.clock.now()
    async with database.write() as tx:
        (mine,) = await download_rows.claim_downloads(tx, "one", ("intended",), now, now, 9)
        (theirs,) = await download_rows.claim_downloads(tx, "two", ("intended",), now, now, 9)
        assert (
            await download_rows.update_claimed_download(tx, mine, StepResult("failed", None), now)
            is None
        )
        assert (
            await download_rows.update_claimed_download(tx, theirs, StepResult("ready", None), now)
            is not None
        )


async def test_whoever_lost_the_claim_keeps_nobody_elses_lease(yard: Yard) -> None:
    download = await yard.offer("[Good] Show - 01", FIRST)
    database, now = yard.engine.database, yard.clock.now()
    soon, later = now + timedelta(seconds=60), now + timedelta(seconds=600)
    async with database.write() as tx:
        (mine,) = await download_rows.claim_downloads(tx, "one", ("intended",), now, now, 9)
        (theirs,) = await download_rows.claim_downloads(tx, "two", ("intended",), now, soon, 9)
        await download_rows.renew_downloads(tx, [mine], later)
    assert (await yard.now(download)).next_step_at == soon
    async with database.write() as tx:
        await download_rows.renew_downloads(tx, [theirs], later)
    assert (await yard.now(download)).next_step_at == later
    async with database.write() as tx:
        assert (
            await download_rows.update_claimed_download(tx, theirs, StepResult("ready", soon), now)
            is not None
        )
        await download_rows.renew_downloads(tx, [theirs], later)  # it put it down already
    assert (await yard.now(download)).next_step_at == soon


@pytest.mark.parametrize("what", ["given back", "woken", "intended again"])
async def test_a_claim_ends_with_every_word_that_overrules_it(yard: Yard, what: str) -> None:
    """Its holder may still be at it, and must not write over what came since."""
    download = await yard.offer("[Good] Show - 01", FIRST)
    database, now = yard.engine.database, yard.clock.now()
    end = now + timedelta(seconds=60)
    async with database.write() as tx:
        (mine,) = await download_rows.claim_downloads(tx, "one", ("intended",), now, end, 9)
        if what == "given back":
            assert await download_rows.release_downloads(tx, "somebody else", now) == 0
            assert await download_rows.release_downloads(tx, "one", now) == 1
        elif what == "woken":
            assert (
                await download_rows.set_download_due(tx, download.id, "intended", now) is not None
            )
        else:
            candidate = TorrentCandidate("uid-1", "[Good] Show - 01", now, feed=FEED)
            again = download_rows.NewDownload(
                download.show_id, download.release_id, candidate, download.slots, (), "again"
            )
            assert (await download_rows.upsert_download(tx, again, now)).id == download.id
        assert (
            await download_rows.update_claimed_download(tx, mine, StepResult("failed", None), now)
            is None
        )
        await download_rows.renew_downloads(tx, [mine], end)
        (next_one,) = await download_rows.claim_downloads(tx, "two", ("intended",), now, end, 9)
    assert next_one.fence > mine.fence
    assert (await yard.now(download)).state == "intended"


async def test_what_a_worker_held_when_it_died_is_due_when_it_comes_back(yard: Yard) -> None:
    download = await yard.offer("[Good] Show - 01", FIRST)
    now = yard.clock.now()
    async with yard.engine.database.write() as tx:
        end = now.replace(year=2030)
        await download_rows.claim_downloads(tx, yard.engine.worker, ("intended",), now, end, 9)
    await yard.turn()
    assert (await yard.now(download)).state == "added"


async def test_what_a_person_drops_is_gone_from_both_and_stays_away(yard: Yard) -> None:
    download = await yard.collect("[Good] Show - 01", FIRST)
    await drop_download(yard.engine.database, download.id)
    await yard.turn(2)
    assert (await yard.now(download)).state == "dropped"
    assert (yard.shown(), yard.recycled(), yard.client.held) == ({}, [BODY], {})
    with pytest.raises(ConflictError):
        await retry_download(yard.engine.database, download.id)


class Dead(BaseException):
    """The process died here."""


@pytest.mark.parametrize("act", ["place", "switch", "recycle", "discard"])
async def test_dying_right_after_an_act_on_the_disk_changes_nothing(
    yard: Yard, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A v2 in the very place of its first version, and an episode beside it."""
    library = yard.downloads.media.library
    whole = getattr(type(library), act)
    died: list[str] = []

    async def fatal(self: object, *given: object, **named: object) -> object:
        done = await whole(self, *given, **named)
        if not died:
            died.append(act)
            raise Dead
        return done

    monkeypatch.setattr(type(library), act, fatal)
    plan = (
        ("[Good] Show - 01", FIRST),
        ("[Good] Show - 01v2", SECOND),
        ("[Good] Show - 02", OTHER),
    )
    better = made("[Best] Show - 02.mkv", BODY[7:])
    for title, torrent in (*plan, ("[Best] Show - 02", better)):
        await yard.offer(title, torrent)
        for turn in range(12):
            if turn == 3:
                yard.client.deliver(torrent)
            await yard.downloads.look()
            await yard.downloads.all_done()
            if died == [act]:
                died.append("and came back")
                yard.downloads = DownloadRunner(yard.engine.releases, replace(yard.downloads.media))
            await yard.clock.advance(10)
    assert died == [act, "and came back"]
    second = "Show (2025)/Season 01/Show - S01E02 [Best].mkv"
    assert yard.shown() == {GOOD: BODY[::-1], second: BODY[7:]}
    assert sorted(yard.recycled()) == sorted([BODY, BODY[5:]])
    assert set(yard.client.held) == {SECOND.infohash, better.infohash}

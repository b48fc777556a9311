"""What is better takes the place of what is there, and nothing goes before that is true."""

from datetime import timedelta

from headwater.anime.decide.decide_by_hand import take_release
from headwater.anime.downloads import download_rows
from headwater.anime.downloads.download_commands import drop_download
from headwater.anime.downloads.ports import NewClientTorrent
from tests.support.download_world import Held, Yard
from tests.support.torrents import Made, made

BODY = bytes(range(256)) * 200
FIRST = made("[Good] Show - 01.mkv", BODY)
SECOND = made("[Good] Show - 01v2.mkv", BODY[::-1])
BETTER = made("[Best] Show - 01.mkv", BODY[3:] + BODY[:3])
GOOD = "Show (2025)/Season 01/Show - S01E01 [Good].mkv"
BEST = "Show (2025)/Season 01/Show - S01E01 [Best].mkv"


async def test_a_better_group_replaces_and_the_old_one_is_kept_for_a_while(yard: Yard) -> None:
    old = await yard.collect("[Good] Show - 01", FIRST)
    new = await yard.collect("[Best] Show - 01", BETTER)
    assert ((await yard.now(old)).state, new.state) == ("retired", "done")
    assert yard.shown() == {BEST: BODY[3:] + BODY[:3]}
    assert yard.recycled() == [BODY]
    assert list(yard.client.held) == [BETTER.infohash]
    told = dict(await yard.told())
    assert told["release_upgraded"]["replaced"] == ["[Good] Show - 01"]
    (file,) = await yard.files(old)
    assert file.state == "recycled"
    assert file.recycled_to == str(yard.library / ".recycle" / "2026-01-05" / GOOD)


async def test_the_old_one_stays_until_the_new_one_is_there(yard: Yard) -> None:
    old = await yard.collect("[Good] Show - 01", FIRST)
    await yard.offer("[Best] Show - 01", BETTER)
    await yard.turn(3)
    assert ((await yard.now(old)).state, yard.shown()) == ("done", {GOOD: BODY})
    assert f"remove {FIRST.infohash}" not in yard.client.asked


async def test_a_second_version_takes_the_very_place_of_the_first(yard: Yard) -> None:
    old = await yard.collect("[Good] Show - 01", FIRST)
    new = await yard.collect("[Good] Show - 01v2", SECOND)
    assert ((await yard.now(old)).state, new.state) == ("retired", "done")
    assert (yard.shown(), yard.recycled()) == ({GOOD: BODY[::-1]}, [BODY])
    assert [loss.download_id for loss in new.replaces] == [old.id]


async def test_a_pack_that_lost_an_episode_keeps_the_others(yard: Yard) -> None:
    files = {f"[Good] Show - {n:02}.mkv": BODY + bytes([n]) for n in range(1, 13)}
    pack = await yard.collect("[Good] Show [01-12]", made("[Good] Show", files))
    await yard.collect("[Best] Show - 01", BETTER)
    kept = await yard.now(pack)
    assert (kept.state, len(kept.slots)) == ("done", 11)
    assert (len(yard.shown()), BEST in yard.shown(), GOOD in yard.shown()) == (12, True, False)
    assert len(yard.client.held) == 2


async def test_of_two_on_their_way_the_better_one_stays_whoever_is_first(yard: Yard) -> None:
    worse = await yard.offer("[Good] Show - 01", FIRST)
    better = await yard.offer("[Best] Show - 01", BETTER)
    await yard.turn(3)
    yard.client.deliver(BETTER)
    yard.client.deliver(FIRST)
    await yard.turn(8)
    assert (await yard.now(better)).state == "done"
    assert (await yard.now(worse)).state in ("dropped", "retired")
    assert yard.shown() == {BEST: BODY[3:] + BODY[:3]}
    assert list(yard.client.held) == [BETTER.infohash]


async def test_what_was_overtaken_on_its_way_leaves_the_client(yard: Yard) -> None:
    worse = await yard.offer("[Good] Show - 01", FIRST)
    await yard.turn(2)
    await yard.collect("[Best] Show - 01", BETTER)
    assert (await yard.now(worse)).state == "dropped"
    assert list(yard.client.held) == [BETTER.infohash]


async def test_somebody_elses_torrent_is_used_where_it_is_and_stays(yard: Yard) -> None:
    mine = yard.root / "downloads" / "mine"
    yard.client.held[FIRST.infohash] = Held(
        NewClientTorrent(FIRST.infohash, str(mine), FIRST.torrent), is_ours=False
    )
    yard.client.deliver(FIRST)
    old = await yard.collect("[Good] Show - 01", FIRST)
    assert (old.state, yard.shown()) == ("done", {GOOD: BODY})
    await yard.collect("[Best] Show - 01", BETTER)
    assert (await yard.now(old)).state == "retired"
    assert FIRST.infohash in yard.client.held
    assert (mine / FIRST.name).read_bytes() == BODY


async def test_a_torrent_with_our_tag_in_a_folder_that_is_not_ours_stays(yard: Yard) -> None:
    """A client without tags calls everything ours."""
    mine = yard.root / "downloads" / "mine"
    yard.client.held[FIRST.infohash] = Held(
        NewClientTorrent(FIRST.infohash, str(mine), FIRST.torrent)
    )
    yard.client.deliver(FIRST)
    await yard.collect("[Good] Show - 01", FIRST)
    await yard.collect("[Best] Show - 01", BETTER)
    assert FIRST.infohash in yard.client.held


async def test_seeding_goes_on_where_people_want_it(yard: Yard) -> None:
    yard.policy(keep_seeding=True)
    await yard.collect("[Good] Show - 01", FIRST)
    await yard.collect("[Best] Show - 01", BETTER)
    assert (sorted(yard.shown()), len(yard.client.held)) == ([BEST], 2)


async def test_a_file_that_was_there_first_is_never_touched(yard: Yard) -> None:
    own = yard.library / GOOD
    own.parent.mkdir(parents=True)
    own.write_bytes(b"mine")
    done = await yard.collect("[Good] Show - 01", FIRST)
    assert done.state == "done"
    assert yard.shown() == {GOOD: b"mine", GOOD.replace(".mkv", " (2).mkv"): BODY}


async def test_a_file_that_somebody_put_in_the_place_of_ours_stays(yard: Yard) -> None:
    old = await yard.collect("[Good] Show - 01", FIRST)
    own = yard.library / GOOD
    own.unlink()
    own.write_bytes(b"mine")
    await yard.collect("[Best] Show - 01", BETTER)
    assert (await yard.now(old)).state == "retired"
    assert yard.shown() == {GOOD: b"mine", BEST: BODY[3:] + BODY[:3]}
    assert [file.state for file in await yard.files(old)] == ["left"]


async def test_a_second_version_gives_way_to_what_somebody_put_there(yard: Yard) -> None:
    await yard.collect("[Good] Show - 01", FIRST)
    own = yard.library / GOOD
    own.unlink()
    own.write_bytes(b"mine")
    await yard.collect("[Good] Show - 01v2", SECOND)
    assert yard.shown() == {GOOD: b"mine", GOOD.replace(".mkv", " (2).mkv"): BODY[::-1]}


def with_subtitles(version: str) -> Made:
    """A video and its subtitles, in a folder."""
    name, body = f"[Good] Show - 01{version}", version.encode() + BODY
    return made(
        name, {f"{name}.mkv": body, f"{name}.ja.ass": body[:99], f"{name}.en.ass": body[:9]}
    )


async def test_subtitles_beside_what_somebody_put_there_leave_with_their_video(yard: Yard) -> None:
    old = await yard.collect("[Good] Show - 01", with_subtitles(""))
    own = yard.library / GOOD
    own.unlink()
    own.write_bytes(b"mine")
    new = await yard.collect("[Good] Show - 01v2", with_subtitles("v2"))
    assert ((await yard.now(old)).state, new.state) == ("retired", "done")
    second = b"v2" + BODY
    assert yard.shown() == {
        GOOD: b"mine",
        GOOD.replace(".mkv", " (2).mkv"): second,
        GOOD.replace(".mkv", " (2).ja.ass"): second[:99],
        GOOD.replace(".mkv", " (2).en.ass"): second[:9],
    }
    assert sorted(yard.recycled()) == [BODY[:9], BODY[:99]]


async def test_a_subtitle_that_somebody_has_mended_stays_when_a_second_version_comes(
    yard: Yard,
) -> None:
    old = await yard.collect("[Good] Show - 01", with_subtitles(""))
    own = yard.library / GOOD.replace(".mkv", ".en.ass")
    own.unlink()
    own.write_bytes(b"mended")
    new = await yard.collect("[Good] Show - 01v2", with_subtitles("v2"))
    assert ((await yard.now(old)).state, new.state) == ("retired", "done")
    second = b"v2" + BODY
    assert yard.shown() == {
        GOOD: second,
        GOOD.replace(".mkv", ".ja.ass"): second[:99],
        GOOD.replace(".mkv", ".en.ass"): b"mended",
    }
    assert sorted(yard.recycled()) == [BODY[:99], BODY]


async def test_an_nfo_that_somebody_has_written_stays_when_a_second_version_comes(
    yard: Yard,
) -> None:
    yard.policy(nfo=True)
    old = await yard.collect("[Good] Show - 01", FIRST)
    own = yard.library / GOOD.replace(".mkv", ".nfo")
    own.write_bytes(b"written by a media server")
    new = await yard.collect("[Good] Show - 01v2", SECOND)
    assert ((await yard.now(old)).state, new.state) == ("retired", "done")
    assert own.read_bytes() == b"written by a media server"
    assert yard.shown()[GOOD] == BODY[::-1]


async def test_a_file_that_a_person_deleted_comes_back_when_it_is_dropped_and_taken(
    yard: Yard,
) -> None:
    old = await yard.collect("[Good] Show - 01", FIRST)
    (yard.library / GOOD).unlink()
    await drop_download(yard.engine.database, old.id)
    await yard.turn(2)
    assert (await yard.now(old)).state == "dropped"
    await take_release(yard.engine.database, old.release_id)
    await yard.turn(2)
    yard.client.deliver(FIRST)
    await yard.turn(6)
    assert yard.shown() == {GOOD: BODY}


async def test_what_a_person_takes_stays_though_it_is_worse(yard: Yard) -> None:
    best = await yard.collect("[Best] Show - 01", BETTER)
    held = await yard.offer_skipped("[Good] Show - 01", FIRST)
    await take_release(yard.engine.database, held)
    await yard.turn(2)
    yard.client.deliver(FIRST)
    await yard.turn(6)
    assert ((await yard.now(best)).state, yard.shown()) == ("retired", {GOOD: BODY})


async def test_the_recycle_folder_is_swept_after_its_days(yard: Yard) -> None:
    await yard.collect("[Good] Show - 01", FIRST)
    await yard.collect("[Best] Show - 01", BETTER)
    assert yard.recycled() == [BODY]
    await yard.clock.advance(timedelta(days=32).total_seconds())
    await yard.turn()
    assert yard.recycled() == []


async def test_the_same_torrent_from_a_site_that_names_no_hash_comes_once(yard: Yard) -> None:
    await yard.collect("[Good] Show - 01", FIRST)
    again = await yard.offer("[Best] Show - 01", FIRST, infohash=None)
    await yard.turn(2)
    twin = await yard.now(again)
    assert (twin.state, yard.client.asked.count(f"add {FIRST.infohash}")) == ("dropped", 1)
    async with yard.engine.database.read() as view:
        assert len(await download_rows.list_downloads_of_torrent(view, FIRST.infohash)) == 2

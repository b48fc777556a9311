"""An entry that says something else now is decided for what it says, and nothing comes twice."""

from dataclasses import replace

from headwater.anime.decide.decide_again import catch_up
from headwater.anime.decide.decide_by_hand import refuse_release
from headwater.anime.decide.decision import ReleaseDecision
from tests.support.tracked_feed import Harbour, ani, item, loli

A, B, C = "aa" * 20, "bb" * 20, "cc" * 20


def first(infohash: str | None = A) -> str:
    return item("x", "[ANi] Tides - 03 [1080P][CHT]", infohash=infohash)


def second(infohash: str | None = B) -> str:
    return item("x", "[ANi] Tides - 03v2 [1080P][CHT]", infohash=infohash)


async def come(harbour: Harbour, *items: str) -> None:
    await harbour.arrive(*items)
    await harbour.deliver()


async def rows(harbour: Harbour) -> list[ReleaseDecision]:
    """In the order they were found."""
    return sorted(await harbour.decided(), key=lambda row: row.id)


async def said(harbour: Harbour) -> list[str]:
    return [f"{row.action}:{row.rule}" for row in await rows(harbour)]


async def test_a_second_version_under_the_same_entry_is_an_upgrade(harbour: Harbour) -> None:
    await harbour.follow()
    await harbour.track()
    await come(harbour, first())
    await come(harbour, second())
    assert await said(harbour) == ["fetch:missing", "upgrade:version"]
    old, new = await harbour.downloads()
    assert (old.infohash, new.infohash) == (A, B)
    assert [loss.download_id for loss in new.replaces] == [old.id]
    was, now = await rows(harbour)
    assert (was.candidate.title, now.candidate.title) == (
        "[ANi] Tides - 03 [1080P][CHT]",
        "[ANi] Tides - 03v2 [1080P][CHT]",
    )
    assert [event["entry_uid"] for event in await harbour.told("release_found")] == ["x", "x"]


async def test_an_entry_that_is_edited_to_and_fro_brings_nothing_twice(harbour: Harbour) -> None:
    await harbour.follow()
    await harbour.track()
    for each in (first(), second(), first(), second(), first()):
        await come(harbour, each)
    assert await said(harbour) == ["fetch:missing", "upgrade:version"]
    assert len(await harbour.downloads()) == 2
    one, _ = await harbour.downloads()
    await harbour.end(one, "retired")
    await come(harbour, second())
    await come(harbour, first())
    assert len(await harbour.downloads()) == 2


async def test_another_torrent_of_the_same_worth_is_noted_and_not_fetched(harbour: Harbour) -> None:
    await harbour.follow()
    await harbour.track()
    await come(harbour, first(A))
    await come(harbour, first(B).replace("x.torrent", "y.torrent"))
    assert await said(harbour) == ["fetch:missing", "skip:same_rank"]


async def test_what_was_passed_over_is_decided_for_what_it_says_now(harbour: Harbour) -> None:
    await harbour.follow()
    await harbour.track()
    await come(harbour, item("x", "[LoliHouse] Tides - NCOP [1080p][CHS]", infohash=A))
    await come(harbour, item("x", "[LoliHouse] Tides - 04 [1080p][CHS]", infohash=B))
    (row,) = await rows(harbour)
    assert (row.action, row.candidate.infohash, str(row.release.episode)) == ("fetch", B, "4")
    (download,) = await harbour.downloads()
    assert download.infohash == B


async def test_news_and_edits_of_one_visit_are_looked_at_together(harbour: Harbour) -> None:
    """Of both the better one is fetched, not one after the other."""
    await harbour.follow()
    await harbour.track()
    await come(harbour, item("x", "[ANi] Tides - NCOP [1080P][CHT]", infohash=A))
    await come(harbour, item("x", "[ANi] Tides - 05 [1080P][CHT]", infohash=B), loli("05"))
    assert await said(harbour) == ["skip:not_the_best", "fetch:missing"]
    assert len(await harbour.downloads()) == 1


async def test_a_mended_title_of_a_torrent_on_its_way_changes_nothing(harbour: Harbour) -> None:
    await harbour.follow()
    await harbour.track()
    await come(harbour, first(A))
    await come(harbour, second(A))
    assert await said(harbour) == ["fetch:missing"]


async def test_an_address_with_a_key_that_changes_is_no_other_torrent(harbour: Harbour) -> None:
    """And the torrent is fetched from where it is to be had now."""
    await harbour.follow()
    await harbour.track()
    await come(harbour, first(None))
    await come(harbour, first(None).replace("x.torrent", "x.torrent?key=2"))
    (row,) = await rows(harbour)
    assert row.candidate.torrent_url == "https://releases.example/x.torrent?key=2"
    assert (await said(harbour), len(await harbour.downloads())) == (["fetch:missing"], 1)


async def test_without_hashes_another_title_and_address_are_another_torrent(
    harbour: Harbour,
) -> None:
    await harbour.follow()
    await harbour.track()
    await come(harbour, first(None))
    await come(harbour, second(None).replace("x.torrent", "x2.torrent"))
    assert await said(harbour) == ["fetch:missing", "upgrade:version"]


async def test_what_a_person_refused_stays_refused_however_it_is_edited(harbour: Harbour) -> None:
    await harbour.follow()
    await harbour.track()
    await harbour.arrive(loli("03"), first())
    await harbour.deliver()
    (poor,) = [row for row in await rows(harbour) if row.candidate.uid == "x"]
    await refuse_release(harbour.engine.database, poor.id)
    await come(harbour, item("x", "[LoliHouse] Tides - 09 [1080p][CHS]", infohash=C))
    assert [row.action for row in await rows(harbour) if row.candidate.uid == "x"] == ["refused"]


async def test_edits_while_a_tracking_was_disabled_are_looked_at_afterwards(
    harbour: Harbour,
) -> None:
    await harbour.follow()
    tracking = await harbour.track()
    await come(harbour, first())
    await harbour.changed(replace(tracking, enabled=False))
    await come(harbour, second())
    assert await said(harbour) == ["fetch:missing"]
    await harbour.changed(replace(tracking, enabled=True))
    await catch_up(harbour.engine.releases, tracking.id)
    assert await said(harbour) == ["fetch:missing", "upgrade:version"]
    assert (await catch_up(harbour.engine.releases, tracking.id)).total == 0


async def test_seeders_that_come_and_go_decide_nothing(harbour: Harbour) -> None:
    await harbour.follow()
    await harbour.track()
    await come(harbour, loli("01"), ani("01"))
    before = await rows(harbour)
    edited = ani("01").replace("<link>", "<description>9 seeders</description><link>")
    await come(harbour, loli("01"), edited)
    assert [row.decided_at for row in await rows(harbour)] == [row.decided_at for row in before]

"""When a release is given up, the best of those that were passed over for it is taken instead."""

from headwater.anime.decide import decision_rows
from headwater.anime.downloads import download_rows
from headwater.anime.downloads.download_commands import drop_download, retry_download
from tests.support.download_world import Yard
from tests.support.origin import Reply
from tests.support.torrents import made

BODY = bytes(range(256)) * 200
BEST = made("[Best] Show - 01.mkv", BODY)
GOOD = made("[Good] Show - 01.mkv", BODY[::-1])
POOR = made("[Poor] Show - 01.mkv", BODY[5:])


async def states(yard: Yard) -> list[str]:
    """In the order they were intended."""
    async with yard.engine.database.read() as view:
        return [each.state for each in (await download_rows.list_downloads(view))[::-1]]


async def reason(yard: Yard, release_id: int) -> str:
    async with yard.engine.database.read() as view:
        return (await decision_rows.get_decision(view, release_id)).reason


async def test_the_best_one_that_was_skipped_is_taken_when_the_chosen_one_fails(
    yard: Yard,
) -> None:
    await yard.offer("[Best] Show - 01", BEST, infohash="0" * 40)
    await yard.offer_skipped("[Poor] Show - 01", POOR)
    good = await yard.offer_skipped("[Good] Show - 01", GOOD)
    await yard.turn(3)
    assert await states(yard) == ["failed", "added"]
    assert [kind for kind, _ in await yard.told()] == [
        "release_found",
        "release_failed",
        "release_found",
    ]
    yard.client.deliver(GOOD)
    await yard.turn(4)
    assert list(yard.shown()) == ["Show (2025)/Season 01/Show - S01E01 [Good].mkv"]
    assert await reason(yard, good) == "Nothing is held for S01E01."


async def test_one_after_another_until_none_is_left(yard: Yard) -> None:
    await yard.offer("[Best] Show - 01", BEST, infohash="0" * 40)
    await yard.offer_skipped("[Poor] Show - 01", POOR)
    await yard.offer_skipped("[Good] Show - 01", GOOD)
    for site in yard.sites:
        site.stand_in = Reply(200, b"d4:infod4:name1:xee")
    await yard.turn(12)
    assert await states(yard) == ["failed", "failed", "failed"]


async def test_a_failed_upgrade_makes_way_for_another_upgrade(yard: Yard) -> None:
    await yard.collect("[Poor] Show - 01", POOR)
    await yard.offer("[Best] Show - 01", BEST, infohash="0" * 40)
    good = await yard.offer_skipped("[Good] Show - 01", GOOD)
    await yard.turn(2)
    yard.client.deliver(GOOD)
    await yard.turn(6)
    assert await states(yard) == ["retired", "failed", "done"]
    assert (await reason(yard, good)).startswith("It is better: group Good")


async def test_what_failed_and_is_retried_takes_its_place_from_the_one_in_between(
    yard: Yard,
) -> None:
    download = await yard.offer("[Best] Show - 01", BEST)
    await yard.offer_skipped("[Good] Show - 01", GOOD)
    yard.sites[0].stand_in = Reply(200, b"<html>log in</html>")
    await yard.turn(6)
    yard.client.deliver(GOOD)
    await yard.turn(4)
    yard.sites[0].stand_in = Reply(200, BEST.torrent)
    await retry_download(yard.engine.database, download.id)
    await yard.turn(3)
    yard.client.deliver(BEST)
    await yard.turn(6)
    assert await states(yard) == ["done", "retired"]
    assert list(yard.shown()) == ["Show (2025)/Season 01/Show - S01E01 [Best].mkv"]


async def test_what_a_person_dropped_makes_way_for_nothing(yard: Yard) -> None:
    download = await yard.offer("[Best] Show - 01", BEST)
    await yard.offer_skipped("[Good] Show - 01", GOOD)
    await drop_download(yard.engine.database, download.id)
    await yard.turn(3)
    assert await states(yard) == ["dropped"]


async def test_the_same_torrent_of_another_site_is_tried_when_the_first_has_none(
    yard: Yard,
) -> None:
    yard.policy(attempts=2, pause_cap=1.0)
    await yard.offer("[Good] Show - 01", GOOD)
    await yard.offer_skipped("[Good] Show - 01", GOOD)
    yard.sites[0].stand_in = Reply(404)
    await yard.turn(4)
    assert await states(yard) == ["failed", "added"]


async def test_a_torrent_that_the_client_could_not_get_is_not_tried_again_from_another_site(
    yard: Yard,
) -> None:
    yard.policy(stalled=60.0)
    await yard.offer("[Good] Show - 01", GOOD)
    await yard.offer_skipped("[Good] Show - 01", GOOD)
    await yard.turn(12)
    assert await states(yard) == ["failed"]


async def test_singles_fill_what_a_pack_turned_out_not_to_hold(yard: Yard) -> None:
    pack = made("pack", {"[Best] Show - 01.mkv": BODY, "[Best] Show - 02.mkv": BODY[7:]})
    await yard.offer("[Best] Show [01-03]", pack)
    third = made("[Good] Show - 03.mkv", BODY[9:])
    await yard.offer_skipped("[Good] Show - 03", third)
    await yard.turn(2)
    yard.client.deliver(pack)
    await yard.turn(3)
    yard.client.deliver(third)
    await yard.turn(4)
    assert [name.rpartition("/")[2] for name in yard.shown()] == [
        "Show - S01E01 [Best].mkv",
        "Show - S01E02 [Best].mkv",
        "Show - S01E03 [Good].mkv",
    ]

"""One torrent that two shows have use for, and files that are moved rather than linked."""

from pathlib import Path

from headwater.adapters.database import SqlDatabase
from headwater.anime.candidate import Offer, TorrentCandidate
from headwater.anime.decide.record_decisions import record_decisions
from headwater.anime.downloads import download_rows
from headwater.anime.shows import show_rows, tracking_rows
from headwater.anime.shows.show import Show
from headwater.anime.shows.tracking import Tracking
from headwater.anime.title import read_title
from tests.support.download_world import FEED, Yard, opened_yard
from tests.support.origin import Reply
from tests.support.torrents import made

BODY = bytes(range(256)) * 200
BOTH = made("[Good] Show - 01.mkv", BODY)
SHOW = "Show (2025)/Season 01/Show - S01E01 [Good].mkv"
OTHER = "Other (2024)/Season 01/Other - S01E01 [Good].mkv"


async def wanted_by_another_show(yard: Yard) -> None:
    engine, now = yard.engine, yard.clock.now()
    async with engine.database.write() as tx:
        other = await show_rows.insert_show(tx, Show("Other", 2024), None, now)
        tracking = await tracking_rows.insert_tracking(tx, Tracking(0, other.id, FEED), now)
    await yard.origin.listen("127.0.7.99")
    site = yard.origin.feed("/99.torrent", [], address="127.0.7.99")
    site.stand_in = Reply(200, BOTH.torrent)
    candidate = TorrentCandidate(
        "other", "[Good] Show - 01", now, feed=FEED, torrent_url=site.url, infohash=BOTH.infohash
    )
    offer = Offer(candidate, read_title(candidate.title).release)
    await record_decisions(engine.database, engine.clock, engine.collect, tracking.id, [offer])


async def states(yard: Yard) -> list[str]:
    async with yard.engine.database.read() as view:
        return [each.state for each in await download_rows.list_downloads(view)]


async def test_files_that_are_moved_stay_for_the_other_show_that_waits_for_them(
    database: SqlDatabase, tmp_path: Path
) -> None:
    async with opened_yard(database, tmp_path, way="move") as yard:
        await yard.offer("[Good] Show - 01", BOTH)
        await wanted_by_another_show(yard)
        await yard.turn(2)
        yard.client.deliver(BOTH)
        await yard.turn(5)
        assert await states(yard) == ["done", "done"]
        assert yard.shown() == {SHOW: BODY, OTHER: BODY}


async def test_what_was_moved_away_is_downloaded_again_for_a_show_that_comes_later(
    database: SqlDatabase, tmp_path: Path
) -> None:
    async with opened_yard(database, tmp_path, way="move") as yard:
        await yard.collect("[Good] Show - 01", BOTH)
        await wanted_by_another_show(yard)
        await yard.turn(6)
        yard.client.deliver(BOTH)
        await yard.turn(5)
        assert await states(yard) == ["done", "done"]
        assert yard.shown() == {SHOW: BODY, OTHER: BODY}


async def test_a_file_that_is_gone_before_it_could_be_placed_is_downloaded_again(
    yard: Yard, tmp_path: Path
) -> None:
    """Somebody has cleared the downloads at that very moment."""
    download = await yard.offer("[Good] Show - 01", BOTH)
    await yard.turn(2)
    yard.client.deliver(BOTH)
    place = yard.downloads.media.library.place

    async def too_late(source: str, target: str, *, keep: bool = False) -> str:
        (tmp_path / "downloads" / source).unlink(missing_ok=True)
        return await place(source, target, keep=keep)

    library = yard.downloads.media.library
    library.place = too_late  # type: ignore[method-assign]
    await yard.turn(2)
    library.place = place  # type: ignore[method-assign]
    assert (await yard.now(download)).error == "source_gone"
    await yard.turn(2)
    yard.client.deliver(BOTH)
    await yard.turn(5)
    assert ((await yard.now(download)).state, yard.shown()) == ("done", {SHOW: BODY})

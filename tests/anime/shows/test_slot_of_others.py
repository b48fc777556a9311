"""What is another season's, another show's or a special's takes no episode's place."""

from headwater.anime.decide.plan import HeldRelease, decide_release_plan
from headwater.anime.downloads.ports import ClientTorrentFile
from headwater.anime.naming.match_files import match_torrent_files
from headwater.anime.release import Release
from headwater.anime.shows.preferences import Preferences
from headwater.anime.shows.show import Show
from headwater.anime.shows.slot import NotOfShow, Slot, SlotMatch, match_release_to_show
from headwater.anime.title import read_title
from tests.support.releases import offer, slot


def read(name: str) -> Release:
    return read_title(name).release


def look(*paths: str, slots: tuple[Slot, ...]) -> dict[str, tuple[Slot, ...]]:
    files = [ClientTorrentFile(path, 1_000 + at) for at, path in enumerate(paths)]
    found = match_torrent_files(files, Show("Show", episodes=2), slots, read)
    return {video.file.path: tuple(video.slots) for video in found.videos}


def test_folders_of_a_pack_say_what_the_names_leave_out() -> None:
    ours = {"Show/Season 1/Show - 01.mkv": (slot(1),), "Show/Season 1/Show - 02.mkv": (slot(2),)}
    others = ("Show/Season 2/Show - 01.mkv", "Show/OVA/02.mkv", "Show/Specials/01.mkv")
    assert look(*ours, *others, slots=(slot(1), slot(2))) == ours


def test_a_special_of_another_season_takes_no_place() -> None:
    show, other = Show("Show", season=2), read("[Best] Show S1 OVA [01]")
    found = match_release_to_show(other, show)
    assert isinstance(found, NotOfShow)
    assert found.rule == "other_season"
    held = HeldRelease("1", read("[Good] Show S2 OVA [01]"), (slot(1, 0),))
    plan = decide_release_plan(
        show, [offer("u", other)], [held], Preferences(groups=("Best", "Good"))
    )
    assert plan.decisions[0].verdict.action == "skip"


def test_a_short_name_is_not_found_inside_of_words() -> None:
    for name, title in (("[G] Fairy Tail - 05 [1080p]", "AIR"), ("[G] Kaiju No. 8 - 05", "K")):
        found = match_release_to_show(read(name), Show(title, titles=(title,)))
        assert isinstance(found, NotOfShow)
        assert found.rule == "other_show"


def test_a_name_is_found_among_other_words() -> None:
    for name, title in (
        ("[G] Tides Gaiden - 05", "Tides"),
        ("[G] SpyxFamily Code White - 05", "Spy x Family"),
        ("[G] 金牌得主外传 - 05", "金牌得主"),
    ):
        assert isinstance(
            match_release_to_show(read(name), Show(title, titles=(title,))), SlotMatch
        )

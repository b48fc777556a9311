"""What is another season's, another show's or a special's takes no episode's place."""

from headwater.collect.contents import contents_of
from headwater.collect.plan import Standing, planned
from headwater.collect.priority import Preferences
from headwater.collect.release import Release
from headwater.collect.show import Show
from headwater.collect.slot import Placement, Slot, Stranger, placed
from headwater.collect.title import read_title
from headwater.media_ports import JobFile
from tests.collect.making import offer, slot


def read(name: str) -> Release:
    return read_title(name).release


def look(*paths: str, slots: tuple[Slot, ...]) -> dict[str, tuple[Slot, ...]]:
    files = [JobFile(path, 1_000 + at) for at, path in enumerate(paths)]
    found = contents_of(files, Show("Show", episodes=2), slots, read)
    return {video.file.path: tuple(video.slots) for video in found.videos}


def test_folders_of_a_pack_say_what_the_names_leave_out() -> None:
    ours = {"Show/Season 1/Show - 01.mkv": (slot(1),), "Show/Season 1/Show - 02.mkv": (slot(2),)}
    others = ("Show/Season 2/Show - 01.mkv", "Show/OVA/02.mkv", "Show/Specials/01.mkv")
    assert look(*ours, *others, slots=(slot(1), slot(2))) == ours


def test_a_special_of_another_season_takes_no_place() -> None:
    show, other = Show("Show", season=2), read("[Best] Show S1 OVA [01]")
    found = placed(other, show)
    assert isinstance(found, Stranger)
    assert found.rule == "other_season"
    held = Standing("1", read("[Good] Show S2 OVA [01]"), (slot(1, 0),))
    plan = planned(show, [offer("u", other)], [held], Preferences(groups=("Best", "Good")))
    assert plan.decisions[0].verdict.action == "skip"


def test_a_short_name_is_not_found_inside_of_words() -> None:
    for name, title in (("[G] Fairy Tail - 05 [1080p]", "AIR"), ("[G] Kaiju No. 8 - 05", "K")):
        found = placed(read(name), Show(title, titles=(title,)))
        assert isinstance(found, Stranger)
        assert found.rule == "other_show"


def test_a_name_is_found_among_other_words() -> None:
    for name, title in (
        ("[G] Tides Gaiden - 05", "Tides"),
        ("[G] SpyxFamily Code White - 05", "Spy x Family"),
        ("[G] 金牌得主外传 - 05", "金牌得主"),
    ):
        assert isinstance(placed(read(name), Show(title, titles=(title,))), Placement)

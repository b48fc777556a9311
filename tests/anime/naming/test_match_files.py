"""The files of a torrent: each has its place in the library, or a reason why it has none."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.anime.downloads.ports import ClientTorrentFile
from headwater.anime.naming.match_files import TorrentContents, match_torrent_files
from headwater.anime.release import Release, ReleaseKind
from headwater.anime.shows.show import Show
from headwater.anime.shows.slot import FILM, Slot
from headwater.anime.title import read_title
from tests.support.releases import slot

SHOW = Show("Show", 2026, titles=("Show",))
LARGE, SMALL = 500_000_000, 5_000


def read(name: str) -> Release:
    return read_title(name).release


def look(*paths: str, slots: tuple[Slot, ...] = (slot(1),), show: Show = SHOW) -> TorrentContents:
    files = [
        ClientTorrentFile(path, LARGE if path.endswith((".mkv", ".mp4")) else SMALL)
        for path in paths
    ]
    return match_torrent_files(files, show, slots, read)


def videos(found: TorrentContents) -> dict[str, tuple[Slot, ...]]:
    return {video.file.path: video.slots for video in found.videos}


def reasons(found: TorrentContents) -> dict[str, str]:
    return {each.file.path: each.reason for each in found.left_out}


def test_a_lone_video_is_what_the_torrent_was_fetched_for() -> None:
    found = look("anything.mkv", "readme.txt")
    assert videos(found) == {"anything.mkv": (slot(1),)}
    assert reasons(found) == {"readme.txt": "It is no video."}
    assert found.missing == ()


def test_a_lone_video_of_a_pack_is_not_the_whole_pack() -> None:
    twelve = tuple(slot(number) for number in range(1, 13))
    found = look("[A] Show - 01.mkv", slots=twelve)
    assert videos(found) == {"[A] Show - 01.mkv": (slot(1),)}
    assert found.missing == twelve[1:]
    double = look("[A] Show - 01-02.mkv", slots=(slot(1), slot(2)))
    assert videos(double) == {"[A] Show - 01-02.mkv": (slot(1), slot(2))}


def test_a_pack_is_placed_file_by_file() -> None:
    found = look(
        "[A] Show - 01 [1080p].mkv",
        "[A] Show - 02v2 [1080p].mkv",
        "[A] Show - 03 END [1080p].mkv",
        slots=(slot(1), slot(2), slot(3)),
    )
    assert videos(found) == {
        "[A] Show - 01 [1080p].mkv": (slot(1),),
        "[A] Show - 02v2 [1080p].mkv": (slot(2),),
        "[A] Show - 03 END [1080p].mkv": (slot(3),),
    }
    assert (found.left_out, found.missing) == ((), ())


def test_only_what_was_asked_for_is_taken_from_a_pack() -> None:
    found = look("[A] Show - 01.mkv", "[A] Show - 02.mkv", slots=(slot(2),))
    assert videos(found) == {"[A] Show - 02.mkv": (slot(2),)}
    assert reasons(found) == {"[A] Show - 01.mkv": "S01E01 was not asked for."}


def test_what_a_pack_promised_and_does_not_hold_is_missing() -> None:
    found = look("[A] Show - 01.mkv", "[A] Show - 03.mkv", slots=(slot(1), slot(2), slot(3)))
    assert found.missing == (slot(2),)


def test_the_offset_of_the_show_counts_inside_a_pack_too() -> None:
    show = Show("Show", season=2, episode_offset=-12)
    found = look(
        "[A] Show - 13.mkv", "[A] Show - 14.mkv", slots=(slot(1, 2), slot(2, 2)), show=show
    )
    assert videos(found) == {
        "[A] Show - 13.mkv": (slot(1, 2),),
        "[A] Show - 14.mkv": (slot(2, 2),),
    }


@pytest.mark.parametrize("name", ["{} [1080p]", "{}(BD 1080p)", "[{}] A Word", "{} A Word"])
def test_a_file_may_begin_with_its_number(name: str) -> None:
    first, last = (f"Show/{name.format(number)}.mkv" for number in ("01", "12"))
    found = look(first, last, slots=(slot(1), slot(12)))
    assert videos(found) == {first: (slot(1),), last: (slot(12),)}


def test_a_name_that_begins_with_a_number_is_no_episode_that_was_not_asked_for() -> None:
    found = look("91 Days/91 Days Bonus.mkv", "91 Days/91 Days - 01.mkv", slots=(slot(1), slot(2)))
    assert videos(found) == {"91 Days/91 Days - 01.mkv": (slot(1),)}
    assert found.missing == (slot(2),)


@pytest.mark.parametrize("name", ["02 Trailer", "02 Creditless Opening", "[02] Menu"])
def test_what_stands_beside_the_episodes_takes_no_place(name: str) -> None:
    found = look("Show/01 A Word.mkv", f"Show/{name}.mkv", slots=(slot(1), slot(2)))
    assert videos(found) == {"Show/01 A Word.mkv": (slot(1),)}
    assert found.missing == (slot(2),)


@pytest.mark.parametrize("folder", ["Show S1", "[A] Show (Season 1) [BD 1080p]", "Show 1st Season"])
def test_a_folder_that_is_called_as_the_show_says_its_season_too(folder: str) -> None:
    """Whichever file is larger: the first season must not come in as the second."""
    second = Show("Show", season=2)
    files = [
        ClientTorrentFile(f"All/{folder}/01.mkv", 2 * LARGE),
        ClientTorrentFile("All/Show S2/01.mkv", LARGE),
    ]
    found = match_torrent_files(files, second, (slot(1, 2),), read)
    assert videos(found) == {"All/Show S2/01.mkv": (slot(1, 2),)}
    assert reasons(found) == {
        f"All/{folder}/01.mkv": "It is of season 1, and season 2 is collected."
    }


def test_a_folder_that_is_called_as_the_show_says_that_it_is_an_ova() -> None:
    found = look("All/Show/01.mkv", "All/Show OVA/01.mkv", slots=(slot(1), slot(1, 0)))
    assert videos(found) == {"All/Show/01.mkv": (slot(1),), "All/Show OVA/01.mkv": (slot(1, 0),)}


def test_a_file_of_another_season_is_left() -> None:
    found = look("Show S01E01.mkv", "Show S02E01.mkv")
    assert videos(found) == {"Show S01E01.mkv": (slot(1),)}
    assert reasons(found) == {"Show S02E01.mkv": "It is of season 2, and season 1 is collected."}


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("Sample/show.mkv", "It is a sample."),
        ("show-sample.mkv", "It is a sample."),
        ("Extras/[A] Show - 01.mkv", "It is in a folder of extras."),
        ("[A] Show [NCOP][1080p].mkv", "NCOP is not an episode."),
        ("[A] Show - PV 01 [1080p].mkv", "PV is not an episode."),
        ("[A] Show - Menu 02 [1080p].mkv", "Menu is not an episode."),
        ("[A] Show - Creditless Ending 2v2 [1080p].mkv", "NCED is not an episode."),
        ("映像特典/[A] Show - 01.mkv", "It is in a folder of extras."),
        ("[A] Show Part of nothing.mkv", "Its title names no episode."),
    ],
)
def test_what_is_no_episode_is_left_with_its_reason(path: str, reason: str) -> None:
    found = look("[A] Show - 01.mkv", "[A] Show - 02.mkv", path, slots=(slot(1), slot(2)))
    assert reasons(found) == {path: reason}


@pytest.mark.parametrize("name", ["Commentary 01", "Audio_Commentary_01v2", "Interview 01"])
def test_what_has_an_episodes_number_does_not_take_its_place_by_being_larger(name: str) -> None:
    episode, beside = "[A] Show - 01.mkv", f"[A] Show - {name}.mkv"
    files = [ClientTorrentFile(episode, LARGE), ClientTorrentFile(beside, 2 * LARGE)]
    found = match_torrent_files(files, Show("Show"), (slot(1),), read)
    assert videos(found) == {episode: (slot(1),)}
    assert reasons(found) == {beside: "'[A] Show - 01.mkv' is taken for S01E01."}


def test_of_two_files_for_one_episode_the_newer_version_is_taken() -> None:
    found = look("[A] Show - 01.mkv", "[A] Show - 01v2.mkv")
    assert videos(found) == {"[A] Show - 01v2.mkv": (slot(1),)}
    assert reasons(found) == {"[A] Show - 01.mkv": "'[A] Show - 01v2.mkv' is taken for S01E01."}


def test_of_two_equal_files_for_one_episode_the_larger_is_taken() -> None:
    files = [ClientTorrentFile("a/Show - 01.mkv", 10), ClientTorrentFile("b/Show - 01.mkv", 20)]
    found = match_torrent_files(files, SHOW, (slot(1),), read)
    assert videos(found) == {"b/Show - 01.mkv": (slot(1),)}


def test_a_film_in_parts_is_kept_in_parts() -> None:
    show = Show("Film", main_kind=ReleaseKind.MOVIE)
    found = look("Film cd1.mkv", "Film cd2.mkv", slots=(FILM,), show=show)
    assert [(video.file.path, video.part) for video in found.videos] == [
        ("Film cd1.mkv", 1),
        ("Film cd2.mkv", 2),
    ]


def test_of_several_videos_of_a_film_the_largest_is_the_film() -> None:
    show = Show("Film", main_kind=ReleaseKind.MOVIE)
    files = [ClientTorrentFile("Film.mkv", 20), ClientTorrentFile("Talk with the director.mkv", 10)]
    found = match_torrent_files(files, show, (FILM,), read)
    assert videos(found) == {"Film.mkv": (FILM,)}


def test_subtitles_stand_beside_the_video_they_are_named_for() -> None:
    found = look(
        "[A] Show - 01 [1080p].mkv",
        "[A] Show - 02 [1080p].mkv",
        "[A] Show - 01 [1080p].sc.ass",
        "[A] Show - 01 [1080p].tc.ass",
        "subs/[A] Show - 02.ja.ass",
        "subs/[A] Show - 07.ja.ass",
        slots=(slot(1), slot(2)),
    )
    assert {video.file.path: [file.path for file in video.subtitles] for video in found.videos} == {
        "[A] Show - 01 [1080p].mkv": [
            "[A] Show - 01 [1080p].sc.ass",
            "[A] Show - 01 [1080p].tc.ass",
        ],
        "[A] Show - 02 [1080p].mkv": ["subs/[A] Show - 02.ja.ass"],
    }
    assert reasons(found) == {"subs/[A] Show - 07.ja.ass": "No video is its own."}


def test_episode_one_does_not_take_the_subtitles_of_episode_twelve() -> None:
    found = look("Show - 1.mkv", "Show - 12.mkv", "Show - 12.sc.ass", slots=(slot(1), slot(12)))
    assert [len(video.subtitles) for video in found.videos] == [0, 1]


def test_two_subtitles_of_one_language_do_not_overwrite_each_other() -> None:
    found = look("Show - 01.mkv", "a/Show - 01.sc.ass", "b/Show - 01.sc.ass")
    assert [file.path for file in found.videos[0].subtitles] == ["a/Show - 01.sc.ass"]
    assert reasons(found) == {"b/Show - 01.sc.ass": "'a/Show - 01.sc.ass' has the same language."}


def test_a_double_episode_gives_way_to_the_single_one() -> None:
    found = look(
        "[A] Show - 01-02 [1080p].mkv", "[A] Show - 02 [1080p].mkv", slots=(slot(1), slot(2))
    )
    assert videos(found) == {"[A] Show - 02 [1080p].mkv": (slot(2),)}
    assert found.missing == (slot(1),)


NAMES = st.sampled_from(
    [
        "[A] Show - 01.mkv",
        "[A] Show - 01v2.mkv",
        "[A] Show - 02.mkv",
        "[A] Show - 01-02.mkv",
        "[A] Show - 02.5.mkv",
        "NCOP.mkv",
        "x.mkv",
        "[A] Show - 01.sc.ass",
        "[A] Show - 02.ass",
        "x.txt",
        "cd1.mkv",
        "cd2.mkv",
    ]
)


@settings(deadline=None)
@given(st.lists(NAMES, unique=True, max_size=8), st.sets(st.integers(1, 3), min_size=1))
def test_every_file_is_told_once_and_no_slot_is_filled_twice(
    names: list[str], numbers: set[int]
) -> None:
    slots = tuple(slot(number) for number in sorted(numbers))
    found = look(*names, slots=slots)
    told = [each.file.path for each in found.left_out]
    for video in found.videos:
        told += [video.file.path, *(file.path for file in video.subtitles)]
    assert sorted(told) == sorted(names)
    filled = [(each, video.part) for video in found.videos for each in video.slots]
    assert len(filled) == len(set(filled))
    assert {each for each, _ in filled} | set(found.missing) == set(slots)

"""Where a release goes: conventions of Jellyfin, Plex and Kodi, read back as they read them."""

from typing import Any

import pytest
from guessit import guessit
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from headwater.anime.naming.library_path import build_naming, library_path_of
from headwater.anime.naming.nfo import episode_nfo, film_nfo, show_nfo
from headwater.anime.naming.safe_path import is_safe_relative_path
from headwater.anime.naming.subtitle_files import (
    is_subtitle,
    is_video,
    language_tail,
    subtitle_path,
)
from headwater.anime.release import Release, ReleaseKind
from headwater.anime.shows.show import Show
from headwater.anime.shows.slot import FILM, Slot
from headwater.core.errors import BadInput
from headwater.core.values.safe_xml import hardened_parser
from tests.support.releases import release, slot

SHOW = Show("金牌得主", 2025)
FILMED = Show("金牌得主", 2025, main_kind=ReleaseKind.MOVIE)
BOTH = release("喵萌奶茶屋", "LoliHouse")


def path(
    *slots: Slot, show: Show = SHOW, meant: Release = BOTH, filename: str = "x.mkv", **more: Any
) -> str:
    return library_path_of(show, slots, meant, filename, **more).path


def read_back(written: str) -> dict[str, Any]:
    """As a media server sees it; without what only says that it is a video."""
    found = dict(guessit(written))
    return {name: found[name] for name in found.keys() - {"mimetype", "container"}}


def test_an_episode_is_named_as_media_servers_expect() -> None:
    written = path(slot(3))
    assert written == "金牌得主 (2025)/Season 01/金牌得主 - S01E03 [喵萌奶茶屋] [LoliHouse].mkv"
    assert read_back(written) == {
        "type": "episode",
        "title": "金牌得主",
        "year": 2025,
        "season": 1,
        "episode": 3,
        "release_group": "喵萌奶茶屋",
    }


def test_two_episodes_in_one_file_are_a_range() -> None:
    written = path(slot(1), slot(2))
    assert written == "金牌得主 (2025)/Season 01/金牌得主 - S01E01-E02 [喵萌奶茶屋] [LoliHouse].mkv"
    assert read_back(written)["episode"] == [1, 2]


def test_a_special_is_in_season_zero() -> None:
    written = path(slot(1, 0))
    assert written == "金牌得主 (2025)/Season 00/金牌得主 - S00E01 [喵萌奶茶屋] [LoliHouse].mkv"
    assert (read_back(written)["season"], read_back(written)["episode"]) == (0, 1)


def test_a_half_is_a_special_that_no_catalogue_has_and_never_the_episode_before() -> None:
    written = path(slot(12.5), meant=release("A"))
    assert written == "金牌得主 (2025)/Season 00/金牌得主 - S00E125 - 12.5 [A].mkv"
    assert (read_back(written)["season"], read_back(written)["episode"]) == (0, 125)


def test_a_film_has_a_folder_of_its_own() -> None:
    written = path(FILM, show=FILMED, meant=release("A"))
    assert written == "金牌得主 (2025)/金牌得主 (2025) [A].mkv"
    assert read_back(written) == {
        "type": "movie",
        "title": "金牌得主",
        "year": 2025,
        "release_group": "A",
    }


def test_parts_are_numbered_at_the_end() -> None:
    film = path(FILM, show=FILMED, meant=release("A"), part=1)
    assert film == "金牌得主 (2025)/金牌得主 (2025) [A] - part1.mkv"
    assert read_back(film)["part"] == 1
    episode = path(slot(3), meant=release("A"), part=2)
    assert episode == "金牌得主 (2025)/Season 01/金牌得主 - S01E03 [A] - part2.mkv"
    assert (read_back(episode)["episode"], read_back(episode)["part"]) == (3, 2)


def test_what_is_not_known_leaves_no_brackets_behind() -> None:
    bare = path(slot(3), show=Show("Show"), meant=release())
    assert bare == "Show/Season 01/Show - S01E03.mkv"
    assert (
        path(FILM, show=Show("Film", main_kind=ReleaseKind.MOVIE), meant=release())
        == "Film/Film.mkv"
    )


@pytest.mark.parametrize(
    ("title", "folder"),
    [
        ("86", "86 (2025)"),
        ("22/7", "22-7 (2025)"),
        ("Fate/Zero", "Fate-Zero (2025)"),
        ("Re:Zero", "Re-Zero (2025)"),
        (".hack//SIGN", "hack-SIGN (2025)"),
        ("..", "untitled 5ec1f7e7 (2025)"),
        ("../../etc", "etc (2025)"),
        ("CON", "CON (2025)"),
    ],
)
def test_titles_that_are_no_names(title: str, folder: str) -> None:
    written = path(slot(3), show=Show(title, 2025))
    assert written.startswith(f"{folder}/Season 01/")
    assert is_safe_relative_path(written)
    found = read_back(written)
    assert (found["season"], found["episode"], found["year"]) == (1, 3, 2025)


@pytest.mark.parametrize("number", [1, 9, 10, 99, 100, 999, 1000, 1122])
def test_every_number_is_read_back(number: int) -> None:
    found = read_back(path(slot(number), show=Show("One Piece", 1999), meant=release("A")))
    assert (found["title"], found["season"], found["episode"]) == ("One Piece", 1, number)


@pytest.mark.parametrize("season", [0, 1, 2, 10, 25])
def test_every_season_is_read_back(season: int) -> None:
    found = read_back(path(slot(3, season), show=Show("Show", 1999, season), meant=release("A")))
    assert (found["title"], found["season"], found["episode"]) == ("Show", season, 3)


def test_a_folder_does_not_depend_on_who_released_an_episode() -> None:
    show = Show("長" * 200, 2025)
    short = library_path_of(show, [slot(1)], release("A"), "x.mkv")
    long = library_path_of(show, [slot(2)], release("g" * 80, "h" * 90), "x.mkv")
    assert short.folder == long.folder
    assert short.show_folder == long.show_folder


@pytest.mark.parametrize("groups", [(), ("A",), ("g" * 120, "h" * 120), ("喵" * 90,)])
@pytest.mark.parametrize("title", ["Show", "長" * 200, "x" * 300, "🎉" * 90])
def test_the_number_is_never_what_is_cut(title: str, groups: tuple[str, ...]) -> None:
    made = library_path_of(Show(title, 2025), [slot(3)], release(*groups), "x.mkv")
    assert "S01E03" in made.stem
    assert len(made.stem.encode()) <= 255 - 48
    assert all(len(part.encode()) <= 255 for part in made.path.split("/"))


def test_an_encrypted_folder_of_a_nas_gets_shorter_names() -> None:
    naming = build_naming(longest=143)
    made = library_path_of(Show("長" * 200, 2025), [slot(3)], BOTH, "x.mkv", naming=naming)
    assert all(len(part.encode()) <= 143 for part in made.path.split("/"))
    assert "S01E03" in made.stem


@pytest.mark.parametrize("longest", [0, 100, 256, -1])
def test_a_limit_that_leaves_no_room_is_refused(longest: int) -> None:
    with pytest.raises(BadInput):
        build_naming(longest=longest)


def test_a_tracking_may_have_a_folder_of_its_own() -> None:
    naming = build_naming(folder="动画/新番")
    made = library_path_of(SHOW, [slot(3)], release("A"), "x.mkv", naming=naming)
    assert made.folder == "动画/新番/金牌得主 (2025)/Season 01"
    assert made.show_folder == "动画/新番/金牌得主 (2025)"
    with pytest.raises(BadInput):
        build_naming(folder="../elsewhere")


def test_a_person_may_write_another_template() -> None:
    naming = build_naming(
        episode="{title}/S{season}/{title} S{season:02}E{episode:03}< [{resolution}]>< v{version}>"
    )
    meant = release("A", resolution="1080p", version=2)
    assert path(slot(3), show=Show("Show"), meant=meant, naming=naming) == (
        "Show/S1/Show S01E003 [1080p] v2.mkv"
    )


@pytest.mark.parametrize(
    ("filename", "end"),
    [("a.MKV", "].mkv"), ("a.mkv/../../x", "]"), ("a", "]"), ("a.exe\n", "]"), ("a.mp4", "].mp4")],
)
def test_only_the_extension_of_a_torrents_file_is_kept(filename: str, end: str) -> None:
    assert path(slot(3), meant=release("A"), filename=filename).endswith(f"S01E03 [A{end}")


@settings(deadline=None)
@given(st.text(max_size=80), st.lists(st.text(max_size=60), max_size=3), st.text(max_size=20))
def test_no_title_group_or_file_leads_out_of_the_library(
    title: str, groups: list[str], filename: str
) -> None:
    for show, where in (
        (Show(title, 2025), slot(3)),
        (Show(title, main_kind=ReleaseKind.MOVIE), FILM),
    ):
        made = library_path_of(show, [where], release(*groups), filename)
        assert is_safe_relative_path(made.path)
        parts = made.path.split("/")
        assert len(parts) == (2 if show.is_film else 3)
        assert all(0 < len(part.encode()) <= 255 for part in parts)


@pytest.mark.parametrize(
    ("filename", "tail"),
    [
        ("[A] Show - 01 [1080p].ass", ""),
        ("[A] Show - 01 [1080p].sc.ass", ".CHS.zh"),
        ("[A] Show - 01 [1080p].tc.ass", ".CHT.zh"),
        ("[A] Show - 01 [1080p].scjp.ass", ".CHS-JPN.zh"),
        ("[A] Show - 01 [1080p].JPTC.ass", ".CHT-JPN.zh"),
        ("[A] Show - 01.zh-Hans.srt", ".CHS.zh"),
        ("[A] Show - 01.zh-TW.srt", ".CHT.zh"),
        ("[A] Show - 01.简体.ass", ".CHS.zh"),
        ("[A] Show - 01 [CHS&JPN].ass", ".CHS-JPN.zh"),
        ("[A] Show - 01_chs.ass", ".CHS.zh"),
        ("[A] Show - 01.jp.sc.ass", ".CHS-JPN.zh"),
        ("[A] Show - 01.ja.ass", ".ja"),
        ("[A] Show - 01.eng.sdh.srt", ".en.sdh"),
        ("[A] Show - 01.en.forced.srt", ".en.forced"),
        ("[GB] Show - 01.ass", ""),
        ("sc.ass", ""),
    ],
)
def test_a_subtitle_says_its_language_as_media_servers_read_it(filename: str, tail: str) -> None:
    assert language_tail(filename) == tail


@pytest.mark.parametrize(
    ("filename", "tail"),
    [
        ("[A] Show - 01 [CHT].sc.ass", ".CHS.zh"),
        ("subs/[A] Show - 01 [CHT].sc.ass", ".CHS.zh"),
        ("[A] Show - 01 [CHT].ass", ".CHT.zh"),
        ("[A] Show - 01 [CHT]_jp.ass", ".ja"),
        ("[B] Show - 01 [CHS].ass", ".CHS.zh"),
    ],
)
def test_the_language_of_a_video_is_not_that_of_the_subtitles_beside_it(
    filename: str, tail: str
) -> None:
    assert language_tail(filename, "[A] Show - 01 [CHT].mkv") == tail


def test_a_subtitle_stands_beside_its_video() -> None:
    video = library_path_of(SHOW, [slot(3)], release("A"), "x.mkv")
    beside = subtitle_path(video, "[A] Show - 03.scjp.ass")
    assert beside.folder == video.folder
    assert beside.name == "金牌得主 - S01E03 [A].CHS-JPN.zh.ass"
    english = subtitle_path(video, "[A] Show - 03.en.srt")
    found = guessit(english.path)
    assert (found["season"], found["episode"], str(found["subtitle_language"])) == (1, 3, "en")


def test_a_subtitle_of_the_longest_video_still_fits() -> None:
    video = library_path_of(Show("長" * 200), [slot(3)], BOTH, "x.mkv")
    beside = subtitle_path(video, "x.chs.cht.jpn.forced.default.ass")
    assert len(beside.name.encode()) <= 255


@pytest.mark.parametrize(
    ("filename", "video", "subtitle"),
    [
        ("a.mkv", True, False),
        ("a.MP4", True, False),
        ("a.m2ts", True, False),
        ("a.ass", False, True),
        ("a.srt", False, True),
        ("a.exe", False, False),
        ("a.mkv.exe", False, False),
        ("a.nfo", False, False),
        ("a", False, False),
    ],
)
def test_files_are_known_by_their_extension(filename: str, video: bool, subtitle: bool) -> None:
    assert (is_video(filename), is_subtitle(filename)) == (video, subtitle)


def fields(document: str) -> dict[str, str | None]:
    root = etree.fromstring(document.encode(), hardened_parser(recover=False))
    return {"": root.tag, **{child.tag: child.text for child in root}}


def test_an_nfo_says_what_a_library_knows() -> None:
    assert fields(show_nfo(SHOW)) == {"": "tvshow", "title": "金牌得主", "year": "2025"}
    assert fields(film_nfo(Show("Film"))) == {"": "movie", "title": "Film"}
    assert fields(episode_nfo(SHOW, [slot(3)], release(episode_title="The <First>"))) == {
        "": "episodedetails",
        "title": "The <First>",
        "showtitle": "金牌得主",
        "season": "1",
        "episode": "3",
    }


def test_the_nfo_of_a_half_says_where_it_is_shown() -> None:
    assert fields(episode_nfo(SHOW, [slot(12.5)], release())) == {
        "": "episodedetails",
        "title": "Episode 12.5",
        "showtitle": "金牌得主",
        "season": "0",
        "episode": "125",
        "airsbefore_season": "1",
        "airsbefore_episode": "13",
        "displayseason": "1",
        "displayepisode": "13",
    }


def test_the_nfo_of_two_episodes_in_one_file_tells_of_both() -> None:
    """One element after the other, as Kodi and Jellyfin read a file with several episodes."""
    said = episode_nfo(SHOW, [slot(5), slot(6)], release(episode_title="The First"))
    head, _, elements = said.partition("\n")
    assert head.startswith("<?xml")
    root = etree.fromstring(f"<all>{elements}</all>".encode(), hardened_parser(recover=False))
    assert [(each.tag, each.findtext("season"), each.findtext("episode")) for each in root] == [
        ("episodedetails", "1", "5"),
        ("episodedetails", "1", "6"),
    ]
    assert "The First" not in said


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_title_makes_an_nfo_that_can_be_read(title: str) -> None:
    fields(show_nfo(Show(title, 2025)))

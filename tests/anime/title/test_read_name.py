"""What a reading of a title promises, whatever the title."""

import json
import time
from dataclasses import fields
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.anime.release import Release, ReleaseKind, Subtitle, release_as_json
from headwater.anime.title import LONGEST, read_title

WHOLE = "[晨星字幕组&MistHouse] 雾海列车 第二季 / Mukai Ressha S2 - 07v2 [WebRip 1080p][简日双语]"
PIECES = [
    *"[ ] ( ) 【 】 ★ - _ . / 01 1 12- 全 集 第 话 季 S1 E01 v2 简 日 a の 中 ~ & + 2020".split(),
    *"1080p x : | Ⅱ OVA END 完 合集 [01] [a] (a) [S1] www. ½".split(),
    " ",
    " - ",
    "\u3000",
]
EMPTY = Release()


def read(title: str) -> Release:
    return read_title(title).release


@settings(max_examples=400, deadline=None)
@given(st.text(max_size=200))
def test_no_text_is_refused(title: str) -> None:
    json.dumps(release_as_json(read(title)))


@settings(max_examples=600, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_nothing_that_looks_like_a_title_is_refused_either(title: str) -> None:
    release = read(title)
    json.dumps(release_as_json(release))
    assert release.episode_end is None or release.batch


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_every_field_that_is_said_is_explained(title: str) -> None:
    reading = read_title(title)
    said = {
        field.name
        for field in fields(Release)
        if getattr(reading.release, field.name) != getattr(EMPTY, field.name)
    }
    assert said <= {finding.field for finding in reading.trace}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_what_cannot_be_seen_changes_nothing(data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(WHOLE)))
    unseen = data.draw(st.sampled_from(["\u200b", "\u200e", "\ufeff", "\u2060", "\u00ad", "\x00"]))
    assert read(WHOLE[:place] + unseen + WHOLE[place:]) == read(WHOLE)


@pytest.mark.parametrize("gap", ["\n", "\r\n", "\t", "\u3000", "\u00a0", "   "])
def test_any_gap_is_a_space(gap: str) -> None:
    assert read(WHOLE.replace(" ", gap)) == read(WHOLE)


def test_letters_of_full_width_are_letters() -> None:
    wide = "".join(
        chr(ord(one) + 0xFEE0) if one.isascii() and one.isalnum() else one for one in WHOLE
    )
    assert wide != WHOLE
    assert read(wide) == read(WHOLE)


def test_a_decomposed_title_is_the_same_title() -> None:
    assert read("[Lantern] Cafe\u0301 - 03") == read("[Lantern] Caf\u00e9 - 03")


def test_what_comes_after_the_longest_title_is_not_read() -> None:
    assert read("[Lantern] Sea - 03 " + "x" * LONGEST + " [1080p]").resolution is None
    assert read_title("[Lantern] Sea - 03 [1080p]", longest=18).release.resolution is None


@pytest.mark.parametrize(
    "unit",
    [
        "[",
        "[[",
        "1",
        "01-",
        "[01",
        "(a",
        "中~",
        "全集",
        "S1 ",
        "a.",
        "★a",
        "-",
        "))- 1 ",
        "01&",
        "中(ab) ",
    ],
)
def test_a_hostile_title_costs_no_more_than_its_length(unit: str) -> None:
    """A cost that grew with the square of the length would be many seconds here."""
    hostile = ("[Lantern] Sea - 01 " + unit * LONGEST)[:LONGEST]
    began = time.process_time()
    read(hostile)
    assert time.process_time() - began < 0.5


def test_season_is_none_when_no_season_is_named() -> None:
    assert read("[Lantern] Sea - 03 [1080p]").season is None


def test_a_half_is_neither_of_its_neighbours() -> None:
    assert read("[Lantern] Sea [12.5][1080p]").episode == Decimal("12.5")
    assert release_as_json(read("[Lantern] Sea [12.5][1080p]"))["episode"] == 12.5


def test_a_whole_number_is_whole_in_json() -> None:
    written = release_as_json(read("[Lantern] Sea [03][1080p]"))["episode"]
    assert (written, type(written)) == (3, int)


def test_a_version_is_not_part_of_the_number() -> None:
    release = read("[Lantern] Sea [13v2][1080p]")
    assert (release.episode, release.version) == (Decimal(13), 2)


SINGLES = [
    "[Lantern] Sea Season 2 - 18 [1080p]",
    "[Lantern] Sea - 18 [2025-01-08][1080p]",
    "[Lantern] Sea - 18 (1920x1080 h264-720p)",
    "[Lantern] Ranma 1-2 - 18 [1080p]",
    "[Lantern] Ranma 1/2 - 18 [1080p]",
    "[Lantern] 009-1 - 18 [1080p]",
    "[Lantern] Sea - 18 - 10-bit - 60-fps [1080p]",
    "[Lantern] Sea S2-18 [1080p]",
    "[Lantern] Sea [18 END][1080p]",
    "[Lantern] Sea - 18 (Complete Edition) [1080p]",
    "[北港字幕社] 海 第二季 - 18 [1080p][全集字幕]",
    "[北港字幕社][海][18完][1080p]",
    "Sea.S01E18.1080p.WEB-DL.x264-GRP",
    "Sea - 18 - The Batch",
    "[Lantern] The Bad Batch - 18 [1080p]",
    "[Lantern] Sea 01 - 18 [1080p]",
    "[北港字幕社][海][18 - 总第67][1080p]",
]


@pytest.mark.parametrize("title", SINGLES)
def test_a_single_episode_is_no_batch(title: str) -> None:
    release = read(title)
    assert (release.batch, release.episode, release.episode_end) == (False, Decimal(18), None)


BATCHES = [
    "[Lantern] Sea 01~12 [1080p]",
    "[Lantern] Sea [01v2~12v2][1080p]",
    "[Lantern] Sea S1-S3 [1080p]",
    "[Lantern] Sea [TV+OVA][1080p]",
    "[Lantern] Sea E01-E02 [1080p]",
    "[Lantern] Sea - S01 [1080p]",
    "[Lantern] Sea 01 - 24 [1080p][Batch]",
    "[Lantern] Sea Vol.1-3 [1080p]",
    "[北港字幕社] 海 全套 [DVDRip]",
    "[Lantern] Sea (Batch) [1080p]",
    "[北港字幕社] 海 全集 [1080p]",
    "[北港字幕社] 海 全12话 [1080p]",
    "[北港字幕社] 海 [合集][1080p]",
    "[北港字幕社] 海 [1080p][Fin]",
    "[北港字幕社] 海 第1-3季 [1080p]",
]


@pytest.mark.parametrize("title", BATCHES)
def test_what_holds_several_episodes_is_a_batch(title: str) -> None:
    assert read(title).batch


def test_the_same_day_and_daily_life_are_no_japanese_subtitles() -> None:
    assert read("[北港字幕社] 来日日常 - 03 [1080p][繁体]").subtitles == {Subtitle.TRADITIONAL}


def test_an_alias_is_answered_by_the_name_it_stands_for() -> None:
    aliases = {"misthouse": "雾屋"}
    assert read_title(WHOLE, aliases=aliases).release.groups == ("晨星字幕组", "雾屋")


def test_a_group_is_named_once() -> None:
    assert read("[Lantern&Lantern] Sea - 03").groups == ("Lantern",)


def test_all_names_are_kept_apart_and_together() -> None:
    release = read("[北港字幕社] 海 / 大海 / うみ / Umi - 03 [1080p]")
    assert release.titles == {
        "zh": "海",
        "ja": "うみ",
        "en": "Umi",
        "mul": "海 / 大海 / うみ / Umi",
    }
    assert release.other_titles == ("大海",)
    written = release_as_json(release)
    assert written["titles"] == ["海", "うみ", "Umi", "大海", "海 / 大海 / うみ / Umi"]
    assert written["titles_by_language"] == release.titles


def test_a_title_of_two_scripts_is_the_first_of_its_names() -> None:
    written = release_as_json(read("[Lantern]New Doraemon 哆啦A梦新番[747][1080P][GB_JP]"))
    assert written["titles"] == ["New Doraemon 哆啦A梦新番", "哆啦A梦新番", "New Doraemon"]
    assert written["titles_by_language"] == {"en": "New Doraemon", "zh": "哆啦A梦新番"}


def test_the_trace_says_which_words_and_which_rule() -> None:
    trace = {finding.field: finding for finding in read_title(WHOLE).trace}
    assert (trace["episode"].value, trace["episode"].text) == ("7", "- 07v2")
    assert trace["episode"].rule == "number after a dash"
    assert (trace["season"].value, trace["season"].text) == ("2", "第二季")
    assert (trace["subtitles"].value, trace["subtitles"].text) == ("CHS + JPN", "简日双语")
    assert trace["groups"].rule == "first bracket"


def test_a_film_has_no_season_though_its_name_has_a_numeral() -> None:
    release = read("[北港字幕社] 命运Ⅲ [Movie][1080p]")
    assert (release.kind, release.season) == (ReleaseKind.MOVIE, None)


def test_an_infohash_in_a_title_is_found() -> None:
    digits = "0123456789abcdef0123456789abcdef01234567"
    assert read(f"[Lantern] Sea - 03 [{digits}]").infohash == digits


def test_a_whole_path_is_read_with_its_folders() -> None:
    release = read("D:\\shows\\Sea Story (2016)\\Season 2\\05.mkv")
    assert (release.title, release.season, release.year) == ("Sea Story", 2, 2016)
    assert release.episode == Decimal(5)

"""The rooms a title goes through: numerals, brackets, labels of subtitles, names, seasons."""

from decimal import Decimal

import pytest

from headwater.anime.release import Subtitle
from headwater.anime.subtitles import subtitles_by_code, subtitles_by_label
from headwater.anime.title.clean import clean_title, fold_title
from headwater.anime.title.names import language_of
from headwater.anime.title.number_patterns import parse_decimal, parse_whole_number
from headwater.anime.title.roles import BracketRole, role_of
from headwater.anime.title.season_marks import season_marks
from headwater.anime.title.split import split_title
from headwater.anime.title.terms import resolution_of


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("7", 7),
        ("一", 1),
        ("十", 10),
        ("十二", 12),
        ("二十", 20),
        ("二十一", 21),
        ("一百零八", 108),
        ("二〇", 20),
    ],
)
def test_a_numeral_is_read(written: str, number: int) -> None:
    assert parse_whole_number(written) == number


def test_a_decimal_may_be_chinese() -> None:
    assert (parse_decimal("12.5"), parse_decimal("二十一")) == (Decimal("12.5"), Decimal(21))


def test_a_title_is_cut_at_its_outermost_brackets() -> None:
    title = "[a(b)]c(d)"
    assert [(title[start:end], inside) for start, end, inside in split_title(title)] == [
        ("a(b)", "["),
        ("c", ""),
        ("d", "("),
    ]


def test_a_bracket_without_a_partner_is_text() -> None:
    assert [inside for _, _, inside in split_title("[[a] b)")] == ["", "[", ""]


def test_brackets_around_brackets_are_looked_into() -> None:
    title = "[[a][b]]"
    assert [title[start:end] for start, end, _ in split_title(title)] == ["a", "b"]


@pytest.mark.parametrize(
    ("label", "languages"),
    [
        ("简体内嵌", "CHS"),
        ("简日双语", "CHS JPN"),
        ("繁日雙語", "CHT JPN"),
        ("简繁内封", "CHS CHT"),
        ("简繁外挂", "CHS CHT"),
        ("简繁日内封字幕", "CHS CHT JPN"),
        ("繁简日内封", "CHS CHT JPN"),
        ("简英内嵌", "CHS ENG"),
        ("英文内封字幕", "ENG"),
        ("繁體中文", "CHT"),
        ("简中内封", "CHS"),
        ("中日双语", "CHS JPN"),
        ("中日雙語", "CHT JPN"),
        ("粵日雙語+內封繁體", "CHT JPN"),
        ("国语中字", "CHS"),
        ("繁", "CHT"),
        ("简 / 繁", "CHS CHT"),
        ("繁體內嵌合集", "CHT"),
        ("无字幕", ""),
        ("海边日常", ""),
        ("来日方长", ""),
        ("中二病", ""),
        ("英雄学院", ""),
        ("华日英音轨; 外挂简中字幕", "CHS"),
    ],
)
def test_a_label_is_read_and_a_name_is_not(label: str, languages: str) -> None:
    assert " ".join(sorted(subtitles_by_label(label))) == languages


@pytest.mark.parametrize(
    ("code", "languages"),
    [
        ("gb", "CHS"),
        ("big5", "CHT"),
        ("big5 gb", "CHS CHT"),
        ("gb jp", "CHS JPN"),
        ("jpsc", "CHS JPN"),
        ("jptc", "CHT JPN"),
        ("chs&jpn", "CHS JPN"),
        ("cht chs", "CHS CHT"),
        ("chs jp&cht jp", "CHS CHT JPN"),
        ("jap", ""),
        ("scene", ""),
        ("rugby", ""),
    ],
)
def test_a_code_is_read_and_a_word_is_not(code: str, languages: str) -> None:
    assert " ".join(sorted(subtitles_by_code(code))) == languages


def test_outside_brackets_only_sure_codes_are_believed() -> None:
    assert subtitles_by_code("the sc of it en route", certain_only=True) == frozenset()
    assert subtitles_by_code("05 big5 720p", certain_only=True) == {Subtitle.TRADITIONAL}


@pytest.mark.parametrize(
    ("content", "role"),
    [
        ("1080p", BracketRole.TECHNICAL),
        ("1080", BracketRole.TECHNICAL),
        ("bd", BracketRole.TECHNICAL),
        ("baha", BracketRole.TECHNICAL),
        ("chs cht eng th srt", BracketRole.TECHNICAL),
        ("la it fr", BracketRole.WORDS),
        ("2024春", BracketRole.REMARK),
        ("pv4", BracketRole.KIND),
        ("简体内嵌", BracketRole.TECHNICAL),
        ("7a8a7769", BracketRole.CHECKSUM),
        ("2018", BracketRole.YEAR),
        ("2023.02.25", BracketRole.REMARK),
        ("7月新番", BracketRole.REMARK),
        ("招募翻译校对", BracketRole.REMARK),
        ("101.69 mb", BracketRole.REMARK),
        ("03", BracketRole.NUMBER),
        ("01-12 合集", BracketRole.NUMBER),
        ("第03话", BracketRole.NUMBER),
        ("26 end", BracketRole.NUMBER),
        ("movie v2", BracketRole.KIND),
        ("特典", BracketRole.KIND),
        ("mist house", BracketRole.WORDS),
        ("海边日常", BracketRole.WORDS),
    ],
)
def test_a_bracket_has_a_role(content: str, role: BracketRole) -> None:
    assert role_of(content) is role


@pytest.mark.parametrize(
    ("text", "seasons"),
    [
        ("s2", [(2, None)]),
        ("season 3", [(3, None)]),
        ("2nd season", [(2, None)]),
        ("second season", [(2, None)]),
        ("第二季", [(2, None)]),
        ("第十六季", [(16, None)]),
        ("第3期", [(3, None)]),
        ("シーズン2", [(2, None)]),
        ("ⅱ", [(2, None)]),
        ("s1-s3", [(1, 3)]),
        ("s1+s2+s3", [(1, 3)]),
        ("第1-3季", [(1, 3)]),
        ("s01-03", [(1, 3)]),
        ("season 2 - 18", [(2, None)]),
        ("四季", []),
        ("期待", []),
        ("sailor s", []),
        ("100th", []),
    ],
)
def test_words_of_a_season_are_read(text: str, seasons: list[tuple[int, int | None]]) -> None:
    assert [(mark.season, mark.season_end) for mark in season_marks(text)] == seasons


@pytest.mark.parametrize(
    ("word", "lines"),
    [
        ("1920x1080", "1080p"),
        ("1080p", "1080p"),
        ("1080i", "1080p"),
        ("4k", "2160p"),
        ("ai2160p", "2160p"),
        ("720", "720p"),
        ("86", None),
    ],
)
def test_a_resolution_is_its_lines(word: str, lines: str | None) -> None:
    assert resolution_of(word) == lines


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("海", "zh"),
        ("うみ", "ja"),
        ("海のうた", "ja"),
        ("바다", "ko"),
        ("Umi", "en"),
        ("Umi 海", "zh"),
    ],
)
def test_a_name_has_a_language(name: str, language: str) -> None:
    assert language_of(name) == language


def test_a_twin_is_as_long_as_its_title() -> None:
    title = clean_title("［İstanbul］【海】（Ⅱ）～　＆")
    assert len(fold_title(title)) == len(title)

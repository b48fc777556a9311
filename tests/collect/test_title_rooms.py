"""The rooms a title goes through: numerals, brackets, labels of subtitles, names, seasons."""

from decimal import Decimal

import pytest

from headwater.collect.release import Subtitle
from headwater.collect.title.labels import codes_in, labels_in
from headwater.collect.title.names import language_of
from headwater.collect.title.numerals import decimal, whole
from headwater.collect.title.pieces import cut
from headwater.collect.title.roles import Role, role_of
from headwater.collect.title.seasons import season_marks
from headwater.collect.title.terms import resolution_of
from headwater.collect.title.text import tidy, twin


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
    assert whole(written) == number


def test_a_decimal_may_be_chinese() -> None:
    assert (decimal("12.5"), decimal("二十一")) == (Decimal("12.5"), Decimal(21))


def test_a_title_is_cut_at_its_outermost_brackets() -> None:
    title = "[a(b)]c(d)"
    assert [(title[start:end], inside) for start, end, inside in cut(title)] == [
        ("a(b)", "["),
        ("c", ""),
        ("d", "("),
    ]


def test_a_bracket_without_a_partner_is_text() -> None:
    assert [inside for _, _, inside in cut("[[a] b)")] == ["", "[", ""]


def test_brackets_around_brackets_are_looked_into() -> None:
    title = "[[a][b]]"
    assert [title[start:end] for start, end, _ in cut(title)] == ["a", "b"]


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
    assert " ".join(sorted(labels_in(label))) == languages


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
    assert " ".join(sorted(codes_in(code))) == languages


def test_outside_brackets_only_sure_codes_are_believed() -> None:
    assert codes_in("the sc of it en route", certain_only=True) == frozenset()
    assert codes_in("05 big5 720p", certain_only=True) == {Subtitle.TRADITIONAL}


@pytest.mark.parametrize(
    ("content", "role"),
    [
        ("1080p", Role.TECHNICAL),
        ("1080", Role.TECHNICAL),
        ("bd", Role.TECHNICAL),
        ("baha", Role.TECHNICAL),
        ("chs cht eng th srt", Role.TECHNICAL),
        ("la it fr", Role.WORDS),
        ("2024春", Role.REMARK),
        ("pv4", Role.KIND),
        ("简体内嵌", Role.TECHNICAL),
        ("7a8a7769", Role.CHECKSUM),
        ("2018", Role.YEAR),
        ("2023.02.25", Role.REMARK),
        ("7月新番", Role.REMARK),
        ("招募翻译校对", Role.REMARK),
        ("101.69 mb", Role.REMARK),
        ("03", Role.NUMBER),
        ("01-12 合集", Role.NUMBER),
        ("第03话", Role.NUMBER),
        ("26 end", Role.NUMBER),
        ("movie v2", Role.KIND),
        ("特典", Role.KIND),
        ("mist house", Role.WORDS),
        ("海边日常", Role.WORDS),
    ],
)
def test_a_bracket_has_a_role(content: str, role: Role) -> None:
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
    title = tidy("［İstanbul］【海】（Ⅱ）～　＆")
    assert len(twin(title)) == len(title)

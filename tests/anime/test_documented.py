"""docs/releases.md says what the filter, the upgrade and the names really do."""

import re

import pytest

from headwater.anime.decide.filter import RULE_NAMES
from headwater.anime.decide.rank_releases import decide_upgrade
from headwater.anime.naming.library_path import EPISODE_TEMPLATE, FILM_TEMPLATE, library_path_of
from headwater.anime.naming.subtitle_files import subtitle_path
from headwater.anime.naming.template import FIELDS
from headwater.anime.release import ReleaseKind
from headwater.anime.shows.preferences import DEFAULT_SUBTITLES, RANKS, Preferences
from headwater.anime.shows.show import Show
from headwater.anime.shows.slot import FILM
from headwater.anime.subtitles import format_subtitles
from headwater.anime.user_patterns import LONGEST_PATTERN, LONGEST_TITLE, MOST_PATTERNS
from tests.support.docs_pages import page
from tests.support.releases import CHS, CHT, JPN, release, slot

TEXT = page("docs/releases.md")


@pytest.mark.parametrize("rule", RULE_NAMES)
def test_every_rule_of_the_filter_is_explained(rule: str) -> None:
    assert f"`{rule}`" in TEXT


@pytest.mark.parametrize("rank", RANKS)
def test_every_further_rank_is_explained(rank: str) -> None:
    assert f"**{rank}**" in TEXT


def test_the_templates_are_those_that_are_used() -> None:
    assert f"\n{EPISODE_TEMPLATE}\n{FILM_TEMPLATE}\n" in TEXT
    listed = re.search(r"Fields: (.*?)\. ", TEXT)
    assert listed is not None
    assert tuple(re.findall(r"`(\w+)`", listed[1])) == FIELDS


def test_the_usual_subtitles_are_those_that_are_used() -> None:
    assert f"`{', '.join(map(format_subtitles, DEFAULT_SUBTITLES))}`" in TEXT


def test_the_limits_are_those_that_hold() -> None:
    assert f"at most {LONGEST_PATTERN} characters, a list at most {MOST_PATTERNS} patterns" in TEXT
    assert f"first {LONGEST_TITLE:,} characters" in TEXT


def test_the_names_that_are_shown_are_the_names_that_are_given() -> None:
    show, film = Show("Show"), Show("Film", 2025, main_kind=ReleaseKind.MOVIE)
    group = release("Group")
    video = library_path_of(show, [slot(3)], group, "a.mkv")
    shown = [
        library_path_of(
            Show("金牌得主", 2025), [slot(3)], release("喵萌奶茶屋", "LoliHouse"), "a.mkv"
        ).path,
        library_path_of(show, [slot(1), slot(2)], group, "a.mkv").name,
        library_path_of(show, [slot(1, 0)], group, "a.mkv").path.removeprefix("Show/"),
        library_path_of(show, [slot(12.5)], group, "a.mkv").path.removeprefix("Show/"),
        library_path_of(film, [FILM], group, "a.mkv").path,
        library_path_of(film, [FILM], group, "a.mkv", part=1).path,
        subtitle_path(video, "x [G].scjp.ass").name,
    ]
    assert [name for name in shown if name not in TEXT] == []


def test_the_reasons_that_are_shown_are_the_reasons_that_are_given() -> None:
    likes = Preferences(groups=("喵萌奶茶屋", "LoliHouse", "ANi"))
    better = decide_upgrade(release("ANi"), release("LoliHouse"), likes)
    held, new = release("ANi", subtitles=[CHS, JPN]), release("ANi", subtitles=[CHT])
    assert better.reason in TEXT
    assert decide_upgrade(held, new, likes).reason in TEXT

"""docs/releases.md says what the filter, the upgrade and the names really do."""

import re

import pytest

from headwater.collect.languages import subtitles_in_words
from headwater.collect.naming.place import EPISODE_TEMPLATE, FILM_TEMPLATE, place_of
from headwater.collect.naming.sidecar import subtitle_place
from headwater.collect.naming.template import FIELDS
from headwater.collect.patterns import LONGEST_PATTERN, LONGEST_TITLE, MOST_PATTERNS
from headwater.collect.priority import DEFAULT_SUBTITLES, RANKS, Preferences
from headwater.collect.release import Kind
from headwater.collect.rules import RULES
from headwater.collect.show import Show
from headwater.collect.slot import FILM
from headwater.collect.upgrade import judged
from tests.collect.making import CHS, CHT, JPN, release, slot
from tests.docs.pages import page

TEXT = page("docs/releases.md")


@pytest.mark.parametrize("rule", RULES)
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
    assert f"`{', '.join(map(subtitles_in_words, DEFAULT_SUBTITLES))}`" in TEXT


def test_the_limits_are_those_that_hold() -> None:
    assert f"at most {LONGEST_PATTERN} characters, a list at most {MOST_PATTERNS} patterns" in TEXT
    assert f"first {LONGEST_TITLE:,} characters" in TEXT


def test_the_names_that_are_shown_are_the_names_that_are_given() -> None:
    show, film = Show("Show"), Show("Film", 2025, main_kind=Kind.MOVIE)
    group = release("Group")
    video = place_of(show, [slot(3)], group, "a.mkv")
    shown = [
        place_of(
            Show("金牌得主", 2025), [slot(3)], release("喵萌奶茶屋", "LoliHouse"), "a.mkv"
        ).path,
        place_of(show, [slot(1), slot(2)], group, "a.mkv").name,
        place_of(show, [slot(1, 0)], group, "a.mkv").path.removeprefix("Show/"),
        place_of(show, [slot(12.5)], group, "a.mkv").path.removeprefix("Show/"),
        place_of(film, [FILM], group, "a.mkv").path,
        place_of(film, [FILM], group, "a.mkv", part=1).path,
        subtitle_place(video, "x [G].scjp.ass").name,
    ]
    assert [name for name in shown if name not in TEXT] == []


def test_the_reasons_that_are_shown_are_the_reasons_that_are_given() -> None:
    likes = Preferences(groups=("喵萌奶茶屋", "LoliHouse", "ANi"))
    better = judged(release("ANi"), release("LoliHouse"), likes)
    held, new = release("ANi", subtitles=[CHS, JPN]), release("ANi", subtitles=[CHT])
    assert better.reason in TEXT
    assert judged(held, new, likes).reason in TEXT

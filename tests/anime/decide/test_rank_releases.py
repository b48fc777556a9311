"""Two tables decide whether a release takes another's place; each row is a test."""

from typing import get_args

import pytest

from headwater.anime.decide.rank_releases import (
    OfferVerdict,
    Order,
    compare_groups,
    compare_releases,
    compare_subtitles,
    decide_upgrade,
)
from headwater.anime.release import Release, Subtitle
from headwater.anime.shows.preferences import (
    DEFAULT_SUBTITLES,
    RANKS,
    Preferences,
    Rank,
    StopLine,
    check_preferences,
)
from headwater.anime.subtitles import format_subtitles, parse_wanted_subtitles
from headwater.core.errors import BadInput
from tests.support.releases import CHS, CHT, ENG, JPN, release

GROUPS = Preferences(groups=("喵萌奶茶屋", "LoliHouse", "ANi"))
ALIASES = Preferences(
    groups=("喵萌奶茶屋", "LoliHouse"), aliases={"Nekomoe kissaten": "喵萌奶茶屋"}
)


@pytest.mark.parametrize(
    ("held", "new", "order"),
    [
        pytest.param([], ["Anyone"], "better", id="none held, some new"),
        pytest.param([], ["ANi"], "better", id="none held, listed new"),
        pytest.param(["ANi"], [], "worse", id="listed held, none new"),
        pytest.param(["Anyone"], [], "worse", id="some held, none new"),
        pytest.param([], [], "equal", id="both none"),
        pytest.param(["ANi"], ["ANi"], "equal", id="the same listed"),
        pytest.param(["Anyone"], ["Anyone"], "equal", id="the same not listed"),
        pytest.param(["Anyone"], ["Someone"], "equal", id="neither listed"),
        pytest.param(["Anyone"], ["ANi"], "better", id="not listed, listed"),
        pytest.param(["ANi"], ["Anyone"], "worse", id="listed, not listed"),
        pytest.param(["ANi"], ["喵萌奶茶屋"], "better", id="place 2, place 0"),
        pytest.param(["喵萌奶茶屋"], ["ANi"], "worse", id="place 0, place 2"),
    ],
)
def test_the_table_of_groups(held: list[str], new: list[str], order: Order) -> None:
    assert compare_groups(held, new, GROUPS) == order


@pytest.mark.parametrize(
    ("held", "new", "order"),
    [
        pytest.param([JPN, CHS], [CHS, JPN], "equal", id="the same, in another order"),
        pytest.param([CHS], [CHS], "equal", id="the same"),
        pytest.param([ENG], [CHT], "better", id="not listed, listed"),
        pytest.param([], [CHT], "better", id="none, listed"),
        pytest.param([CHT], [ENG], "worse", id="listed, not listed"),
        pytest.param([CHT, JPN], [CHS, JPN], "better", id="place 2, place 0"),
        pytest.param([CHS, JPN], [CHT, JPN], "worse", id="place 0, place 2"),
        pytest.param([ENG], [CHS, CHT], "equal", id="neither listed"),
        pytest.param([], [ENG], "equal", id="neither listed, none held"),
    ],
)
def test_the_table_of_subtitles(held: list[Subtitle], new: list[Subtitle], order: Order) -> None:
    assert compare_subtitles(frozenset(held), frozenset(new), Preferences()) == order


def test_the_usual_subtitles_are_four_in_this_order() -> None:
    assert [format_subtitles(each) for each in DEFAULT_SUBTITLES] == ["简日", "简", "繁日", "繁"]
    assert tuple(map(parse_wanted_subtitles, ["简日", "简", "繁日", "繁"])) == DEFAULT_SUBTITLES


def test_of_several_groups_the_best_counts() -> None:
    held = ["ANi", "LoliHouse"]
    assert compare_groups(held, ["Someone", "喵萌奶茶屋"], GROUPS) == "better"
    assert compare_groups(held, ["Someone", "LoliHouse"], GROUPS) == "equal"
    assert compare_groups(held, ["ANi", "Someone"], GROUPS) == "worse"


@pytest.mark.parametrize("name", ["lolihouse", "LOLIHOUSE", "ＬｏｌｉＨｏｕｓｅ", " Loli House "])
def test_neither_case_nor_width_nor_spaces_make_another_group(name: str) -> None:
    assert compare_groups(["LoliHouse"], [name], GROUPS) == "equal"
    assert compare_groups(["ANi"], [name], GROUPS) == "better"


def test_another_name_of_a_group_has_its_place() -> None:
    assert compare_groups(["LoliHouse"], ["nekomoe kissaten"], ALIASES) == "better"
    assert compare_groups(["喵萌奶茶屋"], ["Nekomoe Kissaten"], ALIASES) == "equal"
    by_alias = Preferences(groups=("Nekomoe kissaten",), aliases=ALIASES.aliases)
    assert compare_groups(["ANi"], ["喵萌奶茶屋"], by_alias) == "better"


def test_the_group_decides_before_the_subtitles() -> None:
    held = release("ANi", subtitles=[CHS, JPN])
    new = release("LoliHouse", subtitles=[CHT])
    assert compare_releases(held, new, GROUPS) == ("better", "group")
    assert compare_releases(new, held, GROUPS) == ("worse", "group")


def test_subtitles_decide_between_groups_of_one_rank() -> None:
    held = release("Anyone", subtitles=[CHT])
    new = release("Someone", subtitles=[CHS])
    assert compare_releases(held, new, GROUPS) == ("better", "subtitles")


def test_a_higher_version_of_the_same_group_is_better_by_default() -> None:
    held, new = release("ANi", subtitles=[CHT]), release("ANi", subtitles=[CHT], version=2)
    assert compare_releases(held, new, GROUPS) == ("better", "version")
    assert compare_releases(new, held, GROUPS) == ("worse", "version")
    assert compare_releases(new, release("ANi", subtitles=[CHT], version=3), GROUPS) == (
        "better",
        "version",
    )
    assert compare_releases(held, new, Preferences(further=())) == ("equal", "none")


def test_a_higher_version_of_another_group_of_the_same_rank_is_not_better() -> None:
    assert compare_releases(release("Anyone"), release("Someone", version=2), GROUPS) == (
        "equal",
        "none",
    )


def test_nobodys_second_version_mends_nobodys_first() -> None:
    assert compare_releases(release(), release(version=2), GROUPS) == ("equal", "none")


def test_a_better_groups_second_version_is_not_refused_for_being_another_groups() -> None:
    assert compare_releases(release("ANi", version=3), release("LoliHouse", version=2), GROUPS) == (
        "better",
        "group",
    )


def test_a_version_mends_only_what_is_otherwise_the_same() -> None:
    held = release("ANi", resolution="1080p")
    assert compare_releases(held, release("ANi", resolution="720p", version=2), GROUPS) == (
        "equal",
        "none",
    )
    hevc = release("ANi", resolution="1080p", video_codec=("HEVC",), version=2)
    assert compare_releases(held, hevc, GROUPS) == ("equal", "none")
    english, both = release("ANi", subtitles=[ENG]), release("ANi", subtitles=[ENG, CHS], version=2)
    assert compare_releases(english, both, GROUPS) == ("equal", "none")
    web, disc = release("ANi", source="WEB-DL"), release("ANi", source="BDRip", version=2)
    assert compare_releases(web, disc, GROUPS) == ("equal", "none")
    assert compare_releases(web, release("ANi", source="WEB-DL", version=2), GROUPS) == (
        "better",
        "version",
    )


def test_an_alias_is_the_same_group_for_versions_too() -> None:
    held, new = release("喵萌奶茶屋"), release("Nekomoe kissaten", version=2)
    assert compare_releases(held, new, ALIASES) == ("better", "version")


def test_resolution_counts_only_when_it_is_asked_for() -> None:
    held, new = release("Anyone", resolution="720p"), release("Someone", resolution="1080p")
    assert compare_releases(held, new, Preferences()) == ("equal", "none")
    wanted = Preferences(further=("resolution", "version"))
    assert compare_releases(held, new, wanted) == ("better", "resolution")
    assert compare_releases(release("Anyone"), held, wanted) == ("better", "resolution")


def test_a_person_may_like_small_files() -> None:
    small = Preferences(further=("resolution",), resolutions=("720p", "1080p"))
    held, new = release("Anyone", resolution="1080p"), release("Someone", resolution="720p")
    assert compare_releases(held, new, small) == ("better", "resolution")
    assert compare_releases(release("A", resolution="480p"), held, small) == (
        "better",
        "resolution",
    )


def test_sources_count_in_the_order_of_the_list() -> None:
    wanted = Preferences(further=("source",), sources=("BD", "WEB-DL"))
    web, disc = release("A", source="WEB-DL"), release("B", source="bd")
    assert compare_releases(web, disc, wanted) == ("better", "source")
    assert compare_releases(web, release("B", source="TV"), wanted) == ("worse", "source")
    assert compare_releases(web, disc, Preferences(further=("source",))) == ("equal", "none")


def test_further_ranks_are_compared_in_the_users_order() -> None:
    held = release("A", resolution="1080p", source="WEB-DL")
    new = release("B", resolution="720p", source="BD")
    sources = ("BD", "WEB-DL")
    one = Preferences(further=("source", "resolution"), sources=sources)
    other = Preferences(further=("resolution", "source"), sources=sources)
    assert compare_releases(held, new, one) == ("better", "source")
    assert compare_releases(held, new, other) == ("worse", "resolution")


def test_what_stands_after_the_version_counts_within_one_group_only() -> None:
    wanted = Preferences(further=("version", "resolution"))
    low, high = release("A", resolution="720p"), release("A", resolution="1080p")
    assert compare_releases(low, high, wanted) == ("better", "resolution")
    assert compare_releases(low, release("B", resolution="1080p"), wanted) == ("equal", "none")


def stopping(group: str | None, subtitles: list[Subtitle] | None) -> Preferences:
    line = StopLine(group, None if subtitles is None else frozenset(subtitles))
    return check_preferences(Preferences(groups=("First", "Second", "Third"), stop=line))


def test_at_the_stop_line_nothing_better_is_looked_for() -> None:
    preferences = stopping("Second", None)
    second, first = release("Second"), release("First")
    assert decide_upgrade(second, first, preferences) == OfferVerdict(
        "skip",
        "stop_line",
        "What is held is good enough, though group First (in place 1) beside Second (in place 2).",
    )
    assert decide_upgrade(release("Third"), second, preferences).action == "upgrade"


def test_the_stop_line_may_ask_for_subtitles_too() -> None:
    preferences = stopping("Second", [CHS])
    first = release("First", subtitles=[CHS, JPN])
    assert (
        decide_upgrade(release("Second", subtitles=[CHT]), first, preferences).action == "upgrade"
    )
    assert (
        decide_upgrade(release("Second", subtitles=[CHS]), first, preferences).rule == "stop_line"
    )


def test_what_is_good_enough_is_still_mended() -> None:
    preferences = stopping("First", None)
    assert decide_upgrade(
        release("First"), release("First", version=2), preferences
    ) == OfferVerdict("upgrade", "version", "It is better: version 2 beside 1 of the same group.")


@pytest.mark.parametrize(
    ("held", "new", "verdict"),
    [
        (
            release("ANi"),
            release("LoliHouse", "Someone"),
            OfferVerdict(
                "upgrade",
                "group",
                "It is better: group LoliHouse & Someone (in place 2) beside ANi (in place 3).",
            ),
        ),
        (
            release("ANi"),
            release(),
            OfferVerdict(
                "skip",
                "group",
                "What is held is better: group none (not named) beside ANi (in place 3).",
            ),
        ),
        (
            release("ANi", subtitles=[CHT]),
            release("ANi", subtitles=[CHS, JPN]),
            OfferVerdict(
                "upgrade",
                "subtitles",
                "It is better: subtitles 简日 (in place 1) beside 繁 (in place 4).",
            ),
        ),
        (
            release("Anyone", subtitles=[CHS]),
            release("Someone", subtitles=[CHS]),
            OfferVerdict(
                "skip",
                "same_rank",
                "It is no better: its group is not in the list, its subtitles are in place 2,"
                " as those of what is held.",
            ),
        ),
    ],
)
def test_a_verdict_says_why_in_words(held: Release, new: Release, verdict: OfferVerdict) -> None:
    assert decide_upgrade(held, new, GROUPS) == verdict


@pytest.mark.parametrize(
    ("label", "meant"),
    [
        ("简日", {CHS, JPN}),
        ("日简", {CHS, JPN}),
        ("简", {CHS}),
        ("繁體", {CHT}),
        ("CHS+JPN", {CHS, JPN}),
        ("chs & jpn", {CHS, JPN}),
        ("JPN", {JPN}),
        ("ja", {JPN}),
        ("日", {JPN}),
        ("GB_JP", {CHS, JPN}),
        ("BIG5", {CHT}),
        ("简繁日", {CHS, CHT, JPN}),
        ("ENG", {ENG}),
        ("none", set()),
        ("无字幕", set()),
    ],
)
def test_subtitles_are_named_in_many_ways(label: str, meant: set[Subtitle]) -> None:
    assert parse_wanted_subtitles(label) == meant


@pytest.mark.parametrize("label", ["", "?", "klingon", "日常"])
def test_a_label_without_a_language_is_refused(label: str) -> None:
    with pytest.raises(BadInput):
        parse_wanted_subtitles(label)


@pytest.mark.parametrize(
    "given",
    [
        Preferences(groups=("A", "a")),
        Preferences(groups=(" ",)),
        Preferences(groups=("x" * 300,)),
        Preferences(groups=tuple(map(str, range(100)))),
        Preferences(subtitles=(frozenset({CHS}), frozenset({CHS}))),
        Preferences(further=("version", "version")),
        Preferences(groups=("A",), stop=StopLine(group="B")),
        Preferences(stop=StopLine(subtitles=frozenset({ENG}))),
        Preferences(resolutions=("1080p", "1080P")),
    ],
)
def test_preferences_that_contradict_themselves_are_refused(given: Preferences) -> None:
    with pytest.raises(BadInput):
        check_preferences(given)


def test_a_rank_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BadInput):
        check_preferences(Preferences(further=("size",)))  # type: ignore[arg-type]


def test_the_ranks_are_those_of_the_type() -> None:
    assert get_args(Rank) == RANKS

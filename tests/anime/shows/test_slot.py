"""Which episodes a release fills, what is no part of the show, and when that is not sure."""

from decimal import Decimal

import pytest

from headwater.anime.release import Release, ReleaseKind
from headwater.anime.shows.show import Show, check_show
from headwater.anime.shows.slot import FILM, NotOfShow, Slot, SlotMatch, match_release_to_show
from headwater.anime.title import read_title
from headwater.core.errors import BadInput
from tests.support.releases import release, slot

SERIES = Show("Show", 2026)
SECOND = Show("Show", 2026, season=2)


def where(meant: Release, show: Show = SERIES) -> tuple[Slot, ...]:
    found = match_release_to_show(meant, show)
    assert isinstance(found, SlotMatch)
    assert found.doubt is None
    return found.slots


def doubt(meant: Release, show: Show = SERIES) -> tuple[tuple[Slot, ...], str]:
    found = match_release_to_show(meant, show)
    assert isinstance(found, SlotMatch)
    assert found.doubt is not None
    return found.slots, found.doubt


def stranger(meant: Release, show: Show = SERIES) -> NotOfShow:
    found = match_release_to_show(meant, show)
    assert isinstance(found, NotOfShow)
    return found


def test_an_episode_is_of_the_shows_season_when_it_names_none() -> None:
    assert where(release(episode=3)) == (slot(3, 1),)
    assert where(release(episode=3), SECOND) == (slot(3, 2),)
    assert where(release(episode=3, season=2), SECOND) == (slot(3, 2),)


def test_season_four_never_takes_an_episode_of_season_three() -> None:
    third = Show("Show", season=3)
    assert stranger(release(episode=1, season=4), third) == NotOfShow(
        "other_season", "It is of season 4, and season 3 is collected."
    )


def test_a_half_is_a_place_of_its_own() -> None:
    assert where(release(episode=12.5)) == (slot(12.5),)
    assert slot(12.5) not in (slot(12), slot(13))


def test_an_offset_makes_absolute_numbers_start_anew() -> None:
    show = Show("Show", season=2, episode_offset=-12)
    assert where(release(episode=13), show) == (slot(1, 2),)
    assert where(release(episode=24), show) == (slot(12, 2),)
    assert where(release(episode=13.5), show) == (slot(1.5, 2),)


def test_groups_that_count_within_the_season_are_not_moved() -> None:
    show = Show("Show", season=2, episode_offset=-12)
    assert where(release(episode=1), show) == (slot(1, 2),)
    assert where(release(episode=12), show) == (slot(12, 2),)


def test_two_numbers_that_fit_the_offset_are_sure_and_others_are_not() -> None:
    show = Show("Show", season=2, episode_offset=-44)
    assert where(release(episode=1, absolute=45), show) == (slot(1, 2),)
    assert doubt(release(episode=1, absolute=46), show) == (
        (slot(1, 2),),
        "Its two numbers do not fit the offset of -44.",
    )


def test_without_an_offset_the_first_of_two_numbers_counts() -> None:
    assert where(release(episode=1, absolute=45)) == (slot(1),)


def test_a_number_beyond_the_season_is_not_sure() -> None:
    show = Show("Show", episodes=12)
    assert where(release(episode=12), show) == (slot(12),)
    assert where(release(episode=12.5), show) == (slot(12.5),)
    assert doubt(release(episode=13), show) == (
        (slot(13),),
        "It is number 13 of a season that has 12 episodes.",
    )


def test_a_second_part_may_count_anew() -> None:
    assert doubt(release(episode=1, part=2)) == (
        (slot(1),),
        "It is of part 2, whose numbers may begin anew.",
    )
    assert where(release(episode=1, part=2), Show("Show", episode_offset=12)) == (slot(13),)


def test_a_pack_of_a_second_part_may_count_anew_too() -> None:
    pack = release(episode=1, episode_end=2, part=2, batch=True)
    assert doubt(pack) == (
        (slot(1), slot(2)),
        "It is of part 2, whose numbers may begin anew.",
    )
    assert where(pack, Show("Show", episode_offset=12)) == (slot(13), slot(14))


def test_a_pack_of_a_part_is_not_the_whole_season() -> None:
    assert doubt(release(part=2, batch=True), Show("Show", episodes=24)) == (
        (),
        "It is a pack that does not say which episodes it holds.",
    )


@pytest.mark.parametrize(
    "title", ["[Group][Show][01-03+SP][1080p]", "[Group] Show (01-03 + OVA 01-02) [BD 1080p]"]
)
def test_a_season_with_an_ova_beside_it_is_the_season(title: str) -> None:
    assert where(read_title(title).release) == (slot(1), slot(2), slot(3))


@pytest.mark.parametrize("kind", [ReleaseKind.SPECIAL, ReleaseKind.OVA, ReleaseKind.OAD])
def test_specials_go_to_season_zero(kind: ReleaseKind) -> None:
    assert where(release(episode=2, kind=kind), SECOND) == (slot(2, 0),)


def test_season_zero_in_a_title_is_a_special() -> None:
    assert where(release(episode=1, season=0)) == (slot(1, 0),)


def test_a_special_without_a_number_is_the_first_but_not_surely() -> None:
    assert doubt(release(kind=ReleaseKind.OVA)) == (
        (slot(1, 0),),
        "It is a special without a number.",
    )


def test_a_person_may_number_what_has_no_number_of_its_own() -> None:
    show = Show("Show", specials={"12.5": 7, "OVA1": 8})
    assert where(release(episode=12.5), show) == (slot(7, 0),)
    assert where(release(episode=1, kind=ReleaseKind.OVA), show) == (slot(8, 0),)
    assert where(release(episode=2, kind=ReleaseKind.OVA), show) == (slot(2, 0),)
    pack = release(episode=1, episode_end=2, kind=ReleaseKind.OVA, batch=True)
    assert where(pack, show) == (slot(8, 0), slot(2, 0))


def test_a_series_of_ovas_has_a_season_of_its_own() -> None:
    assert where(
        release(episode=1, kind=ReleaseKind.OVA), Show("Show", main_kind=ReleaseKind.OVA)
    ) == (slot(1),)


def test_web_and_tv_episodes_are_episodes() -> None:
    assert where(release(episode=1, kind=ReleaseKind.ONA)) == (slot(1),)
    assert where(release(episode=1, kind=ReleaseKind.TV)) == (slot(1),)


@pytest.mark.parametrize(
    "kind",
    [
        ReleaseKind.CREDITLESS_OPENING,
        ReleaseKind.CREDITLESS_ENDING,
        ReleaseKind.PREVIEW,
        ReleaseKind.COMMERCIAL,
        ReleaseKind.MENU,
        ReleaseKind.SOUNDTRACK,
    ],
)
def test_extras_are_not_episodes(kind: ReleaseKind) -> None:
    assert stranger(release(episode=1, kind=kind)) == NotOfShow(
        "extra", f"{kind} is not an episode."
    )


def test_films_and_series_do_not_mix() -> None:
    film = Show("Film", 2026, main_kind=ReleaseKind.MOVIE)
    assert where(release(), film) == (FILM,)
    assert where(release(kind=ReleaseKind.MOVIE), film) == (FILM,)
    assert stranger(release(episode=3), film).rule == "other_kind"
    assert stranger(release(kind=ReleaseKind.MOVIE)).rule == "other_kind"


def test_a_title_without_an_episode_is_held_not_guessed() -> None:
    assert doubt(release()) == ((), "Its title names no episode.")


def test_a_pack_covers_its_range() -> None:
    pack = release(episode=1, episode_end=3, batch=True)
    assert where(pack) == (slot(1), slot(2), slot(3))
    moved = release(episode=13, episode_end=15, batch=True)
    show = Show("Show", season=2, episode_offset=-12)
    assert where(moved, show) == (slot(1, 2), slot(2, 2), slot(3, 2))


def test_two_episodes_in_one_release_are_two_places_even_if_it_is_no_pack() -> None:
    assert where(release(episode=1, episode_end=2)) == (slot(1), slot(2))


def test_a_pack_without_a_range_needs_to_know_the_season() -> None:
    pack = release(batch=True)
    assert doubt(pack) == ((), "It is a pack that does not say which episodes it holds.")
    assert where(pack, Show("Show", episodes=2)) == (slot(1), slot(2))


def test_a_pack_that_says_more_than_a_season_has_is_not_sure() -> None:
    pack = release(episode=1, episode_end=3, batch=True)
    assert doubt(pack, Show("Show", episodes=2))[1] == (
        "It is number 3 of a season that has 2 episodes."
    )


def test_several_seasons_at_once_are_not_sure() -> None:
    assert doubt(release(season=1, season_end=3, batch=True)) == ((), "It holds several seasons.")


@pytest.mark.parametrize(("first", "last"), [(12, 1), (1, 100_000), (0, 2_000)])
def test_a_range_that_cannot_be_is_held(first: int, last: int) -> None:
    slots, _ = doubt(release(episode=first, episode_end=last, batch=True))
    assert slots == ()


def test_only_titles_of_the_show_belong_to_it() -> None:
    show = Show("莉可丽丝", titles=("Lycoris Recoil", "莉可丽丝"))
    ours = release(title="LYCORIS  RECOIL!", episode=1)
    assert where(ours, show) == (slot(1),)
    by_any = release(title="x", titles={"zh": "莉可丽丝"}, episode=1)
    assert where(by_any, show) == (slot(1),)
    assert where(release(title="x", other_titles=("Lycoris Recoil",), episode=1), show) == (
        slot(1),
    )
    other = release(title="Another", episode=1)
    assert stranger(other, show) == NotOfShow(
        "other_show", "It is called 'Another', which is not this show."
    )


def test_a_title_that_only_holds_ours_is_not_sure() -> None:
    show = Show("Show", titles=("Lycoris Recoil",))
    near = release(title="Lycoris Recoil Friends", episode=1)
    assert doubt(near, show) == (
        (slot(1),),
        "Its title 'Lycoris Recoil Friends' may be another show's.",
    )
    assert doubt(release(episode=1), show)[1] == "What has no title may be another show's."


def test_slots_are_written_as_people_write_them() -> None:
    assert str(slot(3)) == "S01E03"
    assert str(slot(12.5)) == "S01E12.5"
    assert str(slot(125, 0)) == "S00E125"
    assert str(FILM) == "the film"


@pytest.mark.parametrize(
    "show",
    [
        Show(" "),
        Show("x" * 600),
        Show("Show", year=25),
        Show("Show", season=-1),
        Show("Show", episode_offset=10**6),
        Show("Show", episodes=0),
        Show("Show", titles=("x",) * 40),
        Show("Show", specials={"12.5": -1}),
    ],
)
def test_a_show_that_no_library_could_hold_is_refused(show: Show) -> None:
    with pytest.raises(BadInput):
        check_show(show)


def test_numbers_stay_exact() -> None:
    assert where(release(episode=7.5)) == (Slot(1, Decimal("7.5")),)

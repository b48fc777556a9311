"""Missing episodes: which they are, since when, and that each is told once."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from headwater.anime.decide.decide_again import catch_up
from headwater.anime.episodes.episodes import MOST_GAPS, Gap, gaps_of
from headwater.anime.episodes.missing_alerts import announce_missing_episodes
from headwater.anime.release import ReleaseKind
from headwater.anime.shows.show import Show
from headwater.anime.shows.slot import FILM
from tests.support.clock import START
from tests.support.releases import NOON, slot
from tests.support.tracked_feed import Harbour, ani

SHOW, HOUR = Show("Tides"), timedelta(hours=1)


def numbers(found: list[Gap]) -> list[int]:
    return [int(gap.slot.number) for gap in found]


def test_a_hole_between_two_is_a_gap_since_the_later_one() -> None:
    held = [([slot(1)], NOON), ([slot(3)], NOON + HOUR), ([slot(4)], NOON + 2 * HOUR)]
    assert gaps_of(SHOW, held, from_first=False) == [Gap(slot(2), NOON + HOUR)]


def test_halves_specials_and_other_seasons_are_no_episodes_here() -> None:
    held = [([slot(1), slot(2.5), slot(7, season=0), slot(9, season=2)], NOON)]
    assert gaps_of(SHOW, held, from_first=True) == []


def test_a_pack_fills_all_its_places() -> None:
    held = [([slot(n) for n in range(1, 13)], NOON), ([slot(14)], NOON)]
    assert numbers(gaps_of(SHOW, held, from_first=False)) == [13]


def test_what_lies_before_the_first_counts_only_in_a_season_of_known_length() -> None:
    held = [([slot(3)], NOON)]
    known = Show("Tides", episodes=12)
    assert numbers(gaps_of(known, held, from_first=True)) == [1, 2]
    assert gaps_of(known, held, from_first=False) == []
    assert gaps_of(SHOW, held, from_first=True) == []
    far = [([slot(1100)], NOON)]
    assert gaps_of(known, far, from_first=True) == []


def test_films_have_no_gaps() -> None:
    film = Show("Tides", main_kind=ReleaseKind.MOVIE)
    assert gaps_of(film, [([FILM], NOON)], from_first=True) == []


def test_very_many_are_a_mistake_and_the_last_ones_are_told() -> None:
    found = gaps_of(SHOW, [([slot(1), slot(1_000)], NOON)], from_first=False)
    assert numbers(found) == list(range(1_000 - MOST_GAPS, 1_000))


@given(st.sets(st.integers(1, 60), min_size=1))
def test_gaps_and_what_is_there_are_the_whole_season(held: set[int]) -> None:
    found = gaps_of(SHOW, [([slot(n)], NOON) for n in held], from_first=False)
    assert sorted([*held, *numbers(found)]) == list(range(min(held), max(held) + 1))


async def test_a_gap_is_told_once_after_its_hours(harbour: Harbour) -> None:
    await harbour.follow(ani("01"), ani("03"))
    tracking = await harbour.track()
    await catch_up(harbour.engine.releases, tracking.id)
    await harbour.clock.advance(23.9 * 3_600)
    assert await announce_missing_episodes(harbour.engine.releases) == 0
    await harbour.clock.advance(3_600)
    assert await announce_missing_episodes(harbour.engine.releases) == 1
    assert await announce_missing_episodes(harbour.engine.releases) == 0
    (told,) = await harbour.told("episode_missing")
    assert (told["feed"], told["show"], told["slots"]) == (
        harbour.feed_id,
        "Tides",
        [{"season": 1, "episode": 2, "name": "S01E02"}],
    )


async def test_a_gap_that_was_filled_and_opens_again_is_told_again(harbour: Harbour) -> None:
    await harbour.follow(ani("01"), ani("03"))
    await harbour.track()
    tracking = (await harbour.tracking(1)).id
    await catch_up(harbour.engine.releases, tracking)
    await harbour.clock.advance(25 * 3_600)
    assert await announce_missing_episodes(harbour.engine.releases) == 1
    await harbour.arrive(ani("02"))
    await harbour.deliver()
    assert await announce_missing_episodes(harbour.engine.releases) == 0
    await harbour.end((await harbour.downloads())[-1], "dropped")
    assert await announce_missing_episodes(harbour.engine.releases) == 1
    assert len(await harbour.told("episode_missing")) == 2


async def test_a_disabled_tracking_misses_nothing(harbour: Harbour) -> None:
    await harbour.follow(ani("01"), ani("03"))
    tracking = await harbour.track(since=START - timedelta(days=60))
    await catch_up(harbour.engine.releases, tracking.id)
    await harbour.run("UPDATE trackings SET enabled = ?", False)
    await harbour.clock.advance(48 * 3_600)
    assert await announce_missing_episodes(harbour.engine.releases) == 0

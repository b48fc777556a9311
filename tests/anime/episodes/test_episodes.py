"""Which episodes are here, on their way or missing, and why."""

from datetime import datetime, timedelta
from typing import Any

from headwater.anime.decide.plan import HeldRelease
from headwater.anime.episodes.episodes import NEVER_SEEN, SeenRelease, episodes_of, missing_episodes
from headwater.anime.release import Release, ReleaseKind
from headwater.anime.shows.show import Show
from headwater.anime.shows.slot import FILM
from tests.support.releases import NOON, slot


def standing(id: str, *numbers: float, is_complete: bool = True) -> HeldRelease:
    return HeldRelease(id, Release(), tuple(map(slot, numbers)), is_complete=is_complete)


def seen(id: int, *numbers: float, **said: Any) -> SeenRelease:
    usual = {"action": "skip", "rule": "same_rank", "reason": "why"}
    given = {**usual, "moment": NOON, "title": f"release {id}", **said}
    return SeenRelease(release_id=id, slots=tuple(map(slot, numbers)), **given)


def states(show: Show, there: list[HeldRelease], offered: list[SeenRelease]) -> dict[str, str]:
    return {str(each.slot): each.state for each in episodes_of(show, there, offered, {})}


def test_here_coming_and_missing() -> None:
    there = [standing("1", 1), standing("2", 3, is_complete=False)]
    assert states(Show("s"), there, [seen(9, 4)]) == {
        "S01E01": "here",
        "S01E02": "missing",
        "S01E03": "coming",
        "S01E04": "missing",
    }


def test_a_season_of_known_length_begins_with_its_first_episode() -> None:
    assert list(states(Show("s", episodes=12), [standing("1", 3)], [])) == [
        "S01E01",
        "S01E02",
        "S01E03",
    ]
    assert list(states(Show("s"), [standing("1", 3)], [])) == ["S01E03"]
    # Numbers that go beyond it are counted otherwise: nobody knows where they begin.
    assert list(states(Show("s", episodes=12), [standing("1", 30)], [])) == ["S01E30"]


def test_a_missing_episode_says_what_could_be_taken() -> None:
    later = NOON + timedelta(hours=1)
    (episode,) = episodes_of(
        Show("s"),
        [],
        [
            seen(7, 1, action="removed", moment=later, reason="excluded"),
            seen(8, 1, action="hold", moment=later, reason="unsure"),
            seen(9, 1, action="removed", reason="older"),
        ],
        {},
    )
    assert (episode.release_id, episode.title, episode.reason) == (8, "release 8", "unsure")
    assert episode.came_out == NOON


def test_a_download_that_was_given_up_is_told() -> None:
    given_up = seen(7, 1, action="fetch", failed="Its download was given up: no seeds")
    (episode,) = episodes_of(Show("s"), [], [given_up], {})
    assert episode.reason == "Its download was given up: no seeds"


def test_what_nobody_released_is_told() -> None:
    _, episode, _ = episodes_of(Show("s"), [standing("1", 1), standing("2", 3)], [], {})
    assert (episode.reason, episode.release_id, episode.came_out) == (NEVER_SEEN, None, None)


def test_an_episode_that_is_here_has_the_title_of_its_release() -> None:
    both = [standing("2", 1, is_complete=False), standing("1", 1)]
    (episode,) = episodes_of(Show("s"), both, [seen(5, 1)], {"1": "one", "2": "two"})
    assert (episode.state, episode.title, episode.reason) == ("here", "one", None)
    assert missing_episodes([episode]) == []


def test_a_pack_says_nothing_of_when_its_episodes_came_out() -> None:
    pack = seen(5, 1, 2, is_pack=True, moment=datetime(2020, 1, 1, tzinfo=NOON.tzinfo))
    first, second = episodes_of(Show("s"), [], [pack, seen(6, 2)], {})
    assert (first.came_out, second.came_out) == (None, NOON)


def test_halves_and_specials_are_listed_when_they_are_there() -> None:
    special = HeldRelease("3", Release(), (slot(1, season=0),))
    found = states(Show("s"), [standing("1", 1), standing("2", 1.5), special], [seen(9, 2.5)])
    assert found == {"S00E01": "here", "S01E01": "here", "S01E01.5": "here", "S01E02": "missing"}


def test_a_film_is_one_place() -> None:
    film = Show("f", main_kind=ReleaseKind.MOVIE)
    assert states(film, [], []) == {"the film": "missing"}
    assert states(film, [HeldRelease("1", Release(), (FILM,))], []) == {"the film": "here"}


def test_a_number_far_off_does_not_flood_the_list() -> None:
    found = states(Show("s"), [standing("1", 1)], [seen(9, 9_999)])
    assert len(found) == 500

"""The race for a source: certain as soon as nobody who is still silent could change it."""

from hypothesis import given
from hypothesis import strategies as st

from headwater.core.values.ids import FetcherId
from headwater.subscriptions.fetchers.rank_candidates import (
    CandidateFetcher,
    Ranking,
    decide_winner,
    rank_candidates,
)


def entrant(fetcher_id: int, priority: int) -> CandidateFetcher:
    return CandidateFetcher(FetcherId(fetcher_id), priority)


def race(asked: dict[int, int], replies: dict[int, bool]) -> Ranking:
    """`asked` is priority by id."""
    return decide_winner(
        [entrant(each, priority) for each, priority in asked.items()],
        {FetcherId(each): reply for each, reply in replies.items()},
    )


def test_the_highest_priority_goes_first_and_of_equals_the_oldest() -> None:
    order = rank_candidates([entrant(3, 10), entrant(2, 100), entrant(1, 10), entrant(4, 100)])
    assert [each.fetcher_id for each in order] == [2, 4, 1, 3]


def test_a_yes_at_the_top_is_certain_though_the_rest_is_silent() -> None:
    stands = race({1: 10, 2: 100, 3: 50}, {2: True})
    assert (stands.is_certain, stands.winner, stands.tied) == (True, 2, ())


def test_somebody_of_higher_priority_is_waited_for() -> None:
    stands = race({1: 10, 2: 100}, {1: True})
    assert (stands.is_certain, stands.winner, stands.tied) == (False, None, ())
    assert stands.able == (entrant(1, 10),)


def test_somebody_of_equal_priority_is_waited_for_because_it_may_be_a_tie() -> None:
    assert not race({1: 50, 2: 50, 3: 10}, {1: True}).is_certain
    assert race({1: 50, 2: 50, 3: 10}, {1: True, 2: False}).winner == 1


def test_a_tie_at_the_top_goes_to_the_oldest_and_names_all_of_them() -> None:
    stands = race({7: 50, 4: 50, 9: 50, 1: 10}, {9: True, 4: True, 7: False})
    assert (stands.winner, stands.tied) == (4, (4, 9))


def test_equals_below_the_winner_are_no_tie() -> None:
    stands = race({1: 10, 2: 10, 3: 50}, {1: True, 2: True, 3: True})
    assert (stands.winner, stands.tied) == (3, ())
    assert [each.fetcher_id for each in stands.able] == [3, 1, 2]


def test_when_all_said_no_it_is_certain_that_nobody_can() -> None:
    stands = race({1: 10, 2: 100}, {1: False, 2: False})
    assert stands == Ranking(True, None, (), ())


def test_a_no_alone_decides_nothing() -> None:
    assert not race({1: 10, 2: 100}, {2: False}).is_certain


def test_a_race_of_nobody_is_over() -> None:
    assert race({}, {}) == Ranking(True, None, (), ())


def test_a_reply_of_somebody_who_was_not_asked_counts_for_nothing() -> None:
    assert race({1: 10}, {1: False, 99: True}).winner is None


PRIORITIES = st.dictionaries(
    st.integers(1, 12), st.sampled_from([0, 10, 50, 100]), min_size=1, max_size=8
)


@st.composite
def races(draw: st.DrawFn) -> tuple[dict[int, int], dict[int, bool], list[int]]:
    """Who was asked, what each would say, and the order in which they say it."""
    asked = draw(PRIORITIES)
    minds = {each: draw(st.booleans()) for each in asked}
    return asked, minds, draw(st.permutations(sorted(asked)))


@given(races())
def test_once_certain_no_later_answer_changes_the_outcome(
    run: tuple[dict[int, int], dict[int, bool], list[int]],
) -> None:
    asked, minds, order = run
    last = race(asked, minds)
    heard: dict[int, bool] = {}
    for each in order:
        heard[each] = minds[each]
        stands = race(asked, heard)
        if stands.is_certain:
            assert (stands.winner, stands.tied) == (last.winner, last.tied)
    assert last.is_certain


@given(races())
def test_it_is_certain_exactly_when_no_silent_fetcher_could_win_or_tie(
    run: tuple[dict[int, int], dict[int, bool], list[int]],
) -> None:
    asked, minds, order = run
    heard = {each: minds[each] for each in order[: len(order) // 2]}
    silent = [each for each in asked if each not in heard]
    outcomes = {_outcome(asked, heard | dict.fromkeys(silent, say)) for say in (True, False)}
    for each in silent:
        alone = dict.fromkeys(silent, False) | {each: True}
        outcomes.add(_outcome(asked, heard | alone))
    assert race(asked, heard).is_certain == (len(outcomes) == 1)


@given(races())
def test_the_winner_is_the_oldest_of_the_highest_priority_that_said_yes(
    run: tuple[dict[int, int], dict[int, bool], list[int]],
) -> None:
    asked, minds, _ = run
    able = [each for each in asked if minds[each]]
    stands = race(asked, minds)
    if not able:
        assert stands.winner is None
        return
    best = max(asked[each] for each in able)
    top = sorted(each for each in able if asked[each] == best)
    assert stands.winner == top[0]
    assert list(stands.tied) == (top if len(top) > 1 else [])


def _outcome(asked: dict[int, int], minds: dict[int, bool]) -> tuple[object, ...]:
    stands = race(asked, minds)
    assert stands.is_certain
    return stands.winner, stands.tied

"""Whatever is offered in whatever sequence, nothing that was replaced ever comes back."""

from dataclasses import replace
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.anime.candidate import Offer
from headwater.anime.decide.plan import (
    UNSURE,
    HeldRelease,
    decide_release_plan,
    superseded_releases,
)
from headwater.anime.decide.rank_releases import compare_releases, decide_upgrade, preference_key
from headwater.anime.release import Release
from headwater.anime.shows.preferences import RANKS, Preferences, Rank, StopLine
from headwater.anime.shows.show import Show
from headwater.anime.shows.slot import Slot
from tests.support.releases import CHS, CHT, JPN, candidate, release

GROUPS = ("A", "B", "C")
RELEASES = st.builds(
    release,
    st.sampled_from(["A", "B", "C", "D", "E"]),
    st.sampled_from(["A", "D", "F"]),
    subtitles=st.sampled_from([(), (CHS,), (CHT,), (CHS, JPN), (CHS, CHT)]),
    version=st.sampled_from([None, 1, 2, 3]),
    resolution=st.sampled_from([None, "720p", "1080p"]),
    source=st.sampled_from([None, "BD", "WEB-DL"]),
) | st.builds(release, version=st.sampled_from([None, 2]))

LIKINGS = st.builds(
    Preferences,
    groups=st.permutations(GROUPS).map(lambda names: tuple(names[:2])),
    aliases=st.sampled_from([{}, {"F": "A"}]),
    further=st.permutations(RANKS).flatmap(
        lambda ranks: st.integers(0, 3).map(lambda count: tuple(ranks[:count]))
    ),
    resolutions=st.sampled_from([(), ("720p", "1080p")]),
    sources=st.sampled_from([(), ("BD", "WEB-DL")]),
)


SMALL_WORLD = [
    release(group, version=version, resolution=lines, source=source)
    for group, version, lines, source in product(
        ("D", "E"), (1, 2), (None, "720p", "1080p"), (None, "BD", "WEB-DL")
    )
]
ORDERS = [ranks for count in range(4) for ranks in permutations(RANKS, count)]


@pytest.mark.parametrize("further", ORDERS, ids="-".join)
def test_no_order_of_further_ranks_leads_in_a_circle(further: tuple[Rank, ...]) -> None:
    """All releases of a small world, each compared with each: two steps up are never down or level.

    It is here that a v2 in 720p, another group's 900p and a first version in 1080p would go round.
    """
    likes = Preferences(further=further, sources=("BD", "WEB-DL"))
    above = [
        {
            place
            for place, new in enumerate(SMALL_WORLD)
            if decide_upgrade(held, new, likes).is_wanted
        }
        for held in SMALL_WORLD
    ]
    for place, better in enumerate(above):
        assert place not in better
        for step in better:
            assert above[step] <= better


@settings(deadline=None)
@given(RELEASES, RELEASES, LIKINGS)
def test_better_one_way_is_worse_the_other(
    one: Release, other: Release, likes: Preferences
) -> None:
    opposite = {"better": "worse", "worse": "better", "equal": "equal"}
    order, rank = compare_releases(one, other, likes)
    assert compare_releases(other, one, likes) == (opposite[order], rank)


@settings(deadline=None)
@given(RELEASES, LIKINGS)
def test_nothing_is_better_than_itself(one: Release, likes: Preferences) -> None:
    assert compare_releases(one, one, likes) == ("equal", "none")


@settings(deadline=None, max_examples=400)
@given(RELEASES, RELEASES, RELEASES, LIKINGS)
def test_what_is_better_than_the_better_one_is_better(
    one: Release, two: Release, three: Release, likes: Preferences
) -> None:
    if (
        compare_releases(one, two, likes)[0] == "better"
        and compare_releases(two, three, likes)[0] == "better"
    ):
        assert compare_releases(one, three, likes)[0] == "better"


@settings(deadline=None)
@given(st.lists(RELEASES, max_size=6), LIKINGS)
def test_groups_subtitles_and_what_stands_before_the_version_are_a_total_preorder(
    releases: list[Release], likes: Preferences
) -> None:
    plain = Preferences(
        groups=likes.groups,
        aliases=likes.aliases,
        further=tuple(rank for rank in likes.further if rank != "version"),
        resolutions=likes.resolutions,
        sources=likes.sources,
    )
    for one, two in product(releases, repeat=2):
        first, second = preference_key(one, plain), preference_key(two, plain)
        order = compare_releases(one, two, plain)[0]
        assert (order == "better") == (second < first)
        assert (order == "equal") == (second == first)


@settings(deadline=None)
@given(RELEASES, RELEASES, LIKINGS)
def test_sorted_best_first_no_one_stands_before_a_better_one(
    one: Release, other: Release, likes: Preferences
) -> None:
    if compare_releases(one, other, likes)[0] == "better":
        assert preference_key(other, likes) < preference_key(one, likes)


@settings(deadline=None, max_examples=300)
@given(st.lists(RELEASES, max_size=12), LIKINGS)
def test_a_held_release_is_never_replaced_by_one_it_replaced(
    offered: list[Release], likes: Preferences
) -> None:
    """Every release is offered again and again: once replaced, it stays away."""
    held: Release | None = None
    replaced: list[Release] = []
    for new in offered * 3:
        if held is None:
            held = new
        elif decide_upgrade(held, new, likes).is_wanted:
            assert new not in replaced
            replaced.append(held)
            held = new


SHOW = Show("Show", episodes=4)
Drawn = tuple[Release, int, int, bool, bool]
OFFERED = st.tuples(RELEASES, st.integers(1, 4), st.integers(0, 3), st.booleans(), st.booleans())


def offer_of(number: int, drawn: Drawn) -> Offer:
    """The last that is drawn makes a single unsure: of a second part, its number may be another."""
    base, first, length, _, unsure = drawn
    last = min(4, first + length)
    fields = {
        name: getattr(base, name) for name in ("subtitles", "version", "resolution", "source")
    }
    span = (
        {"episode": first, "episode_end": last, "batch": True}
        if last > first
        else {"episode": first, "part": 2 if unsure else None}
    )
    return Offer(candidate(f"entry {number}"), release(*base.groups, **fields, **span))


@settings(max_examples=150, deadline=None)
@given(st.lists(OFFERED, min_size=1, max_size=8), LIKINGS, st.sampled_from([None, "A", "B"]))
def test_a_library_settles_and_holds_every_episode_once(
    drawn: list[Drawn], likes: Preferences, stop: str | None
) -> None:
    """Downloads end in any order and the feed says everything again and again; the library comes
    to rest, each episode is there once, and no slot ever goes back to a release that lost it."""
    if stop in likes.groups:
        likes = Preferences(
            likes.groups, likes.aliases, likes.subtitles, likes.further, stop=StopLine(stop)
        )
    offers = [offer_of(number, each) for number, each in enumerate(drawn)]
    late = {f"entry {number}": each[3] for number, each in enumerate(drawn)}
    standing: list[HeldRelease] = []
    lost: set[tuple[str, Slot]] = set()
    for turn in range(len(offers) + 3):
        shown = offers[: turn + 1]
        made = decide_release_plan(SHOW, shown, standing, likes)
        for each in made.fetches:
            uid = each.offer.candidate.uid
            assert not {(uid, slot) for slot in each.slots} & lost
            names, sure = each.offer.names, each.verdict.rule != UNSURE
            standing.append(
                HeldRelease(uid, each.offer.release, each.slots, names, not late[uid], sure)
            )
        standing = settled(standing, likes, lost)
        if turn % 2:
            standing = [done(each) for each in standing]
            standing = settled(standing, likes, lost)
    standing = settled([done(each) for each in standing], likes, lost)
    taken = [slot for each in standing for slot in each.slots]
    assert len(taken) == len(set(taken))
    assert (
        decide_release_plan(SHOW, offers, standing, likes, refused=gone(offers, standing)).fetches
        == ()
    )
    for offered in offers:
        first, last = offered.release.episode, offered.release.episode_end
        assert first is not None
        assert all(
            Slot(1, number) in taken for number in (first, last if last is not None else first)
        )


def gone(offers: list[Offer], standing: list[HeldRelease]) -> dict[str, str]:
    here = {each.id for each in standing}
    return {each.names[0]: "replaced" for each in offers if each.candidate.uid not in here}


def done(each: HeldRelease) -> HeldRelease:
    return replace(each, is_complete=True)


def settled(
    standing: list[HeldRelease], likes: Preferences, lost: set[tuple[str, Slot]]
) -> list[HeldRelease]:
    """What a service does once something is complete: slots are switched, then the losers go."""
    losses = {each.standing.id: each for each in superseded_releases(standing, likes)}
    kept: list[HeldRelease] = []
    for each in standing:
        loss = losses.get(each.id)
        if loss is None:
            kept.append(each)
            continue
        lost.update((each.id, slot) for slot in loss.slots)
        left = tuple(slot for slot in each.slots if slot not in loss.slots)
        assert (not left) == loss.is_whole
        if left:
            kept.append(replace(each, slots=left))
    return kept

"""What is fetched and what it replaces: one release an episode, and always the best."""

from datetime import timedelta

import pytest

from headwater.anime.candidate import Offer
from headwater.anime.decide.plan import (
    HeldRelease,
    OfferDecision,
    ReleasePlan,
    decide_release_plan,
    superseded_releases,
)
from headwater.anime.release import ReleaseKind
from headwater.anime.shows.preferences import Preferences, StopLine
from headwater.anime.shows.show import Show
from headwater.anime.shows.slot import Slot
from tests.support.releases import CHS, CHT, JPN, NOON, offer, release, slot

SHOW = Show("Show", 2026)
LIKES = Preferences(groups=("Best", "Good", "Fair"))


def single(uid: str, group: str, episode: float = 1, **fields: object) -> Offer:
    said = {name: fields.pop(name) for name in ("version", "subtitles") if name in fields}
    return offer(uid, release(group, episode=episode, **said), **fields)


def pack(uid: str, group: str, first: int, last: int) -> Offer:
    return offer(uid, release(group, episode=first, episode_end=last, batch=True))


def holds(group: str, *numbers: float, is_complete: bool = True, name: str = "") -> HeldRelease:
    return HeldRelease(
        name or f"{group} {numbers}",
        release(group, episode=numbers[0]),
        tuple(slot(number) for number in numbers),
        (f"uid of {group} {numbers}",),
        is_complete,
    )


def plan(offers: list[Offer], *standing: HeldRelease, likes: Preferences = LIKES) -> ReleasePlan:
    return decide_release_plan(SHOW, offers, standing, likes)


def told(decision: OfferDecision) -> tuple[str, str]:
    return decision.verdict.action, decision.verdict.rule


def only(made: ReleasePlan) -> OfferDecision:
    assert len(made.decisions) == 1
    return made.decisions[0]


def test_an_episode_that_is_missing_is_fetched() -> None:
    found = only(plan([single("a", "Fair")]))
    assert told(found) == ("fetch", "missing")
    assert found.verdict.reason == "Nothing is held for S01E01."
    assert (found.slots, found.replaces) == ((slot(1),), ())


def test_of_several_offers_the_best_is_fetched_and_the_others_say_why_not() -> None:
    made = plan([single("a", "Fair"), single("b", "Best"), single("c", "Good")])
    assert [told(each) for each in made.decisions] == [
        ("skip", "not_the_best"),
        ("fetch", "missing"),
        ("skip", "not_the_best"),
    ]
    assert made.decisions[0].verdict.reason == (
        "'b' is taken for S01E01."
        " That one is better: group Fair (in place 3) beside Best (in place 1)."
    )


def test_among_equals_the_oldest_is_taken() -> None:
    late = single("a", "Fair", published=NOON - timedelta(hours=1))
    early = single("b", "Fair", published=NOON - timedelta(hours=2))
    assert [told(each)[0] for each in plan([late, early]).decisions] == ["skip", "fetch"]


def test_among_equals_of_one_moment_the_one_with_seeders_is_taken() -> None:
    made = plan([single("a", "Fair", seeders=1), single("b", "Fair", seeders=9)])
    assert [told(each)[0] for each in made.decisions] == ["skip", "fetch"]


def test_the_same_rank_is_not_fetched_again() -> None:
    found = only(plan([single("a", "Good")], holds("Good", 1)))
    assert told(found) == ("skip", "same_rank")


def test_a_better_release_replaces_the_one_that_is_held() -> None:
    held = holds("Good", 1)
    found = only(plan([single("a", "Best")], held))
    assert told(found) == ("upgrade", "group")
    assert [each.standing for each in found.replaces] == [held]
    assert found.replaces[0].slots == (slot(1),)
    assert found.replaces[0].is_whole


def test_a_half_does_not_replace_the_episode_before_it() -> None:
    found = only(plan([single("a", "Best", 12.5)], holds("Fair", 12), holds("Fair", 13)))
    assert told(found) == ("fetch", "missing")
    assert found.slots == (slot(12.5),)


def test_a_better_one_that_arrives_while_the_first_is_on_its_way_is_fetched_beside_it() -> None:
    first = holds("Fair", 1, is_complete=False)
    found = only(plan([single("a", "Best")], first))
    assert told(found) == ("upgrade", "group")
    assert [each.standing for each in found.replaces] == [first]


def test_what_is_on_its_way_counts_against_the_next_offer() -> None:
    held, coming = holds("Fair", 1), holds("Best", 1, is_complete=False)
    assert told(only(plan([single("a", "Good")], held, coming))) == ("skip", "group")
    better = only(plan([single("b", "Best", version=2)], held, coming))
    assert told(better) == ("upgrade", "group")
    assert [each.standing for each in better.replaces] == [held, coming]


def test_the_same_torrent_is_not_fetched_twice() -> None:
    hash_of = "ab" * 20
    held = HeldRelease("1", release("Fair"), (slot(1),), ("feed entry", hash_of))
    again = single("other entry", "Best", infohash=hash_of)
    found = only(plan([again], held))
    assert (told(found), found.verdict.reason) == (("skip", "known"), "It is in the library.")
    coming = HeldRelease("1", release("Fair"), (slot(1),), ("feed entry",), is_complete=False)
    found = only(plan([single("entry", "Best", feed="feed")], coming))
    assert (told(found), found.verdict.reason) == (("skip", "known"), "It is on its way.")


def test_one_uid_in_two_feeds_may_be_two_releases() -> None:
    held = HeldRelease("1", release("Fair"), (slot(1),), ("feed one 7",))
    found = only(plan([single("7", "Best", feed="feed two")], held))
    assert told(found) == ("upgrade", "group")


def test_an_entry_that_contradicts_itself_replaces_nothing() -> None:
    odd = single("a", "Best", doubts=("The magnet link says x, not y.",))
    assert told(only(plan([odd]))) == ("fetch", "missing")
    found = only(plan([odd], holds("Fair", 1)))
    assert (told(found), found.verdict.reason) == (
        ("hold", "unsure"),
        "It would be better, but: The magnet link says x, not y.",
    )


def test_one_torrent_in_two_entries_is_one_offer() -> None:
    made = plan([single(uid, "Best", infohash="ab" * 20) for uid in ("a", "b")])
    assert [told(each) for each in made.decisions] == [("fetch", "missing"), ("skip", "known")]


def test_what_was_refused_does_not_come_again() -> None:
    made = decide_release_plan(
        SHOW, [single("a", "Best")], [], LIKES, refused={" a": "It was replaced before."}
    )
    found = only(made)
    assert (told(found), found.verdict.reason) == (("skip", "refused"), "It was replaced before.")


def test_what_is_no_part_of_the_show_says_so() -> None:
    other = offer("a", release("Best", episode=1, season=4))
    assert told(only(plan([other]))) == ("skip", "other_season")


def test_a_title_without_an_episode_waits_for_a_person() -> None:
    made = plan([offer("a", release("Best"))])
    assert told(only(made)) == ("hold", "unsure")
    assert made.held_back == made.decisions


def test_what_is_not_sure_may_fill_a_gap_but_replaces_nothing() -> None:
    unsure = offer("a", release("Best", episode=1, part=2))
    assert told(only(plan([unsure]))) == ("fetch", "unsure")
    found = only(plan([unsure], holds("Fair", 1)))
    assert told(found) == ("hold", "unsure")
    assert found.verdict.reason == (
        "It would be better, but: It is of part 2, whose numbers may begin anew."
    )
    assert told(only(plan([offer("a", release("Fair", episode=1, part=2))], holds("Fair", 1)))) == (
        "skip",
        "same_rank",
    )


def test_what_is_sure_is_preferred_to_what_is_better_but_not_sure() -> None:
    unsure = offer("a", release("Best", episode=1, part=2))
    made = plan([unsure, single("b", "Fair")])
    assert [told(each) for each in made.decisions] == [
        ("skip", "not_the_best"),
        ("fetch", "missing"),
    ]


def test_an_ova_does_not_replace_a_special_of_the_same_number() -> None:
    special = HeldRelease("1", release("Fair", kind=ReleaseKind.SPECIAL), (slot(1, 0),))
    found = only(plan([offer("a", release("Best", episode=1, kind=ReleaseKind.OVA))], special))
    assert (told(found), found.verdict.reason) == (
        ("hold", "unsure"),
        "What is held as S00E01 is SP, and this is OVA.",
    )


def test_a_pack_replaces_singles_when_it_is_better_for_all() -> None:
    held = [holds("Fair", 1), holds("Good", 2)]
    found = only(plan([pack("p", "Best", 1, 3)], *held))
    assert told(found) == ("upgrade", "group")
    assert found.slots == (slot(1), slot(2), slot(3))
    assert [(each.standing, each.is_whole) for each in found.replaces] == [
        (held[0], True),
        (held[1], True),
    ]


def test_a_pack_that_is_not_better_for_one_replaces_none_and_fills_the_gaps() -> None:
    held = [holds("Fair", 1), holds("Best", 2)]
    found = only(plan([pack("p", "Best", 1, 4)], *held))
    assert told(found) == ("fetch", "missing")
    assert found.slots == (slot(3), slot(4))
    assert found.replaces == ()


def test_a_pack_that_brings_nothing_is_not_fetched() -> None:
    found = only(plan([pack("p", "Good", 1, 2)], holds("Fair", 1), holds("Good", 2)))
    assert told(found) == ("skip", "same_rank")


def test_among_equals_a_pack_spares_the_singles() -> None:
    made = plan([single("a", "Good", 1), pack("p", "Good", 1, 2), single("b", "Good", 2)])
    assert [told(each)[0] for each in made.decisions] == ["skip", "fetch", "skip"]


def test_better_singles_come_before_a_pack_which_fills_what_they_leave() -> None:
    made = plan([pack("p", "Good", 1, 3), single("a", "Best", 2)])
    assert [(told(each)[0], each.slots) for each in made.decisions] == [
        ("fetch", (slot(1), slot(3))),
        ("fetch", (slot(2),)),
    ]


def test_a_single_takes_one_slot_from_a_pack_that_keeps_the_others() -> None:
    held = holds("Fair", 1, 2, 3)
    found = only(plan([single("a", "Best", 2)], held))
    assert found.replaces[0].slots == (slot(2),)
    assert not found.replaces[0].is_whole


def test_only_so_many_are_replaced_at_once() -> None:
    offers = [single("a", "Best", 1), single("b", "Best", 2), single("c", "Best", 3)]
    standing = [holds("Fair", 1), holds("Fair", 2)]
    made = decide_release_plan(SHOW, offers, standing, LIKES, replacements_left=1)
    assert [told(each) for each in made.decisions] == [
        ("upgrade", "group"),
        ("hold", "limit"),
        ("fetch", "missing"),
    ]


def test_the_stop_line_holds_in_a_plan_too() -> None:
    likes = Preferences(groups=("Best", "Good"), stop=StopLine(group="Good"))
    found = only(plan([single("a", "Best")], holds("Good", 1), likes=likes))
    assert told(found) == ("skip", "stop_line")


def test_subtitles_and_versions_decide_in_a_plan() -> None:
    held = HeldRelease("1", release("Good", subtitles=[CHT]), (slot(1),))
    better = single("a", "Good", subtitles=[CHS, JPN])
    assert told(only(plan([better], held))) == ("upgrade", "subtitles")
    mended = single("b", "Good", subtitles=[CHT], version=2)
    assert told(only(plan([mended], held))) == ("upgrade", "version")


def test_decisions_come_in_the_order_of_the_offers() -> None:
    offers = [single(str(number), "Fair", number) for number in (3, 1, 2)]
    assert [each.offer.candidate.uid for each in plan(offers).decisions] == ["3", "1", "2"]
    assert len(plan(offers).fetches) == 3


@pytest.mark.parametrize("number", range(3))
def test_the_order_of_the_offers_changes_nothing(number: int) -> None:
    offers = [single("a", "Fair"), single("b", "Best"), pack("p", "Good", 1, 3)]
    turned = offers[number:] + offers[:number]
    made = plan(turned, holds("Fair", 2))
    chosen = {each.offer.candidate.uid: each.slots for each in made.fetches}
    assert chosen == {"b": (slot(1),), "p": (slot(3),)}


def lost(*standing: HeldRelease) -> dict[str, tuple[tuple[Slot, ...], bool]]:
    return {
        each.standing.id: (each.slots, each.is_whole)
        for each in superseded_releases(standing, LIKES)
    }


def test_nothing_is_retired_before_the_better_one_is_complete() -> None:
    assert lost(holds("Fair", 1), holds("Best", 1, is_complete=False)) == {}


def test_the_old_one_is_retired_when_the_better_one_is_complete() -> None:
    assert lost(holds("Fair", 1, name="old"), holds("Best", 1)) == {"old": ((slot(1),), True)}


def test_what_is_slower_and_worse_is_retired_on_its_way() -> None:
    slow = holds("Fair", 1, is_complete=False, name="slow")
    assert lost(slow, holds("Best", 1)) == {"slow": ((slot(1),), True)}


def test_two_equals_are_one_too_many_and_the_first_stays() -> None:
    assert lost(holds("Good", 1, name="first"), holds("Good", 1, name="second")) == {
        "second": ((slot(1),), True)
    }


def test_a_pack_keeps_the_slots_that_nobody_took() -> None:
    assert lost(holds("Fair", 1, 2, 3, name="pack"), holds("Best", 2)) == {
        "pack": ((slot(2),), False)
    }


def test_asked_again_it_answers_the_same() -> None:
    standing = [holds("Fair", 1), holds("Good", 1), holds("Best", 1, 2), holds("Fair", 2)]
    assert superseded_releases(standing, LIKES) == superseded_releases(standing, LIKES)
    assert set(lost(*standing)) == {"Fair (1,)", "Good (1,)", "Fair (2,)"}

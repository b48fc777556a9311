"""What the filter removes, by which rule and why; and that it loses nothing silently."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.anime.candidate import Offer
from headwater.anime.decide.filter import (
    RULE_NAMES,
    FilterRules,
    Novelty,
    PatternLists,
    compile_pattern_lists,
    filter_offers,
)
from headwater.anime.title import read_title
from tests.support.releases import NOON, candidate

HOUR = timedelta(hours=1)


def titled(title: str, uid: str | None = None, published: datetime | None = None) -> Offer:
    return Offer(candidate(uid or title, title, published=published), read_title(title).release)


def removed(offer: Offer, rules: FilterRules) -> tuple[str, str] | None:
    found = filter_offers([offer], rules)
    if found.kept:
        assert found.removed == ()
        return None
    return found.removed[0].rule, found.removed[0].reason


def excluding(*patterns: str) -> PatternLists:
    return compile_pattern_lists([], patterns, "the tracking")


def including(*patterns: str) -> PatternLists:
    return compile_pattern_lists(patterns, [], "the tracking")


def test_without_rules_everything_new_is_kept() -> None:
    assert removed(titled("[A] Show - 01 [1080p]"), FilterRules()) is None


def test_a_pattern_that_excludes_is_named_with_what_it_matched() -> None:
    offer = titled("[A] Show - 01 [720P]")
    assert removed(offer, FilterRules(here=excluding("480p", "720p"))) == (
        "excluded_here",
        "'720p' matches '720P'.",
    )
    assert removed(offer, FilterRules(everywhere=excluding("720p"))) == (
        "excluded_everywhere",
        "'720p' matches '720P'.",
    )


def test_of_several_patterns_that_include_one_is_enough() -> None:
    offer = titled("[A] Show - 01 [1080p][CHS]")
    assert removed(offer, FilterRules(here=including("2160p", "1080p"))) is None
    assert removed(offer, FilterRules(here=including("2160p"))) == (
        "not_included_here",
        "'2160p' does not match.",
    )
    assert removed(offer, FilterRules(everywhere=including("2160p", "720p"))) == (
        "not_included_everywhere",
        "None of 2 patterns matches.",
    )


def test_both_lists_that_include_must_agree() -> None:
    offer = titled("[A] Show - 01 [1080p]")
    rules = FilterRules(everywhere=including("1080p"), here=including("HEVC"))
    assert removed(offer, rules) == ("not_included_here", "'HEVC' does not match.")


@pytest.mark.parametrize(
    "title",
    [
        "[A] Show [01-12][1080p]",
        "[A] Show [01~12][1080p]",
        "[A] Show 01v2~12v2 [1080p]",
        "[A] 番组 全集 [1080p]",
        "[A] Show S1-S3 [1080p]",
        "[A] 番组 [01-12 合集][1080p][简日双语]",
    ],
)
def test_packs_come_in_only_when_they_are_asked_for(title: str) -> None:
    assert removed(titled(title), FilterRules()) == (
        "pack",
        "It is a pack, and this tracking takes single episodes.",
    )
    assert removed(titled(title), FilterRules(packs=True)) is None


@pytest.mark.parametrize(
    "title",
    [
        "[A] Show Season 2 - 18 [1080p]",
        "[A] Show - 03 [2025-01-08][1080p]",
        "[A] Show - 03 (1920x1080 h264-AAC)",
        "[A] Show - 03 [h264-720p]",
        "[A] 22/7 - 03 [1080p]",
        "[A] Show [13v2][1080p]",
        "[A] Show - 01(45) [1080p]",
    ],
)
def test_the_rule_of_packs_does_not_hit_singles(title: str) -> None:
    assert removed(titled(title), FilterRules()) is None


def test_what_was_decided_before_is_known_by_its_entry() -> None:
    rules = FilterRules(novelty=Novelty(decided={"guid-1"}))
    assert removed(titled("[A] Show - 01", uid="guid-1"), rules) == (
        "decided_before",
        "It was looked at before.",
    )
    assert removed(titled("[A] Show - 01", uid="guid-2"), rules) is None


def test_what_came_out_before_the_watermark_is_removed() -> None:
    rules = FilterRules(novelty=Novelty(since=NOON - HOUR))
    at_the_mark = titled("[A] Show - 01", published=NOON - HOUR)
    assert removed(at_the_mark, rules) == (
        "before_watermark",
        "It came out on 2026-10-02T11:00:00Z, not after 2026-10-02T11:00:00Z.",
    )
    after = titled("[A] Show - 01", published=NOON - HOUR + timedelta(seconds=1))
    assert removed(after, rules) is None


def test_what_has_no_date_counts_from_when_it_was_first_seen() -> None:
    undated = titled("[A] Show - 01", published=None)
    assert removed(undated, FilterRules(novelty=Novelty(since=NOON - HOUR))) is None
    assert removed(undated, FilterRules(novelty=Novelty(since=NOON))) is not None


def test_what_has_a_date_of_the_future_counts_from_when_it_was_first_seen() -> None:
    ahead = titled("[A] Show - 99", published=NOON + timedelta(days=3650))
    assert removed(ahead, FilterRules(novelty=Novelty(since=NOON - HOUR))) is None
    assert removed(ahead, FilterRules(novelty=Novelty(since=NOON))) is not None


def test_what_cannot_be_fetched_is_told_not_lost() -> None:
    offer = Offer(candidate("u", torrent_url=None), read_title("[A] Show - 01").release)
    assert removed(offer, FilterRules()) == (
        "nothing_to_fetch",
        "It has neither a torrent nor a magnet link.",
    )


def test_counters_have_every_rule_and_add_up() -> None:
    offers = [
        titled("[A] Show - 01 [720p]"),
        titled("[A] Show - 02 [1080p]"),
        titled("[A] Show [01-12][1080p]"),
    ]
    found = filter_offers(offers, FilterRules(here=excluding("720p")))
    assert [offer.title for offer in found.kept] == ["[A] Show - 02 [1080p]"]
    assert found.counts == {
        "excluded_everywhere": 0,
        "not_included_everywhere": 0,
        "excluded_here": 1,
        "not_included_here": 0,
        "pack": 1,
        "decided_before": 0,
        "before_watermark": 0,
        "nothing_to_fetch": 0,
    }
    assert tuple(found.counts) == RULE_NAMES


def test_patterns_that_match_everything_show_in_the_counters() -> None:
    offers = [titled(f"[A] Show - {number:02}") for number in range(20)]
    found = filter_offers(offers, FilterRules(everywhere=excluding(".")))
    assert found.kept == ()
    assert found.counts["excluded_everywhere"] == 20


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["[A] S - 01", "[B] S - 02 [720p]", "[C] S [01-12]", "x"]), max_size=12
    ),
    st.booleans(),
    st.sampled_from([(), ("720p",), (".",)]),
)
def test_every_offer_is_kept_or_removed_exactly_once(
    titles: list[str], packs: bool, excluded: tuple[str, ...]
) -> None:
    offers = [titled(title, uid=str(number)) for number, title in enumerate(titles)]
    found = filter_offers(offers, FilterRules(here=excluding(*excluded), packs=packs))
    told = [offer.candidate.uid for offer in found.kept]
    told += [each.offer.candidate.uid for each in found.removed]
    assert sorted(told, key=int) == [str(number) for number in range(len(offers))]
    assert sum(found.counts.values()) == len(found.removed)

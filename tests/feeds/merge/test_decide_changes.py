"""What a document changes, compared with what is known."""

from hypothesis import given
from hypothesis import strategies as st

from headwater.core.values.ids import index_key
from headwater.feeds.entries.entry import KnownEntry, NormalisedEntry, order_moment
from headwater.feeds.entries.entry_changes import ChangedUid, MergeChanges
from headwater.feeds.merge.decide_changes import decide_changes

PLENTY = 1_000


def entry(uid: str, *, link: str | None = None, text: str = "hello") -> NormalisedEntry:
    where = link if link is not None else f"https://example.org/{uid}"
    return NormalisedEntry(
        uid=uid,
        uid_key=index_key(uid),
        link=where,
        link_key=index_key(where),
        title=uid,
        summary=text,
        content=None,
        authors="[]",
        categories="[]",
        enclosures="[]",
        details="{}",
        published=None,
        updated=None,
        content_hash=f"hash of {text}",
        offset=None,
        length=None,
    )


def known(shown: NormalisedEntry, *, present_since: int | None = 1, version: int = 1) -> KnownEntry:
    return KnownEntry(
        shown.uid, shown.uid_key, shown.link_key, shown.content_hash, version, present_since
    )


def memory(*entries: KnownEntry) -> dict[bytes, KnownEntry]:
    return {each.uid_key: each for each in entries}


def test_the_first_document_is_all_new() -> None:
    a, b = entry("a"), entry("b")
    assert decide_changes({}, {}, [a, b], room_for_new=PLENTY) == MergeChanges(new=(a, b))


def test_an_unchanged_document_changes_nothing() -> None:
    a, b = entry("a"), entry("b")
    changes = decide_changes(memory(known(a), known(b)), {}, [b, a], room_for_new=PLENTY)
    assert changes == MergeChanges()
    assert not changes.touches_entries


def test_other_content_under_the_same_uid_is_an_edit() -> None:
    before, after = entry("a"), entry("a", text="hello, corrected")
    changes = decide_changes(memory(known(before)), {}, [after], room_for_new=PLENTY)
    assert changes == MergeChanges(edited=((after, known(before)),))


def test_an_entry_that_scrolls_away_and_returns_is_not_new() -> None:
    a = entry("a")
    gone = decide_changes(memory(known(a)), {}, [], room_for_new=PLENTY)
    assert gone == MergeChanges(left=(known(a),))
    away = known(a, present_since=None)
    assert decide_changes(memory(away), {}, [a], room_for_new=PLENTY) == MergeChanges(
        returned=(away,)
    )


def test_a_guid_that_drifts_is_the_same_entry() -> None:
    """Same link, same content, the old guid gone from the document."""
    old = entry("post-1#0", link="https://example.org/post-1")
    new = entry("post-1#1", link="https://example.org/post-1")
    changes = decide_changes(memory(known(old)), {}, [new], room_for_new=PLENTY)
    assert changes == MergeChanges(drifted=(ChangedUid(new, known(old)),))


def test_a_drifted_guid_is_recognised_by_its_alias_from_then_on() -> None:
    old = entry("post-1#0", link="https://example.org/post-1")
    new = entry("post-1#1", link="https://example.org/post-1")
    aliases = {new.uid_key: old.uid_key}
    assert decide_changes(memory(known(old)), aliases, [new], room_for_new=PLENTY) == MergeChanges()


def test_an_alias_shown_beside_its_entry_is_an_entry_of_its_own() -> None:
    old, new = entry("a", text="old"), entry("b", text="new")
    aliases = {new.uid_key: old.uid_key}
    both = decide_changes(memory(known(old)), aliases, [new, old, new], room_for_new=PLENTY)
    assert both == MergeChanges(new=(new,), repeated=1)
    alone = decide_changes(memory(known(old), known(new)), aliases, [new], room_for_new=PLENTY)
    assert alone == MergeChanges(left=(known(old),))


def test_a_document_that_ends_early_hides_what_it_does_not_show() -> None:
    a, b = entry("a"), entry("b")
    changes = decide_changes(
        memory(known(a), known(b)), {}, [a], room_for_new=PLENTY, ends_early_as=2
    )
    assert changes == MergeChanges(hidden=(known(b),))


def test_two_documents_that_end_early_without_an_entry_are_answer_enough() -> None:
    hidden = known(entry("b"), present_since=3)
    changes = decide_changes(memory(hidden), {}, [], room_for_new=PLENTY, ends_early_as=3)
    assert changes == MergeChanges(left=(hidden,))


def test_no_drift_while_the_old_guid_is_still_there() -> None:
    old = entry("1", link="https://example.org/")
    new = entry("2", link="https://example.org/")
    changes = decide_changes(memory(known(old)), {}, [old, new], room_for_new=PLENTY)
    assert changes == MergeChanges(new=(new,))


def test_no_drift_when_two_entries_could_be_meant() -> None:
    one = entry("1", link="https://example.org/")
    two = entry("2", link="https://example.org/")
    new = entry("3", link="https://example.org/")
    changes = decide_changes(memory(known(one), known(two)), {}, [new], room_for_new=PLENTY)
    assert changes.new == (new,)
    assert changes.left == (known(one), known(two))


def test_no_drift_without_a_link() -> None:
    old = entry("1")._replace(link=None, link_key=None)
    new = entry("2")._replace(link=None, link_key=None)
    changes = decide_changes(memory(known(old)), {}, [new], room_for_new=PLENTY)
    assert changes == MergeChanges(new=(new,), left=(known(old),))


def test_without_a_link_a_guid_we_gave_up_drifts_to_the_one_entry_of_its_content() -> None:
    old = entry("x", text="one")._replace(link=None, link_key=None)
    one = entry("hash of one", text="one")._replace(link=None, link_key=None)
    two = entry("hash of two", text="two")._replace(link=None, link_key=None)
    given_up = {old.uid_key}
    known_x = memory(known(old))
    changes = decide_changes(known_x, {}, [two, one], room_for_new=PLENTY, distrusted=given_up)
    assert changes == MergeChanges(new=(two,), drifted=(ChangedUid(one, known(old)),))
    twins = [one, one._replace(uid_key=index_key("twin"))]
    changes = decide_changes(known_x, {}, twins, room_for_new=PLENTY, distrusted=given_up)
    assert changes == MergeChanges(new=tuple(twins), left=(known(old),))


def test_a_uid_twice_in_one_document_counts_once() -> None:
    a = entry("a")
    assert decide_changes({}, {}, [a, a], room_for_new=PLENTY) == MergeChanges(new=(a,), repeated=1)


def test_of_a_repeated_uid_the_first_one_counts() -> None:
    first, second = entry("a", text="first"), entry("a", text="second")
    assert decide_changes({}, {}, [first, second], room_for_new=PLENTY) == MergeChanges(
        new=(first,), repeated=1
    )
    before = entry("b")
    later = decide_changes(memory(known(before)), {}, [before, first, second], room_for_new=PLENTY)
    assert later == MergeChanges(new=(first,), repeated=1)


def test_an_alias_that_was_undone_is_not_guessed_again() -> None:
    """It stands for itself: the entry is new, though link and content are those of the old one."""
    old, new = entry("old", link="https://e.org/1"), entry("new", link="https://e.org/1")
    changes = decide_changes(
        memory(known(old)), {new.uid_key: new.uid_key}, [new], room_for_new=PLENTY
    )
    assert changes == MergeChanges(new=(new,), left=(known(old),))


def test_a_flood_in_a_later_document_is_cut_too() -> None:
    a, flood = entry("a"), [entry(f"new {n}") for n in range(5)]
    changes = decide_changes(memory(known(a)), {}, [a, *flood], room_for_new=2)
    assert changes == MergeChanges(new=(flood[0], flood[1]), cut=3)


def test_a_flood_of_new_entries_is_cut_and_told() -> None:
    flood = [entry(str(number)) for number in range(5)]
    changes = decide_changes({}, {}, flood, room_for_new=2)
    assert changes.new == (flood[0], flood[1])
    assert changes.cut == 3


def test_missing_and_future_dates_order_by_first_seen() -> None:
    assert order_moment(None, None, 1_000) == 1_000
    assert order_moment(2_000, None, 1_000) == 1_000
    assert order_moment(500, 700, 1_000) == 500
    assert order_moment(None, 700, 1_000) == 700
    assert order_moment(None, 2_000, 1_000) == 1_000


@given(st.lists(st.sampled_from("abcdefgh")), st.lists(st.sampled_from("abcdefgh")))
def test_every_shown_uid_is_either_new_or_known_and_never_both(
    before: list[str], now: list[str]
) -> None:
    remembered = memory(*(known(entry(uid)) for uid in before))
    changes = decide_changes(remembered, {}, [entry(uid) for uid in now], room_for_new=PLENTY)
    assert {e.uid for e in changes.new} == set(now) - set(before)
    assert {k.uid for k in changes.left} == set(before) - set(now)
    assert changes.repeated == len(now) - len(set(now))

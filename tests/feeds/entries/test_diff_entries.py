"""What differs between two readings of an entry, and how it is shown."""

from hypothesis import given
from hypothesis import strategies as st

from headwater.core.values.ids import index_key
from headwater.feeds.entries.diff_entries import (
    FieldChange,
    compared_values,
    diff_entries,
    diff_entry,
)
from headwater.feeds.entries.entry import NormalisedEntry

NOON = 1_767_614_400_000_000  # 2026-01-05T12:00:00Z


def entry(
    uid: str, title: str = "T", text: str = "words", updated: int | None = None
) -> NormalisedEntry:
    return NormalisedEntry(
        uid, index_key(uid), None, None, title, text, None, "[]", "[]", "[]", "{}", None, updated,
        "hash", None, None,
    )  # fmt: skip


def test_what_came_what_went_and_what_changed_in_the_order_of_the_later_document() -> None:
    before = [entry("a"), entry("b"), entry("c")]
    after = [entry("d"), entry("b", title="Better"), entry("a")]
    found = diff_entries(before, after)
    assert [(each.kind, each.uid) for each in found] == [
        ("added", "d"), ("changed", "b"), ("removed", "c"),
    ]  # fmt: skip
    assert found[1].fields == (FieldChange("title", "T", "Better"),)


def test_a_change_without_a_new_date_is_silent() -> None:
    old = entry("a", updated=NOON)
    quiet = diff_entry("a", compared_values(old), compared_values(old._replace(title="Other")))
    dated = diff_entry(
        "a", compared_values(old), compared_values(old._replace(title="Other", updated=NOON + 1))
    )
    assert quiet is not None
    assert dated is not None
    assert (quiet.silent, dated.silent) == (True, False)
    assert dated.fields[1] == FieldChange(
        "updated", "2026-01-05T12:00:00Z", "2026-01-05T12:00:00.000001Z"
    )


def test_the_same_is_no_difference() -> None:
    assert diff_entry("a", compared_values(entry("a")), compared_values(entry("a"))) is None
    assert diff_entries([entry("a")], [entry("a")]) == []


def test_of_a_uid_shown_twice_the_first_counts() -> None:
    assert diff_entries([entry("a")], [entry("a"), entry("a", title="Later")]) == []


def test_of_long_texts_only_the_part_that_differs_is_shown() -> None:
    start, end = "s" * 5_000, "e" * 5_000
    old, new = (entry("a", text=f"{start}{word}{end}") for word in ("OLD", "NEW"))
    found = diff_entry("a", compared_values(old), compared_values(new))
    assert found is not None
    around = "s" * 24, "e" * 24
    assert found.fields == (
        FieldChange(
            "summary", f"…{around[0]}OLD{around[1]}…", f"…{around[0]}NEW{around[1]}…"
        ),
    )  # fmt: skip


@given(st.text(max_size=400), st.text(max_size=400))
def test_a_difference_is_always_shown_and_never_endless(one: str, other: str) -> None:
    found = diff_entry(
        "a", compared_values(entry("a", text=one)), compared_values(entry("a", text=other))
    )
    if one == other:
        assert found is None
        return
    assert found is not None
    (field,) = found.fields
    assert field.before is not None
    assert field.after is not None
    assert max(len(field.before), len(field.after)) <= 122
    assert field.before != field.after or len(one) > 120 or len(other) > 120


def test_a_megabyte_against_a_megabyte_is_no_work() -> None:
    text = "ab" * 500_000
    found = diff_entry(
        "a", compared_values(entry("a", text=text)), compared_values(entry("a", text=f"{text}!"))
    )
    assert found is not None
    assert found.fields[0].after == f"…{text[-24:]}!"

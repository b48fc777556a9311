"""Cursors round-trip, and nothing else is taken for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.entrypoints.api.errors import BadCursor
from headwater.entrypoints.api.paging import cursor, decode_cursor, decode_entry_cursor

NUMBERS = st.integers(-(2**63) + 1, 2**63 - 1)


@given(NUMBERS, NUMBERS, NUMBERS, st.binary(min_size=16, max_size=16))
def test_a_place_comes_back_as_it_was(first: int, sort: int, feed: int, key: bytes) -> None:
    assert decode_entry_cursor(cursor("entries", first, sort, feed, key)) == (
        first,
        sort,
        feed,
        key,
    )


@given(st.text(max_size=600))
def test_whatever_else_is_refused(text: str) -> None:
    with pytest.raises(BadCursor):
        decode_cursor(text, "feeds", 1)


@given(NUMBERS, st.integers(0, 200), st.sampled_from("AZaz09-_"))
def test_one_changed_letter_is_noticed(number: int, place: int, letter: str) -> None:
    made = cursor("feeds", number)
    place %= len(made) - 1  # the last letter may hold unused bits
    if made[place] == letter:
        return
    with pytest.raises(BadCursor):
        decode_cursor(made[:place] + letter + made[place + 1 :], "feeds", 1)


def test_a_cursor_of_another_listing_is_refused() -> None:
    with pytest.raises(BadCursor):
        decode_cursor(cursor("visits", 1), "feeds", 1)
    with pytest.raises(BadCursor):
        decode_entry_cursor(cursor("entries", 1, 2))


@pytest.mark.parametrize(
    "place",
    [(), (1, 2), (True,), (2**63,), (-(2**63),), (b"ab",)],
    ids=["nothing", "two numbers", "no number", "too large", "too small", "a key"],
)
def test_a_cursor_that_anybody_could_make_holds_what_it_must(place: tuple[int | bytes]) -> None:
    """The check is no secret: what is inside must not reach the database unlooked at."""
    with pytest.raises(BadCursor):
        decode_cursor(cursor("feeds", *place), "feeds", 1)


@pytest.mark.parametrize(
    "place",
    [(1, 2, 3, b"ab", 5), (1, 2, 3), (1, 2, 3, 4), (1, 2, b"ab", b"ab"), (1, 2**63, 3, b"ab")],
    ids=["too much", "no key", "a number for a key", "a key for a number", "too large"],
)
def test_a_place_among_entries_is_three_numbers_and_a_key(place: tuple[int | bytes]) -> None:
    with pytest.raises(BadCursor):
        decode_entry_cursor(cursor("entries", *place))


def test_a_cursor_longer_than_any_of_ours_is_not_even_read() -> None:
    short, long = (cursor("entries", 1, 2, 3, bytes(size)) for size in (178, 180))
    assert (len(short), len(long)) == (510, 515)
    assert decode_entry_cursor(short) == (1, 2, 3, bytes(178))
    with pytest.raises(BadCursor):
        decode_entry_cursor(long)

"""The question to the entries: SQL that finds enough, a check that is exact."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.feeds.entries.entry_search_rows import EntrySearch, matches, sql_of


def row(title: str | None = None, categories: str = "[]") -> SimpleNamespace:
    return SimpleNamespace(title=title, summary=None, content=None, categories=categories)


def test_no_question_has_no_condition() -> None:
    assert sql_of(EntrySearch(), "sqlite", None) == ("1 = 1", [])


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("Ada", "%Ada%"),
        ("100%", "%100!%%"),
        ("a_b!", "%a!_b!!%"),
        ("été", "%%t%%"),
        ("日本", "%日本%"),
    ],
)
def test_text_becomes_a_pattern_that_means_itself(text: str, pattern: str) -> None:
    _, values = sql_of(EntrySearch(text=text), "sqlite", None)
    assert values == [pattern] * 3


def test_a_letter_with_a_case_is_checked_exactly() -> None:
    assert matches(EntrySearch(text="ÉTÉ"), row("L'été"))
    assert not matches(EntrySearch(text="ÉTÉ"), row("L'ata"))
    assert not matches(EntrySearch(text="é"), row(None))


def test_a_part_of_a_word_is_found_whatever_its_last_letter_becomes() -> None:
    """A capital sigma is written small in two ways: by what stands after it."""
    assert matches(EntrySearch(text="ΣΊΣ"), row("ΣΊΣΥΦΟΣ"))
    assert matches(EntrySearch(text="σίς"), row("Σίσυφος"))
    assert matches(EntrySearch(text="Straße"), row("STRASSE"))


def test_a_category_is_one_of_the_list() -> None:
    assert matches(EntrySearch(category=","), row(categories='[","]'))
    assert not matches(EntrySearch(category=","), row(categories='["a","b"]'))


@given(st.text(), st.sampled_from(["sqlite", "postgresql"]))
def test_what_callers_say_never_stands_in_the_sql(text: str, dialect: str) -> None:
    sql, values = sql_of(EntrySearch(text=text or "x", category=text), dialect, (1, 2, 3, b"k"))
    assert sql.count("?") == len(values)
    assert set(sql) <= set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.,()<>=?!' 0123456789"
    )

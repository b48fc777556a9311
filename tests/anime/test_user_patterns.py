"""Patterns that people write: bounded, linear, and refused with their name when they are wrong."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.anime.user_patterns import (
    LONGEST_PATTERN,
    MOST_PATTERNS,
    BadPattern,
    compile_pattern,
    compile_patterns,
)


@pytest.mark.parametrize(
    "text",
    [
        "(",
        "[a",
        "*a",
        r"(?<=x)y",
        r"(?=x)",
        r"(?!x)",
        r"(a)\1",
        r"\Z",
        r"a{1001}",
        r"(a{1000}){1000}",
        r"(\pL?){300}z",
        "\ud800",
        "",
        "   ",
        "x" * (LONGEST_PATTERN + 1),
    ],
)
def test_a_pattern_that_will_not_do_is_refused(text: str) -> None:
    with pytest.raises(BadPattern) as refused:
        compile_pattern(text, "the exclude list of the settings")
    assert refused.value.status == 422
    assert refused.value.facts["where"] == "the exclude list of the settings"


def test_the_message_names_the_pattern_and_what_is_wrong() -> None:
    with pytest.raises(BadPattern) as refused:
        compile_patterns(["720p", r"(?<=a)b"], "the include list of the tracking")
    assert refused.value.facts["pattern"] == "(?<=a)b"
    assert refused.value.message == (
        "The pattern '(?<=a)b' of the include list of the tracking cannot be used:"
        " invalid perl operator: (?<=."
    )


def test_there_are_not_endlessly_many() -> None:
    with pytest.raises(BadPattern):
        compile_patterns(["a"] * (MOST_PATTERNS + 1), "a list")


@pytest.mark.parametrize(
    ("pattern", "title", "piece"),
    [
        ("720p", "[A] Show - 01 [720P]", "720P"),
        ("(?-i)720p", "[A] Show - 01 [720P]", None),
        (r"\bcht\b", "[A] Show - 01 [CHT]", "CHT"),
        (r"\p{Han}{2}", "[A] 番組 - 01", "番組"),
        ("繁[体體]", "[A] Show [繁體]", "繁體"),
        ("1080p", "[A] Show [１０８０ｐ]", "1080p"),
        ("ＳＨＯＷ", "[A] ＳＨＯＷ - 01", "ＳＨＯＷ"),
        ("Show", "Sh\u200bow", "Show"),
        ("^.A. Show$", "[A] Show", "[A] Show"),
        ("x", "", None),
        ("日常", "\ud800日常", "日常"),
    ],
)
def test_neither_case_nor_width_nor_hidden_letters_count(
    pattern: str, title: str, piece: str | None
) -> None:
    assert compile_pattern(pattern, "a list").found_in(title) == piece


@pytest.mark.parametrize("pattern", [r"\d+-\d+", r"(x+x+)+y", r"(.*)*z", r"(\d+)+-"])
def test_a_title_that_is_long_and_hostile_costs_nothing(pattern: str) -> None:
    made = compile_pattern(pattern, "a list")
    made.found_in("1")
    for letter in "1x":
        started = time.thread_time()
        assert made.found_in(letter * 40_000) is None
        assert time.thread_time() - started < 0.02


def test_the_most_expensive_pattern_that_is_allowed_ends_soon() -> None:
    made = compile_pattern(".{1000}", "a list")
    started = time.thread_time()
    made.found_in("漢ab" * 400)
    assert time.thread_time() - started < 0.5


@settings(deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_a_pattern_or_is_refused(pattern: str, title: str) -> None:
    try:
        made = compile_pattern(pattern, "a list")
    except BadPattern:
        return
    made.found_in(title)

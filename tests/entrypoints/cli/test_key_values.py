"""`KEY=VALUE` words become the fields of a body."""

import pytest

from headwater.core.errors import BadInput
from headwater.entrypoints.cli.key_values import parse_key_values
from headwater.entrypoints.cli.sinks import parse_options


def test_a_value_is_json_or_a_text() -> None:
    words = ["priority=3", "active=true", "kind=rss", "url=https://e.org/?a=b", "config="]
    assert parse_key_values(words) == {
        "priority": 3,
        "active": True,
        "kind": "rss",
        "url": "https://e.org/?a=b",
        "config": None,
    }


def test_texts_stay_texts_and_lists_are_split() -> None:
    words = ["name=2001", "categories=a, b,,", "name2=2001"]
    assert parse_key_values(words, texts={"name"}, lists={"categories"}) == {
        "name": "2001",
        "categories": ["a", "b"],
        "name2": 2001,
    }


def test_an_option_of_a_sink_is_a_simple_value() -> None:
    assert parse_options(["raw=false", "headers={}", "path="]) == {
        "raw": False,
        "headers": "{}",
        "path": None,
    }


@pytest.mark.parametrize("word", ["priority", "=3"])
def test_a_word_without_a_key_or_a_value_is_refused(word: str) -> None:
    with pytest.raises(BadInput, match="is not KEY=VALUE"):
        parse_key_values([word])

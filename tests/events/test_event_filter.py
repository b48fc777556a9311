"""What a reader of events may want, and what is refused."""

import pytest

from headwater.core.errors import BadInput
from headwater.events.event_filter import EVERYTHING, EventFilter, parse_event_filter

FEED = "0197c1ef-aa10-7f3e-8a53-0d6f5c1f7d42"


def test_nothing_named_is_everything() -> None:
    assert parse_event_filter() == EVERYTHING
    assert EVERYTHING.is_everything
    assert EVERYTHING.as_json() == "{}"
    assert EVERYTHING.admits("new_entry", None)


def test_what_is_wanted_is_kept_and_read_again() -> None:
    wanted = parse_event_filter(["new_entry"], [FEED], ["Zürich", "news"])
    assert wanted.as_json() == (
        '{"types":["new_entry"],"feeds":["0197c1ef-aa10-7f3e-8a53-0d6f5c1f7d42"],'
        '"categories":["Zürich","news"]}'
    )
    assert EventFilter.from_json(wanted.as_json()) == wanted
    assert EventFilter.from_json("{}") == EVERYTHING
    assert not wanted.is_everything


def test_each_is_named_once_and_feeds_in_lower_case() -> None:
    wanted = parse_event_filter(["new_entry", "new_entry"], [FEED.upper(), FEED], ["a", "b", "a"])
    assert wanted == EventFilter(("new_entry",), (FEED,), ("a", "b"))


def test_an_event_must_be_wanted_in_each_way_that_is_named() -> None:
    wanted = EventFilter(types=("feed_gone", "feed_moved"), feeds=(FEED,))
    assert wanted.admits("feed_moved", FEED)
    assert not wanted.admits("new_entry", FEED)
    assert not wanted.admits("feed_moved", None)
    assert not wanted.admits("feed_moved", "another")


@pytest.mark.parametrize(
    ("field", "named"),
    [
        ("types", ["new_entry", "new_entries"]),
        ("feeds", ["1234"]),
        ("feeds", ["0197c1ef-aa10-7f3e-8a53-0d6f5c1f7d42' OR 1=1"]),
        ("feeds", [f"0197c1ef-aa10-7f3e-8a53-{number:012d}" for number in range(1_001)]),
        ("categories", [""]),
        ("categories", ["x" * 1_025]),
        ("categories", ["a\x00b"]),
        ("categories", [f"category {number}" for number in range(101)]),
    ],
)
def test_what_cannot_be_wanted_is_refused_by_name(field: str, named: list[str]) -> None:
    with pytest.raises(BadInput) as told:
        parse_event_filter(**{field: named})
    assert told.value.facts["field"] == field

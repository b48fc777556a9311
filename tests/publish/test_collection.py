"""One name, one meaning."""

import pytest

from headwater.publish.collection import Name, meaning_of


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("all", Name("all", "")),
        ("group-all", Name("group_name", "all")),
        ("7", Name("group_number", "7")),
        ("group-7", Name("group_name", "7")),
        ("News", Name("group_name", "News")),
        ("ALL", Name("group_name", "ALL")),
        ("a/b c-d", Name("group_name", "a/b c-d")),
        ("feed-x", Name("feed", "x")),
        ("group-feed-x", Name("group_name", "feed-x")),
        ("category-a-b", Name("category", "a-b")),
        ("group-", Name("group_name", "")),
        ("9223372036854775807", Name("group_number", "9223372036854775807")),
        ("9223372036854775808", Name("group_name", "9223372036854775808")),
        ("٣", Name("group_name", "٣")),
    ],
)
def test_what_a_name_means(name: str, meaning: Name) -> None:
    assert meaning_of(name) == meaning

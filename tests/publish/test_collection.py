"""One name, one meaning."""

import pytest

from headwater.publish.collection import CollectionName, parse_collection_name


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("all", CollectionName("all", "")),
        ("group-all", CollectionName("group_name", "all")),
        ("7", CollectionName("group_number", "7")),
        ("group-7", CollectionName("group_name", "7")),
        ("News", CollectionName("group_name", "News")),
        ("ALL", CollectionName("group_name", "ALL")),
        ("a/b c-d", CollectionName("group_name", "a/b c-d")),
        ("feed-x", CollectionName("feed", "x")),
        ("group-feed-x", CollectionName("group_name", "feed-x")),
        ("category-a-b", CollectionName("category", "a-b")),
        ("group-", CollectionName("group_name", "")),
        ("9223372036854775807", CollectionName("group_number", "9223372036854775807")),
        ("9223372036854775808", CollectionName("group_name", "9223372036854775808")),
        ("٣", CollectionName("group_name", "٣")),
    ],
)
def test_what_a_name_means(name: str, meaning: CollectionName) -> None:
    assert parse_collection_name(name) == meaning

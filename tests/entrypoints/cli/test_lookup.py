"""One thing is meant, by its id, its name or a part of it; several and none are told as such."""

from typing import Any

import pytest

from headwater.core.errors import BadInput, NotFound
from headwater.entrypoints.cli.lookup import (
    SeveralFeeds,
    SeveralMatch,
    api_path,
    lookup_feed,
    lookup_fetcher,
    lookup_group,
    lookup_subscription,
    lookup_tracking,
)

OX = "01a1dfd7-b50f-7559-ace8-794a8853ea9c"
OXEN = "02b2dfd7-b50f-7559-ace8-794a8853ea9c"
LISTS: dict[str, list[dict[str, Any]]] = {
    "/feeds": [
        {"id": OX, "title": "Ox", "url": "https://example.org/ox.xml"},
        {"id": OXEN, "title": "Oxen", "url": "https://example.org/oxen.xml"},
        {"id": "03", "title": None, "url": "https://example.org/herd.xml"},
    ],
    "/subscriptions": [
        {"subscription_id": 1, "source_url": "https://example.org/a", "name": "A", "feed_id": OX},
        {
            "subscription_id": 2,
            "source_url": "https://example.org/b",
            "name": None,
            "feed_id": "03",
        },
    ],
    "/fetcher-modules": [{"fetcher_id": 1, "name": "feed"}, {"fetcher_id": 2, "name": "mail"}],
    "/groups": [{"group_id": n, "name": f"group {n}"} for n in range(1, 26)],
    "/trackings": [{"id": 4, "show": {"title": "Frieren"}}],
}


class Listing:
    """An API with a few records of each kind."""

    def get(self, path: str, **query: Any) -> Any:
        if path == "/fetcher-modules":
            return {"fetcher_modules": LISTS[path]}
        if path == "/feeds":
            return {"feeds": [each for each in LISTS[path] if each["url"] == query["url"]]}
        return {"asked": path}

    def pages(self, path: str, key: str, **query: Any) -> Any:
        assert path == f"/{key}"
        wanted = query.get("source_url")
        return (each for each in LISTS[path] if wanted in (None, each.get("source_url")))


API: Any = Listing()


@pytest.mark.parametrize(
    ("text", "feed"),
    [
        ("ox", OX),  # a whole title wins over a part of one
        ("oxe", OXEN),
        ("02b2", OXEN),
        ("https://example.org/oxen.xml", OXEN),
        ("HERD", "03"),
    ],
)
def test_a_feed_by_title_part_id_or_url(text: str, feed: str) -> None:
    assert lookup_feed(API, text)["id"] == feed


@pytest.mark.parametrize(
    ("lookup", "text", "path"),
    [
        (lookup_feed, OX, f"/feeds/{OX}"),
        (lookup_subscription, "7", "/subscriptions/7"),
        (lookup_fetcher, "7", "/fetcher-modules/7"),
        (lookup_group, "7", "/groups/7"),
        (lookup_tracking, "7", "/trackings/7"),
        (lookup_tracking, "frie", "/trackings/4"),  # a list says less of it
    ],
)
def test_an_id_is_asked_for(lookup: Any, text: str, path: str) -> None:
    assert lookup(API, text) == {"asked": path}


@pytest.mark.parametrize(
    ("text", "number"), [("https://example.org/b", 2), ("a", 1), ("org/b", 2), ("Ox", 1)]
)
def test_a_subscription_by_source_name_part_or_its_feeds_title(text: str, number: int) -> None:
    assert lookup_subscription(API, text)["subscription_id"] == number


def test_several_feeds_are_listed_with_their_urls() -> None:
    with pytest.raises(SeveralFeeds) as refused:
        lookup_feed(API, "example")
    assert refused.value.code == "several_feeds"
    assert refused.value.facts["candidates"][2] == {
        "id": "03",
        "url": "https://example.org/herd.xml",
    }
    assert refused.value.message == (
        f"3 feeds fit 'example'; say which:\n  {OX}  Ox\n  {OXEN}  Oxen\n"
        "  03  https://example.org/herd.xml"
    )


def test_of_many_that_fit_twenty_are_shown() -> None:
    with pytest.raises(SeveralMatch) as refused:
        lookup_group(API, "group")
    lines = refused.value.message.splitlines()
    assert refused.value.code == "several_fit"
    assert refused.value.facts["candidates"] == list(range(1, 26))
    assert [lines[0], lines[1], lines[-2], lines[-1], len(lines)] == [
        "25 groups fit 'group'; say which:",
        "  1  group 1",
        "  20  group 20",
        "  … and 5 more",
        22,
    ]


@pytest.mark.parametrize(
    ("lookup", "message"),
    [
        (lookup_feed, "No feed is called 'zzz'. `headwater list` shows them all."),
        (
            lookup_subscription,
            "No subscription is called 'zzz'. `headwater subscriptions` shows them all.",
        ),
        (lookup_fetcher, "No fetcher is called 'zzz'. `headwater fetchers list` shows them all."),
        (lookup_group, "No group is called 'zzz'. `headwater groups list` shows them all."),
        (
            lookup_tracking,
            "No show is tracked under 'zzz'. `headwater track list` shows them all.",
        ),
    ],
)
def test_no_match_says_where_to_look(lookup: Any, message: str) -> None:
    with pytest.raises(NotFound) as refused:
        lookup(API, "zzz")
    assert refused.value.message == message


@pytest.mark.parametrize(
    "lookup", [lookup_feed, lookup_subscription, lookup_fetcher, lookup_group, lookup_tracking]
)
def test_an_empty_name_means_nothing(lookup: Any) -> None:
    with pytest.raises(BadInput, match="an empty name means none"):
        lookup(API, "  ")


@pytest.mark.parametrize("part", ["a/b", ".", ".."])
def test_a_name_cannot_lead_to_another_path(part: str) -> None:
    with pytest.raises(NotFound):
        api_path("sinks", part)

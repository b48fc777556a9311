"""Which built-in fetcher is able to visit what: decided by the parsed host, never by the text."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from headwater.core.values.ids import FetcherId
from headwater.subscriptions.fetchers.builtin import BUILTINS, FEED, MIKANANI, best_builtin
from headwater.subscriptions.fetchers.fetcher import Fetcher

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
ROWS = [
    Fetcher(
        FetcherId(number), each.name, each.version, None, each.base_url, each.priority,
        True, None, False, None, NOON, NOON,
    )
    for number, each in enumerate(BUILTINS, start=1)
]  # fmt: skip


@pytest.mark.parametrize(
    "url",
    [
        "https://mikanani.me/RSS/Bangumi?bangumiId=3215",
        "http://MIKANANI.me/rss",
        "https://mikanani.me:8443/rss",
        "https://mikanani.me./rss",
        "https://www.mikanani.me/rss",
        "https://mikanime.tv/RSS/Classic",
    ],
)
def test_mikanani_is_known_by_its_host(url: str) -> None:
    assert MIKANANI.handles(url, "rss")


@pytest.mark.parametrize(
    "url",
    [
        "https://evilmikanani.me/rss",
        "https://mikanani.me.evil.example/rss",
        "https://evil.example/mikanani.me",
        "https://evil.example/?u=https://mikanani.me/rss",
        "https://evil.example/#mikanani.me",
        "https://mikanani.me@evil.example/rss",
        "ftp://mikanani.me/rss",
        "mikanani.me/rss",
        "",
    ],
)
def test_what_only_mentions_mikanani_is_not_mikanani(url: str) -> None:
    assert not MIKANANI.handles(url, "rss")


@pytest.mark.parametrize("source_type", ["rss", "atom", "json", "feed"])
def test_any_http_feed_is_for_the_feed_fetcher(source_type: str) -> None:
    assert FEED.handles("https://a.example/feed", source_type)


@pytest.mark.parametrize(
    ("url", "source_type"),
    [("https://a.example/feed", "forum"), ("gopher://a.example/", "rss"), ("not a url", "rss")],
)
def test_what_our_parser_does_not_read_is_for_others(url: str, source_type: str) -> None:
    assert not FEED.handles(url, source_type)


def test_the_higher_priority_is_the_better_one() -> None:
    best = best_builtin(BUILTINS, ROWS, "https://mikanani.me/rss", "rss")
    assert best is not None
    assert best.name == "mikanani"
    ours = [replace(ROWS[0], priority=500), ROWS[1]]
    best = best_builtin(BUILTINS, ours, "https://mikanani.me/rss", "rss")
    assert best is not None
    assert best.name == "feed"


def test_of_equals_the_oldest_is_the_better_one() -> None:
    rows = [replace(each, priority=7) for each in reversed(ROWS)]
    best = best_builtin(BUILTINS, rows, "https://mikanani.me/rss", "rss")
    assert best is not None
    assert best.name == "feed"


def test_one_that_is_switched_off_is_no_choice() -> None:
    off = [replace(ROWS[1], is_enabled=False)]
    assert best_builtin(BUILTINS, off, "https://mikanani.me/rss", "rss") is None
    best = best_builtin(BUILTINS, [*off, ROWS[0]], "https://mikanani.me/rss", "rss")
    assert best is not None
    assert best.name == "feed"


def test_a_registered_fetcher_with_a_built_in_name_is_not_built_in() -> None:
    remote = replace(ROWS[0], base_url="https://feed.example", priority=900)
    assert (remote.is_builtin, remote.builtin_name) == (False, None)
    assert (ROWS[0].is_builtin, ROWS[0].builtin_name) == (True, "feed")
    assert best_builtin(BUILTINS, [remote], "https://a.example/feed", "rss") is None

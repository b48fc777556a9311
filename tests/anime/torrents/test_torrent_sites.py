"""Addresses that people copy from a browser lead to the feed behind them."""

import pytest

from headwater.anime.torrents.torrent_sites import feed_url_of_page


@pytest.mark.parametrize(
    ("page", "feed"),
    [
        (
            "https://mikanani.me/Home/Bangumi/3391",
            "https://mikanani.me/RSS/Bangumi?bangumiId=3391",
        ),
        (
            "https://mikanime.tv/Home/Bangumi/3391#583",
            "https://mikanime.tv/RSS/Bangumi?bangumiId=3391&subgroupid=583",
        ),
        (
            "https://nyaa.si/?f=0&c=1_2&q=two+words",
            "https://nyaa.si/?page=rss&f=0&c=1_2&q=two+words",
        ),
        ("https://nyaa.si/user/someone?q=x", "https://nyaa.si/?page=rss&q=x&u=someone"),
        (
            "https://share.dmhy.org/topics/list?keyword=x",
            "https://share.dmhy.org/topics/rss/rss.xml?keyword=x",
        ),
        ("https://acg.rip/?term=x", "https://acg.rip/.xml?term=x"),
        ("https://acg.rip/series/12", "https://acg.rip/series/12.xml"),
    ],
)
def test_a_page_leads_to_its_feed(page: str, feed: str) -> None:
    assert feed_url_of_page(page) == feed


@pytest.mark.parametrize(
    "url",
    [
        "https://mikanani.me/RSS/Bangumi?bangumiId=3391",
        "https://mikanani.me/RSS/MyBangumi?token=secret",
        "https://nyaa.si/?page=rss&q=x",
        "https://nyaa.si/view/123",
        "https://share.dmhy.org/topics/rss/rss.xml",
        "https://acg.rip/.xml?term=x",
        "https://mikanani.me.evil.example/Home/Bangumi/3391",
        "https://releases.example/?q=x",
        "http://[::1/",
        "not a url",
        "",
    ],
)
def test_everything_else_stays_as_it_is(url: str) -> None:
    assert feed_url_of_page(url) == url

"""Torrent sites: their names, where they write a hash, and the feed of a page."""

import re
from collections.abc import Callable, Iterable
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from headwater.anime.torrents.magnet import infohash_of
from headwater.core.errors import BadUrl
from headwater.core.values.url import host_of

_SITES = {
    "mikanani.me": "mikanani",
    "mikanani.tv": "mikanani",
    "mikanime.tv": "mikanani",
    "nyaa.si": "nyaa",
    "dmhy.org": "dmhy",
    "acg.rip": "acg.rip",
    "bangumi.moe": "bangumi.moe",
    "animetosho.org": "animetosho",
    "tokyotosho.info": "tokyotosho",
    "subsplease.org": "subsplease",
}
_NAMESPACES = {
    "https://mikanani.me/0.1/": "mikanani",
    "https://mikanime.tv/0.1/": "mikanani",
    "https://nyaa.si/xmlns/nyaa": "nyaa",
    "https://subsplease.org/rss": "subsplease",
}
_TORZNAB = "http://torznab.com/schemas/2015/feed"
_NAMED_BY_HASH = re.compile(r"/([0-9a-f]{40})\.torrent$", re.IGNORECASE)
# In another site's path, forty hex digits may well be somebody's key.
_HASH_IN_PATH = {
    "mikanani": re.compile(r"/Home/Episode/([0-9a-f]{40})$", re.IGNORECASE),
    "animetosho": re.compile(r"/torrents/([0-9a-f]{40})/", re.IGNORECASE),
}
_NYAA_VIEW = re.compile(r"(https?://(?:[a-z0-9-]+\.)?nyaa\.si)/view/(\d{1,12})/?", re.IGNORECASE)


def site_of(addresses: Iterable[str], namespaces: Iterable[str]) -> str:
    """The site by its own namespace, else by its addresses. Many sites use that of Torznab."""
    uris = [uri.lower() for uri in sorted(namespaces)]
    sites = [_NAMESPACES[uri] for uri in uris if uri in _NAMESPACES]
    sites += [site for url in addresses if (site := _site_of_address(url)) is not None]
    if sites:
        return sites[0]
    return "torznab" if _TORZNAB in uris else "other"


def _site_of_address(url: str) -> str | None:
    try:
        host = host_of(url)
    except BadUrl:
        return None
    labels = host.split(".")[-4:]
    domains = (".".join(labels[start:]) for start in range(len(labels)))
    return next((_SITES[domain] for domain in domains if domain in _SITES), None)


def hash_in_path(url: str) -> str | None:
    path = url.partition("#")[0].partition("?")[0]
    if infohash := _NAMED_BY_HASH.search(path):
        return infohash[1].lower()
    pattern = _HASH_IN_PATH.get(_site_of_address(url) or "")
    infohash = pattern.search(path) if pattern else None
    return infohash[1].lower() if infohash else None


def hash_in_guid(guid: str | None, site: str) -> str | None:
    """SubsPlease writes the hash as guid, in base32. On other sites 32 letters may be anything."""
    return infohash_of(guid) if guid and site == "subsplease" else None


def torrent_url_of_page(addresses: Iterable[str]) -> str | None:
    """nyaa's feed of magnet links names only the page of a torrent; its file is beside the page."""
    for url in addresses:
        if view := _NYAA_VIEW.fullmatch(url):
            return f"{view[1]}/download/{view[2]}.torrent"
    return None


_SHOW = re.compile(r"/Home/Bangumi/(\d{1,9})/?", re.IGNORECASE)
_USER = re.compile(r"/user/([^/]{1,100})/?")
_LISTED = re.compile(r"/(?:series|user|team)/\d{1,9}")


def feed_url_of_page(url: str) -> str:
    """The feed of a page; the URL itself if it is a feed already, or if its site is not known."""
    try:
        parts = urlsplit(url.strip())
        rule = _RULES.get(site_of([url.strip()], ()))
    except ValueError:
        return url
    feed = rule(parts) if rule else None
    return url if feed is None else urlunsplit(feed)


def _mikanani(parts: SplitResult) -> SplitResult | None:
    """`#583` is the release group that was clicked."""
    show = _SHOW.fullmatch(parts.path)
    if show is None:
        return None
    query = {"bangumiId": show[1]}
    if parts.fragment.isascii() and parts.fragment.isdigit():
        query["subgroupid"] = parts.fragment
    return parts._replace(path="/RSS/Bangumi", query=urlencode(query), fragment="")


def _nyaa(parts: SplitResult) -> SplitResult | None:
    query = parse_qsl(parts.query, keep_blank_values=True)
    if any(name == "page" for name, _ in query):
        return None
    user = _USER.fullmatch(parts.path)
    if user is None and parts.path not in ("", "/"):
        return None
    feed_query = [("page", "rss"), *query, *([("u", user[1])] if user else [])]
    return parts._replace(path="/", query=urlencode(feed_query), fragment="")


def _dmhy(parts: SplitResult) -> SplitResult | None:
    if parts.path.rstrip("/") not in ("", "/topics/list"):
        return None
    return parts._replace(path="/topics/rss/rss.xml", fragment="")


def _acg_rip(parts: SplitResult) -> SplitResult | None:
    if parts.path in ("", "/"):
        return parts._replace(path="/.xml", fragment="")
    if _LISTED.fullmatch(parts.path.rstrip("/")):
        return parts._replace(path=f"{parts.path.rstrip('/')}.xml", fragment="")
    return None


_RULES: dict[str, Callable[[SplitResult], SplitResult | None]] = {
    "mikanani": _mikanani,
    "nyaa": _nyaa,
    "dmhy": _dmhy,
    "acg.rip": _acg_rip,
}

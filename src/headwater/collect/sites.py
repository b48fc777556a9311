"""Habits of single sites that list torrents: their names, and where they write a hash."""

import re
from collections.abc import Iterable

from headwater.collect.magnet import infohash_of
from headwater.errors import BadUrl
from headwater.values.url import host_of

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
    """A namespace of the site's own says it best, then its addresses; many speak Torznab."""
    uris = [uri.lower() for uri in sorted(namespaces)]
    named = [_NAMESPACES[uri] for uri in uris if uri in _NAMESPACES]
    named += [site for url in addresses if (site := _site_of_address(url)) is not None]
    if named:
        return named[0]
    return "torznab" if _TORZNAB in uris else "other"


def _site_of_address(url: str) -> str | None:
    try:
        host = host_of(url)
    except BadUrl:
        return None
    pieces = host.split(".")
    return next((_SITES[name] for name in _endings(pieces) if name in _SITES), None)


def _endings(pieces: list[str]) -> Iterable[str]:
    return (".".join(pieces[start:]) for start in range(max(0, len(pieces) - 4), len(pieces)))


def hash_in_path(url: str) -> str | None:
    path = url.partition("#")[0].partition("?")[0]
    if found := _NAMED_BY_HASH.search(path):
        return found[1].lower()
    shape = _HASH_IN_PATH.get(_site_of_address(url) or "")
    found = shape.search(path) if shape else None
    return found[1].lower() if found else None


def hash_in_guid(guid: str | None, site: str) -> str | None:
    """SubsPlease writes the hash as guid, in base32; elsewhere 32 letters may be anything."""
    return infohash_of(guid) if guid and site == "subsplease" else None


def derived_torrent(addresses: Iterable[str]) -> str | None:
    """nyaa's feed of magnets names only the page of a torrent; its file is one address further."""
    for url in addresses:
        if found := _NYAA_VIEW.fullmatch(url):
            return f"{found[1]}/download/{found[2]}.torrent"
    return None

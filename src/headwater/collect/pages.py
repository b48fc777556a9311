"""Addresses of pages that people copy from a site's search or show: the feed that stands behind."""

import re
from collections.abc import Callable
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from headwater.collect.sites import site_of

_SHOW = re.compile(r"/Home/Bangumi/(\d{1,9})/?", re.IGNORECASE)
_USER = re.compile(r"/user/([^/]{1,100})/?")
_LISTED = re.compile(r"/(?:series|user|team)/\d{1,9}")


def feed_behind(url: str) -> str:
    """The URL itself where it is a feed already, or nothing is known of its site."""
    try:
        parts = urlsplit(url.strip())
        rule = _RULES.get(site_of([url.strip()], ()))
    except ValueError:
        return url
    found = rule(parts) if rule else None
    return url if found is None else urlunsplit(found)


def _mikanani(parts: SplitResult) -> SplitResult | None:
    """`#583` is the release group that was clicked."""
    show = _SHOW.fullmatch(parts.path)
    if show is None:
        return None
    said = {"bangumiId": show[1]}
    if parts.fragment.isascii() and parts.fragment.isdigit():
        said["subgroupid"] = parts.fragment
    return parts._replace(path="/RSS/Bangumi", query=urlencode(said), fragment="")


def _nyaa(parts: SplitResult) -> SplitResult | None:
    said = parse_qsl(parts.query, keep_blank_values=True)
    if any(name == "page" for name, _ in said):
        return None
    user = _USER.fullmatch(parts.path)
    if user is None and parts.path not in ("", "/"):
        return None
    asked = [("page", "rss"), *said, *([("u", user[1])] if user else [])]
    return parts._replace(path="/", query=urlencode(asked), fragment="")


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

"""Which feed a person means: an id, the beginning of one, a URL, or part of a title."""

from typing import Any
from urllib.parse import quote
from uuid import UUID

from headwater.entrypoints.cli.session import Api
from headwater.entrypoints.cli.terminal import one_line
from headwater.errors import BadInput, NotFound

SHOWN = 20


class SeveralFeeds(BadInput):
    """More than one feed fits. Facts: `candidates`."""

    code = "several_feeds"


def feed_meant(api: Api, text: str) -> dict[str, Any]:
    """The one feed that fits; exact fits win over parts."""
    refuse_blank(text, "feed")
    if _is_uuid(text):
        found: dict[str, Any] = api.get(f"/feeds/{quote(text, safe='')}")
        return found
    if "://" in text and (at_url := api.get("/feeds", url=text)["feeds"]):
        return dict(at_url[0])
    candidates = [feed for feed in api.pages("/feeds", "feeds") if _fits(feed, text)]
    exact = [feed for feed in candidates if _is_exact(feed, text)]
    fitting = exact or candidates
    if not fitting:
        raise NotFound(
            f"No feed is called {one_line(text)!r}. `headwater list` shows them all.", given=text
        )
    if len(fitting) > 1:
        raise _several(text, fitting)
    return fitting[0]


def refuse_blank(text: str, what: str) -> None:
    """Nothing is a part of every name, and a variable of a script that was never set."""
    if not text.strip():
        raise BadInput(f"Say which {what}: an empty name means none.", given=text)


def path_of(feed: dict[str, Any], *rest: str) -> str:
    return "/".join(["/feeds", quote(feed["id"], safe=""), *rest])


def is_called(feed: dict[str, Any], text: str) -> bool:
    return text.casefold() in (feed.get("title") or "").casefold()


def _fits(feed: dict[str, Any], text: str) -> bool:
    wanted = text.casefold()
    return (
        (len(wanted) >= 4 and feed["id"].startswith(wanted))
        or feed["url"] == text
        or is_called(feed, text)
        or (len(wanted) >= 4 and wanted in feed["url"].casefold())
    )


def _is_exact(feed: dict[str, Any], text: str) -> bool:
    return feed["url"] == text or (feed.get("title") or "").casefold() == text.casefold()


def _several(text: str, feeds: list[dict[str, Any]]) -> SeveralFeeds:
    lines = [f"  {feed['id']}  {one_line(feed.get('title') or feed['url'], 70)}" for feed in feeds]
    more = [f"  … and {len(feeds) - SHOWN} more"] if len(feeds) > SHOWN else []
    return SeveralFeeds(
        "\n".join([f"{len(feeds)} feeds fit {text!r}; say which:", *lines[:SHOWN], *more]),
        candidates=[{"id": feed["id"], "url": feed["url"]} for feed in feeds],
    )


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False

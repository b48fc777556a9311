"""Sources of personal feeds: the feeds that people gave categories."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from headwater.core.values.url import redacted
from headwater.publish.opml import OpmlRow, render_opml


@dataclass(frozen=True, slots=True)
class CategorySource:
    """`categories` are those that were asked for, in that order."""

    url: str
    title: str | None
    home_page: str | None
    categories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FeedOrigin:
    """A feed, and the categories that people gave it. Its `url` may be a private one."""

    feed_id: str
    url: str
    title: str | None
    home_link: str | None
    categories: tuple[str, ...]

    def open_to(self, allowed: frozenset[str]) -> tuple[str, ...]:
        """The categories that items may have; `allowed` empty: any."""
        named = (name for name in self.categories if name and "\x00" not in name)
        return tuple(name for name in named if not allowed or name in allowed)


def render_sources_opml(sources: Iterable[CategorySource], title: str, made: datetime) -> bytes:
    """Secrets in URLs are hidden: the list goes to people, and further."""
    return render_opml((_row(each) for each in sources), title, made)


def _row(each: CategorySource) -> OpmlRow:
    home = None if each.home_page is None else redacted(each.home_page)
    return OpmlRow(redacted(each.url), each.title, home, each.categories)

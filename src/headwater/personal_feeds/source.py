"""Sources of personal feeds: the feeds that people gave categories."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from headwater.core.values.url import redacted
from headwater.publish.opml import OpmlRow, render_opml


@dataclass(frozen=True, slots=True)
class CategorySource:
    """A feed that fills categories.

    `categories` are the requested ones that it has, in their order.
    """

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
        storable = (name for name in self.categories if name and "\x00" not in name)
        return tuple(name for name in storable if not allowed or name in allowed)


def render_sources_opml(sources: Iterable[CategorySource], title: str, made: datetime) -> bytes:
    """Secrets in URLs are hidden: people pass such lists on."""
    return render_opml((_row_of(source) for source in sources), title, made)


def _row_of(source: CategorySource) -> OpmlRow:
    home = None if source.home_page is None else redacted(source.home_page)
    return OpmlRow(redacted(source.url), source.title, home, source.categories)

"""A source that fills some categories, as a line of an OPML list for people."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from headwater.subscribe.opml import OpmlRow, write_opml
from headwater.values.url import redacted


@dataclass(frozen=True, slots=True)
class Source:
    """`categories` are those that were asked for, in that order."""

    url: str
    title: str | None
    home_page: str | None
    categories: tuple[str, ...]


def sources_opml(sources: Iterable[Source], title: str, made: datetime) -> bytes:
    """Secrets in URLs are hidden: the list goes to people, and further."""
    return write_opml((_row(each) for each in sources), title, made)


def _row(each: Source) -> OpmlRow:
    home = None if each.home_page is None else redacted(each.home_page)
    return OpmlRow(redacted(each.url), each.title, home, each.categories)

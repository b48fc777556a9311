"""The feeds that people gave one of some categories."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson

from headwater.core.ports import Row, View
from headwater.core.values.url import redacted
from headwater.publish.opml import OpmlRow, render_opml


@dataclass(frozen=True, slots=True)
class CategorySource:
    """`categories` are those that were asked for, in that order."""

    url: str
    title: str | None
    home_page: str | None
    categories: tuple[str, ...]


def render_sources_opml(sources: Iterable[CategorySource], title: str, made: datetime) -> bytes:
    """Secrets in URLs are hidden: the list goes to people, and further."""
    return render_opml((_row(each) for each in sources), title, made)


def _row(each: CategorySource) -> OpmlRow:
    home = None if each.home_page is None else redacted(each.home_page)
    return OpmlRow(redacted(each.url), each.title, home, each.categories)


_AT_ONCE = 1_000


async def list_category_sources(view: View, categories: Sequence[str]) -> list[CategorySource]:
    """In the order they were added. Feeds that are visited no more fill nothing."""
    found: list[CategorySource] = []
    after = 0
    while categories:
        rows = await view.rows(
            "SELECT id, url, title, overrides, home_link, categories FROM feeds WHERE id > ?"
            " AND state IN ('active', 'paused') AND categories <> '[]' ORDER BY id LIMIT ?",
            after,
            _AT_ONCE,
        )
        for row in rows:
            given = frozenset(orjson.loads(row.categories))
            shared = tuple(name for name in categories if name in given)
            if shared:
                found.append(CategorySource(row.url, _title(row), row.home_link, shared))
        if len(rows) < _AT_ONCE:
            break
        after = rows[-1].id
    return found


def _title(row: Row) -> str | None:
    """What a person called it goes before what its publisher does."""
    own: str | None = orjson.loads(row.overrides).get("title")
    return own or row.title

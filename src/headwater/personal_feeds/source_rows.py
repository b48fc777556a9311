"""Sources of personal feeds in the database: feeds by their categories."""

from collections.abc import Collection, Sequence

import orjson

from headwater.core.ports import Row, View, placeholders
from headwater.feeds.overrides import decode_overrides
from headwater.personal_feeds.source import CategorySource, FeedOrigin

_IN_ONE_QUERY = 500


async def list_feed_origins(view: View, feed_ids: Collection[str]) -> dict[str, FeedOrigin]:
    """By public id, those that have categories. One that was deleted for good is left out."""
    named, found = sorted(set(feed_ids)), dict[str, FeedOrigin]()
    for place in range(0, len(named), _IN_ONE_QUERY):
        some = named[place : place + _IN_ONE_QUERY]
        rows = await view.rows(
            "SELECT feed_id, url, title, home_link, categories FROM feeds"
            f" WHERE feed_id IN ({placeholders(len(some))}) AND categories <> '[]'",
            *some,
        )
        for row in rows:
            categories = tuple(orjson.loads(row.categories))
            found[row.feed_id] = FeedOrigin(
                row.feed_id, row.url, row.title, row.home_link, categories
            )
    return found


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
    own: str | None = decode_overrides(row.overrides).title
    return own or row.title

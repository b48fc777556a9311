"""Sources of personal feeds in the database: feeds by their categories."""

from collections.abc import Collection, Sequence

import orjson

from headwater.core.ports import Row, View, placeholders
from headwater.feeds.overrides import decode_overrides
from headwater.personal_feeds.source import CategorySource, FeedOrigin

_IN_ONE_QUERY = 500


async def list_feed_origins(view: View, feed_ids: Collection[str]) -> dict[str, FeedOrigin]:
    """Feed id → origin, for feeds with categories. A feed that was deleted for good is left out."""
    ids, origins = sorted(set(feed_ids)), dict[str, FeedOrigin]()
    for place in range(0, len(ids), _IN_ONE_QUERY):
        page = ids[place : place + _IN_ONE_QUERY]
        rows = await view.rows(
            "SELECT feed_id, url, title, home_link, categories FROM feeds"
            f" WHERE feed_id IN ({placeholders(len(page))}) AND categories <> '[]'",
            *page,
        )
        for row in rows:
            categories = tuple(orjson.loads(row.categories))
            origins[row.feed_id] = FeedOrigin(
                row.feed_id, row.url, row.title, row.home_link, categories
            )
    return origins


_AT_ONCE = 1_000


async def list_category_sources(view: View, categories: Sequence[str]) -> list[CategorySource]:
    """Sources in the order they were added. Feeds that are visited no more are left out."""
    sources: list[CategorySource] = []
    after = 0
    while categories:
        rows = await view.rows(
            "SELECT id, url, title, overrides, home_link, categories FROM feeds WHERE id > ?"
            " AND state IN ('active', 'paused') AND categories <> '[]' ORDER BY id LIMIT ?",
            after,
            _AT_ONCE,
        )
        for row in rows:
            own = frozenset(orjson.loads(row.categories))
            shared = tuple(name for name in categories if name in own)
            if shared:
                sources.append(CategorySource(row.url, _title(row), row.home_link, shared))
        if len(rows) < _AT_ONCE:
            break
        after = rows[-1].id
    return sources


def _title(row: Row) -> str | None:
    """A title that a person gave goes before the publisher's."""
    own: str | None = decode_overrides(row.overrides).title
    return own or row.title

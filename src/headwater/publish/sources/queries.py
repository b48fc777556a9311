"""The feeds that people gave one of some categories."""

from collections.abc import Sequence

import orjson

from headwater.ports import Reader, Row
from headwater.publish.sources.source import Source

_AT_ONCE = 1_000


async def sources(view: Reader, categories: Sequence[str]) -> list[Source]:
    """In the order they were added. Feeds that are visited no more fill nothing."""
    found: list[Source] = []
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
                found.append(Source(row.url, _title(row), row.home_link, shared))
        if len(rows) < _AT_ONCE:
            break
        after = rows[-1].id
    return found


def _title(row: Row) -> str | None:
    """What a person called it goes before what its publisher does."""
    own: str | None = orjson.loads(row.overrides).get("title")
    return own or row.title

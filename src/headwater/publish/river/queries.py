"""What may be asked of the feeds that some events tell of: in which categories their entries go."""

from collections.abc import Collection

import orjson

from headwater.ports import Reader, marks
from headwater.publish.river.entry import Origin

_IN_ONE_QUERY = 500


async def origins(view: Reader, feed_ids: Collection[str]) -> dict[str, Origin]:
    """By public id, those that have categories. One that was deleted for good is left out."""
    named, found = sorted(set(feed_ids)), dict[str, Origin]()
    for place in range(0, len(named), _IN_ONE_QUERY):
        some = named[place : place + _IN_ONE_QUERY]
        rows = await view.rows(
            "SELECT feed_id, url, title, home_link, categories FROM feeds"
            f" WHERE feed_id IN ({marks(len(some))}) AND categories <> '[]'",
            *some,
        )
        for row in rows:
            categories = tuple(orjson.loads(row.categories))
            found[row.feed_id] = Origin(row.feed_id, row.url, row.title, row.home_link, categories)
    return found

"""Metrics of personal feeds: items that came in, feeds that were served, and the cache."""

from headwater.core.telemetry.metrics import AreaMetrics

ITEM_SOURCES = ("program", "feed")
OUTCOME_BY_STATUS = {
    200: "served",
    304: "unchanged",
    401: "unknown_token",
    404: "unknown_token",
    422: "bad_request",
    429: "limited",
    500: "failed",
}

PERSONAL_METRICS = AreaMetrics()
ITEMS = PERSONAL_METRICS.counter(
    "personal_items", "Items that came into categories, by where they came from.", "source"
)
FEEDS = PERSONAL_METRICS.counter(
    "personal_feeds", "Personal feeds, and lists of them, that were asked for.", "outcome"
)
CACHE = PERSONAL_METRICS.counter(
    "personal_cache", "Personal feeds that were there already (hit) or had to be built.", "result"
)

_ITEMS_OF = {source: ITEMS.labels(source) for source in ITEM_SOURCES}
_FEEDS_WITH = {status: FEEDS.labels(name) for status, name in OUTCOME_BY_STATUS.items()}
_CACHE_HIT, _CACHE_MISS = CACHE.labels("hit"), CACHE.labels("miss")


def count_published_items(source: str, count: int) -> None:
    """`source` is one of ITEM_SOURCES."""
    if count:
        _ITEMS_OF[source].inc(count)


def count_personal_feed_answer(status: int) -> None:
    """A status that is not in OUTCOME_BY_STATUS is a failure."""
    (_FEEDS_WITH.get(status) or _FEEDS_WITH[500]).inc()


def count_cache_lookup(*, hit: bool) -> None:
    (_CACHE_HIT if hit else _CACHE_MISS).inc()

"""What this process has done since it started, as counters in the form Prometheus reads.

Made where a visit is told to the log, at a few microseconds each. No label takes its values from
what a stranger says: every set of values is known here, or to whoever calls.
"""

from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

from headwater import __version__
from headwater.core.values.latency import BOUNDS_MS

# A moment for every series would double their number.
disable_created_metrics()  # type: ignore[no-untyped-call]

REGISTRY = CollectorRegistry()
"""Ours alone: what a library counts for itself is not told."""

OUTCOMES = ("fetched", "unchanged", "unreadable", "throttled", "gone", "failed")
DEADLY = ("parser_crashed", "parser_timeout", "parser_memory")
UNKNOWN = "other"
METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
ITEM_SOURCES = ("program", "feed")
RELEASE_ACTIONS = ("fetch", "upgrade", "skip", "hold", "removed", "refused")
FEED_OUTCOMES = {
    200: "served",
    304: "unchanged",
    401: "unknown_token",
    404: "unknown_token",
    422: "bad_request",
    429: "limited",
    500: "failed",
}

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_INTERVALS = (
    _MINUTE, 5 * _MINUTE, 10 * _MINUTE, 15 * _MINUTE, 30 * _MINUTE, _HOUR, 2 * _HOUR, 4 * _HOUR,
    8 * _HOUR, 12 * _HOUR, _DAY, 2 * _DAY, 7 * _DAY,
)  # fmt: skip
_ANSWERS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_GROUPS = (1, 2, 4, 8, 16, 32, 64, 128, 200)


def _counter(name: str, about: str, *labels: str) -> Counter:
    return Counter(f"headwater_{name}", about, labels, registry=REGISTRY)


def _histogram(name: str, about: str, bounds: tuple[float, ...], *labels: str) -> Histogram:
    return Histogram(f"headwater_{name}", about, labels, registry=REGISTRY, buckets=bounds)


BUILD = Gauge(
    "headwater_build_info", "Always 1; which version runs.", ["version"], registry=REGISTRY
)
VISITS = _counter("visits", "Visits that were remembered, by what they met.", "outcome")
DROPPED = _counter(
    "visits_dropped",
    "Visits of which nothing was written: the claim was lost, or the database refused.",
    "why",
)
ERRORS = _counter(
    "visit_errors", "Failed visits, by code and by whose fault it is.", "code", "fault"
)
RETRIES = _counter("retries", "Visits made after one that failed.")
RECEIVED = _counter("received_bytes", "Bodies as they came over the wire.")
UNPACKED = _counter("encoded_bytes", "Bodies as they came, of documents that were unpacked.")
DECODED = _counter("decoded_bytes", "The same documents once unpacked.")
NEW_ENTRIES = _counter("new_entries", "Entries seen for the first time.")
UPDATED_ENTRIES = _counter("updated_entries", "Entries that were edited.")
PARSER_DEATHS = _counter("parser_deaths", "Documents that killed the process reading them.", "code")
FETCH_SECONDS = _histogram(
    "fetch_duration_seconds",
    "How long answers took that brought a document, or word that it is the same.",
    tuple(bound / 1000 for bound in BOUNDS_MS),
)
INTERVALS = _histogram("interval_seconds", "Intervals chosen after visits.", _INTERVALS)
GROUPS = _histogram(
    "commit_group_size", "Visits that shared one commit, by which of the two.", _GROUPS, "commit"
)
REQUESTS = _counter("api_requests", "Requests answered by the API.", "method", "route", "status")
ANSWER_SECONDS = _histogram(
    "api_duration_seconds", "How long it took until an answer began.", _ANSWERS, "route"
)
ITEMS = _counter(
    "personal_items", "Items that came into categories, by where they came from.", "source"
)
PERSONAL_FEEDS = _counter(
    "personal_feeds", "Personal feeds, and lists of them, that were asked for.", "outcome"
)
PERSONAL_CACHE = _counter(
    "personal_cache", "Personal feeds that were there already (hit) or had to be built.", "result"
)
RELEASES = _counter(
    "releases_decided", "Decisions on releases, new ones and those made anew.", "action"
)
DOWNLOAD_STEPS = _counter(
    "download_steps", "Steps of downloads, by where they began and how they ended.", "state", "end"
)

# Series that are there from the start: a rate needs a zero to rise from.
BUILD.labels(__version__).set(1)
_MET = {name: VISITS.labels(name) for name in OUTCOMES}
_DROPPED = {why: DROPPED.labels(why) for why in ("lost", "refused")}
_DEATHS = {code: PARSER_DEATHS.labels(code) for code in DEADLY}
_GROUPS_OF = {commit: GROUPS.labels(commit) for commit in ("archive", "remember")}
_DECIDED_AS = {action: RELEASES.labels(action) for action in RELEASE_ACTIONS}
_ITEMS_OF = {source: ITEMS.labels(source) for source in ITEM_SOURCES}
_FEEDS_WITH = {code: PERSONAL_FEEDS.labels(name) for code, name in FEED_OUTCOMES.items()}
_CACHE_HIT, _CACHE_MISS = PERSONAL_CACHE.labels("hit"), PERSONAL_CACHE.labels("miss")
_BROUGHT = frozenset({"fetched", "unchanged", "unreadable"})


class MeasuredVisit(NamedTuple):
    """One remembered visit. `error` is one of the known codes, or `other`."""

    outcome: str
    error: str | None
    fault: str
    seconds: float
    bytes_in: int
    decoded_bytes: int | None
    new_entries: int
    updated_entries: int
    interval: float
    retry: bool


def count_visit(seen: MeasuredVisit) -> None:
    _MET[seen.outcome].inc()
    INTERVALS.observe(seen.interval)
    if seen.outcome in _BROUGHT:
        FETCH_SECONDS.observe(seen.seconds)
    if seen.bytes_in:
        RECEIVED.inc(seen.bytes_in)
    if seen.decoded_bytes is not None:
        UNPACKED.inc(seen.bytes_in)
        DECODED.inc(seen.decoded_bytes)
    if seen.new_entries:
        NEW_ENTRIES.inc(seen.new_entries)
    if seen.updated_entries:
        UPDATED_ENTRIES.inc(seen.updated_entries)
    if seen.retry:
        RETRIES.inc()
    if seen.error is not None:
        ERRORS.labels(seen.error, seen.fault).inc()
        if seen.error in _DEATHS:
            _DEATHS[seen.error].inc()


def count_dropped_visit(why: str) -> None:
    _DROPPED[why].inc()


def observe_commit(commit: str, size: int) -> None:
    _GROUPS_OF[commit].observe(size)


def count_answer(method: str, route: str | None, status: int, seconds: float) -> None:
    """`route` is a template of ours, None for what no route of ours took."""
    named = method if method in METHODS else UNKNOWN
    where = UNKNOWN if route is None else route
    REQUESTS.labels(named, where, f"{status // 100}xx").inc()
    ANSWER_SECONDS.labels(where).observe(seconds)


def count_published_items(source: str, count: int) -> None:
    """`source` is one of ITEM_SOURCES."""
    if count:
        _ITEMS_OF[source].inc(count)


def count_decided_releases(action: str, count: int) -> None:
    """`action` is one of RELEASE_ACTIONS."""
    _DECIDED_AS[action].inc(count)


def count_personal_feed_answer(status: int) -> None:
    """A status that is not in FEED_OUTCOMES is a failure."""
    (_FEEDS_WITH.get(status) or _FEEDS_WITH[500]).inc()


def count_cache_lookup(*, hit: bool) -> None:
    (_CACHE_HIT if hit else _CACHE_MISS).inc()


def count_download_step(state: str, end: str) -> None:
    """`state` is one of a download's; `end` is `done` or `failed`."""
    DOWNLOAD_STEPS.labels(state, end).inc()

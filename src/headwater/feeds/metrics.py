"""Metrics of visits: their outcomes, their entries and bytes, and the intervals chosen after them.

A visit is counted where it is logged, at a few microseconds each.
"""

from typing import NamedTuple

from headwater.core.telemetry.metrics import AreaMetrics
from headwater.core.values.latency import BOUNDS_MS

OUTCOMES = ("fetched", "unchanged", "unreadable", "throttled", "gone", "failed")
DEADLY = ("parser_crashed", "parser_timeout", "parser_memory")

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_INTERVALS = (
    _MINUTE, 5 * _MINUTE, 10 * _MINUTE, 15 * _MINUTE, 30 * _MINUTE, _HOUR, 2 * _HOUR, 4 * _HOUR,
    8 * _HOUR, 12 * _HOUR, _DAY, 2 * _DAY, 7 * _DAY,
)  # fmt: skip
_GROUPS = (1, 2, 4, 8, 16, 32, 64, 128, 200)

VISIT_METRICS = AreaMetrics()
VISITS = VISIT_METRICS.counter(
    "visits", "Visits that were remembered, by what they met.", "outcome"
)
DROPPED = VISIT_METRICS.counter(
    "visits_dropped",
    "Visits of which nothing was written: the claim was lost, or the database refused.",
    "why",
)
ERRORS = VISIT_METRICS.counter(
    "visit_errors", "Failed visits, by code and by whose fault it is.", "code", "fault"
)
RETRIES = VISIT_METRICS.counter("retries", "Visits made after one that failed.")
RECEIVED = VISIT_METRICS.counter("received_bytes", "Bodies as they came over the wire.")
UNPACKED = VISIT_METRICS.counter(
    "encoded_bytes", "Bodies as they came, of documents that were unpacked."
)
DECODED = VISIT_METRICS.counter("decoded_bytes", "The same documents once unpacked.")
NEW_ENTRIES = VISIT_METRICS.counter("new_entries", "Entries seen for the first time.")
UPDATED_ENTRIES = VISIT_METRICS.counter("updated_entries", "Entries that were edited.")
PARSER_DEATHS = VISIT_METRICS.counter(
    "parser_deaths", "Documents that killed the process reading them.", "code"
)
FETCH_SECONDS = VISIT_METRICS.histogram(
    "fetch_duration_seconds",
    "How long answers took that brought a document, or word that it is the same.",
    tuple(bound / 1000 for bound in BOUNDS_MS),
)
INTERVALS = VISIT_METRICS.histogram(
    "interval_seconds", "Intervals chosen after visits.", _INTERVALS
)
GROUPS = VISIT_METRICS.histogram(
    "commit_group_size", "Visits that shared one commit, by which of the two.", _GROUPS, "commit"
)

_VISITS_OF = {name: VISITS.labels(name) for name in OUTCOMES}
_DROPPED = {why: DROPPED.labels(why) for why in ("lost", "refused")}
_DEATHS = {code: PARSER_DEATHS.labels(code) for code in DEADLY}
_GROUPS_OF = {commit: GROUPS.labels(commit) for commit in ("archive", "remember")}
_WITH_ANSWER = frozenset({"fetched", "unchanged", "unreadable"})


class MeasuredVisit(NamedTuple):
    """A committed visit. `error` is one of the known codes, or `other`."""

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


def count_visit(visit: MeasuredVisit) -> None:
    _VISITS_OF[visit.outcome].inc()
    INTERVALS.observe(visit.interval)
    if visit.outcome in _WITH_ANSWER:
        FETCH_SECONDS.observe(visit.seconds)
    if visit.bytes_in:
        RECEIVED.inc(visit.bytes_in)
    if visit.decoded_bytes is not None:
        UNPACKED.inc(visit.bytes_in)
        DECODED.inc(visit.decoded_bytes)
    if visit.new_entries:
        NEW_ENTRIES.inc(visit.new_entries)
    if visit.updated_entries:
        UPDATED_ENTRIES.inc(visit.updated_entries)
    if visit.retry:
        RETRIES.inc()
    if visit.error is not None:
        ERRORS.labels(visit.error, visit.fault).inc()
        if visit.error in _DEATHS:
            _DEATHS[visit.error].inc()


def count_dropped_visit(why: str) -> None:
    _DROPPED[why].inc()


def observe_commit(commit: str, size: int) -> None:
    _GROUPS_OF[commit].observe(size)

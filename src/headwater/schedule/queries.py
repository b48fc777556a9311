"""What may be asked of the schedule: feeds, their visits, the decisions, who works and how late."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from headwater.errors import NotFound
from headwater.ports import Reader, Row, Value, marks
from headwater.subscribe.feed import Feed, Overrides, Schedule, State, Stats, Validators
from headwater.values.ids import FeedId, FeedPk, key_of
from headwater.values.instant import from_micros, maybe_moment, to_micros
from headwater.values.url import canonical

_FEED_COLUMNS = (
    "id, feed_id, url, original_url, type, title, home_link, state, priority, overrides,"
    " categories, etag, last_modified, hints, documents_seen, document_seen_at, moved_to,"
    " interval_sec, next_visit_at, claimed_by, last_decision_at, reason, retry_after_sec,"
    " ewma_sec, failures, last_fetch_at, last_success_at, last_outcome, last_status, last_error,"
    " new_entries_last_fetch, created_at, updated_at"
)


@dataclass(frozen=True, slots=True)
class Visit:
    """One committed visit, with the decision it led to."""

    scheduled_at: datetime
    started_at: datetime
    finished_at: datetime
    worker: str
    url: str
    outcome: str
    status: int | None
    error: str | None
    error_detail: str | None
    fetch_id: str | None
    conditional: bool
    hops: Any
    request_headers: Any
    response_headers: Any
    address: str | None
    bytes_in: int
    latency_ms: float
    entries_in_document: int | None
    new_entries: int
    updated_entries: int
    limits: Any
    problems: Any
    interval_before: float
    interval_after: float
    next_at: datetime | None
    reason_code: str
    reason: str
    inputs: Any


@dataclass(frozen=True, slots=True)
class Worker:
    worker_id: str
    host: str
    pid: int
    started_at: datetime
    heartbeat_at: datetime


@dataclass(frozen=True, slots=True)
class Load:
    """How much there is to do. `oldest_due_at`: when the longest-waiting feed was planned.

    What waits for a registered fetcher is not due for us.
    """

    by_state: dict[str, int]
    due: int
    claimed: int
    failing: int
    oldest_due_at: datetime | None


async def feeds(
    view: Reader, *, after: int = 0, limit: int, states: Sequence[State], url: str | None = None
) -> list[Feed]:
    """In the order they were added, from the one after `after`."""
    values: list[Value] = [after, *states]
    where = f"id > ? AND state IN ({marks(len(states))})"
    if url is not None:
        where += " AND url_key = ?"
        values.append(key_of(canonical(url) or url))
    rows = await view.rows(
        f"SELECT {_FEED_COLUMNS} FROM feeds WHERE {where} ORDER BY id LIMIT ?", *values, limit
    )
    return [feed_of(row) for row in rows]


async def feed(view: Reader, feed_id: str, *, lock: bool = False) -> Feed:
    """`lock` keeps others from changing it until the transaction ends."""
    suffix = " FOR UPDATE" if lock and view.dialect == "postgresql" else ""
    row = await view.row(f"SELECT {_FEED_COLUMNS} FROM feeds WHERE feed_id = ?{suffix}", feed_id)
    if row is None:
        raise NotFound("There is no such feed.", what="feed")
    return feed_of(row)


@dataclass(frozen=True, slots=True)
class Rereading:
    """What must be known of a feed to read its payloads again."""

    pk: FeedPk
    id: FeedId
    url: str
    identity: dict[str, Any] | None
    document_hash: bytes | None
    documents_seen: int


async def rereading(view: Reader, feed_id: str, *, lock: bool = False) -> Rereading:
    """`lock` as above."""
    suffix = " FOR UPDATE" if lock and view.dialect == "postgresql" else ""
    row = await view.row(
        "SELECT id, feed_id, url, identity, document_hash, documents_seen FROM feeds"
        f" WHERE feed_id = ?{suffix}",
        feed_id,
    )
    if row is None:
        raise NotFound("There is no such feed.", what="feed")
    memory = orjson.loads(row.identity) if row.identity else None
    return Rereading(
        FeedPk(row.id), FeedId(row.feed_id), row.url, memory, row.document_hash, row.documents_seen
    )


def feed_of(row: Row) -> Feed:
    return Feed(
        pk=FeedPk(row.id),
        id=FeedId(row.feed_id),
        url=row.url,
        original_url=row.original_url,
        type=row.type,
        publisher_title=row.title,
        home_link=row.home_link,
        state=row.state,
        priority=row.priority,
        categories=tuple(orjson.loads(row.categories)),
        overrides=Overrides.from_json(orjson.loads(row.overrides)),
        validators=Validators(row.etag, row.last_modified),
        hints=orjson.loads(row.hints),
        schedule=_schedule_of(row),
        stats=_stats_of(row),
        moved_to=row.moved_to,
        created_at=from_micros(row.created_at),
        updated_at=from_micros(row.updated_at),
    )


def _schedule_of(row: Row) -> Schedule:
    return Schedule(
        interval_sec=row.interval_sec,
        next_visit_at=maybe_moment(row.next_visit_at),
        last_decision_at=maybe_moment(row.last_decision_at),
        reason=row.reason,
        retry_after_sec=row.retry_after_sec,
        claimed=row.claimed_by is not None,
    )


def _stats_of(row: Row) -> Stats:
    return Stats(
        last_fetch_at=maybe_moment(row.last_fetch_at),
        last_success_at=maybe_moment(row.last_success_at),
        failures=row.failures,
        ewma_sec=row.ewma_sec,
        new_entries_last_fetch=row.new_entries_last_fetch,
        last_outcome=row.last_outcome,
        last_status=row.last_status,
        last_error=row.last_error,
        documents_seen=row.documents_seen,
        document_seen_at=maybe_moment(row.document_seen_at),
    )


async def visits(view: Reader, of: FeedPk, *, before: int | None, limit: int) -> list[Visit]:
    """Newest first."""
    rows = await view.rows(
        "SELECT * FROM visits WHERE feed_id = ? AND scheduled_at < ?"
        " ORDER BY scheduled_at DESC LIMIT ?",
        of,
        _LATEST if before is None else before,
        limit,
    )
    return [_visit_of(row) for row in rows]


_LATEST = 2**63 - 1


def _visit_of(row: Row) -> Visit:
    plain = {name: getattr(row, name) for name in Visit.__slots__}
    moments = {name: maybe_moment(plain[name]) for name in _MOMENTS}
    parsed = {name: _json_or_none(plain[name]) for name in _JSON}
    flags = {"conditional": bool(row.conditional)}
    return Visit(**(plain | moments | parsed | flags))


_MOMENTS = ("scheduled_at", "started_at", "finished_at", "next_at")
_JSON = ("hops", "request_headers", "response_headers", "limits", "problems", "inputs")


def _json_or_none(text: str | None) -> Any:
    return None if text is None else orjson.loads(text)


async def workers(view: Reader) -> list[Worker]:
    rows = await view.rows("SELECT * FROM workers ORDER BY started_at, worker_id")
    return [
        Worker(
            row.worker_id,
            row.host,
            row.pid,
            from_micros(row.started_at),
            from_micros(row.heartbeat_at),
        )
        for row in rows
    ]


async def load(view: Reader, now: datetime) -> Load:
    states = await view.rows("SELECT state, count(*) AS feeds FROM feeds GROUP BY state")
    row = await view.row(
        "SELECT count(*) AS due, min(next_visit_at) AS oldest FROM feeds"
        " WHERE next_visit_at IS NOT NULL AND next_visit_at <= ? AND shard >= 0",
        to_micros(now),
    )
    claimed = await view.row("SELECT count(*) AS feeds FROM feeds WHERE claimed_by IS NOT NULL")
    failing = await view.row(
        "SELECT count(*) AS feeds FROM feeds WHERE failures > 0 AND state = 'active'"
    )
    assert row and claimed and failing
    return Load(
        by_state={each.state: each.feeds for each in states},
        due=row.due,
        claimed=claimed.feeds,
        failing=failing.feeds,
        oldest_due_at=maybe_moment(row.oldest),
    )


@dataclass(frozen=True, slots=True)
class Waiting:
    """A feed that has waited longer than it was meant to: `times` the interval chosen for it."""

    feed_id: FeedId
    url: str
    times: float
    chosen_sec: float


_CHOSEN = (
    "(SELECT feed_id, url, began, CASE WHEN planned > remembered THEN planned ELSE remembered END"
    " AS chosen FROM (SELECT feed_id, url, coalesce(last_decision_at, created_at) AS began,"
    " scheduled_at - coalesce(last_decision_at, created_at) AS planned,"
    " interval_sec * 1000000 AS remembered FROM feeds WHERE state = 'active'"
    " AND scheduled_at IS NOT NULL) plans) waiting"
)
"""Active feeds with what was chosen when they were last decided on: the time to the next visit,
with hints, pauses and luck in it, and never less than the interval that is remembered."""


async def freshness(view: Reader, now: datetime, times: float) -> tuple[int, int]:
    """Active feeds, and how many of them have waited longer than so many chosen intervals."""
    row = await view.row(
        "SELECT count(*) AS feeds, coalesce(sum(CASE WHEN CAST(? AS BIGINT) - began"
        f" > chosen * CAST(? AS DOUBLE PRECISION) THEN 1 ELSE 0 END), 0) AS late FROM {_CHOSEN}",
        to_micros(now),
        times,
    )
    assert row is not None
    return int(row.feeds), int(row.late)


async def longest_waiting(view: Reader, now: datetime, times: float, limit: int) -> list[Waiting]:
    """Those that have waited longer than so many chosen intervals, the longest first."""
    moment = to_micros(now)
    rows = await view.rows(
        "SELECT feed_id, url, chosen, (CAST(? AS BIGINT) - began) * 1.0 / chosen AS times"
        f" FROM {_CHOSEN} WHERE CAST(? AS BIGINT) - began > chosen * CAST(? AS DOUBLE PRECISION)"
        " ORDER BY times DESC, feed_id LIMIT ?",
        moment,
        moment,
        times,
        limit,
    )
    return [
        Waiting(FeedId(row.feed_id), row.url, float(row.times), float(row.chosen) / 1_000_000)
        for row in rows
    ]


async def database_version(view: Reader) -> str:
    ask = "sqlite_version()" if view.dialect == "sqlite" else "current_setting('server_version')"
    row = await view.row(f"SELECT {ask} AS version")
    assert row is not None
    return f"{view.dialect} {row.version}"

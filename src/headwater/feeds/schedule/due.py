"""A feed whose time has come, claimed by one worker: all that a visit needs to know of it."""

from dataclasses import dataclass
from typing import Any

import orjson

from headwater.core.ports import Row
from headwater.core.values.ids import FeedId, FeedPk
from headwater.core.values.quickly_made import quickly_made
from headwater.core.values.response import Validators
from headwater.feeds.schedule.hints import Hints
from headwater.feeds.schedule.policy import SchedulePolicy
from headwater.feeds.schedule.state import ScheduleState

DUE_COLUMNS = (
    "id, feed_id, url, host, overrides, etag, last_modified, hints, identity, document_hash,"
    " documents_seen, document_seen_at, asked_whole_at, moved_to, moved_count, moved_since,"
    " gone_count, new_today, today, interval_sec, scheduled_at, fence, ewma_sec,"
    " recent_published, failures, failing_told, last_address,"
    " last_error, reason, last_decision_at,"
    # Whether there is anything to unlock, so that most visits need not look for it.
    " EXISTS (SELECT 1 FROM rss_subscriptions s LEFT JOIN subscription_groups g"
    " ON g.group_id = s.group_id WHERE s.feed_id = feeds.id"
    " AND (s.credentials IS NOT NULL OR g.credentials IS NOT NULL)) AS has_credentials"
)


REST_ENDS = (
    "max(last_decision_at + CAST(1000000 * COALESCE(retry_after_sec,"
    " CASE WHEN last_status = 429 THEN CAST(? AS BIGINT) END) AS BIGINT))"
)
"""Until when the host of throttled feeds rests; its value is the rest, in whole seconds, of one
that did not say how long. Whoever said 429, or how long, rests as a whole; a bare 503 is one feed's
trouble."""

_DAY = 86_400_000_000

EMPTY_JSON = "{}"
"""How most feeds' overrides and hints stand in the database."""


@dataclass(frozen=True, slots=True)
class ObservedMove:
    """A permanent redirect under observation: believed only when it proves stable."""

    to: str | None = None
    count: int = 0
    since: int | None = None


UNMOVED = ObservedMove()


@quickly_made
@dataclass(frozen=True, slots=True)
class DueFeed:
    """`scheduled_at` names the visit and never changes; `fence` proves the claim is still ours.

    `reason` and `decided_at` are of the decision that led here; `claimed_at` is when a worker came.
    """

    feed: FeedPk
    feed_id: FeedId
    url: str
    host: str
    scheduled_at: int
    fence: int
    validators: Validators
    state: ScheduleState
    overrides: dict[str, Any]
    identity: dict[str, Any] | None = None
    document_hash: bytes | None = None
    documents_seen: int = 0
    document_seen_at: int | None = None
    asked_whole_at: int | None = None
    move: ObservedMove = ObservedMove()
    new_today: int = 0
    today: int = 0
    failing_told: bool = False
    last_address: str | None = None
    has_credentials: bool = False
    after_failure: bool = False
    reason: str | None = None
    decided_at: int | None = None
    claimed_at: int | None = None

    @property
    def verify_tls(self) -> bool:
        return bool(self.overrides.get("verify_tls", True))


def due_feed_of(row: Row, claimed_at: int | None = None) -> DueFeed:
    """The columns by their places: looking each up by its name took two thirds of the time."""
    (
        pk, feed_id, url, host, overrides, etag, last_modified, hints, identity, document_hash,
        documents_seen, document_seen_at, asked_whole_at, moved_to, moved_count, moved_since,
        gone_count, new_today, today, interval, scheduled_at, fence, ewma, recent_published,
        failures, failing_told, last_address, last_error, reason, decided_at, has_credentials,
    ) = row  # fmt: skip
    own = {} if overrides == EMPTY_JSON else orjson.loads(overrides)
    said = Hints() if hints == EMPTY_JSON else Hints.from_json(orjson.loads(hints))
    moments = tuple(orjson.loads(recent_published))
    asked, ceiling = own.get("interval_sec"), own.get("ceiling_sec")
    pushed = bool(own.get("push_only", False))
    state = ScheduleState(
        interval, failures, gone_count, ewma, said, moments, asked, pushed, ceiling
    )
    return DueFeed(
        pk, feed_id, url, host, scheduled_at, fence,
        Validators(etag, last_modified), state, own,
        orjson.loads(identity) if identity else None,
        document_hash, documents_seen, document_seen_at, asked_whole_at,
        UNMOVED if moved_to is None else ObservedMove(moved_to, moved_count, moved_since),
        new_today, today, bool(failing_told), last_address, bool(has_credentials),
        last_error is not None, reason, decided_at, claimed_at,
    )  # fmt: skip


def policy_for_feed(policy: SchedulePolicy, overrides: dict[str, Any]) -> SchedulePolicy:
    """The schedule's numbers with this feed's own clamps."""
    if not overrides:
        return policy
    return policy.overridden(
        min_interval=overrides.get("min_interval_sec"),
        max_interval=overrides.get("max_interval_sec"),
    )


def wants_whole_document(due: DueFeed, now_micros: int, after_days: float) -> bool:
    """Ask without validators now and then: a server that answers 304 for ever is found out."""
    if due.asked_whole_at is None or due.asked_whole_at > now_micros + _DAY:
        return True  # by a clock that was ahead, it would not be asked again for all that time
    return now_micros - due.asked_whole_at >= after_days * _DAY

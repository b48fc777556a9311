"""A due feed that a worker has claimed: everything that a visit needs to know of it."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from headwater.core.values.ids import FeedId, FeedPk
from headwater.core.values.response import Validators
from headwater.feeds.overrides import Overrides
from headwater.feeds.schedule.state import ScheduleState

_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class ObservedMove:
    """A permanent redirect under observation. It is believed only when it proves stable."""

    to: str | None = None
    count: int = 0
    since: int | None = None


UNMOVED = ObservedMove()


class DueFeed(NamedTuple):
    """`scheduled_at` names the visit and never changes; `fence` proves the claim is still ours.

    `reason` and `decided_at` belong to the decision that planned this visit. `claimed_at` is when a
    worker claimed the feed.
    """

    feed: FeedPk
    feed_id: FeedId
    url: str
    host: str
    scheduled_at: int
    fence: int
    validators: Validators
    state: ScheduleState
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
    def overrides(self) -> Overrides:
        return self.state.overrides


def wants_whole_document(due: DueFeed, now_micros: int, after_days: float) -> bool:
    """Now and then a request has no validators, to find out a server that answers 304 for ever."""
    if due.asked_whole_at is None or due.asked_whole_at > now_micros + _DAY:
        return True  # by a clock that was ahead, we would not ask again for all that time
    return now_micros - due.asked_whole_at >= after_days * _DAY

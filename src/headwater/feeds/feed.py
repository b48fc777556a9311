"""The feed as a noun: what somebody wishes of it, what they may change, and all we know of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from headwater.core.errors import ConflictError
from headwater.core.values.ids import FeedId, FeedPk
from headwater.core.values.keep import KEEP, Keep
from headwater.feeds.keyring import Credentials
from headwater.feeds.overrides import NO_OVERRIDES, Overrides

FeedState = Literal["active", "paused", "gone", "duplicate", "removed"]
"""`gone`: its server said 410 for good. `duplicate`: it moved to where another feed lives.
`removed`: a person took it off; its history stays."""
STATES: tuple[FeedState, ...] = ("active", "paused", "gone", "duplicate", "removed")
USUAL_PRIORITY = 50
LOWEST_PRIORITY, HIGHEST_PRIORITY = 0, 100


@dataclass(frozen=True, slots=True)
class FeedOptions:
    """How somebody wants a feed when they add it; `credentials` where it is private.

    A title they give is an override: a publisher's new title does not replace it.
    """

    priority: int = USUAL_PRIORITY
    categories: tuple[str, ...] = ()
    overrides: Overrides = NO_OVERRIDES
    credentials: Credentials | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class FeedPatch:
    """What is to change. `overrides` holds only what was said; None there means the default."""

    priority: int | Keep = KEEP
    categories: tuple[str, ...] | Keep = KEEP
    state: Literal["active", "paused"] | Keep = KEEP
    overrides: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FeedValidators:
    etag: str | None
    last_modified: str | None


@dataclass(frozen=True, slots=True)
class FeedSchedule:
    """When the next visit is and why. `claimed` while a worker is on its way."""

    interval_sec: float
    next_visit_at: datetime | None
    last_decision_at: datetime | None
    reason: str | None
    retry_after_sec: float | None
    claimed: bool


@dataclass(frozen=True, slots=True)
class FeedStats:
    last_fetch_at: datetime | None
    last_success_at: datetime | None
    failures: int
    ewma_sec: float | None
    new_entries_last_fetch: int
    last_outcome: str | None
    last_status: int | None
    last_error: str | None
    documents_seen: int
    document_seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class Feed:
    """Everything a reader may want to know of one feed. `hints` are the publisher's, as stored."""

    pk: FeedPk
    id: FeedId
    url: str
    original_url: str
    type: str
    publisher_title: str | None
    home_link: str | None
    state: FeedState
    priority: int
    categories: tuple[str, ...]
    overrides: Overrides
    validators: FeedValidators
    hints: Mapping[str, Any]
    schedule: FeedSchedule
    stats: FeedStats
    moved_to: str | None
    created_at: datetime
    updated_at: datetime

    @property
    def title(self) -> str | None:
        return self.overrides.title or self.publisher_title


def patched_feed(feed: Feed, patch: FeedPatch) -> Feed:
    """The feed as it will be; a removed one comes back only by being added again."""
    if feed.state == "removed":
        raise ConflictError(
            "This feed was removed. Add its URL again to bring it back with its history.",
            feed_id=feed.id,
            state=feed.state,
        )
    return replace(
        feed,
        priority=feed.priority if patch.priority is KEEP else patch.priority,
        categories=feed.categories if patch.categories is KEEP else patch.categories,
        state=feed.state if patch.state is KEEP else patch.state,
        overrides=feed.overrides.changed(patch.overrides),
    )

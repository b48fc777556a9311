"""A feed: the options it is added with, the changes a person may make, and its present state."""

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
"""`gone`: its server answered 410 for good. `duplicate`: it moved to the URL of another feed.
`removed`: a person removed it; its history stays."""
STATES: tuple[FeedState, ...] = ("active", "paused", "gone", "duplicate", "removed")
USUAL_PRIORITY = 50
LOWEST_PRIORITY, HIGHEST_PRIORITY = 0, 100


@dataclass(frozen=True, slots=True)
class FeedOptions:
    """The options of a feed that a person adds; `credentials` are set for a private one.

    A title among them is an override: a publisher's new title does not replace it.
    """

    priority: int = USUAL_PRIORITY
    categories: tuple[str, ...] = ()
    overrides: Overrides = NO_OVERRIDES
    credentials: Credentials | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class FeedPatch:
    """A change of a feed.

    `overrides` holds only settings to change; None there means the default.
    """

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
    """The next visit and its reason. `claimed` while a worker has the feed."""

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
    """Everything that a reader may want to know of a feed.

    `hints` are the publisher's, as stored.
    """

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
    """The feed after a change. A removed feed comes back only by being added again."""
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

"""A subscription: a source URL that is followed, and the fetcher that fetches it."""

from dataclasses import dataclass, field
from datetime import datetime
from math import ceil
from typing import Any, Literal

from headwater.core.values.ids import FeedId, FeedPk, FetcherId
from headwater.core.values.keep import KEEP, Keep
from headwater.feeds.feed import USUAL_PRIORITY, FeedOptions, FeedPatch
from headwater.feeds.keyring import Credentials
from headwater.feeds.overrides import Overrides

AssignmentStatus = Literal["assigned", "auto_assigned"]
"""`assigned`: somebody named the fetcher. `auto_assigned`: it was the best of those that can."""

USUAL_SOURCE_TYPE = "rss"

SYSTEM_ACTOR = "headwater"
"""The name in the history where the one who decided has none."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A source to follow, its fetcher, and how it goes: with the times and interval of its feed.

    `config` is a JSON text for the fetcher. `assigned_at` is when somebody named the fetcher;
    None while the choice is automatic.
    """

    id: int
    fetcher_id: FetcherId
    fetcher_name: str
    feed_id: FeedId
    feed_pk: FeedPk
    source_url: str
    source_type: str
    name: str | None
    description: str | None
    last_fetched_at: datetime | None
    next_fetch_at: datetime | None
    fetch_interval_minutes: int
    is_active: bool
    config: str | None
    assignment_status: AssignmentStatus
    auto_selected: bool
    assigned_at: datetime | None
    group_id: int | None
    created_at: datetime
    updated_at: datetime
    has_credentials: bool = False


@dataclass(frozen=True, slots=True)
class NewSubscription:
    """A subscription to be made. Without an interval the schedule is adaptive; without a
    `fetcher_id` all fetchers are asked.
    """

    source_url: str
    source_type: str = USUAL_SOURCE_TYPE
    name: str | None = None
    description: str | None = None
    fetch_interval_minutes: int | None = None
    config: str | None = None
    fetcher_id: FetcherId | None = None
    categories: tuple[str, ...] = ()
    priority: int = USUAL_PRIORITY
    group_id: int | None = None
    credentials: Credentials | None = field(default=None, repr=False)

    @property
    def feed_options(self) -> FeedOptions:
        """The values that are stored with the subscription's feed."""
        minutes = self.fetch_interval_minutes
        overrides = Overrides(self.name, interval_sec=None if minutes is None else minutes * 60.0)
        return FeedOptions(self.priority, self.categories, overrides, self.credentials)


@dataclass(frozen=True, slots=True)
class SubscriptionPatch:
    """A change of values. The fetcher is changed by `SubscriptionUpdate`, not here."""

    name: str | Keep | None = KEEP
    description: str | Keep | None = KEEP
    fetch_interval_minutes: int | Keep | None = KEEP
    config: str | Keep | None = KEEP
    group_id: int | Keep | None = KEEP
    categories: tuple[str, ...] | Keep = KEEP
    priority: int | Keep = KEEP

    @property
    def feed_patch(self) -> FeedPatch:
        """The values that are stored with the subscription's feed."""
        overrides: dict[str, Any] = {}
        if self.name is not KEEP:
            overrides["title"] = self.name
        if self.fetch_interval_minutes is not KEEP:
            minutes = self.fetch_interval_minutes
            overrides["interval_sec"] = None if minutes is None else minutes * 60.0
        return FeedPatch(priority=self.priority, categories=self.categories, overrides=overrides)


def assignment_facts(subscription: Subscription) -> dict[str, Any]:
    """The facts that the history keeps of a subscription, before and after each decision."""
    return {
        "fetcher_id": subscription.fetcher_id,
        "fetcher": subscription.fetcher_name,
        "assignment_status": subscription.assignment_status,
        "auto_selected": subscription.auto_selected,
        "is_active": subscription.is_active,
    }


def shown_interval(asked_sec: float | None, current_sec: float) -> int:
    """Whole minutes, rounded up: the interval that somebody asked for, else the present one."""
    return max(1, ceil((current_sec if asked_sec is None else asked_sec) / 60))

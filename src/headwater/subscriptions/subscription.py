"""The subscription as a noun: a source URL somebody wants followed, and who fetches it."""

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
"""`assigned`: somebody named the fetcher. `auto_assigned`: it was the best of those who could."""

USUAL_SOURCE_TYPE = "rss"

SYSTEM_ACTOR = "headwater"
"""Who decided, in the history, where nobody gave their name."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A wish, who fulfils it, and how that goes: its feed's moments and interval stand here too.

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
    """What somebody says when they subscribe. No interval: the schedule is adaptive.

    No `fetcher_id`: all fetchers are asked.
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
        """The part that is kept with the feed behind the subscription."""
        minutes = self.fetch_interval_minutes
        overrides = Overrides(self.name, interval_sec=None if minutes is None else minutes * 60.0)
        return FeedOptions(self.priority, self.categories, overrides, self.credentials)


@dataclass(frozen=True, slots=True)
class SubscriptionPatch:
    """What is to change. Who fetches is changed by assigning, not here."""

    name: str | Keep | None = KEEP
    description: str | Keep | None = KEEP
    fetch_interval_minutes: int | Keep | None = KEEP
    config: str | Keep | None = KEEP
    group_id: int | Keep | None = KEEP
    categories: tuple[str, ...] | Keep = KEEP
    priority: int | Keep = KEEP

    @property
    def feed_patch(self) -> FeedPatch:
        """The part that is kept with the feed behind the subscription."""
        overrides: dict[str, Any] = {}
        if self.name is not KEEP:
            overrides["title"] = self.name
        if self.fetch_interval_minutes is not KEEP:
            minutes = self.fetch_interval_minutes
            overrides["interval_sec"] = None if minutes is None else minutes * 60.0
        return FeedPatch(priority=self.priority, categories=self.categories, overrides=overrides)


def assignment_facts(subscription: Subscription) -> dict[str, Any]:
    """What the history of decisions keeps of a subscription, before and after each."""
    return {
        "fetcher_id": subscription.fetcher_id,
        "fetcher": subscription.fetcher_name,
        "assignment_status": subscription.assignment_status,
        "auto_selected": subscription.auto_selected,
        "is_active": subscription.is_active,
    }


def shown_interval(asked_sec: float | None, current_sec: float) -> int:
    """Whole minutes, rounded up: the cadence somebody asked for, or the one there is now."""
    return max(1, ceil((current_sec if asked_sec is None else asked_sec) / 60))

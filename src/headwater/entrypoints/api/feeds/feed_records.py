"""Records of feeds: what callers get of them, and what they send."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictBool

from headwater.core.values.keep import KEEP
from headwater.entrypoints.api.models import (
    Categories,
    CredentialsIn,
    Priority,
    Seconds,
    Strict,
    Title,
)
from headwater.entrypoints.api.records import Moment, NounRecord, Record
from headwater.feeds.feed import USUAL_PRIORITY, Feed, FeedOptions, FeedPatch, FeedState
from headwater.feeds.overrides import Overrides
from headwater.feeds.schedule.hints import Hints
from headwater.feeds.schedule.policy import SchedulePolicy


def _whole_seconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds)


_WholeSeconds = Annotated[int | None, BeforeValidator(_whole_seconds)]


class ValidatorsRecord(NounRecord):
    etag: str | None
    last_modified: str | None


class ScheduleRecord(Record):
    """`reason` is a sentence for people; `being_visited` while a worker is there."""

    interval_sec: int
    min_interval_sec: int
    max_interval_sec: int
    last_decision_at: Moment | None
    reason: str
    retry_after_sec: int | None
    next_visit_at: Moment | None
    being_visited: bool


class HintsRecord(Record):
    ttl_minutes: int | None
    skip_hours: list[int] | None
    skip_days: list[str] | None
    update_sec: int | None
    fresh_for_sec: int | None


class StatsRecord(NounRecord):
    last_fetch_at: Moment | None
    last_success_at: Moment | None
    consecutive_failures: int = Field(validation_alias="failures")
    ewma_interarrival_sec: _WholeSeconds = Field(validation_alias="ewma_sec")
    new_entries_last_fetch: int
    documents_seen: int
    last_document_at: Moment | None = Field(validation_alias="document_seen_at")
    last_outcome: str | None
    last_status: int | None


class OverridesRecord(NounRecord):
    # The settings of `Overrides`; `ceiling_sec` is not for callers.
    title: str | None
    min_interval_sec: _WholeSeconds
    max_interval_sec: _WholeSeconds
    interval_sec: _WholeSeconds
    disable_autodiscovery: bool
    push_only: bool
    archive_backfill: bool
    verify_tls: bool


class FeedRecord(Record):
    id: str
    url: str
    type: Literal["rss", "atom", "json", "unknown"]
    title: str | None
    home_link: str | None
    state: FeedState
    priority: int
    categories: list[str]
    overrides: OverridesRecord
    validators: ValidatorsRecord
    schedule: ScheduleRecord
    publisher_hints: HintsRecord
    stats: StatsRecord
    next_visit_at: Moment | None
    last_error: str | None
    moved_to: str | None
    original_url: str
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, feed: Feed, policy: SchedulePolicy) -> "FeedRecord":
        return cls(
            id=feed.id,
            url=feed.url,
            type=_known_type(feed.type),
            title=feed.title,
            home_link=feed.home_link,
            state=feed.state,
            priority=feed.priority,
            categories=list(feed.categories),
            overrides=OverridesRecord.of(feed.overrides),
            validators=ValidatorsRecord.of(feed.validators),
            schedule=schedule_record(feed, policy),
            publisher_hints=_hints_record(feed),
            stats=StatsRecord.of(feed.stats),
            next_visit_at=feed.schedule.next_visit_at,
            last_error=feed.stats.last_error,
            moved_to=feed.moved_to,
            original_url=feed.original_url,
            created_at=feed.created_at,
            updated_at=feed.updated_at,
        )


def schedule_record(feed: Feed, policy: SchedulePolicy) -> ScheduleRecord:
    limits, schedule = feed.overrides.policy_from(policy), feed.schedule
    return ScheduleRecord(
        interval_sec=round(schedule.interval_sec),
        min_interval_sec=round(limits.min_interval),
        max_interval_sec=round(limits.max_interval),
        last_decision_at=schedule.last_decision_at,
        reason=schedule.reason or "not visited yet",
        retry_after_sec=_whole_seconds(schedule.retry_after_sec),
        next_visit_at=schedule.next_visit_at,
        being_visited=schedule.claimed,
    )


def _hints_record(feed: Feed) -> HintsRecord:
    hints = Hints.from_json(feed.hints)
    return HintsRecord(
        ttl_minutes=hints.ttl_minutes,
        skip_hours=list(hints.skip_hours) or None,
        skip_days=list(hints.skip_days) or None,
        update_sec=_whole_seconds(hints.update_seconds),
        fresh_for_sec=_whole_seconds(hints.fresh_for),
    )


def _known_type(text: str) -> Any:
    return text if text in ("rss", "atom", "json") else "unknown"


class FeedPage(Record):
    feeds: list[FeedRecord]
    next_cursor: str | None


class RefetchRecord(Record):
    feed_id: str
    next_visit_at: Moment
    in_progress: bool


class RemovedFeedRecord(Record):
    feed_id: str
    url: str
    removed: bool
    hard: bool
    history: str = Field(description="`kept` or `deleted`.")


class OverridesIn(Strict):
    """A feed's own settings; null goes back to the default."""

    min_interval_sec: Seconds | None = None
    max_interval_sec: Seconds | None = None
    interval_sec: Seconds | None = Field(
        default=None, description="The cadence you want; null: adaptive."
    )
    disable_autodiscovery: StrictBool | None = None
    push_only: StrictBool | None = None
    archive_backfill: StrictBool | None = None
    verify_tls: StrictBool | None = None


class NewFeed(Strict):
    """A feed to follow, or a page that links to feeds (the answer then names them)."""

    url: Annotated[str, Field(min_length=1, max_length=100_000)]
    title: Title | None = None
    priority: Priority = USUAL_PRIORITY
    categories: Categories = Field(default=())
    overrides: OverridesIn = OverridesIn()
    visit: Literal["now", "later"] = Field(
        "now", description="`now` fetches before it answers; `later` leaves that to a worker."
    )
    credentials: CredentialsIn | None = Field(
        None, repr=False, description="For a private feed; sent to its own origin only."
    )

    def options(self) -> FeedOptions:
        return FeedOptions(
            self.priority,
            self.categories,
            Overrides(self.title).changed(self.overrides.named_fields()),
            None if self.credentials is None else self.credentials.credentials(),
        )


class FeedChanges(Strict):
    """Only what is named changes; null goes back to the default."""

    title: Title | None = None
    priority: Priority | None = None
    categories: Categories | None = None
    state: Literal["active", "paused"] = "active"
    overrides: OverridesIn | None = None

    def patch(self) -> FeedPatch:
        named = self.model_fields_set
        overrides = self._override_changes()
        if "title" in named:
            overrides["title"] = self.title
        priority = USUAL_PRIORITY if self.priority is None else self.priority
        return FeedPatch(
            priority=priority if "priority" in named else KEEP,
            categories=self.categories or () if "categories" in named else KEEP,
            state=self.state if "state" in named else KEEP,
            overrides=overrides,
        )

    def _override_changes(self) -> dict[str, Any]:
        """`"overrides": null` puts all of them back."""
        if self.overrides is not None:
            return self.overrides.named_fields()
        if "overrides" in self.model_fields_set:
            return dict.fromkeys(OverridesIn.model_fields)
        return {}


class RefetchIn(Strict):
    whole: StrictBool = Field(False, description="Ask for the whole document, not for changes.")

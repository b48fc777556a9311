"""Records of the registry: subscriptions, fetchers, conflicts, and how each decision came about."""

from typing import Any, Literal

from pydantic import Field

from headwater.entrypoints.api.records import Moment, Record
from headwater.subscribe.conflict import Conflict
from headwater.subscribe.fetcher import Fetcher
from headwater.subscribe.history.store import Decided
from headwater.subscribe.subscription import Subscription


class SubscriptionRecord(Record):
    """`rss_url` is another name of `source_url`; `feed_id` is the feed that holds its entries."""

    subscription_id: int
    fetcher_id: int
    source_url: str
    rss_url: str
    source_type: str
    name: str | None
    description: str | None
    last_fetched_at: Moment | None
    next_fetch_at: Moment | None
    fetch_interval_minutes: int
    is_active: bool
    config: str | None
    assignment_status: Literal["assigned", "auto_assigned"]
    auto_selected: bool
    assigned_at: Moment | None
    feed_id: str
    group_id: int | None
    has_credentials: bool
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, subscription: Subscription) -> "SubscriptionRecord":
        return cls(
            subscription_id=subscription.id,
            fetcher_id=subscription.fetcher_id,
            source_url=subscription.source_url,
            rss_url=subscription.source_url,
            source_type=subscription.source_type,
            name=subscription.name,
            description=subscription.description,
            last_fetched_at=subscription.last_fetched_at,
            next_fetch_at=subscription.next_fetch_at,
            fetch_interval_minutes=subscription.fetch_interval_minutes,
            is_active=subscription.is_active,
            config=subscription.config,
            assignment_status=subscription.assignment_status,
            auto_selected=subscription.auto_selected,
            assigned_at=subscription.assigned_at,
            feed_id=subscription.feed_id,
            group_id=subscription.group_id,
            has_credentials=subscription.has_credentials,
            created_at=subscription.created_at,
            updated_at=subscription.updated_at,
        )


class SubscriptionPage(Record):
    subscriptions: list[SubscriptionRecord]
    next_cursor: str | None


class AssignedPage(Record):
    """What one fetcher is to visit: the URLs alone, and the same with everything about them."""

    fetcher_id: int
    urls: list[str]
    subscriptions: list[SubscriptionRecord]
    next_cursor: str | None


class UnsubscribedRecord(Record):
    """`rows_deleted` is 0 when it was inactive already."""

    message: str
    subscription_id: int
    source_url: str
    rss_url: str
    rows_deleted: int
    hard: bool


class FetcherRecord(Record):
    fetcher_id: int
    name: str
    version: str
    description: str | None
    base_url: str
    priority: int
    is_enabled: bool
    is_builtin: bool
    config_schema: str | None
    wants_news: bool
    last_seen_at: Moment | None
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, fetcher: Fetcher) -> "FetcherRecord":
        return cls(
            fetcher_id=fetcher.id,
            name=fetcher.name,
            version=fetcher.version,
            description=fetcher.description,
            base_url=fetcher.base_url,
            priority=fetcher.priority,
            is_enabled=fetcher.is_enabled,
            is_builtin=fetcher.is_builtin,
            config_schema=fetcher.config_schema,
            wants_news=fetcher.wants_news,
            last_seen_at=fetcher.last_seen_at,
            created_at=fetcher.created_at,
            updated_at=fetcher.updated_at,
        )


class FetcherPage(Record):
    fetcher_modules: list[FetcherRecord]


class JoinedRecord(FetcherRecord):
    """A fetcher that joined, with what it needs to work."""

    token: str | None = Field(
        description="Its own token. Shown once: null when it has one and no new one was asked for."
    )
    signing_key: str | None = Field(
        description="Signs our requests to it (`whsec_…`). Shown once, like the token."
    )

    @classmethod
    def silent(cls, fetcher: Fetcher) -> "JoinedRecord":
        return cls(**FetcherRecord.of(fetcher).model_dump(), token=None, signing_key=None)


class SeenRecord(Record):
    fetcher_id: int
    last_seen_at: Moment
    is_enabled: bool


class CandidateRecord(Record):
    fetcher_id: int
    name: str


class ConflictDataRecord(Record):
    candidate_fetcher_ids: list[int]
    conflict_reason: str


class ConflictRecord(Record):
    conflict_id: int
    subscription_id: int
    source_url: str
    rss_url: str
    conflict_type: str
    conflict_data: ConflictDataRecord
    candidate_fetchers: list[CandidateRecord]
    resolution_status: Literal["unresolved", "resolved"]
    resolution_data: dict[str, Any] | None
    resolved_at: Moment | None
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, conflict: Conflict) -> "ConflictRecord":
        return cls(
            conflict_id=conflict.id,
            subscription_id=conflict.subscription_id,
            source_url=conflict.source_url,
            rss_url=conflict.source_url,
            conflict_type=conflict.type,
            conflict_data=ConflictDataRecord(
                candidate_fetcher_ids=list(conflict.candidates), conflict_reason=conflict.reason
            ),
            candidate_fetchers=[
                CandidateRecord(fetcher_id=candidate, name=conflict.candidate_names[candidate])
                for candidate in conflict.candidates
                if candidate in conflict.candidate_names
            ],
            resolution_status=conflict.status,
            resolution_data=None if conflict.resolution is None else dict(conflict.resolution),
            resolved_at=conflict.resolved_at,
            created_at=conflict.created_at,
            updated_at=conflict.updated_at,
        )


class ConflictPage(Record):
    conflicts: list[ConflictRecord]
    next_cursor: str | None


class ResolvedRecord(Record):
    message: str
    conflict_id: int
    subscription_id: int
    resolved_fetcher_id: int
    resolved_at: Moment


class DecidedRecord(Record):
    """Who decided what about a subscription, why, and what it changed."""

    id: int
    at: Moment
    who: str
    what: str
    why: str | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    conflict_id: int | None

    @classmethod
    def of(cls, decided: Decided) -> "DecidedRecord":
        return cls(
            id=decided.id,
            at=decided.at,
            who=decided.who,
            what=decided.what,
            why=decided.why,
            before=decided.before,
            after=decided.after,
            conflict_id=decided.conflict_id,
        )


class HistoryPage(Record):
    """Newest first."""

    subscription_id: int
    history: list[DecidedRecord]
    next_cursor: str | None
